/** The same to all chosen runs, with one reason; what came of each is said run by run. */
import { useEffect, useState } from "preact/hooks";
import { denied, intent, post } from "../api";
import { Dialog } from "../dialog";
import { useKeys } from "../keys";
import { wear } from "../late_style";
import { offline } from "../live";
import { useLoaded } from "../loading";
import { go } from "../router";
import { row } from "../rows";
import { Failure } from "../states";
import { Button, Pill, refused, RunId, say } from "../ui";
import { Visible } from "../visible";
import { count, many } from "../words";
import type { BulkItem } from "../generated/types";
import css from "./bulk.late.css";
import { asking, chosen, MOST, type BulkVerb } from "./chosen";
import type { List } from "./list";

wear(css);

type Verb = BulkVerb;
const WORDS: Record<Verb, { act: string; done: string; lead: string }> = {
  pause: { act: "Pause", done: "Pausing", lead: "Each stops at its next boundary. A call that runs finishes and is recorded." },
  resume: { act: "Resume", done: "Resumed", lead: "Each continues where it stopped; failed ones are tried again. Nothing that has finished runs again." },
  cancel: { act: "Cancel", done: "Cancelling", lead: "Each stops, then undoes what it did, last thing first." },
  deny: { act: "Deny", done: "Denied", lead: "Every call of theirs that waits for an approval is denied. Their models read the reason." },
};

/** Which statuses a verb fits. */
const FITS: Record<Verb, (status: string) => boolean> = {
  pause: (s) => ["running", "ready", "waiting", "held"].includes(s),
  resume: (s) => s === "paused" || s === "pausing" || s === "failed",
  cancel: (s) => !["completed", "cancelled", "stopped", "cancelling"].includes(s),
  deny: (s) => s === "waiting" || s === "held",
};

/** Ask the server: denying needs the right to decide, the others that to control. */
const tell = async (verb: Verb, body: Record<string, unknown>, key?: string): Promise<BulkItem[]> =>
  (await (verb === "deny" ? post<Told>("/runs/deny-all", body, key) : post<Told>("/runs/bulk", { verb, ...body }, key))).items;

interface Told {
  items: BulkItem[];
}

export function BulkBar({ list }: { list: List }) {
  const verb = asking.value;
  const setVerb = (next: Verb | null): void => {
    asking.value = next;
  };
  const ids = [...chosen.ids.value];
  const loaded = list.ids.length;
  const [reading, setReading] = useState(false);
  const all = async (): Promise<void> => {
    setReading(true);
    await list.readOn(MOST);
    setReading(false);
    chosen.choose(list.ids.slice(0, MOST));
  };
  /** How many there are, as far as that is known. */
  const total = list.whole ? many(loaded) : `more than ${many(loaded)}`;
  useEffect(
    () => () => {
      chosen.choose([]);
      asking.value = null;
    },
    [],
  );
  useKeys({ Escape: () => chosen.choose([]) });
  const statuses = ids.map((id) => row(id)?.value.status ?? "");
  const off = (v: Verb): string => {
    const right = denied(v === "deny" ? "decide" : "control");
    if (right || offline.value) return right || offline.value;
    if (ids.length > MOST) return `at most ${MOST} at once`;
    return statuses.some(FITS[v]) ? "" : `no chosen run fits: ${WORDS[v].act.toLowerCase()}`;
  };
  if (!ids.length) return null;
  return (
    <>
      <div class="bulk" role="region" aria-label="Chosen runs">
        <b>{many(ids.length)} chosen</b>
        <span class="t3 sm">of {total}</span>
        {ids.length < Math.min(loaded, MOST) || (!list.whole && loaded < MOST) ? (
          <button type="button" class="link sm" disabled={reading} onClick={() => void all()}>
            {reading ? "reading them…" : loaded > MOST ? `choose the newest ${many(MOST)}` : list.whole ? `choose all ${many(loaded)}` : "choose all"}
          </button>
        ) : null}
        <span class="grow" />
        <Button name="bulk-resume" icon="play" off={off("resume")} onClick={() => setVerb("resume")}>
          Resume…
        </Button>
        <Button name="bulk-pause" icon="pause" off={off("pause")} onClick={() => setVerb("pause")}>
          Pause…
        </Button>
        <Button name="bulk-deny" off={off("deny")} onClick={() => setVerb("deny")}>
          Deny with one note…
        </Button>
        <Button name="bulk-cancel" look="d" off={off("cancel")} onClick={() => setVerb("cancel")}>
          Cancel…
        </Button>
        {ids.length === 2 ? (
          <Button name="bulk-compare" onClick={() => go(`/compare?${new URLSearchParams({ left: ids[0] ?? "", right: ids[1] ?? "" })}`)}>
            Compare
          </Button>
        ) : null}
        <Button look="q" label="Choose none" keys="esc" onClick={() => chosen.choose([])}>
          ×
        </Button>
      </div>
      {verb ? <BulkDialog verb={verb} ids={ids} rest={list.whole && ids.length >= loaded ? "" : total} close={() => setVerb(null)} /> : null}
    </>
  );
}

