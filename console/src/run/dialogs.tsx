/** Resume… and Fork. */
import { useState } from "preact/hooks";
import { at, intent, post, Problem } from "../api";
import { Dialog } from "../dialog";
import { offline } from "../live";
import { go, to } from "../router";
import { Button, refused, toast } from "../ui";
import { Visible } from "../visible";
import type { ForkRef, RunSummary as Run } from "../generated/types";
import type { Step } from "../types";

export function ResumeDialog({ run, steps, close }: { run: Run; steps: number; close: () => void }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const [key, setKey] = useState(intent);
  const send = (): void => {
    if (busy || offline.value) return;
    setBusy(true);
    const said = text.trim();
    post(`/runs/${at(run.run_id)}/resume`, said ? { instruction: said } : {}, key).then(
      () => {
        close();
        toast("done", "Resumed.", said ? "The agent reads your instruction before anything else." : "");
      },
      (e: unknown) => {
        setBusy(false);
        setKey(intent());
        refused("Not resumed", e);
      },
    );
  };
  return (
    <Dialog
      title="Resume"
      close={close}
      lead={<p class="sm t3">Goes on at step {steps + 1}. Nothing that finished runs again.</p>}
      footer={
        <>
          <span class="grow" />
          <Button look="q" onClick={close}>
            Not yet
          </Button>
          <Button look="p" icon="play" keys="⌘↵" off={offline.value} busy={busy ? "Sending…" : ""} onClick={send} name="resume-now">
            Resume
          </Button>
        </>
      }
    >
      <label class="stack">
        <span class="hide">Instruction</span>
        <textarea
          class="inp sans"
          data-first
          rows={3}
          value={text}
          maxLength={10000}
          aria-label="Instruction"
          placeholder="Summarise what you have and stop."
          onInput={(e) => setText(e.currentTarget.value)}
          onKeyDown={(e) => e.key === "Enter" && (e.metaKey || e.ctrlKey) && send()}
        />
        <span class="sm t3">The agent reads this before anything else. Optional.</span>
      </label>
    </Dialog>
  );
}

export function ForkDialog({ run, step, close }: { run: Run; step: Step | null; close: () => void }) {
  const [text, setText] = useState("");
  const [record, setRecord] = useState(step?.first_seq ?? 0);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState<Problem | null>(null);
  const [key, setKey] = useState(intent);
  const near = Number(wrong?.more.nearest ?? 0);
  const send = (): void => {
    if (busy || offline.value) return;
    setBusy(true);
    const said = text.trim();
    post<ForkRef>(
      `/runs/${at(run.run_id)}/fork`,
      { ...(record ? { at: record } : {}), ...(said ? { instruction: said } : {}) },
      key,
    ).then(
      (made) => {
        close();
        toast("done", "Forked.", "This is the new run. The original is unchanged.");
        go(to("runs", made.run_id));
      },
      (e: unknown) => {
        setBusy(false);
        setKey(intent());
        if (e instanceof Problem && (e.status === 422 || e.code === "fork_refused")) setWrong(e);
        else refused("Not forked", e);
      },
    );
  };
  return (
    <Dialog
      title={record ? `Fork from record ${record}` : "Fork"}
      close={close}
      lead={
        <p class="t2">
          A new run with everything that was recorded {record ? "up to there" : "so far"}. Nothing that finished runs again; this run stays
          as it is. Open approvals are asked again.
        </p>
      }
      footer={
        <>
          <span class="grow" />
          <Button look="q" onClick={close}>
            Not yet
          </Button>
          <Button look="p" icon="fork" keys="⌘↵" off={offline.value} busy={busy ? "Sending…" : ""} onClick={send} name="fork-now">
            {record ? `Fork from record ${record}` : "Fork from the last step"}
          </Button>
        </>
      }
    >
      <div class="stack">
        <label class="stack">
          <span class="lb">Instruction for the new run, optional</span>
          <textarea
            class="inp sans"
            data-first
            rows={3}
            value={text}
            maxLength={10000}
            onInput={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => e.key === "Enter" && (e.metaKey || e.ctrlKey) && send()}
          />
        </label>
        {wrong ? (
          <p class="fail sm" role="alert">
            Not forked: <Visible text={String(wrong.more.what ?? wrong.detail)} />.{" "}
            {near ? (
              <button
                type="button"
                class="link"
                onClick={() => {
                  setRecord(near);
                  setWrong(null);
                }}
              >
                Take record {near}
              </button>
            ) : null}
          </p>
        ) : null}
      </div>
    </Dialog>
  );
}
