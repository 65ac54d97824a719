/** What halts hold, as the server counts it. */
import { signal } from "@preact/signals";
import { get } from "./api";
import { scopeParts } from "./ids";
import { count } from "./words";
import type { HaltScope } from "./generated/types";

export interface Scopes {
  items: HaltScope[];
  /** Every open run was counted. */
  complete: boolean;
}

/** Of every halt that is on, and of everything that could be halted; null until somebody asked. */
export const scopes = signal<Scopes | null>(null);

/** Count again. `scope`: one that may be a name that nothing has. */
export async function readScopes(scope = "", signal?: AbortSignal): Promise<Scopes> {
  const found = await get<Scopes>("/halts/scopes", { scope }, signal);
  scopes.value = found;
  return found;
}

export const scopeOf = (found: Scopes | null, scope: string): HaltScope | undefined => found?.items.find((s) => s.scope === scope);

/** `3 runs held, 1 call is finishing`. */
export function heldWords(found: HaltScope, complete: boolean): string {
  const runs = `${complete ? "" : "at least "}${count(found.holds, "run")} held`;
  if (!found.finishing) return runs;
  return `${runs}, ${count(found.finishing, "call is", "calls are")} finishing`;
}

/** `No tool here is called refnd.`, or "". */
export function unknownWords(found: HaltScope): string {
  if (found.known) return "";
  const { kind, name } = scopeParts(found.scope);
  return `No ${kind} here is called ${name}.`;
}
