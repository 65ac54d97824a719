/**
 * A form made from a JSON Schema, or from a value where there is none. Types are kept: a number stays the number that was
 * written, a field that nobody touched is sent back exactly as it came. What no control fits is a checked JSON field.
 */
import { signal } from "@preact/signals";
import { BadJson, equal, isObj, list, loses, Num, obj, parse, text, write, type Json, type Obj } from "./json";
import { check } from "./faults";
import { keyOf, nameOfPath, resolve, type Fault, type Path } from "./schema";

export type Shape =
  | "text"
  | "long"
  | "whole"
  | "number"
  | "choice"
  | "many"
  | "switch"
  | "pair"
  | "list"
  | "group"
  | "variant"
  | "file"
  | "json"
  | "any";
/** Whether a field has a value, is null, or is left out. */
export type Mode = "value" | "null" | "absent";
/** How a value without a schema is written. */
export type Kind = "text" | "number" | "yes or no" | "JSON";

export interface Field {
  readonly path: Path;
  readonly label: string;
  readonly shape: Shape;
  readonly schema: Json | undefined;
  readonly required: boolean;
  readonly modes: readonly Mode[];
  /** Empty means left out. */
  readonly blank: boolean;
  readonly original: Json | undefined;
  readonly choices: readonly Json[];
  /** What the choices are called, in the same order. */
  readonly labels: readonly string[];
  mode: Mode;
  touched: boolean;
  /**
   * What is typed; for a choice or a variant the number of the chosen one ("" for none), for several choices their numbers
   * ("0,2"), for a switch "true", "false" or "", for a file its bytes in base64.
   */
  input: string;
  kind: Kind;
  fields: Field[];
  /** The name of a file that was chosen here, and its type. */
  file?: string;
  media?: string;
  /** Whether the file is a file of the run, and not a string in base64. */
  readonly kept: boolean;
}

const LONG = 60;
const TEXTS: ReadonlySet<Shape> = new Set(["text", "long"]);
const BLANK: ReadonlySet<Shape> = new Set(["text", "long", "whole", "number", "choice", "pair", "list", "many", "variant", "file"]);
const DEEP = 3;
export const KINDS: readonly Kind[] = ["text", "number", "yes or no", "JSON"];

/** A form over one value. Whoever shows it reads `version`: it counts the changes. */
export class Form {
  readonly version = signal(0);
  readonly root: Field;
  /** What the server said about fields, until they change. */
  private refusals = new Map<string, string>();
  /** Errors are shown for what was touched, and for everything once sending was tried. */
  tried = false;

  constructor(
    readonly schema: Json | undefined,
    readonly original?: Json,
  ) {
    this.root = field(schema, original, schema, [], true);
  }

  /** Change a field. */
  set(f: Field, change: Partial<Pick<Field, "input" | "mode" | "kind" | "file" | "media">>): void {
    Object.assign(f, change);
    if (f.shape === "variant" && change.input !== undefined) f.fields = this.fieldsOf(f);
    f.touched = true;
    this.refusals.delete(keyOf(f.path));
    this.version.value += 1;
  }

  /** The field of the variant that is chosen. */
  private fieldsOf(f: Field): Field[] {
    const branch = f.choices[Number(f.input)];
    return f.input === "" || branch === undefined ? [] : [field(branch, undefined, this.schema, f.path, true)];
  }

  /** One more in a list. */
  add(f: Field): void {
    const { schema } = resolve(f.schema, this.schema);
    f.fields.push(field(schema.get("items"), undefined, this.schema, [...f.path, f.fields.length], true));
    this.renumber(f);
  }

  remove(f: Field, n: number): void {
    f.fields.splice(n, 1);
    this.renumber(f);
  }

  /** One up or down in its list. */
  move(f: Field, n: number, by: number): void {
    const [one] = f.fields.splice(n, 1);
    f.fields.splice(n + by, 0, one!);
    this.renumber(f);
  }

  private renumber(f: Field): void {
    f.touched = true;
    f.fields = f.fields.map((x, n) => moved(x, f.path, n));
    this.version.value += 1;
  }

  /** What the server refused, and where. */
  refuse(fault: Fault): void {
    let here = this.root;
    for (let next: Field | undefined = here; next; next = here.fields.find((f) => f.path.every((part, n) => part === fault.path[n]))) here = next;
    this.refusals.set(keyOf(here.path), said(fault.message, fault.path.slice(here.path.length)));
    this.tried = true;
    this.version.value += 1;
  }

