/** One item. The order is fixed: the action and its definition, effect, arguments, why, the agent's words, the decision. */
import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { now } from "../api";
import { useKeys } from "../keys";
import { listen } from "../live";
import { go, Link, to } from "../router";
import { Failure, Skeleton } from "../states";
import { Countdown, Icon, say, Time, toast } from "../ui";
import { hidden, Visible, visible } from "../visible";
import { count, EFFECTS, grouped } from "../words";
import { Bar, type Acts, type Refs } from "./bar";
import { ClosedStrip, StaleBanner } from "./banner";
import { choiceForm, Deciding, type Outcome } from "./deciding";
import { Fields } from "./fields";
import { Form } from "./form";
import { stepOf, type Item, type Seen } from "./items";
import { from, isObj, obj, text, write, type Json } from "./json";
import { afterwards, choiceOf, headingOf, KINDS, prose } from "./naming";
import { alike, alikeCount } from "./pending";
import { Hiding, Rows, Whole } from "./reading";

interface Props {
  id: string;
  /** The focus goes to the heading when it is there. */
  focus: boolean;
  /** It is decided, or there is nothing to do here: go to the next one. */
  onward: (to?: string) => void;
}

export function ItemPane({ id, focus, onward }: Props) {
  const d = useMemo(() => new Deciding(id), [id]);
  const heading = useRef<HTMLHeadingElement>(null);
  const refs: Refs = { approve: useRef<HTMLButtonElement>(null), deny: useRef<HTMLButtonElement>(null), note: useRef<HTMLInputElement>(null) };
  const [extra, setExtra] = useState<Form | null>(null);
  useEffect(() => {
    void d.look();
    const stop = listen({
      changed: (c) => {
        const run = d.seen.peek()?.item.run;
        if (c.closed.includes(id) || c.more || c.runs.some((r) => r.id === run)) void d.look();
      },
      whole: () => void d.look(),
    });
    return () => {
      stop();
      d.end();
    };
  }, [d]);
  const there = useComputed(() => d.seen.value !== null).value;
  useEffect(() => {
    if (there && focus) heading.current?.focus({ preventScroll: true });
  }, [there]);
  const acts = useActs(d, extra, onward);
  useItemKeys(d, acts, refs);
  const seen = d.seen.value;
  if (d.error.value) return <Failure error={d.error.value} again={() => { d.error.value = null; void d.look(); }} />;
  if (!seen) return <Skeleton rows={1} row={() => <div class="card skel-item" />} />;
  const choose = (name: string): void => {
    d.choice.value = name;
    setExtra(choiceForm(seen.item, name));
  };
  return (
    <article class="card appr" aria-labelledby="item-head" data-ref={id} data-kind={seen.item.kind} data-open={seen.open && !d.stale.value}
      onKeyDown={(e) => guard(e, d, acts)}>
      <StaleBanner deciding={d} onward={() => (d.stale.peek()?.how === "closed" ? onward() : void d.renew().then((next) => next && onward(next)))} />
      {!seen.open && d.calm && seen.closed ? <ClosedStrip closed={seen.closed} /> : null}
      <Head seen={seen} editing={d.edit.value !== null} heading={heading} />
      <Content deciding={d} seen={seen} choose={choose} extra={extra} />
      <Meta seen={seen} deciding={d} />
      {seen.open ? <Words text={seen.item.said} /> : null /* what it says by now, it did not say then */}
      <History seen={seen} />
      {seen.open && !(d.stale.value?.how === "closed") ? <Bar deciding={d} item={seen.item} acts={acts} refs={refs} extra={extra} /> : null}
    </article>
  );
}

/** Enter and the space bar on a deciding button do nothing while a key is held, nor just after the item appeared or changed. */
function guard(e: KeyboardEvent, d: Deciding, acts: Acts): void {
  const target = e.target as HTMLElement;
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && d.edit.peek()) {
    e.preventDefault();
    if (!e.repeat && d.awake) acts.approve();
  } else if ((e.key === "Enter" || e.key === " ") && target.closest?.(".acts button") && (e.repeat || !d.awake)) e.preventDefault();
}

// Doing

const DONE = { approve: "Approved", deny: "Denied", answer: "Answered" } as const;

