/** The toast of a decision lives until its outcome: what was decided is not yet what has run. */
import { at, get } from "../api";
import type { InterruptView } from "../generated/types";
import { listen } from "../live";
import { outcomeWords } from "../told";
import { json } from "../words";
import type { Item } from "./items";
import { dismiss, toasts, type Toast } from "../ui";

const PATIENCE = 120_000;
const ENDED = new Set(["ran", "failed", "not_run", "undone"]);

let told = 0;

/** Say in the place of a toast how it went on, and when it leaves: while it still goes on, not at all. It has a name of its own, so
 * that it does not leave with the one before it. */
function retell(before: Toast, text: string, tone: Toast["tone"], ended: boolean): Toast {
  const after = { ...before, id: --told, text, tone };
  if (!toasts.peek().some((t) => t.id === before.id)) return before; // the person has closed it
  toasts.value = toasts.value.map((t) => (t.id === before.id ? after : t));
  if (ended && tone !== "fail") setTimeout(() => dismiss(after.id), 8000);
  return after;
}

/** Follow what comes of the call that `ref` was about, and say it in the toast. */
export function follow({ ref, run, call }: Item, first: Toast): void {
  let toast = first;
  let reading = false;
  const look = async (): Promise<void> => {
    if (reading) return;
    reading = true;
    try {
      const { outcome } = await get<InterruptView>(`/interrupts/${at(ref)}`);
      if (!outcome) return stop();
      const result = outcome.state === "ran" && outcome.result !== null ? `: ${json(outcome.result).slice(0, 120)}` : "";
      const sorry = outcome.state === "failed" ? " The model was told." : "";
      const ended = ENDED.has(outcome.state);
      toast = retell(toast, `${call?.tool ?? ""} ${outcomeWords(outcome)}${result}.${sorry}`, outcome.state === "failed" ? "fail" : toast.tone, ended);
      if (ended) stop();
    } catch {
      stop(); // the record is safe; the run's page has the rest
    } finally {
      reading = false;
    }
  };
  const end = listen({
    changed: (c) => {
      if (c.more || c.closed.includes(ref) || c.runs.some((r) => r.run_id === run)) void look();
    },
  });
  const patience = setTimeout(() => stop(), PATIENCE);
  function stop(): void {
    clearTimeout(patience);
    end();
  }
  void look();
}
