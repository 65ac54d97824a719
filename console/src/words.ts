/** How things are called: durations, times, money, ids, counts. One word per idea, in every place. */
import { PROSE } from "./generated/words";
import { scopeParts } from "./ids";
import { Big } from "./numbers";

/** `0.3 s`, `43 s`, `2 m 41 s`, `16 h 28 m`, `5 d 3 h`. */
export function duration(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 0.0995) return `${Math.round(s * 1000)} ms`;
  if (s < 9.95) return `${s.toFixed(1)} s`;
  if (s < 59.5) return `${Math.round(s)} s`;
  const m = Math.floor(s / 60);
  if (m < 60) return `${m} m ${pad(Math.floor(s % 60))} s`;
  const h = Math.floor(m / 60);
  if (h < 48) return `${h} h ${pad(m % 60)} m`;
  return `${Math.floor(h / 24)} d ${h % 24} h`;
}

/** One unit: `27 s`, `52 min`, `16 h`, `1 d`. */
export function rough(seconds: number): string {
  const s = Math.max(0, seconds);
  if (s < 60) return `${Math.floor(s)} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86400)} d`;
}

/** For a countdown: `47 min 12 s`, `5 h 3 min`, `2 d 4 h`. */
export function remaining(seconds: number): string {
  const s = Math.max(0, Math.ceil(seconds));
  if (s < 60) return `${s} s`;
  if (s < 3600) return `${Math.floor(s / 60)} min ${s % 60} s`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
}

const pad = (n: number): string => String(n).padStart(2, "0");

/** `06:31:13`, in this browser's time zone. */
export function clock(at: number): string {
  const d = new Date(at * 1000);
  return `${pad(d.getHours())}:${pad(d.getMinutes())}:${pad(d.getSeconds())}`;
}

/** Everything: `2026-11-15 06:31:13`. */
export function exactTime(at: number): string {
  const d = new Date(at * 1000);
  return `${d.getFullYear()}-${pad(d.getMonth() + 1)}-${pad(d.getDate())} ${clock(at)}`;
}

/** Relative under a day, a date after. */
export function ago(at: number, now: number): string {
  const s = now - at;
  return s < 86400 ? `${rough(s)} ago` : exactTime(at).slice(0, 16);
}

/** In the currency in which providers publish their prices. */
export function money(cost: number): string {
  if (cost > 0 && cost < 0.0005) return "under $0.001";
  const digits = cost > 0 && cost < 0.01 ? 3 : 2; // never $0.00 for something that cost
  return `$${cost.toLocaleString("en-US", { minimumFractionDigits: digits, maximumFractionDigits: digits })}`;
}

export const many = (n: number): string => n.toLocaleString("en-US");

/** `1 run`, `2 runs`. */
export function count(n: number, one: string, several = `${one}s`): string {
  return `${many(n)} ${n === 1 ? one : several}`;
}

const GENERATED = /^[0-9A-Z]{4}(-[0-9A-Z]{4}){3,}$/;

/** The beginning of a generated id (a prefix is accepted everywhere); other ids whole. */
export function shortId(id: string): string {
  return GENERATED.test(id) ? id.slice(0, 9) : id;
}

/** The first sixteen digits of a digest, for comparing by eye. */
export function grouped(digest: string): string {
  const plain = digest.includes(":") ? digest.slice(digest.lastIndexOf(":") + 1) : digest;
  return (plain.slice(0, 16).match(/.{1,4}/g) ?? []).join(" ");
}

/** A value as JSON on one line, in full. */
export function json(value: unknown, space?: number): string {
  if (value instanceof Big) return value.digits;
  const text = JSON.stringify(value, (_k, v: unknown) => (v instanceof Big && !JSON.rawJSON ? v.digits : v), space) as string | undefined;
  return text ?? "null";
}

/** A call's arguments on one line, without their names. */
export function argumentLine(args: unknown, limit = 160): string {
  const values = args && typeof args === "object" && !Array.isArray(args) && !(args instanceof Big) ? Object.values(args) : [args];
  let text = "";
  for (const value of values) {
    if (value === undefined) continue;
    const piece = typeof value === "string" && value.length > limit ? `${json(value.slice(0, limit)).slice(0, -1)}…` : json(value);
    text += (text ? ", " : "") + piece;
    if (text.length > limit) return `${text.slice(0, limit)}…`;
  }
  return text;
}

/** A value as the one line of prose it holds, or as JSON. */
export function gist(value: unknown): string {
  if (typeof value === "string") return value;
  if (value && typeof value === "object" && !Array.isArray(value)) {
    for (const name of [...PROSE, "input"]) {
      const found = (value as Record<string, unknown>)[name];
      if (typeof found === "string" && found) return found;
    }
  }
  return value === null || value === undefined ? "" : json(value);
}

/** A halt's scope in words. */
export function scopeWords(scope: string): string {
  if (scope === "*") return "everything";
  const { kind, name } = scopeParts(scope);
  return `${kind} ${name}`;
}
