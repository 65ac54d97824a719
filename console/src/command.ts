/** Commands that work when they are pasted: with the place of these runs, as far as whoever looks may know it. */
import { me } from "./api";

/** One word of a shell. */
export const quoted = (text: string): string => (/^[\w@%+:,./-]+$/.test(text) ? text : `'${text.replaceAll("'", `'"'"'`)}'`);

/** A command about what this server shows. */
export function here(command: string): string {
  const store = me.value?.store;
  return store ? `${command} --db ${quoted(store)}` : command;
}
