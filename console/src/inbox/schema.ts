/** JSON Schema, as far as showing a value needs it: what it is called, and where it stands. */
import { isObj, list, Num, num, obj, text, write, type Json, type Obj } from "./json";

export type Path = readonly (string | number)[];
export interface Fault {
  path: Path;
  message: string;
}

/** A schema with references inside its own document followed; `nullable` if null fits as well. */
export interface Resolved {
  schema: Obj;
  nullable: boolean;
}

const NOTHING: Obj = new Map();

export function resolve(schema: Json | undefined, root: Json | undefined): Resolved {
  let here = obj(schema);
  let nullable = false;
  for (let n = 0; n < 16; n += 1) {
    const reference = here.get("$ref");
    if (typeof reference === "string") {
      here = merged(obj(pointed(reference, root)), here, "$ref");
      continue;
    }
    const word = here.has("anyOf") ? "anyOf" : here.has("oneOf") ? "oneOf" : "";
    const branches = word ? list(here.get(word)) : [];
    const solid = branches.filter((b) => !isNull(b));
    if (word && solid.length < branches.length) nullable = true;
    if (word && solid.length === 1) {
      here = merged(obj(solid[0]), here, word);
      continue;
    }
    const all = list(here.get("allOf"));
    if (all.length === 1) {
      here = merged(obj(all[0]), here, "allOf");
      continue;
    }
    const types = list(here.get("type"));
    if (types.length && types.includes("null")) {
      nullable = true;
      const rest = types.filter((t) => t !== "null");
      here = new Map(here).set("type", rest.length === 1 ? rest[0]! : rest);
    }
    return { schema: here, nullable };
  }
  return { schema: NOTHING, nullable };
}

const isNull = (b: Json): boolean => isObj(b) && b.get("type") === "null";

function merged(inner: Obj, outer: Obj, without: string): Obj {
  const out = new Map(inner);
  for (const [k, v] of outer) if (k !== without) out.set(k, v);
  return out;
}

function pointed(reference: string, root: Json | undefined): Json | undefined {
  if (!reference.startsWith("#")) return undefined;
  let here: Json | undefined = root;
  for (const part of reference.slice(1).split("/").filter(Boolean)) {
    const name = decodeURIComponent(part).replaceAll("~1", "/").replaceAll("~0", "~");
    here = isObj(here) ? here.get(name) : Array.isArray(here) ? here[Number(name)] : undefined;
  }
  return here;
}

/** What a value is, in a word. */
export function typeOf(value: Json): string {
  if (value === null) return "null";
  if (typeof value === "string") return "text";
  if (typeof value === "boolean") return "yes or no";
  if (value instanceof Num) return /^-?\d+$/.test(value.text) ? "integer" : "number";
  return Array.isArray(value) ? "list" : "group";
}

export const WORDS: Record<string, string> = {
  string: "text",
  integer: "integer",
  number: "number",
  boolean: "yes or no",
  array: "list",
  object: "group",
  null: "null",
};

/** What a schema asks for: `whole number · > 0`, `one of EUR, NOK`. Falls back to what the value is. */
export function describe(schema: Json | undefined, root: Json | undefined, value?: Json): string {
  const { schema: s, nullable } = resolve(schema, root);
  const parts = [kind(s, root, value), ...bounds(s)];
  if (nullable) parts.push("or null");
  return parts.filter(Boolean).join(" · ");
}

function kind(s: Obj, root: Json | undefined, value?: Json): string {
  if (s.has("const")) return `always ${write(s.get("const")!)}`;
  if (s.has("enum")) return `one of ${list(s.get("enum")).map(bare).join(", ")}`;
  const type = s.get("type");
  if (type === "array" && isObj(s.get("items"))) return `list of ${kind(resolve(s.get("items"), root).schema, root) || "anything"}`;
  if (typeof type === "string") return WORDS[type] ?? type;
  if (Array.isArray(type)) return type.map((t) => WORDS[text(t)] ?? text(t)).join(" or ");
  return value === undefined ? "any JSON value" : typeOf(value);
}

/** A choice as people read it: texts without quotes, unless that would be another value. */
function bare(v: Json): string {
  return typeof v === "string" && v !== "" && !/^(true|false|null|-?\d.*)$/.test(v) ? v : write(v);
}

function bounds(s: Obj): string[] {
  const out: string[] = [];
  const [low, high] = [s.get("minimum"), s.get("maximum")];
  if (low instanceof Num && high instanceof Num) out.push(`${low.text} to ${high.text}`);
  else if (low instanceof Num) out.push(`≥ ${low.text}`);
  else if (high instanceof Num) out.push(`≤ ${high.text}`);
  const [above, below] = [s.get("exclusiveMinimum"), s.get("exclusiveMaximum")];
  if (above instanceof Num) out.push(`> ${above.text}`);
  if (below instanceof Num) out.push(`< ${below.text}`);
  if (s.get("maxLength") instanceof Num) out.push(`at most ${(s.get("maxLength") as Num).text} characters`);
  if (typeof s.get("format") === "string") out.push(text(s.get("format")));
  return out;
}

/** A place in a value, as a key for maps and ids. */
export const keyOf = (path: Path): string => JSON.stringify(path);

/** `customer.address[0]` */
export function nameOfPath(path: Path): string {
  return path.map((p, n) => (typeof p === "number" ? `[${p}]` : `${n ? "." : ""}${p}`)).join("");
}

/** The place and the reason in a refusal of the server, from its facts. */
export function placeOf(facts: Obj): Fault | null {
  const place = facts.get("place");
  const reason = text(facts.get("reason"));
  if (!Array.isArray(place) || !place.length || !reason) return null;
  const path = place.map((part) => (typeof part === "string" ? part : num(part)));
  return { path, message: reason.charAt(0).toUpperCase() + reason.slice(1) + (/[.!?]$/.test(reason) ? "" : ".") };
}
