/** Which files are taken, and how they are sent. */

/** A request has at most a megabyte; base64 makes four bytes of three. */
export const LARGEST = 700_000;

const BYTES = "application/octet-stream";

/** A file as it is sent: see the guide to images and files. */
export interface Given {
  $data: string;
  type: string;
  name: string;
}

/** A file that a person chose. What the system has no type for is text, if it reads as text. */
export async function given(file: File): Promise<Given> {
  const bytes = new Uint8Array(await file.arrayBuffer());
  const type = file.type && file.type !== BYTES ? file.type : isText(bytes) ? "text/plain" : BYTES;
  return { $data: encoded(bytes), type, name: file.name.slice(0, 200) };
}

function isText(bytes: Uint8Array): boolean {
  try {
    new TextDecoder("utf-8", { fatal: true }).decode(bytes);
    return true;
  } catch {
    return false;
  }
}

/** Why a file is not taken, or "". */
export function refusal(file: Pick<File, "name" | "size" | "type">, accept: string, room = LARGEST): string {
  if (file.size > room) return `${file.name} was not taken: at most 700 KB${room < LARGEST ? " together" : ""}.`;
  if (!file.size) return `${file.name} was not taken: it is empty.`;
  const fits = !accept || file.type === accept || (accept.endsWith("/*") && file.type.startsWith(accept.slice(0, -1)));
  return fits ? "" : `${file.name} was not taken: it must be ${accept}.`;
}

/** Bytes in base64. */
export function encoded(bytes: Uint8Array): string {
  let out = "";
  for (let from = 0; from < bytes.length; from += 0x8000) out += String.fromCharCode(...bytes.subarray(from, from + 0x8000));
  return btoa(out);
}
