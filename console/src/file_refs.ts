/** References to files, as values have them. */
import { many } from "./words";

/** What a record says of a file. */
export interface FileRef {
  digest: string;
  type: string;
  size: number;
  name: string;
}

const DIGEST = /^[0-9a-f]{64}$/;

/** The files that a value refers to, in order; it may be as the page reads JSON, or as the inbox does, without loss. */
export function filesIn(value: unknown): FileRef[] {
  if (Array.isArray(value)) return value.flatMap(filesIn);
  if (!value || typeof value !== "object") return [];
  const known = value instanceof Map ? (value as Map<string, unknown>) : new Map(Object.entries(value));
  const [digest, type, size, name] = ["$file", "type", "size", "name"].map((key) => known.get(key));
  if (typeof digest === "string" && DIGEST.test(digest) && typeof type === "string")
    return [{ digest, type, size: Number(size) || 0, name: typeof name === "string" ? name : "" }];
  return [...known.values()].flatMap(filesIn);
}

/** `812 bytes`, `40 KB`, `1.2 MB`. */
export function sizeWords(size: number): string {
  if (size < 1024) return `${many(size)} bytes`;
  return size < 1024 * 1024 ? `${Math.round(size / 1024)} KB` : `${(size / 1024 / 1024).toFixed(1)} MB`;
}
