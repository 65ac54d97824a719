/** What is wrong with a value, by its JSON Schema, as far as a form can say it. The server has the last word. */
import { compare, equal, isObj, list, Num, num, obj, text, write, type Json, type Obj } from "./json";
import { resolve, WORDS, type Fault, type Path } from "./schema";

/** Everything that is wrong with a value, as far as can be said here. */
export function check(schema: Json | undefined, value: Json, root: Json | undefined = schema, path: Path = [], depth = 0): Fault[] {
  if (schema === false) return [{ path, message: "Nothing fits here." }];
  if (!isObj(schema) || depth > 40) return [];
  const { schema: s, nullable } = resolve(schema, root);
  if (value === null && nullable) return [];
  if (text(s.get("format")) === "file" && isObj(value) && value.has("$data")) return []; // the server makes a reference of it
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

const ONE: Record<string, string> = { integer: "an integer", number: "a number", list: "a list", group: "a group" };
const one = (word: string): string => ONE[word] ?? word;

function scalar(s: Obj, value: Json): string {
  const types = typeof s.get("type") === "string" ? [s.get("type")!] : list(s.get("type"));
  if (types.length && !types.some((t) => fits(text(t), value)))
    return `This must be ${types.map((t) => one(WORDS[text(t)] ?? text(t))).join(" or ")}.`;
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
  for (const [n, v] of value.entries()) found.push(...check(first[n] ?? s.get("items"), v, root, [...path, n], depth + 1));
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
    else if (s.get("additionalProperties") === false) found.push({ path: [...path, name], message: "The form has no such field." });
    else if (isObj(s.get("additionalProperties"))) found.push(...check(s.get("additionalProperties"), v, root, [...path, name], depth + 1));
  }
  return found;
}
