/** What people may do with a run: all seven verbs, always in the same place; those that are off say why. */
import { useState } from "preact/hooks";
import { at, denied, intent, post } from "../api";
import { haltedFor, offline } from "../live";
import { Button, refused, say } from "../ui";
import type { RunSummary as Run } from "../generated/types";

export const ENDED = ["completed", "cancelled", "stopped"];

/** Why each verb is off, or "". */
export function reasons(run: Run): Record<"say" | "pause" | "now" | "resume" | "fork" | "again" | "cancel", string> {
  const none = denied("control") || offline.value;
  const over = ENDED.includes(run.status) ? `the run has ended: ${run.status}` : "";
  const undoing = run.status === "cancelling" || run.status === "stuck" ? "it is being cancelled" : "";
  return {
    say: none || over || undoing,
    pause: none || over || undoing || (run.status === "paused" ? "it is paused" : run.status === "pausing" ? "it pauses already" : ""),
    now: none || over || undoing || (run.status === "paused" ? "it is paused" : ""),
    resume:
      none || over || undoing || (run.status === "paused" || run.status === "pausing" ? "" : "it is not paused") || haltedFor(run.agent),
    fork: none,
    again: none,
    cancel: none || over || undoing,
  };
}

export type Ask = "" | "resume" | "fork" | "again" | "cancel";

interface Props {
  run: Run;
  ask: (what: Ask) => void;
  speak: () => void;
}

/** Pause, once; what it says until the store has recorded it. */
export function usePause(run: Run): { send: (now: boolean) => void; busy: "" | "pause" | "now" } {
  const [busy, setBusy] = useState<"" | "pause" | "now">("");
  const send = (now: boolean): void => {
    if (busy || reasons(run)[now ? "now" : "pause"]) return;
    setBusy(now ? "now" : "pause");
    post(`/runs/${at(run.run_id)}/pause`, { now }, intent())
      .then(
        () => say("Pause recorded."),
        (e: unknown) => refused("Not paused", e),
      )
      .finally(() => setBusy(""));
  };
  return { send, busy };
}

export function Verbs({ run, ask, speak }: Props) {
  const off = reasons(run);
  const { send, busy } = usePause(run);
  return (
    <div class="row verbs" role="group" aria-label="What you can do">
      <Button icon="model" keys="s" off={off.say} onClick={speak} name="say">
        Say
      </Button>
      <span class="bs">
        <Button
          icon="pause"
          keys="p"
          off={run.status === "pausing" ? "" : off.pause}
          busy={busy === "pause" ? "Sending…" : run.status === "pausing" ? "Pausing…" : ""}
          onClick={() => send(false)}
          name="pause"
        >
          Pause
        </Button>
        <Button off={off.now} busy={busy === "now" ? "Sending…" : ""} onClick={() => send(true)} name="pause-now">
          Pause now
        </Button>
      </span>
      <Button icon="play" off={off.resume} keys="r" onClick={() => ask("resume")} name="resume">
        Resume…
      </Button>
      <Button icon="fork" keys="f" off={off.fork} onClick={() => ask("fork")} name="fork">
        Fork
      </Button>
      <Button icon="run" off={off.again} onClick={() => ask("again")} name="again">
        Run again…
      </Button>
      <Button icon="cancel" look="d" off={off.cancel} onClick={() => ask("cancel")} name="cancel">
        Cancel…
      </Button>
    </div>
  );
}

/** On a phone: the two that are wanted most, and the rest behind one more. */
export function PhoneVerbs({ run, ask, speak }: Props) {
  const off = reasons(run);
  const { send, busy } = usePause(run);
  const [more, setMore] = useState(false);
  const paused = run.status === "paused";
  const then = (what: () => void) => (): void => {
    setMore(false);
    what();
  };
  return (
    <div class="phone-verbs" role="group" aria-label="What you can do, phone">
      {more ? (
        <div class="stack" id="more-verbs">
          <Button off={off.now} onClick={then(() => send(true))}>
            Pause now
          </Button>
          {paused ? null : (
            <Button icon="play" off={off.resume} onClick={then(() => ask("resume"))}>
              Resume…
            </Button>
          )}
          <Button icon="fork" off={off.fork} onClick={then(() => ask("fork"))}>
            Fork
          </Button>
          <Button icon="run" off={off.again} onClick={then(() => ask("again"))}>
            Run again…
          </Button>
          <Button icon="cancel" look="d" off={off.cancel} onClick={then(() => ask("cancel"))}>
            Cancel…
          </Button>
        </div>
      ) : null}
      <div class="row">
        <Button icon="model" off={off.say} onClick={speak}>
          Say
        </Button>
        {paused ? (
          <Button icon="play" off={off.resume} onClick={() => ask("resume")}>
            Resume…
          </Button>
        ) : (
          <Button
            icon="pause"
            off={run.status === "pausing" ? "" : off.pause}
            busy={busy ? "Sending…" : run.status === "pausing" ? "Pausing…" : ""}
            onClick={() => send(false)}
          >
            Pause
          </Button>
        )}
        <Button icon="chev" expanded={more} onClick={() => setMore(!more)}>
          More
        </Button>
      </div>
    </div>
  );
}