function useActs(d: Deciding, extra: Form | null, onward: (to?: string) => void): Acts {
  const finish = async (verb: "approve" | "deny" | "answer", value?: Json): Promise<void> => {
    const i = d.seen.peek()?.item;
    if (!i) return;
    const scope = d.scope.peek();
    const seq = await d.decide(verb, value);
    if (seq === null) return;
    const what = i.call ? `${i.call.tool}${verb === "approve" ? (value !== undefined ? ", edited" : scope === "run" ? ", for this run" : ", once") : ""}` : KINDS[i.kind][1];
    recorded(`${DONE[verb]}.`, `${what}. Recorded as record ${seq}.`, i, seq);
    if (i.approvers === 1 || verb !== "approve") return onward();
    await d.look(); // others must agree too: it stays here until they have
    if (!d.seen.peek()?.open || d.stale.peek()) onward();
  };
  const several = async (verb: "approve" | "deny"): Promise<void> => {
    const i = d.seen.peek()?.item;
    if (!i) return;
    const found = await d.decideAll(verb, alike(i));
    summed(verb, found);
    if (found[0]?.error) await d.look();
    else onward();
  };
  return {
    approve: () => {
      const form = d.edit.peek();
      if (d.blocked.peek()) return;
      if (!form) return void (d.together.peek() && alikeCount(d.seen.peek()!.item) ? several("approve") : finish("approve"));
      form.try();
      const { value } = form.read();
      if (value !== undefined && form.changed) void finish("approve", value);
    },
    deny: () => void (d.off.peek() ? undefined : d.together.peek() && alikeCount(d.seen.peek()!.item) ? several("deny") : finish("deny")),
    startEdit: () => {
      const i = d.seen.peek()?.item;
      if (!i?.call || d.off.peek() || d.halted.peek() || i.approvers > 1) return;
      d.edit.value = new Form(i.schema ?? undefined, i.call.arguments);
      requestAnimationFrame(() => document.querySelector<HTMLElement>(".form.editing :is(input, textarea, select, button)")?.focus());
    },
    discard: () => (d.edit.value = null),
    answer: () => {
      const i = d.seen.peek()?.item;
      if (!i || d.blocked.peek()) return;
      const form = i.kind === "question" ? d.answer.peek() : extra;
      form?.try();
      const read = form?.read();
      if (form && read?.value === undefined) return void document.querySelector<HTMLElement>("[aria-invalid]")?.focus();
      if (i.kind === "question") return void finish("answer", read!.value);
      if (d.choice.peek()) void finish("answer", new Map([...(obj(from({ choice: d.choice.peek() }))), ...obj(read?.value)]));
    },
  };
}

function recorded(head: string, body: string, i: Item, seq: number): void {
  toast("done", head, body, { word: "Record", go: () => go(`${to("runs", i.run, "journal")}?record=${seq}`) });
  say(head);
}

function summed(verb: "approve" | "deny", found: Outcome[]): void {
  const bad = found.filter((o) => o.error);
  const done = found.length - bad.length;
  if (done) toast("done", `${DONE[verb]} ${done}.`, `${found[0]?.item.call?.tool ?? ""}, each with its own digest. Recorded.`);
  if (bad.length) toast("fail", `${bad.length} not recorded: ${bad[0]!.error!.detail}`, "Nothing ran by those. They are still listed if they are open.");
}

/** `a` and `d` do not decide: they move the focus. */
function useItemKeys(d: Deciding, acts: Acts, refs: Refs): void {
  const awake = (f: () => void) => (): void => {
    if (d.awake && d.seen.peek()?.open) f();
  };
  useKeys({
    a: awake(() => refs.approve.current?.focus()),
    d: awake(() => refs.deny.current?.focus()),
    e: awake(() => acts.startEdit()),
    n: awake(() => document.querySelector<HTMLElement>(".note-open")?.offsetParent ? document.querySelector<HTMLElement>(".note-open")?.click() : refs.note.current?.focus()),
    "1": awake(() => (d.scope.value = "once")),
    "2": awake(() => (d.scope.value = "run")),
    ...(d.edit.value ? { Escape: () => acts.discard() } : {}),
  });
}

// Showing

function Crumbs({ seen }: { seen: Seen }) {
  const { item: i, agents } = seen;
  const run = to("runs", i.run);
  const step = stepOf(i);
  const names = agents.length ? agents : [i.agent];
  return (
    <nav class="crumbs" aria-label="Where it comes from">
      {names.map((name, n) => (
        <span key={n} class="row">
          {n ? <Icon name="right" /> : null}
          <Link to={run}><Visible text={name} /></Link>
        </span>
      ))}
      {step ? (
        <span class="row">
          <Icon name="right" />
          <Link to={`${run}?step=${encodeURIComponent(step)}`}>step <Visible text={step} /></Link>
        </span>
      ) : null}
    </nav>
  );
}

