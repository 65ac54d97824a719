/** An answer in one line of a list: what was typed as a secret is not in it, and of a long one there is the beginning. */
import type { Item } from "./items";
import { brief, isObj, obj, short, text, type Json } from "./json";
import { resolve } from "./schema";

const MOST = 6;
const DOTS = "•••";

export function answerOf(i: Item, value: Json): string {
  const root = i.schema ?? null;
  const part = (at: Json | undefined, v: Json): string => {
    const schema = resolve(at ?? null, root).schema;
    if (schema.get("writeOnly") === true || text(schema.get("format")) === "password") return DOTS;
    if (typeof v === "boolean") return v ? "yes" : "no"; // as the form has it
    return Array.isArray(v) && v.length && v.every((x) => typeof x === "string") ? v.map(short).join(", ") : short(v);
  };
  if (!isObj(value)) return brief(part(root, value));
  const schema = resolve(root, root).schema;
  const fields = obj(schema.get("properties"));
  const all = [...value].map(([k, v]) => `${brief(text(resolve(fields.get(k) ?? null, root).schema.get("title")) || k)}: ${part(fields.get(k), v)}`);
  return brief(all.slice(0, MOST).join(", ") + (all.length > MOST ? ", …" : ""));
}
