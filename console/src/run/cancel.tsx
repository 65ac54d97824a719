/** Cancel…: what will happen, in the order in which it will; read again when it is confirmed. */
import { useState } from "preact/hooks";
import { at, get } from "../api";
import { Dialog } from "../dialog";
import { useLoaded } from "../loading";
import { offline } from "../live";
import { Failure } from "../states";
import { Button, Icon, refused, toast } from "../ui";
import { LongText } from "../values";
import { Visible } from "../visible";
import { count, json, shortId } from "../words";
import { Big } from "../numbers";
import { useWish } from "../wish";
import type { CancelPreview as Preview, RunSummary as Run, CallView as Undoing, Residue } from "../generated/types";
import type { Step } from "../types";

export function CancelDialog({ run, steps, close, pause }: { run: Run; steps: Step[]; close: () => void; pause: (() => void) | null }) {
  const { data, error, again } = useLoaded((s) => get<Preview>(`/runs/${at(run.run_id)}/cancel-preview`, {}, s), []);
  const [shown, setShown] = useState<Preview | null>(null);
  const [changed, setChanged] = useState<string[]>([]);
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const wish = useWish();
  const now = shown ?? data;
  const n = now?.undo.length ?? 0;
  const confirm = async (): Promise<void> => {
    if (!now || busy || offline.value) return;
    setBusy(true);
    try {
      const fresh = await get<Preview>(`/runs/${at(run.run_id)}/cancel-preview`);
      const differs = difference(now, fresh);
      if (differs.length) {
        setShown(fresh);
        setChanged(differs);
        setBusy(false);
        return;
      }
      await wish.send(`/runs/${at(run.run_id)}/cancel`, reason.trim() ? { reason: reason.trim() } : {});
      close();
      toast("done", "Cancel recorded.", whatFollows(now));
    } catch (e) {
      setBusy(false);
      refused("Not cancelled", e);
    }
  };
  const stepOf = (call: string): string => {
    const found = steps.find((s) => s?.call_id === call);
    return found ? `step ${found.call_id}` : "";
  };
  return (
    <Dialog
      title="Cancel this run?"
      close={close}
      wide
      lead={
        <>
          <p class="t2">
            <Visible text={run.title || run.agent} />{" "}
            <span class="t3">
              · <Visible text={run.agent} /> · <span class="mono">{shortId(run.run_id)}</span>
            </span>
          </p>
          <p class="gap-top">
            It stops now. What it did is then undone, last thing first. You can watch it, and a crash does not lose the list.
          </p>
        </>
      }
      footer={
        <>
          {pause ? (
            <Button
              look="q"
              icon="pause"
              onClick={() => {
                close();
                pause();
              }}
            >
              Pause instead
            </Button>
          ) : null}
          <span class="grow" />
          <span data-safe>
            <Button big keys="esc" onClick={close}>
              Keep running
            </Button>
          </span>
          <Button
            big
            look="dp"
            off={offline.value || (now ? "" : "what it would do is still being read")}
            busy={busy ? "Sending…" : ""}
            onClick={() => void confirm()}
            name="cancel-now"
          >
            {n ? `Cancel and undo ${n}` : "Cancel the run"}
          </Button>
        </>
      }
    >
      {changed.length ? (
        <div class="changed" role="alert">
          <b>It changed while you were reading. Nothing was cancelled.</b>
          <ul>
            {changed.map((line) => (
              <li key={line}>
                <Visible text={line} />
              </li>
            ))}
          </ul>
          <p class="sm">Look again, then decide.</p>
        </div>
      ) : null}
      {error && !now ? <Failure error={error} again={again} /> : null}
      {now ? <What preview={now} stepOf={stepOf} /> : null}
      <label class="stack gap-top">
        <span class="hide">Reason, for the record</span>
        <input
          class="inp sans"
          aria-label="Reason, for the record"
          placeholder="Reason, for the record"
          value={reason}
          maxLength={10000}
          onInput={(e) => setReason(e.currentTarget.value)}
        />
      </label>
      <p class="sm t3 gap-top">
        Kept: {count(steps.filter((s) => s?.status === "completed" || s?.kind === "model").length, "finished step")} and all text.
        Cancelling cannot be undone, but you can fork from any step.
      </p>
    </Dialog>
  );
}