  try(): void {
    this.tried = true;
    this.version.value += 1;
  }

  /** The value, if it is one; and what is wrong, by place. */
  read(): { value: Json | undefined; faults: Map<string, string> } {
    const faults = new Map<string, string>();
    const value = read(this.root, faults, this.schema);
    if (value !== undefined && !faults.size) {
      for (const fault of check(this.schema, value)) if (!faults.has(keyOf(fault.path))) faults.set(keyOf(fault.path), fault.message);
    }
    for (const [k, v] of this.refusals) faults.set(k, v);
    return { value: faults.size ? undefined : value, faults };
  }

  /** Whether it is another value than the one it began with. */
  get changed(): boolean {
    const { value } = this.read();
    return value === undefined || this.original === undefined || !equal(value, this.original);
  }
}

function field(schema: Json | undefined, value: Json | undefined, root: Json | undefined, path: Path, required: boolean): Field {
  const { schema: s, nullable } = resolve(schema, root);
  const given = value !== undefined ? value : s.get("default");
  const modes: Mode[] = ["value", ...(nullable ? (["null"] as const) : []), ...(required ? [] : (["absent"] as const))];
  const found = shapeOf(s, given, root);
  const item = found === "long" && typeof path.at(-1) === "number" && given === undefined; // one of a list is one line
  const either = found === "switch" && value === undefined && !required; // a switch has no third place, for what is left out
  const shape = item ? "text" : either ? "pair" : found === "group" && given === undefined && path.length >= DEEP ? "json" : found; // it may contain itself
  const blank = !required && (value === undefined || !TEXTS.has(shape)) && !(nullable && TEXTS.has(shape)) && BLANK.has(shape);
  const made: Field = {
    path,
    label: String(path.at(-1) ?? ""),
    shape,
    schema,
    required,
    modes: blank ? modes.filter((m) => m !== "absent") : modes,
    blank,
    original: value,
    ...choicesOf(s, given, root, shape),
    kept: isKept(s),
    mode: given === null && nullable ? "null" : given === undefined && !required && !blank ? "absent" : "value",
    touched: false,
    input: "",
    kind: "text",
    fields: [],
  };
  fill(made, s, given, root);
  return made;
}

function shapeOf(s: Obj, value: Json | undefined, root: Json | undefined): Shape {
  if (s.has("enum") || s.has("const") || named(s, root, "const")) return "choice";
  if (value === undefined && named(s, root, "title")) return "variant";
  if (s.has("anyOf") || s.has("oneOf") || s.has("allOf") || s.has("not") || s.has("if"))
    return value === undefined || typeof value !== "string" ? "json" : "long";
  const type = s.get("type");
  const fits = value === undefined || value === null || check(new Map([["type", type ?? null]]), value).length === 0;
  if (typeof type === "string" && fits) {
    const known = shapes(s, value, root)[type];
    if (known) return known;
  }
  if (value === undefined || value === null) return s.size && (type !== undefined || s.has("properties")) ? "json" : "any";
  return ofValue(value, typeof type === "string" && !fits);
}

/** Branches of `oneOf` or `anyOf` that all have this: a value each is a choice, a title each is something to choose first. */
function named(s: Obj, root: Json | undefined, what: "const" | "title"): Obj[] | null {
  const branches = list(s.get("oneOf") ?? s.get("anyOf")).filter((b) => !isObj(b) || b.get("type") !== "null");
  if (branches.length < 2) return null;
  const found = branches.map((b) => resolve(b, root).schema);
  return found.every((b) => b.has(what)) ? found : null;
}

function shapes(s: Obj, value: Json | undefined, root: Json | undefined): Record<string, Shape> {
  const items = resolve(s.get("items"), root).schema;
  const free = !isObj(s.get("properties")) && !(isObj(value) && value.size);
  return {
    string: isFile(s, value) ? "file" : lines(s, value),
    integer: "whole",
    number: "number",
    boolean: typeof value === "boolean" ? "switch" : "pair",
    array: isMany(items, s, value) ? "many" : items.size || (Array.isArray(value) && value.length) ? "list" : "json",
    object: isKept(s) && value === undefined ? "file" : free ? "json" : "group",
  };
}

/** Bytes in base64, which people choose as a file. What is there already is shown as it is. */
function isFile(s: Obj, value: Json | undefined): boolean {
  if (value !== undefined) return false;
  return text(s.get("contentEncoding")) === "base64" || text(s.get("format")) === "binary";
}