function Head({ seen, editing, heading }: { seen: Seen; editing: boolean; heading: { current: HTMLHeadingElement | null } }) {
  const i = seen.item;
  const c = i.call;
  const words = !c && i.kind === "question" && prose(i.payload) === headingOf(i);
  return (
    <header class="act">
      <div class="row sm t3 over">
        <span>{editing ? "Edit this action" : headingOf(i) === KINDS[i.kind][2] && !c ? KINDS[i.kind][1] : KINDS[i.kind][2]}</span>
        <span class="grow" />
        <Crumbs seen={seen} />
      </div>
      <h2 class={c ? "call" : "ask"} id="item-head" tabIndex={-1} ref={heading}>
        <Visible text={c ? c.tool : headingOf(i)} />
      </h2>
      {c?.description ? <Definition text={c.description} /> : null}
      {c && hidden(c.tool) ? <Hiding n={hidden(c.tool)} /> : null}
      {words ? <div class="sm t3">the agent’s own words, not checked</div> : null}
      {i.kind === "in_doubt" ? <p class="t2 def">The call began, and its end was not recorded. Nobody here knows if it happened.</p> : null}
      <div class="row wrap tags">
        {c?.effect ? <span class="tag"><Icon name={c.effect === "unsafe" ? "fail" : "done"} /><Visible text={EFFECTS[c.effect] ?? c.effect} /></span> : null}
        {c ? <span class="tag"><Icon name="undo" />{c.undo ? "can be undone" : "has no undo"}</span> : null}
        {seen.startedBy ? <span class="tag"><Icon name="person" />started by <Visible text={seen.startedBy} /></span> : null}
        {i.groups.length ? <span class="tag"><Icon name="person" />for <Visible text={i.groups.join(", ")} /></span> : null}
      </div>
      {seen.title ? <div class="sm t3 task">Asked for: <Visible text={seen.title.length > 300 ? `${seen.title.slice(0, 300)}…` : seen.title} /></div> : null}
    </header>
  );
}

const LONG = 600;

/** What the tool says of itself, from its definition and not from the agent. */
function Definition({ text: said }: { text: string }) {
  if (said.length > LONG) return <><Whole text={said} name="The tool’s definition" class="t2 def" /><div class="sm t3">(from the tool’s definition)</div></>;
  return <div class="t2 def"><Visible text={said} /> <span class="t3">(from the tool’s definition)</span></div>;
}

function Content({ deciding: d, seen, choose, extra }: { deciding: Deciding; seen: Seen; choose: (name: string) => void; extra: Form | null }) {
  const i = seen.item;
  const off = Boolean(d.off.value);
  const rows = i.call ? i.call.arguments : rest(i);
  return (
    <>
      {d.edit.value ? <Fields form={d.edit.value} reading={d.reading} root="Arguments" /> : null}
      {!d.edit.value && rows !== undefined ? (
        <Rows value={rows} schema={i.kind === "approval" ? i.schema : undefined} reading={d.reading} changes={d.stale.value?.changes ?? []} label={i.call ? "Arguments" : "What it says"} />
      ) : null}
      {i.kind === "question" && d.answer.value && seen.open ? <Fields form={d.answer.value} root="answer" off={off} /> : null}
      {i.choices.length && seen.open ? <Choices deciding={d} item={i} choose={choose} extra={extra} off={off} /> : null}
      {!seen.open && seen.closed && seen.closed.why === "value" ? <Rows value={seen.closed.value} label="Answer" /> : null}
      {!seen.open && seen.closed?.edit && !d.stale.value ? <><h3 class="sub">What ran instead</h3><Rows value={seen.closed.edit} schema={i.schema} label="Edited arguments" /></> : null}
    </>
  );
}

/** What a payload says beside what the heading has said. */
function rest(i: Item): Json | undefined {
  const p = i.payload;
  if (p === null) return undefined;
  const said = headingOf(i);
  if (typeof p === "string") return p === said ? undefined : p;
  if (!isObj(p)) return p;
  const left = new Map([...p].filter(([k, v]) => !(k === "question" && (text(v) === said || i.kind === "limit" || i.kind === "in_doubt"))));
  return left.size ? left : undefined;
}

