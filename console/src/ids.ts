/** How ids are written: only this module takes one apart or builds one. The server's `core.ids` says the same, and a test compares them. */

/** What the ids below a path begin with. */
export const labelOf = (path: string): string => (path ? `${path}/` : "");

/** The paths from the root, which is not among them, down to this one, which is. */
export function ancestors(path: string): string[] {
  const parts = path ? path.split("/") : [];
  return parts.map((_, n) => parts.slice(0, n + 1).join("/"));
}

/** `3.0/1.0!undo` → `1.0`: where a call is inside its agent, or the one that is undone. */
export const ownPart = (call: string): string => call.slice(call.lastIndexOf("/") + 1).replace(/!.*$/, "");

/** Whether a reply asked for this call: `2.1` is a call of reply `2`, and `2.1/0.0` is not. */
export const isCallOf = (call: string, turn: string): boolean => call.startsWith(`${turn}.`) && !call.includes("/", turn.length);

/** A flow's call without its counts: `if#0/ask#1` and `if#1/ask#0` are the same place in the graph. */
export const placeOf = (call: string): string => call.replace(/#\d+(?:\[\d+\])?/g, "");

/** What the places in one branch of a batch begin with. */
export const branchLabel = (batch: string, key: string): string => `${batch}.${key}/`;

/** An interrupt's id inside its run, from its ref. */
export const localOf = (run: string, ref: string): string => ref.slice(run.length + 1);

/** What a fork is of: the run, and the record after which it was cut. */
export function forkOf(text: string): { run: string; record: number } {
  const cut = text.lastIndexOf("@");
  return { run: text.slice(0, cut), record: Number(text.slice(cut + 1)) };
}

/** The name of a worker's machine, as people know it. */
export const hostOf = (machine: string): string => machine.replace(/\/.*$/, "");

/** Whether a line of the audit is about a run: others have a scope that no run can be called. */
export const isRun = (scope: string): boolean => scope !== "" && !scope.startsWith("@");

/** Whether a halt is of an `agent` or a `tool`, and the name; `*` is everything. */
export function scopeParts(scope: string): { kind: string; name: string } {
  const [kind = "", ...name] = scope.split(":");
  return { kind, name: name.join(":") };
}