/** What a record says of a file: who answers gives the file itself. */
export const isKept = (s: Obj): boolean => text(s.get("format")) === "file";

const TICKS = 12;

/** Some of a few values, each at most once, in the order of the schema. */
function isMany(items: Obj, s: Obj, value: Json | undefined): boolean {
  const all = list(items.get("enum"));
  if (!all.length || all.length > TICKS || s.get("uniqueItems") !== true) return false;
  const at = list(value).map((v) => all.findIndex((one) => equal(one, v)));
  return at.every((n, k) => n >= 0 && (k === 0 || n > at[k - 1]!));
}

function lines(s: Obj, value: Json | undefined): Shape {
  if (typeof value === "string" && (value.length > LONG || /[\n\r\t]/.test(value))) return "long";
  const most = s.get("maxLength");
  const format = text(s.get("format"));
  return (most instanceof Num && Number(most.text) <= 200) || format || typeof value === "string" ? "text" : "long";
}

/** The control for a value whose schema says nothing, or something else than what is there. */
function ofValue(value: Json, odd: boolean): Shape {
  if (odd || value === null) return "json";
  if (typeof value === "string") return value.length > LONG || /[\n\r\t]/.test(value) ? "long" : "text";
  if (typeof value === "boolean") return "switch";
  if (value instanceof Num) return /^-?\d+$/.test(value.text) ? "whole" : "number";
  return Array.isArray(value) ? (value.length ? "list" : "json") : value.size ? "group" : "json";
}

type Choices = Pick<Field, "choices" | "labels">;

function choicesOf(s: Obj, value: Json | undefined, root: Json | undefined, shape: Shape): Choices {
  if (shape === "variant") {
    const branches = list(s.get("oneOf") ?? s.get("anyOf")).filter((b) => !isObj(b) || b.get("type") !== "null");
    return { choices: branches, labels: branches.map((b) => text(resolve(b, root).schema.get("title"))) };
  }
  const titled = named(s, root, "const");
  if (titled) return labelled(titled.map((b) => [b.get("const")!, text(b.get("title"))]), value);
  const from = shape === "many" ? resolve(s.get("items"), root).schema : s;
  const found = from.has("const") ? [from.get("const")!] : list(from.get("enum"));
  return labelled(found.map((v) => [v, ""]), shape === "many" ? undefined : value);
}

function labelled(found: [Json, string][], value: Json | undefined): Choices {
  const fits = value === undefined || value === null || found.some(([v]) => equal(v, value));
  const all: [Json, string][] = found.length && !fits ? [...found, [value, ""]] : found; // what is there is shown, although it does not fit
  return { choices: all.map(([v]) => v), labels: all.map(([v, title]) => title || (typeof v === "string" ? v : write(v))) };
}

function fill(f: Field, s: Obj, value: Json | undefined, root: Json | undefined): void {
  switch (f.shape) {
    case "choice": {
      const n = value === undefined ? (s.has("const") ? 0 : -1) : f.choices.findIndex((v) => equal(v, value));
      f.input = n < 0 ? "" : String(n);
      break;
    }
    case "many":
      f.input = list(value)
        .map((v) => f.choices.findIndex((one) => equal(one, v)))
        .join(",");
      break;
    case "switch":
    case "pair":
      f.input = typeof value === "boolean" ? String(value) : "";
      break;
    case "whole":
    case "number":
      f.input = value instanceof Num ? value.text : "";
      break;
    case "text":
    case "long":
      f.input = typeof value === "string" ? value : "";
      break;
    case "list":
      f.fields = list(value).map((v, n) => field(s.get("items"), v, root, [...f.path, n], true));
      break;
    case "group":
      f.fields = groups(f, s, obj(value), root);
      break;
    case "json":
      f.input = value === undefined ? "" : write(value, 2);
      break;
    case "any":
      f.kind = "text";
      break;
  }
}

function groups(f: Field, s: Obj, value: Obj, root: Json | undefined): Field[] {
  const known = obj(s.get("properties"));
  const required = new Set(list(s.get("required")));
  const names = [...value.keys(), ...[...known.keys()].filter((k) => !value.has(k))]; // the order in which it is shown
  return names.map((k) => field(known.get(k) ?? extra(s), value.get(k), root, [...f.path, k], required.has(k)));
}

function extra(s: Obj): Json | undefined {
  const more = s.get("additionalProperties");
  return isObj(more) ? more : undefined;
}

