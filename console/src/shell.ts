/** Words of a shell: what a command of the console means when it is pasted, whatever an id or a reason contains. */
import { visible } from "./visible";

const bytes = new TextEncoder();

function escaped(char: string): string {
  if (char === "'" || char === "\\") return `\\${char}`;
  if (char >= " " && char <= "~") return char;
  return [...bytes.encode(char)].map((byte) => `\\x${byte.toString(16).padStart(2, "0")}`).join("");
}

/** One word of a shell. What cannot normally be seen is written as bytes, as the command line writes it. */
export function quoted(text: string): string {
  if (visible(text) !== text) return `$'${[...text].map(escaped).join("")}'`;
  return /^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`;
}

/** The first argument of a command: not an option, although it may look like one. */
export const argument = (text: string): string => (text.startsWith("-") ? `-- ${quoted(text)}` : quoted(text));

/** A command with where it has to look; behind two dashes there are no options any more. */
export function onStore(command: string, store: string): string {
  const db = `--db ${quoted(store)}`;
  const last = /^(adjourn \S+) (-- .*)$/s.exec(command);
  return last ? `${last[1]} ${db} ${last[2]}` : `${command} ${db}`;
}
