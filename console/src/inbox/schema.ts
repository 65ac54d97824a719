/** JSON Schema, as far as a form needs it: what a value is called, and what is wrong with one. The server has the last word. */
import { compare, equal, isObj, list, Num, num, obj, text, write, type Json, type Obj } from "./json";

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
  if (value instanceof Num) return /^-?\d+$/.test(value.text) ? "whole number" : "number";
  return Array.isArray(value) ? "list" : "group";
}

const WORDS: Record<string, string> = {
  string: "text",
  integer: "whole number",
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

/** Everything that is wrong with a value, as far as can be said here. */
export function check(schema: Json | undefined, value: Json, root: Json | undefined = schema, path: Path = [], depth = 0): Fault[] {
  if (schema === false) return [{ path, message: "Nothing fits here." }];
  if (!isObj(schema) || depth > 40) return [];
  const { schema: s, nullable } = resolve(schema, root);
  if (value === null && nullable) return [];
  const wrong = scalar(s, value);
  if (wrong) return [{ path, message: wrong }];
  const found: Fault[] = [];
  for (const word of ["anyOf", "oneOf"]) {
    const branches = list(s.get(word));
    if (branches.length && !branches.some((b) => check(b, value, root, path, depth + 1).length === 0)) {
      found.push({ path, message: "It fits none of the forms that are allowed here." });
    }
  }
  for (const part of list(s.get("allOf"))) found.push(...check(part, value, root, path, depth + 1));
  if (Array.isArray(value)) found.push(...items(s, value, root, path, depth));
  if (isObj(value)) found.push(...properties(s, value, root, path, depth));
  return found;
}

function scalar(s: Obj, value: Json): string {
  const types = typeof s.get("type") === "string" ? [s.get("type")!] : list(s.get("type"));
  if (types.length && !types.some((t) => fits(text(t), value)))
    return `This must be ${types.map((t) => WORDS[text(t)] ?? text(t)).join(" or ")}.`;
  if (s.has("const") && !equal(s.get("const")!, value)) return `This must be ${write(s.get("const")!)}.`;
  if (s.has("enum") && !list(s.get("enum")).some((v) => equal(v, value))) return "Choose one of the values.";
  if (value instanceof Num) return number(s, value);
  if (typeof value === "string") return string(s, value);
  return "";
}

function fits(type: string, value: Json): boolean {
  switch (type) {
    case "string":
      return typeof value === "string";
    case "boolean":
      return typeof value === "boolean";
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObj(value);
    case "integer":
      return value instanceof Num && Number.isInteger(Number(value.text));
    case "number":
      return value instanceof Num;
    default:
      return true;
  }
}

function number(s: Obj, value: Num): string {
  const limit = (name: string): Num | null => (s.get(name) instanceof Num ? (s.get(name) as Num) : null);
  const [low, high, above, below] = [limit("minimum"), limit("maximum"), limit("exclusiveMinimum"), limit("exclusiveMaximum")];
  if (low && compare(value, low) < 0) return `At least ${low.text}.`;
  if (high && compare(value, high) > 0) return `At most ${high.text}.`;
  if (above && compare(value, above) <= 0) return `More than ${above.text}.`;
  if (below && compare(value, below) >= 0) return `Less than ${below.text}.`;
  const part = limit("multipleOf");
  const times = part ? Number(value.text) / Number(part.text) : 0;
  if (part && Math.abs(times - Math.round(times)) > 1e-9) return `A multiple of ${part.text}.`;
  return "";
}

/** What is wrong with a string of a format. The controls bring it with them: see `formats.ts`. */
export const formats = { fault: (_format: string, _value: string): string => "" };

function string(s: Obj, value: string): string {
  const length = [...value].length;
  if (s.has("minLength") && length < num(s.get("minLength")))
    return length ? `At least ${num(s.get("minLength"))} characters.` : "Write something here.";
  if (s.has("maxLength") && length > num(s.get("maxLength"))) return `At most ${num(s.get("maxLength"))} characters.`;
  const odd = formats.fault(text(s.get("format")), value);
  if (odd) return odd;
  const pattern = s.get("pattern");
  if (typeof pattern === "string") {
    try {
      if (!new RegExp(pattern, "u").test(value)) return `It must match ${pattern}`;
    } catch {
      return ""; // another language's pattern: the server knows
    }
  }
  return "";
}

function items(s: Obj, value: Json[], root: Json | undefined, path: Path, depth: number): Fault[] {
  const found: Fault[] = [];
  if (s.has("minItems") && value.length < num(s.get("minItems")))
    found.push({ path, message: `At least ${num(s.get("minItems"))} in this list.` });
  if (s.has("maxItems") && value.length > num(s.get("maxItems")))
    found.push({ path, message: `At most ${num(s.get("maxItems"))} in this list.` });
  const first = list(s.get("prefixItems"));
  value.forEach((v, n) => found.push(...check(first[n] ?? s.get("items"), v, root, [...path, n], depth + 1)));
  return found;
}

function properties(s: Obj, value: Obj, root: Json | undefined, path: Path, depth: number): Fault[] {
  const found: Fault[] = [];
  const known = obj(s.get("properties"));
  for (const name of list(s.get("required"))) {
    if (!value.has(text(name))) found.push({ path: [...path, text(name)], message: "This is needed." });
  }
  for (const [name, v] of value) {
    if (known.has(name)) found.push(...check(known.get(name), v, root, [...path, name], depth + 1));
    else if (s.get("additionalProperties") === false) found.push({ path: [...path, name], message: "There is no such field." });
    else if (isObj(s.get("additionalProperties"))) found.push(...check(s.get("additionalProperties"), v, root, [...path, name], depth + 1));
  }
  return found;
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
