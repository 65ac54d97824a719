/** Commands that work when they are pasted: with the place of these runs, as far as whoever looks may know it. */
import { me } from "./api";
import { onStore } from "./shell";
export { argument, quoted } from "./shell";

/** A command about what this server shows. */
export function here(command: string): string {
  const store = me.value?.store;
  return store ? onStore(command, store) : command;
}