/** `rest`: of how many these are, if they are not all. */
function BulkDialog({ verb, ids, rest, close }: { verb: Verb; ids: string[]; rest: string; close: () => void }) {
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [done, setDone] = useState<BulkItem[] | null>(null);
  const [key] = useState(intent);
  const words = WORDS[verb];
  const seen = useLoaded(() => tell(verb, { runs: ids, dry_run: true }), [verb]);
  const send = (): void => {
    setBusy(true);
    tell(verb, { runs: ids, note }, key).then(
      (items) => {
        const refusals = items.filter((i) => i.refused);
        say(`${words.done} ${items.length - refusals.length} of ${items.length}`);
        setDone(items);
      },
      (e: unknown) => {
        setBusy(false);
        refused(`${words.act}: nothing was done`, e);
      },
    );
  };
  if (done) {
    const well = done.filter((i) => !i.refused).length;
    const end = (): void => {
      close();
      chosen.choose(done.filter((i) => i.refused).map((i) => i.run_id));
    };
    return (
      <Dialog
        key="done"
        wide
        title={`${words.done} ${well} of ${done.length}`}
        lead={<p class="t2">Each run answered for itself{note ? `, one reason: “${note}”` : ""}. Each is a line of the audit.</p>}
        close={end}
        footer={
          <>
            <span class="grow" />
            <Button look="p" onClick={end}>
              Close
            </Button>
          </>
        }
      >
        <Items items={done} word={words.done} told={(i) => i.refused?.detail ?? ""} />
      </Dialog>
    );
  }
  const undone = (seen.data ?? []).reduce((n, i) => n + (i.preview?.undone ?? 0), 0);
  return (
    <Dialog
      wide
      title={`${words.act} ${count(ids.length, "run")}?`}
      lead={
        <p class="t2">
          {rest ? `These ${many(ids.length)} of ${rest} that are listed, and no others. ` : ""}
          {words.lead}
        </p>
      }
      close={close}
      footer={
        <>
          <span data-safe>
            <Button keys="esc" onClick={close}>
              {verb === "cancel" ? "Keep them" : "Not now"}
            </Button>
          </span>
          <Button name="bulk-send" look={verb === "cancel" ? "dp" : "p"} busy={busy ? "Sending…" : ""} off={offline.value} onClick={send}>
            {verb === "cancel" && undone ? `Cancel ${ids.length} and undo ${undone}` : `${words.act} ${ids.length}`}
          </Button>
        </>
      }
    >
      {seen.error ? <Failure error={seen.error} again={seen.again} /> : <Items items={seen.data ?? []} word="" told={before} />}
      {verb === "resume" ? null : (
        <label class="stack tight">
          <span class="sm">One {verb === "deny" ? "note" : "reason"} for all, for the record</span>
          <textarea class="inp sans" rows={2} maxLength={10000} value={note} onInput={(e) => setNote(e.currentTarget.value)} />
        </label>
      )}
    </Dialog>
  );
}

function before(i: BulkItem): string {
  if (i.refused) return i.refused.detail;
  if (!i.preview) return "";
  const { in_flight, undone, stays } = i.preview;
  return `${in_flight} in flight · ${undone} undone${stays.length ? ` · stays: ${stays.join(", ")}` : ""}`;
}

/** `word`: what was done to those that were not refused; empty before anything was. */
function Items({ items, word, told }: { items: readonly BulkItem[]; word: string; told: (i: BulkItem) => string }) {
  return (
    <ul class="bulk-list" tabIndex={0} aria-label="Runs">
      {items.map((i) => (
        <li key={i.run_id} data-bulk={i.run_id} data-refused={i.refused ? i.refused.code : undefined}>
          <span class={i.refused ? "fail" : ""}>
            {word ? i.refused ? "Refused" : word : i.status ? <Pill status={i.status} bare /> : "Not there"}
          </span>
          <span>
            <Visible text={i.title || "run"} /> <span class="sm t3"><RunId id={i.run_id} /></span>
          </span>
          <span class={i.refused ? "fail sm" : "t2 sm"}>
            <Visible text={told(i)} />
          </span>
        </li>
      ))}
    </ul>
  );
}
