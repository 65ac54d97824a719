/** The same decision about several items: each exact action is shown, each is bound by its own digest, and each answers for itself. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { at, denied } from "../api";
import { Dialog } from "../dialog";
import { wear } from "../late_style";
import { offline } from "../live";
import { useLoaded } from "../loading";
import { Failure } from "../states";
import { Button, RunId, say } from "../ui";
import { Visible } from "../visible";
import { count, grouped, many } from "../words";
import { retriedOf, type Retried } from "./alike";
import { picked } from "./chosen";
import { seenOf, type Item, type Seen } from "./items";
import type { Json, Obj } from "./json";
import { headingOf, kindOf } from "./naming";
import { closed, gone, itemBy, order } from "./pending";
import { Reading, Rows } from "./reading";
import style from "./several.late.css";
import { ask, Intention, Refusal } from "./wire";

wear(style);

type Verb = "approve" | "deny" | "dismiss";
/** So many are read before one decides: each is shown whole. */
const MOST = 50;
const WORDS: Record<Verb, { act: string; done: string; kind: Item["kind"]; lead: string }> = {
  approve: { act: "Approve", done: "Approved", kind: "approval", lead: "Exactly these run, each once, or nothing. Read each of them." },
  deny: { act: "Deny", done: "Denied", kind: "approval", lead: "None of these runs. Their models read the note." },
  dismiss: { act: "Dismiss", done: "Dismissed", kind: "question", lead: "These questions are dropped without an answer." },
};

/** Under the list while items are chosen. */
export function SeveralBar() {
  const [verb, setVerb] = useState<Verb | null>(null);
  const open = order.value.filter((ref) => !gone.value.has(ref));
  const refs = open.filter((ref) => picked.ids.value.has(ref));
  useEffect(() => () => picked.choose([]), []);
  const off = (v: Verb): string => {
    const why = denied("decide") || offline.value;
    if (why) return why;
    if (refs.length > MOST) return `at most ${MOST} at once: each is read`;
    const other = refs.map(itemBy).find((i) => i?.kind !== WORDS[v].kind);
    return other ? `a chosen item is not one: ${kindOf(other)[1].toLowerCase()}` : "";
  };
  const isQuestion = refs.every((ref) => itemBy(ref)?.kind === "question");
  if (!refs.length && !verb) return null;
  return (
    <>
      <div class="several" role="region" aria-label="Chosen items">
        <div class="row sm">
          <b>{many(refs.length)} chosen</b>
          <button type="button" class="link" onClick={() => picked.choose(open.slice(0, MOST))}>
            {open.length > MOST ? `choose the first ${MOST}` : `choose all ${many(open.length)}`}
          </button>
          <span class="grow" />
          <Button look="q" label="Choose none" onClick={() => picked.choose([])}>
            ×
          </Button>
        </div>
        <div class="row">
          {isQuestion ? (
            <Button name="several-dismiss" off={off("dismiss")} onClick={() => setVerb("dismiss")}>
              Dismiss…
            </Button>
          ) : (
            <>
              <Button name="several-approve" look="p" off={off("approve")} onClick={() => setVerb("approve")}>
                Approve…
              </Button>
              <Button name="several-deny" look="d" off={off("deny")} onClick={() => setVerb("deny")}>
                Deny…
              </Button>
            </>
          )}
        </div>
      </div>
      {verb ? <Several verb={verb} refs={refs} close={() => setVerb(null)} /> : null}
    </>
  );
}

/** What is there now, in the order of the list: what was decided in between is told apart. */
const look = (refs: readonly string[], signal: AbortSignal): Promise<Seen[]> =>
  Promise.all(refs.map(async (ref) => seenOf(await ask(`/interrupts/${at(ref)}`, {}, signal))));

