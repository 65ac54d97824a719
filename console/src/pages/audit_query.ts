/** What of the audit is wanted: the filters in the address, as the API takes them, and the lines as files. */
import { get } from "../api";
import type { AuditEntry } from "../generated/types";
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
  for (const name of ["by", "verb", "agent", "tool", "run"] as const) if (w[name]) found[name] = w[name];
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

const MOST = 50_000;

/** Every line that is wanted, newest first; `cut` if there are more than a file takes. */
export async function readAll(w: Wanted): Promise<{ lines: AuditEntry[]; cut: boolean }> {
  const lines: AuditEntry[] = [];
  let after: string | null = null;
  do {
    const page: Page<AuditEntry> = await read(w, after, 200);
    lines.push(...page.items);
    after = page.after;
  } while (after && lines.length < MOST);
  return { lines, cut: after !== null };
}

/** A line as a sentence. */
export function told(entry: AuditEntry): string {
  const t = entry.told;
  const rest = t.changes.map((c) => `${c.name} ${c.was || "–"} → ${c.now || "–"}`);
  if (t.note) rest.push(`“${t.note}”`);
  const text = [t.who, t.did, t.what].filter(Boolean).join(" ") + (rest.length ? `: ${rest.join(", ")}` : "");
  return t.refused ? `${text} (refused: ${t.refused})` : text;
}

const COLUMNS = ["at", "by", "verb", "verdict", "run_id", "agent", "tool", "origin", "refused", "note"] as const;

/** What a spreadsheet would take for a formula begins with an apostrophe. */
function cell(value: string | number): string {
  const text = typeof value === "string" && /^[=+\-@\t\r]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

export function csv(lines: AuditEntry[]): string {
  const rows = lines.map((e) => [...COLUMNS.map((name) => e[name]), told(e), e.number, e.head].map(cell).join(","));
  return [[...COLUMNS, "told", "number", "head"].join(","), ...rows, ""].join("\r\n");
}

/** Give a file to the person. */
export function save(name: string, type: string, text: string): void {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([text], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
