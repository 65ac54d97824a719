/** What of the audit is wanted: the filters in the address, as the API takes them, and the lines as files. */
import { get, post } from "../api";
import type { AuditEntry, AuditExport } from "../generated/types";
import { query } from "../router";
import type { Page } from "../types";

export const FIELDS = ["by", "verb", "agent", "tool", "run", "day", "q", "only"] as const;
export type Field = (typeof FIELDS)[number];
export type Wanted = Record<Field, string>;

export function wanted(): Wanted {
  return Object.fromEntries(FIELDS.map((name) => [name, query.value.get(name) ?? ""])) as Wanted;
}

export const filtered = (w: Wanted): boolean => FIELDS.some((name) => name !== "only" && w[name] !== "") || w.only === "refused";

const DAY = 86_400;

/** The query of the API; a day is one of this browser's time zone. */
function params(w: Wanted, after: string | null, limit: number): Record<string, string | number | boolean> {
  const found: Record<string, string | number | boolean> = { limit };
  for (const name of ["by", "verb", "agent", "tool"] as const) if (w[name]) found[name] = w[name];
  if (w.run) found.run_id = w.run;
  if (w.q) found.text = w.q;
  if (w.only === "refused") found.refused = true;
  if (w.only === "security") found.security = true;
  const day = w.day ? new Date(`${w.day}T00:00:00`).getTime() / 1000 : NaN;
  if (!Number.isNaN(day)) Object.assign(found, { since: day, until: day + DAY - 0.001 });
  if (after) found.after = after;
  return found;
}

export const read = (w: Wanted, after: string | null, limit: number, signal?: AbortSignal): Promise<Page<AuditEntry>> =>
  get<Page<AuditEntry>>("/audit", params(w, after, limit), signal);

/** Every line that is wanted, as a file: the server makes it, and writes down who took it. */
export function exported(w: Wanted, format: string): Promise<AuditExport> {
  const { limit: _, ...wantedLines } = params(w, null, 0);
  return post<AuditExport>("/audit/export", { format, ...wantedLines });
}

/** Give a file to the person. */
export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
