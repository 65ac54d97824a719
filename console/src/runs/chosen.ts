/** The runs that a person has chosen, to do the same to all of them. */
import { signal } from "@preact/signals";

export const chosen = signal<ReadonlySet<string>>(new Set());

/** Choose a run, or take it out again. */
export function toggle(id: string): void {
  const next = new Set(chosen.peek());
  if (!next.delete(id)) next.add(id);
  chosen.value = next;
}

/** Choose these and no others. */
export function choose(ids: readonly string[]): void {
  chosen.value = new Set(ids);
}
