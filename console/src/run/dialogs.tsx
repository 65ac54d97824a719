/** Resume… and Fork. */
import { useState } from "preact/hooks";
import { at, Problem } from "../api";
import { Dialog } from "../dialog";
import { offline } from "../live";
import { go, to } from "../router";
import { Button, refused, toast } from "../ui";
import { Visible } from "../visible";
import { Inherited, usePreview } from "../origin";
import { useWish } from "../wish";
import { SEND } from "../keys";
import { nameOf } from "./tree";
import type { ForkRef, RunSummary as Run } from "../generated/types";
import type { Step } from "../types";

export function ResumeDialog({ run, steps, close }: { run: Run; steps: number; close: () => void }) {
  const [text, setText] = useState("");
  const [busy, setBusy] = useState(false);
  const wish = useWish();
  const send = (): void => {
    if (busy || offline.value) return;
    setBusy(true);
    const said = text.trim();
    wish.send(`/runs/${at(run.run_id)}/resume`, said ? { instruction: said } : {}).then(
      () => {
        close();
        toast("done", "Resumed.", said ? "The agent reads your instruction before anything else." : "");
      },
      (e: unknown) => {
        setBusy(false);
        refused("Not resumed", e);
      },
    );
  };
  return (
    <Dialog
      title="Resume"
      close={close}
      lead={<p class="sm t3">Continues at step {steps + 1}. Nothing that finished runs again.</p>}
      footer={
        <>
          <span class="grow" />
          <Button look="q" onClick={close}>
            Not yet
          </Button>
          <Button look="p" icon="play" keys={SEND} off={offline.value} busy={busy ? "Sending…" : ""} onClick={send} name="resume-now">
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
  const wish = useWish();
  const near = Number(wrong?.more.nearest ?? 0);
  const { data: preview } = usePreview(run.run_id, record, "reopen");
  const send = (): void => {
    if (busy || offline.value) return;
    setBusy(true);
    const said = text.trim();
    const from = preview?.why === "busy" ? preview.at_seq : record;
    const body = { ...(from ? { at: from } : {}), ...(said ? { instruction: said } : {}) };
    wish.send<ForkRef>(`/runs/${at(run.run_id)}/fork`, body).then(
      (made) => {
        close();
        toast("done", "Forked.", "This is the new run. The original is unchanged.");
        go(to("runs", made.run_id));
      },
      (e: unknown) => {
        setBusy(false);
        if (e instanceof Problem && (e.status === 422 || e.code === "fork_refused")) setWrong(e);
        else refused("Not forked", e);
      },
    );
  };
  return (
    <Dialog
      title={step ? `Fork from ${nameOf(step)}` : "Fork"}
      close={close}
      wide
      lead={
        <p class="t2">
          A new run that begins with everything recorded {record ? `up to record ${record}${step?.first_seq === record ? `, where ${nameOf(step)} begins` : ""}` : "so far"}, and continues from there. What is
          inherited does not run again; this run stays as it is.
        </p>
      }
      footer={
        <>
          <span class="grow" />
          <Button look="q" onClick={close}>
            Not yet
          </Button>
          <Button look="p" icon="fork" keys={SEND} off={offline.value} busy={busy ? "Sending…" : ""} onClick={send} name="fork-now">
            {record ? `Fork from record ${preview?.at_seq ?? record}` : "Fork from the last step"}
          </Button>
        </>
      }
    >
      <div class="stack">
        <div class="origin" aria-live="polite" aria-busy={!preview}>
          {preview ? (
            <>
              {preview.why ? (
                <p class="twice" data-moved={preview.why}>
                  {preview.why === "answer"
                    ? `It begins after record ${preview.at_seq}: a person’s answer came later, and is asked for again.`
                    : `It begins after record ${preview.at_seq}: at record ${preview.wanted} a call was in progress, or the run had ended.`}
                </p>
              ) : null}
              <Inherited preview={preview} future />
              <p class="sm t2 gap-top">
                No approval is inherited: whatever a rule asks about is asked again.
                {record ? "" : " To begin elsewhere, choose a step in the timeline, then Fork from here."}
              </p>
            </>
          ) : (
            <p class="sm t3">Reading what it would inherit…</p>
          )}
        </div>
        <label class="stack">
          <span class="lb">Instruction for the new run, optional</span>
          <textarea
            class="inp sans"
            data-first
            rows={2}
            placeholder="Offer a voucher, not money."
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