function Several({ verb, refs: chosen, close }: { verb: Verb; refs: string[]; close: () => void }) {
  const [refs] = useState(chosen); // what is decided is what was chosen, whatever the list does meanwhile
  const { data, error, again } = useLoaded((s) => look(refs, s), []);
  const [note, setNote] = useState("");
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [told, setTold] = useState<Retried[] | null>(null);
  const intention = useRef<Intention | null>(null);
  const open = useMemo(() => (data ?? []).filter((s) => s.open), [data]);
  const readings = useMemo(() => new Map(open.map((s) => [s.item.ref, new Reading()])), [open]);
  const words = WORDS[verb];
  const unread = verb === "approve" ? open.map((s) => readings.get(s.item.ref)!.off).find(Boolean) : "";
  const send = async (): Promise<void> => {
    if (busy || unread || !open.length) return;
    const body = written(verb, open, note.trim());
    const next = new Intention("/decisions", body);
    if (intention.current?.text !== next.text) intention.current = next;
    setBusy(true);
    try {
      const found = retriedOf(await intention.current!.send());
      closed(found.filter((one) => !one.refused || one.refused.code === "already_decided").map((one) => one.ref));
      say(`${words.done} ${found.filter((one) => !one.refused).length} of ${found.length}`);
      setTold(found);
    } catch (e) {
      if (!(e instanceof Refusal)) throw e;
      setProblem(e.status === 0 ? "No answer came: some may be recorded, or none. Send it again: each decision counts once." : e.detail);
    } finally {
      setBusy(false);
    }
  };
  const end = (): void => {
    picked.choose(told ? told.filter((one) => one.refused).map((one) => one.ref) : [...picked.ids.peek()]);
    close();
  };
  if (told) return <Told verb={verb} told={told} seen={open} close={end} />;
  return (
    <Dialog
      wide
      title={`${words.act} ${count(refs.length, "item")}?`}
      lead={<p class="t2">{words.lead} Each is recorded as your decision, about what is shown here.</p>}
      close={end}
      footer={
        <>
          <span data-safe>
            <Button keys="esc" onClick={end}>
              Not now
            </Button>
          </span>
          <Button
            name="several-send"
            look={verb === "approve" ? "p" : "dp"}
            busy={busy ? "Sending…" : ""}
            off={offline.value || (!data ? "they are not read yet" : !open.length ? "none of them is open" : unread || "")}
            onClick={() => void send()}
          >
            {`${words.act} ${many(open.length || refs.length)}`}
          </Button>
        </>
      }
    >
      {error && !data ? <Failure error={error} again={again} /> : null}
      {problem ? (
        <p class="fail" role="alert">
          <Visible text={problem} />
        </p>
      ) : null}
      {data && open.length < data.length ? (
        <p class="wait" data-left-out>
          {count(data.length - open.length, "item")} of them {data.length - open.length === 1 ? "is" : "are"} decided by now, and left out.
        </p>
      ) : null}
      <ol class="several-list">
        {open.map((s) => (
          <Action key={s.item.ref} seen={s} reading={readings.get(s.item.ref)!} />
        ))}
      </ol>
      <label class="stack tight">
        <span class="sm">One note for all, for the record</span>
        <textarea class="inp sans" rows={2} maxLength={10000} value={note} onInput={(e) => setNote(e.currentTarget.value)} />
      </label>
    </Dialog>
  );
}

/** One exact action. */
function Action({ seen, reading }: { seen: Seen; reading: Reading }) {
  const i = seen.item;
  return (
    <li class="card" data-several={i.ref}>
      <div class="row wrap several-head">
        <b class={i.call ? "mono" : ""}>
          <Visible text={i.call?.tool ?? headingOf(i)} />
        </b>
        {i.call && !i.call.undo ? <span class="tag">has no undo</span> : null}
        <span class="grow" />
        <span class="sm t3">
          <Visible text={i.agent} /> · <RunId id={i.run} />
        </span>
      </div>
      {i.call ? <Rows value={i.call.arguments} schema={i.schema} reading={reading} label={`Arguments of ${i.call.tool}`} /> : null}
      <p class="sm t3 several-foot">
        {i.call?.reason ? (
          <>
            Asked because: <Visible text={i.call.reason} />.{" "}
          </>
        ) : null}
        {i.approvers > 1 ? `${i.approvers} people must agree. ` : ""}
        {i.digest ? (
          <>
            Digest <span class="mono" title={i.digest}>{grouped(i.digest)}</span>
          </>
        ) : null}
      </p>
    </li>
  );
}

function Told({ verb, told, seen, close }: { verb: Verb; told: Retried[]; seen: Seen[]; close: () => void }) {
  const well = told.filter((one) => !one.refused).length;
  const by = new Map(seen.map((s) => [s.item.ref, s.item]));
  return (
    <Dialog
      key="told"
      wide
      title={`${WORDS[verb].done} ${many(well)} of ${many(told.length)}`}
      lead={<p class="t2">Each answered for itself, and each is a line of the audit.{well < told.length ? " Nothing ran by those that were refused." : ""}</p>}
      close={close}
      footer={
        <>
          <span class="grow" />
          <Button look="p" onClick={close}>
            Close
          </Button>
        </>
      }
    >
      <ul class="several-told" tabIndex={0} aria-label="What came of each">
        {told.map((one) => {
          const i = by.get(one.ref);
          return (
            <li key={one.ref} data-several={one.ref} data-refused={one.refused?.code}>
              <span class={one.refused ? "fail" : ""}>{one.refused ? "Refused" : WORDS[verb].done}</span>
              <span>
                <Visible text={i?.call?.tool ?? (i ? headingOf(i) : one.ref)} /> {i ? <span class="sm t3"><RunId id={i.run} /></span> : null}
              </span>
              <span class="sm fail">
                <Visible text={one.refused?.detail ?? ""} />
              </span>
            </li>
          );
        })}
      </ul>
    </Dialog>
  );
}

function written(verb: Verb, open: readonly Seen[], note: string): Obj {
  const items = open.map((s): Json => new Map<string, Json>([["ref", s.item.ref], ["digest", s.item.digest]]));
  const out: Obj = new Map<string, Json>([
    ["decision", verb],
    ["items", items],
  ]);
  if (note) out.set("note", note);
  return out;
}
