/**
 * JSON without loss. A number keeps its text (`1.0` is not `1`, and 2^53 + 1 has all its digits), an object the order of its
 * keys and any name for them: what is shown for approval, and what an edit sends back, must be what was there.
 */
import { Big } from "../numbers";

/** A number, as it was written. */
export class Num {
  constructor(readonly text: string) {}
  valueOf(): number {
    return Number(this.text);
  }
}
export type Obj = Map<string, Json>;
export type Json = null | boolean | string | Num | Json[] | Obj;

export class BadJson extends Error {
  constructor(
    message: string,
    readonly at: number,
  ) {
    super(message);
  }
}

const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const CONTROL = /[\u0000-\u001f]/;
const DEEP = 200;

/** Read JSON; raises `BadJson`, saying what is wrong and where. A key that is there twice is refused. */
export function parse(text: string): Json {
  let at = 0;

  function fail(what: string, where = at): never {
    const lines = text.slice(0, where).split("\n");
    throw new BadJson(`${what}, at line ${lines.length}, character ${(lines.at(-1) ?? "").length + 1}`, where);
  }
  function space(): void {
    for (let c = text.charCodeAt(at); c === 32 || c === 10 || c === 13 || c === 9; c = text.charCodeAt(at)) at += 1;
  }
  function string(): string {
    const start = at;
    const end = closing(text, at);
    if (end < 0) fail("this text has no closing quote");
    at = end + 1;
    const inner = text.slice(start + 1, end);
    if (!inner.includes("\\") && !CONTROL.test(inner)) return inner;
    try {
      return JSON.parse(text.slice(start, at)) as string;
    } catch {
      return fail("this text is not written as JSON: escape control characters and backslashes", start);
    }
  }
  function value(depth: number): Json {
    if (depth > DEEP) fail(`nested deeper than ${DEEP} levels`);
    space();
    const c = text[at];
    if (c === '"') return string();
    if (c === "{") return object(depth);
    if (c === "[") return list(depth);
    if (c === "t" || c === "f" || c === "n") {
      for (const [word, meaning] of WORDS) {
        if (text.startsWith(word, at)) {
          at += word.length;
          return meaning;
        }
      }
    }
    NUMBER.lastIndex = at;
    const digits = NUMBER.exec(text)?.[0];
    if (digits === undefined) return fail(c === undefined ? "a value is missing" : "this is not a JSON value: texts need quotes");
    at += digits.length;
    if (/[0-9.]/.test(text[at] ?? "")) fail("this is not a number");
    return new Num(digits);
  }
  function ended(by: string): boolean {
    if (text[at] !== by) return false;
    at += 1;
    return true;
  }
  function list(depth: number): Json[] {
    const out: Json[] = [];
    at += 1;
    space();
    if (ended("]")) return out;
    for (;;) {
      out.push(value(depth + 1));
      space();
      if (ended("]")) return out;
      if (text[at] !== ",") fail("a comma or ] is missing");
      at += 1;
    }
  }
  function object(depth: number): Obj {
    const out: Obj = new Map();
    at += 1;
    space();
    if (ended("}")) return out;
    for (;;) {
      space();
      const start = at;
      if (text[at] !== '"') fail("a name in quotes is missing");
      const key = string();
      if (out.has(key)) fail(`the name ${JSON.stringify(key)} is there twice`, start);
      space();
      if (text[at] !== ":") fail("a colon is missing");
      at += 1;
      out.set(key, value(depth + 1));
      space();
      if (ended("}")) return out;
      if (text[at] !== ",") fail("a comma or } is missing");
      at += 1;
    }
  }

  const found = value(0);
  space();
  if (at < text.length) fail("there is more after the value");
  return found;
}

const WORDS: [string, Json][] = [
  ["null", null],
  ["true", true],
  ["false", false],
];

/** Where the text literal that begins at `from` ends; -1 if it does not. */
function closing(text: string, from: number): number {
  for (let n = from + 1; ; n += 1) {
    n = text.indexOf('"', n);
    if (n < 0) return -1;
    let slashes = 0;
    while (text[n - 1 - slashes] === "\\") slashes += 1;
    if (slashes % 2 === 0) return n;
  }
}