function Choices({ deciding: d, item: i, choose, extra, off }: { deciding: Deciding; item: Item; choose: (name: string) => void; extra: Form | null; off: boolean }) {
  const again = i.kind === "limit" && isObj(i.payload) && i.payload.has("limit") ? write(i.payload.get("limit")!) : "";
  return (
    <fieldset class="choices">
      <legend class="hide">Choose</legend>
      {i.choices.map(([name, what]) => {
        const [word, means] = choiceOf(i, name, what);
        const on = d.choice.value === name;
        return (
          <div class={`choice-row ${on ? "on" : ""}`} key={name} data-choice={name}>
            <label>
              <input type="radio" name="choice" value={name} checked={on} disabled={off} onChange={() => choose(name)} />
              <span><b><Visible text={word} /></b><span class="sm t3"><Visible text={means} /></span></span>
            </label>
            {on && extra ? <Fields form={extra} root={word} off={off} /> : null}
            {on && extra && i.kind === "in_doubt" ? <p class="sm t3 hint">Left out: it is recorded without a result.</p> : null}
            {on && extra && again ? <p class="sm t3 hint">Left out: by as much again, {again}.</p> : null}
          </div>
        );
      })}
    </fieldset>
  );
}

function Meta({ seen, deciding: d }: { seen: Seen; deciding: Deciding }) {
  const i = seen.item;
  const over = (): void => {
    d.over.value = true;
    const poll = (tries: number): void => {
      if (tries && d.seen.peek()?.open && !d.stale.peek()) void d.look().then(() => setTimeout(() => poll(tries - 1), 1000));
    };
    poll(30);
  };
  const done = d.stale.value?.closed?.why === "expired";
  const past = d.over.value || (i.expiresAt !== null && i.expiresAt <= now());
  return (
    <div class="meta">
      {i.call && i.kind === "approval" ? (
        <div>
          <h3>Why it asks</h3>
          <Whole text={i.call.reason ? i.call.reason.charAt(0).toUpperCase() + i.call.reason.slice(1) : "Its policy asks every time"} name="Why it asks" class="" />
          {i.call.rule ? <Whole text={i.call.rule} name="Rule" class="sm t3 mono" /> : null}
        </div>
      ) : null}
      {i.call && i.kind === "in_doubt" && i.call.reason ? <div><h3>What is known</h3><Whole text={i.call.reason} name="What is known" class="" /></div> : null}
      {seen.open ? (
        <div data-expires>
          <h3>Expires</h3>
          {i.expiresAt === null ? "never" : past ? <span class="fail">{done ? "expired" : "its time is over"}</span> : <Countdown to={i.expiresAt} over={over} />}
          <div class="sm t3">{!past ? afterwards(i) : done ? "recorded as expiry" : "waiting for the record of it"}</div>
        </div>
      ) : null}
      {i.approvers > 1 ? (
        <div data-quorum>
          <h3>Approvals</h3>
          <span class="num">{seen.votes.length} of {i.approvers}</span>
          <div class="sm t3">{seen.votes.length ? <Visible text={seen.votes.map((v) => v.by).join(", ")} /> : `${count(i.approvers, "person", "people")} must agree`}</div>
        </div>
      ) : null}
      {i.call ? (
        <div>
          <h3>Digest of what is shown</h3>
          {d.edit.value ? <span class="t2">new, when approved</span> : <span class="mono" title={i.digest}>{grouped(i.digest)}</span>}
          <div class="sm t3">{d.edit.value ? <>this was <span class="mono">{grouped(i.digest)}</span></> : "exactly this runs, or nothing"}</div>
        </div>
      ) : null}
    </div>
  );
}

function Words({ text: said }: { text: string }) {
  const unseen = useMemo(() => hidden(said), [said]);
  if (!said) return null;
  return (
    <section class="words" aria-label="The agent’s own words, not checked">
      <div class="row sm">
        <Icon name="model" />
        <span><b>The agent’s own words</b> <span class="t3">not checked, not part of what you approve</span></span>
      </div>
      <Whole text={said} name="The agent’s own words" class="said" />
      <Hiding n={unseen} />
    </section>
  );
}

const VERDICTS: Record<string, string> = { approve: "approved", deny: "denied", value: "answered" };

/** Who decided, or tried to. */
function History({ seen }: { seen: Seen }) {
  if (!seen.attempts.length) return null;
  return (
    <section class="history" aria-label="Who decided">
      <h3>Who decided</h3>
      <ul>
        {seen.attempts.slice(-20).map((a, n) => (
          <li key={n} class="sm">
            <b><Visible text={a.by || "somebody"} /></b> {a.refused ? `tried: ${a.verdict || "answer"}` : (VERDICTS[a.verdict] ?? visible(a.verdict))} <span class="t3"><Time at={a.at} /></span>
            {a.note ? <> “<Visible text={a.note} />”</> : null}
            {a.refused ? <div class="t3">refused: <Visible text={a.refused} /></div> : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
