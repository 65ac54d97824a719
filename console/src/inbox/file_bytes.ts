/** Which files are taken, and how they are sent. */

/** A request has at most a megabyte; base64 makes four bytes of three. */
const LARGEST = 700_000;

/** Why a file is not taken, or "". */
export function refusal(file: Pick<File, "name" | "size" | "type">, accept: string): string {
  if (file.size > LARGEST) return `${file.name} was not taken: at most 700 KB.`;
  const fits = !accept || file.type === accept || (accept.endsWith("/*") && file.type.startsWith(accept.slice(0, -1)));
  return fits ? "" : `${file.name} was not taken: it must be ${accept}.`;
}

/** Bytes in base64. */
export function encoded(bytes: Uint8Array): string {
  let out = "";
  for (let from = 0; from < bytes.length; from += 0x8000) out += String.fromCharCode(...bytes.subarray(from, from + 0x8000));
  return btoa(out);
}
