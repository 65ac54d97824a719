/** What changed between two actions: per field, old → new. */
import { equal, isObj, type Json } from "./json";
import { nameOfPath, type Path } from "./schema";

/** `was` or `now` undefined: the field was not there, or is not there any more. */
export interface Change {
  path: Path;
  name: string;
  was: Json | undefined;
  now: Json | undefined;
}

/** Every leaf that differs, in the order of the new value; what is gone comes after. A change of type is a change. */
export function diff(was: Json | undefined, now: Json | undefined, path: Path = []): Change[] {
  if (was === undefined || now === undefined) return was === now ? [] : [change(path, was, now)];
  if (equal(was, now)) return [];
  if (isObj(was) && isObj(now)) {
    const out: Change[] = [];
    for (const [name, value] of now) out.push(...diff(was.get(name), value, [...path, name]));
    for (const [name, value] of was) if (!now.has(name)) out.push(change([...path, name], value, undefined));
    return out;
  }
  if (Array.isArray(was) && Array.isArray(now)) {
    const out: Change[] = [];
    for (let n = 0; n < Math.max(was.length, now.length); n += 1) out.push(...diff(was[n], now[n], [...path, n]));
    return out;
  }
  return [change(path, was, now)];
}

const change = (path: Path, was: Json | undefined, now: Json | undefined): Change => ({ path, name: nameOfPath(path), was, now });
