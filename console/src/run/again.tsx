/** Run again…: a new run from the beginning, with the same input or another. */
import { useState } from "preact/hooks";
import { at, get } from "../api";
import { argument, here } from "../command";
import { Dialog } from "../dialog";
import { haltedFor, offline } from "../live";
import { useLoaded } from "../loading";
import { exact } from "../numbers";
import { go, to } from "../router";
import { REPEATS } from "../generated/words";
import { Failure } from "../states";
import { Button, Command, Icon, refused, RunId, toast } from "../ui";
import { Visible } from "../visible";
import { count, json } from "../words";
import { useWish } from "../wish";
import { SEND } from "../keys";
import { Item } from "./cancel";
import { ENDED } from "./verbs";
import type { AgainPreview, ProgramView as Program, RunRef, RunSummary as Run, RunView as RunState } from "../generated/types";
import type { Page } from "../types";

const SHOWN = 20;

export function AgainDialog({ run, state, close, fork }: { run: Run; state: RunState; close: () => void; fork: () => void }) {
  const programs = useLoaded((s) => get<Page<Program>>("/programs", {}, s), []);
  const isJson = typeof state.input !== "string";
  const [first] = useState(() => (isJson ? json(state.input, 2) : String(state.input)));
  const [text, setText] = useState(first);
  const [labelled, setLabelled] = useState(true);
  const [together, setTogether] = useState(false);
  const [busy, setBusy] = useState(false);
  const wish = useWish();
  const changed = text !== first;
  const labels = Object.entries(run.labels);
  let input: unknown = text;
  let wrong = "";
  if (isJson && changed) {
    try {
      input = exact(text);
    } catch (e) {
      wrong = e instanceof Error ? e.message : String(e);
    }
  }
  const known = programs.data?.items.some((p) => p.name === run.agent);
  const off =
    offline.value ||
    (programs.data && !known ? `this server has no program ${run.agent}` : "") ||
    (wrong ? "the input is not JSON yet" : "") ||
    (changed && !text.trim() ? "say what it should do" : "");
  const send = (): void => {
    if (off || busy) return;
    setBusy(true);
    const body = { ...(changed ? { input } : {}), ...(labelled ? {} : { labels: {} }), ...(together ? { same_session: true } : {}) };
    wish.send<RunRef>(`/runs/${at(run.run_id)}/again`, body).then(
      (made) => {
        close();
        toast("done", "Started.", "This is the new run. The other one is unchanged.");
        go(to("runs", made.run_id));
      },
      (e: unknown) => {
        setBusy(false);
        refused("Not started", e);
      },
    );
  };
  return (
    <Dialog
      title="Run again"
      close={close}
      lead={
        <p class="t2">
          A new run of <b><Visible text={run.agent} /></b> from the beginning. <RunId id={run.run_id} /> stays as it is; what it did is not
          undone and not reused.
        </p>
      }
      footer={
        <>
          <span class="sm t3">
            or continue from a step:{" "}
            <button type="button" class="link" onClick={fork}>
              Fork…
            </button>
          </span>
          <span class="grow" />
          <Button look="q" keys="esc" onClick={close}>
            Not now
          </Button>
          <Button look="p" icon="run" off={off} busy={busy ? "Sending…" : ""} onClick={send} keys={SEND} name="again-now">
            Start it
          </Button>
        </>
      }
    >
      <div class="stack">
        <Warning run={run} />
        {programs.data && !known ? (
          <div class="fail sm" role="alert">
            <Visible text={`This server has no program ${run.agent}. Start it where its program is:`} />
            <Command text={here(`adjourn again ${argument(run.run_id)} APP.PY:NAME`)} />
          </div>
        ) : null}
        <label class="stack">
          <span class="lb">
            Input{isJson ? ", JSON" : ""} <span class="t3">· {changed ? "changed" : "the same"}</span>
          </span>
          <textarea
            class={`inp ${isJson ? "" : "sans"}`}
            data-first
            rows={Math.min(12, Math.max(3, first.split("\n").length))}
            value={text}
            aria-invalid={wrong ? true : undefined}
            aria-describedby="again-wrong"
            onInput={(e) => setText(e.currentTarget.value)}
            onKeyDown={(e) => e.key === "Enter" && (e.metaKey || e.ctrlKey) && send()}
          />
        </label>
        <span id="again-wrong" class="sm fail">
          {wrong}
        </span>
        {haltedFor(run.agent) ? (
          <p class="sm t2" role="status">
            <Visible text={`It is held before its first step: ${haltedFor(run.agent)}.`} />
          </p>
        ) : null}
        <div class="row wrap">
          {labels.length ? (
            <label class="row">
              <input type="checkbox" checked={labelled} onChange={(e) => setLabelled(e.currentTarget.checked)} /> same labels{" "}
              <span class="sm t3 mono">
                <Visible text={labels.map(([k, v]) => `${k}=${v}`).join(" ")} />
              </span>
            </label>
          ) : null}
          {run.session ? (
            <label class="row">
              <input type="checkbox" checked={together} onChange={(e) => setTogether(e.currentTarget.checked)} /> in the same session
            </label>
          ) : null}
        </div>
      </div>
    </Dialog>
  );
}

/** What the first run did that a second one may do again, and that it is not over. */
function Warning({ run }: { run: Run }) {
  const { data, error, again } = useLoaded((s) => get<AgainPreview>(`/runs/${at(run.run_id)}/again-preview`, {}, s), []);
  const open = !ENDED.includes(run.status);
  const calls = data?.calls ?? [];
  if (error && !data) return <Failure error={error} again={again} />;
  if (!calls.length && !open) return null;
  return (
    <div class="callout wait" role="note">
      <Icon name="wait" />
      <div class="grow">
        {calls.length ? (
          <>
            <p>
              <b>A second run may do {calls.length === 1 ? "this" : `these ${calls.length} things`} again:</b>
            </p>
            <ol data-repeated>
              {calls.slice(0, SHOWN).map((call) => (
                <Item key={call.call_id} item={call} where={`step ${call.call_id}`} note={REPEATS[call.left] ?? ""} />
              ))}
            </ol>
            {calls.length > SHOWN ? <p class="sm t3">and {count(calls.length - SHOWN, "more", "more")}</p> : null}
          </>
        ) : null}
        {open ? <p>That run has not ended: both would work.</p> : null}
      </div>
    </div>
  );
}