function What({ preview: p, stepOf }: { preview: Preview; stepOf: (call: string) => string }) {
  return (
    <>
      {p.in_flight.length ? (
        <Part
          tone="wait"
          icon="doubt"
          title={`First, ${p.in_flight.length === 1 ? "one call" : count(p.in_flight.length, "call")} in flight ${p.in_flight.length === 1 ? "settles" : "settle"}`}
        >
          {p.in_flight.map((c) => (
            <Item
              key={c.call_id}
              item={c}
              where={stepOf(c.call_id)}
              note={c.undo ? "Given time to finish. If it happened, its undo is added on top of the list below." : "Given time to finish."}
            />
          ))}
        </Part>
      ) : null}
      {p.undo.length ? (
        <Part
          tone="done"
          icon="undo"
          title={`${p.in_flight.length ? "Then " : ""}${count(p.undo.length, "thing is", "things are")} undone`}
        >
          {p.undo.map((c, i) => (
            <Item key={c.call_id} item={c} n={i + 1} where={stepOf(c.call_id)} undo />
          ))}
        </Part>
      ) : (
        <Part tone="t2" icon="undo" title="Nothing has to be undone" />
      )}
      {p.residue.length ? (
        <Part
          tone="fail"
          icon="fail"
          title={`${count(p.residue.length, "thing stays", "things stay")} as ${p.residue.length === 1 ? "it is" : "they are"}`}
        >
          {p.residue.map((c) => (
            <Item key={c.call_id} item={c} where={stepOf(c.call_id)} note={`${why(c)} It will be listed on the run as residue.`} />
          ))}
        </Part>
      ) : null}
    </>
  );
}

/** What a cancel does next, calls in flight included: they settle first, and may have to be undone. */
function whatFollows(p: Preview): string {
  const flying = p.in_flight.length;
  const undoable = p.in_flight.filter((c) => c.undo).length;
  const first = flying ? `${count(flying, "call")} in flight ${flying === 1 ? "settles" : "settle"} first. ` : "";
  if (p.undo.length) return `${first}Then ${count(p.undo.length, "thing is", "things are")} undone, last thing first${undoable ? ", and what was in flight if it happened" : ""}.`.replace(/^Then (.)/, (_, c: string) => c.toUpperCase());
  if (undoable) return `${first}If it happened, it is undone.`;
  return `${first}There is nothing to undo.`;
}

const why = (c: Residue): string => {
  const text = c.why || "the tool has no undo";
  return text.charAt(0).toUpperCase() + text.slice(1) + (text.endsWith(".") ? "" : ".");
};

function Part({ tone, icon, title, children }: { tone: string; icon: string; title: string; children?: preact.ComponentChildren }) {
  return (
    <section>
      <h2 class={`dh ${tone}`}>
        <Icon name={icon} />
        {title}
      </h2>
      <ol>{children}</ol>
    </section>
  );
}

export function Item({ item, n, where, note, undo = false }: { item: Undoing | Residue; n?: number; where: string; note?: string; undo?: boolean }) {
  return (
    <li class="un" data-call={item.call_id}>
      <span class="ix">{n ?? ""}</span>
      <span>
        {undo ? <span class="t3 sm">undo </span> : null}
        <b class="mono">
          <Visible text={item.tool} />
        </b>{" "}
        <span class="mono t3">
          <LongText text={named(item.arguments)} limit={400} />
        </span>
        {note ? (
          <div class="sm t2">
            <Visible text={note} />
          </div>
        ) : null}
      </span>
      <span class="sm t3 nowrap">{where}</span>
    </li>
  );
}

/** `host="kestrel.staging", force=false`. */
function named(args: unknown): string {
  if (args && typeof args === "object" && !Array.isArray(args) && !(args instanceof Big))
    return Object.entries(args)
      .map(([k, v]) => `${k}=${json(v)}`)
      .join(", ");
  return args === undefined || args === null ? "" : json(args);
}

/** What is different between what was read and what would happen now. */
function difference(old: Preview, fresh: Preview): string[] {
  const lines: string[] = [];
  const parts = [
    ["in_flight", "in flight"],
    ["undo", "to undo"],
    ["residue", "stays"],
  ] as const;
  for (const [part, word] of parts) {
    const [a, b] = [old[part].map((c) => c.call_id), fresh[part].map((c) => c.call_id)];
    for (const c of fresh[part]) if (!a.includes(c.call_id)) lines.push(`now ${word}: ${c.tool}`);
    for (const c of old[part]) if (!b.includes(c.call_id)) lines.push(`no longer ${word}: ${c.tool}`);
  }
  return lines;
}