/** As JSON text; with `space`, on lines. */
export function write(value: Json, space = 0, indent = ""): string {
  if (value instanceof Num) return value.text;
  if (value === null || typeof value !== "object") return JSON.stringify(value);
  const inner = indent + " ".repeat(space);
  const [open, close] = space ? [`\n${inner}`, `\n${indent}`] : ["", ""];
  const between = space ? `,\n${inner}` : ", ";
  if (Array.isArray(value)) return value.length ? `[${open}${value.map((v) => write(v, space, inner)).join(between)}${close}]` : "[]";
  if (!value.size) return "{}";
  return `{${open}${[...value].map(([k, v]) => `${JSON.stringify(k)}: ${write(v, space, inner)}`).join(between)}${close}}`;
}

/** Whether two values are the same, also in the type of their numbers; the order of names does not count. */
export function equal(a: Json, b: Json): boolean {
  if (a instanceof Num || b instanceof Num) return a instanceof Num && b instanceof Num && a.text === b.text;
  if (Array.isArray(a) || Array.isArray(b)) {
    return Array.isArray(a) && Array.isArray(b) && a.length === b.length && a.every((v, n) => equal(v, b[n]!));
  }
  if (a instanceof Map || b instanceof Map) {
    return a instanceof Map && b instanceof Map && a.size === b.size && [...a].every(([k, v]) => b.has(k) && equal(v, b.get(k)!));
  }
  return a === b;
}

export const isObj = (v: Json | undefined): v is Obj => v instanceof Map;

/** Whether a schema lets an approver change nothing: no value fits, or only the one that is there. */
export const isFixed = (schema: Json | undefined): boolean => schema === false || (isObj(schema) && schema.size === 1 && schema.has("const"));
export const obj = (v: Json | undefined): Obj => (v instanceof Map ? v : new Map());
export const list = (v: Json | undefined): Json[] => (Array.isArray(v) ? v : []);
export const text = (v: Json | undefined): string => (typeof v === "string" ? v : "");
export const num = (v: Json | undefined): number => (v instanceof Num ? Number(v.text) : 0);

/** An ordinary JavaScript value as this kind of JSON. */
export function from(value: unknown): Json {
  if (value === null || value === undefined) return null;
  if (typeof value === "number") return new Num(JSON.stringify(value));
  if (typeof value === "string" || typeof value === "boolean") return value;
  if (value instanceof Num || value instanceof Map) return value;
  if (value instanceof Big) return new Num(value.digits);
  if (Array.isArray(value)) return value.map(from);
  return new Map(Object.entries(value as object).map(([k, v]) => [k, from(v)]));
}

// In a line of a list

export const BRIEF = 200;
export const brief = (t: string): string => (t.length > BRIEF ? `${t.slice(0, BRIEF)}…` : t);

/** A value in a few words. */
export function short(v: Json): string {
  if (typeof v === "string") return v ? brief(v) : '""';
  if (v instanceof Num || v === null || typeof v === "boolean") return write(v);
  return Array.isArray(v) ? `${v.length} in a list` : "{…}";
}

// Numbers by their text

/** A number's digits and exponent without what does not count: `1.50e2` and `150` are the same. */
function normal(digits: string): string {
  const found = /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([+-]?\d+))?$/.exec(digits);
  if (!found) return digits;
  const [, sign = "", whole = "", part = "", power = "0"] = found;
  const all = (whole + part).replace(/^0+/, "");
  const short = all.replace(/0+$/, "");
  if (!short) return "0";
  return `${sign}${short}e${Number(power) - part.length + (all.length - short.length)}`;
}

/** What a decimal becomes where it is read as a double, if that is another number; "" if it stays what it is. */
export function loses(digits: string): string {
  if (/^-?\d+$/.test(digits)) return "";
  const read = Number(digits);
  if (!Number.isFinite(read)) return "too large";
  const again = JSON.stringify(read);
  return normal(again) === normal(digits) ? "" : again;
}

/** Below zero, zero, or above: `a` against `b`, whole numbers to their last digit. */
export function compare(a: Num, b: Num): number {
  if (/^-?\d+$/.test(a.text) && /^-?\d+$/.test(b.text)) {
    const [x, y] = [BigInt(a.text), BigInt(b.text)];
    return x < y ? -1 : x > y ? 1 : 0;
  }
  return Math.sign(Number(a.text) - Number(b.text));
}

/** Thousands set apart, to help the eye: `48250` → `48,250`; "" where it would not help. */
export function readingAid(digits: string): string {
  const found = /^(-?)(\d{4,})(\.\d+)?$/.exec(digits);
  return found ? `${found[1]}${found[2]!.replace(/\B(?=(\d{3})+$)/g, ",")}${found[3] ?? ""}` : "";
}
