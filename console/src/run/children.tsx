/** The agents that this run's agent called. */
import { Empty } from "../states";
import { Pill } from "../ui";
import { Visible } from "../visible";
import type { RunView as RunState } from "../generated/types";
import type { Step } from "../types";

export function Children({ state, steps, open }: { state: RunState; steps: Step[]; open: (step: Step) => void }) {
  if (!state.children.length) {
    return (
      <Empty icon="child" title="No children">
        <p>When this agent calls another one, its work is listed here and nested in the timeline.</p>
      </Empty>
    );
  }
  return (
    <ul class="card kids" aria-label="Children">
      {state.children.map((c) => {
        const step = steps.find((s) => s?.call_id === c.path);
        return (
          <li key={c.path}>
            <div class="row">
              <b>
                <Visible text={c.agent} />
              </b>
              <Pill status={step?.status || (c.done ? "completed" : "running")} />
              <span class="grow" />
              {step ? (
                <button type="button" class="link sm t3" onClick={() => open(step)}>
                  step {c.path}
                </button>
              ) : null}
            </div>
            <p class="t2 prose clamp">
              <Visible text={c.text.slice(0, 400)} />
            </p>
          </li>
        );
      })}
    </ul>
  );
}
