/** Every run's row that this page knows, each a signal of its own: a change redraws one row and nothing else. */
import { signal, type Signal } from "@preact/signals";
import type { RunSummary as Run, RunView } from "./generated/types";

const rows = new Map<string, Signal<Run>>();

/** What a list shows of a run that was read whole. */
export function summaryOf(view: RunView): Run {
  const { run_id, agent, kind, status, title, session, labels, seq, epoch, worker } = view;
  const { open_interrupts, held_by, created_at, updated_at, wake_at, erased_at } = view;
  return { run_id, agent, kind, status, title, session, labels, seq, epoch, worker, open_interrupts, held_by, created_at, updated_at, wake_at, erased_at };
}

/** A run's row, if it is known. */
export const row = (id: string): Signal<Run> | undefined => rows.get(id);

/** Take in rows; gives how many records are new in those that were known. */
export function merge(found: Run[]): number {
  let fresh = 0;
  for (const run of found) {
    const had = rows.get(run.run_id);
    if (!had) {
      rows.set(run.run_id, signal(run));
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
      run.held_by.join() !== old.held_by.join()
    )
      had.value = run;
  }
  return fresh;
}
