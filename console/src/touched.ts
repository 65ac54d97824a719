/** What a halt means for something that waits for a person: the same words wherever it stands, and only where they are true. */
import { haltOn } from "./live";
import { scopeWords } from "./words";

/** "approve after the unhalt: tool refund is halted", or "" where no halt that is on touches it. */
export function afterUnhalt(kind: string, agents: readonly string[], tool: string): string {
  if (kind === "question" || kind === "event" || kind === "timer") return "";
  const on = haltOn(agents, tool ? [tool] : []);
  if (!on) return "";
  return `${kind === "approval" ? "approve" : "decide"} after the unhalt: ${scopeWords(on.scope)} is halted`;
}
