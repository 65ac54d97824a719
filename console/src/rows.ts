/** Every run's row that this page knows, each a signal of its own: a change redraws one row and nothing else. */
import { signal, type Signal } from "@preact/signals";
import type { Run } from "./types";

const rows = new Map<string, Signal<Run>>();

/** A run's row, if it is known. */
export const row = (id: string): Signal<Run> | undefined => rows.get(id);

/** Take in rows; gives how many records are new in those that were known. */
export function merge(found: Run[]): number {
  let fresh = 0;
  for (const run of found) {
    const had = rows.get(run.id);
    if (!had) {
      rows.set(run.id, signal(run));
      continue;
    }
    const old = had.peek();
    if (run.seq < old.seq) continue;
    fresh += run.seq - old.seq;
    if (
      run.seq !== old.seq ||
      run.status !== old.status ||
      run.updated_at !== old.updated_at ||
      run.worker !== old.worker ||
      run.held.join() !== old.held.join()
    )
      had.value = run;
  }
  return fresh;
}