function moved(f: Field, parent: Path, n: number | string): Field {
  const path = [...parent, n];
  return { ...f, path, label: String(n), fields: f.fields.map((x) => moved(x, path, x.path.at(-1)!)) };
}

const NEEDED = "This is needed.";

/** What is wrong, with the place inside of a field that is written as a whole. */
const said = (message: string, inside: Path): string => (inside.length ? `${nameOfPath(inside)}: ${message}` : message);

function read(f: Field, faults: Map<string, string>, root: Json | undefined): Json | undefined {
  if (f.mode === "absent") return undefined;
  if (f.mode === "null") return null;
  if (f.shape === "group") return group(f, faults, root);
  if (f.shape === "variant" && f.fields[0]) return read(f.fields[0], faults, root);
  if (f.shape === "list" && !(f.blank && !f.fields.length && f.original === undefined)) return f.fields.map((x) => read(x, faults, root) ?? null);
  if (!f.touched && f.original !== undefined) return f.original;
  if (f.blank && f.input.trim() === "") return undefined;
  const out = leaf(f.shape === "any" ? SHAPES[f.kind] : f.shape, f);
  if (typeof out === "object" && out !== null && "fault" in out) {
    faults.set(keyOf(f.path), out.fault);
    return undefined;
  }
  const [wrong] = check(f.schema, out as Json, root); // beside its field at once, whatever is wrong elsewhere
  if (wrong && f.touched) faults.set(keyOf(f.path), said(wrong.message, wrong.path));
  return out as Json;
}

const SHAPES: Record<Kind, Shape> = { text: "long", number: "number", "yes or no": "pair", JSON: "json" };

function group(f: Field, faults: Map<string, string>, root: Json | undefined): Json {
  const out: Obj = new Map();
  for (const x of f.fields) {
    const value = read(x, faults, root);
    if (value !== undefined) out.set(String(x.path.at(-1)), value);
  }
  return out;
}

type Bad = { fault: string };

function leaf(shape: Shape, f: Field): Json | Bad {
  const typed = f.input.trim();
  switch (shape) {
    case "whole":
      return whole(typed);
    case "number":
      return number(typed);
    case "many":
      return f.input === "" ? [] : f.input.split(",").map((n) => f.choices[Number(n)]!);
    case "file":
      if (f.input === "") return { fault: "Choose a file." };
      return f.kept ? new Map([["$data", f.input], ["type", f.media ?? ""], ["name", f.file ?? ""]]) : f.input;
    case "variant":
      return { fault: "Choose one." };
    case "choice":
      return f.input === "" ? { fault: "Choose one." } : f.choices[Number(f.input)]!;
    case "switch":
    case "pair":
      return f.input === "" ? { fault: "Choose yes or no." } : f.input === "true";
    case "json":
      return json(typed);
    default:
      return f.input === "" && (!f.touched || f.shape === "any") ? { fault: NEEDED } : f.input;
  }
}

function whole(typed: string): Num | Bad {
  if (!typed) return { fault: NEEDED };
  if (/^-?\d+\.\d*$/.test(typed)) return { fault: "An integer has no decimal point." };
  if (!/^-?\d+$/.test(typed)) return { fault: "An integer: digits only, no spaces or commas." };
  if (!/^-?(0|[1-9]\d*)$/.test(typed)) return { fault: "An integer does not begin with 0." };
  return new Num(typed === "-0" ? "0" : typed);
}

function number(typed: string): Num | Bad {
  if (!typed) return { fault: NEEDED };
  if (!/^-?(0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?$/.test(typed))
    return { fault: "A number such as 12 or 0.5, with a point and without spaces or commas." };
  const becomes = loses(typed);
  if (becomes) return { fault: `More digits than a number keeps: it would become ${becomes}.` };
  return new Num(typed);
}

function json(typed: string): Json | Bad {
  if (!typed) return { fault: `${NEEDED} Write it as JSON.` };
  try {
    const value = parse(typed);
    const lost = losing(value);
    return lost ? { fault: `${lost} has more digits than a number keeps: it would become ${loses(lost)}.` } : value;
  } catch (e) {
    if (e instanceof BadJson) return { fault: `Not JSON: ${e.message}.` };
    throw e;
  }
}

function losing(value: Json): string {
  if (value instanceof Num) return loses(value.text) ? value.text : "";
  if (Array.isArray(value)) return value.map(losing).find(Boolean) ?? "";
  return isObj(value) ? ([...value.values()].map(losing).find(Boolean) ?? "") : "";
}
