/** The parts of an item, in the order in which they are read. */
import { useMemo } from "preact/hooks";
import { now } from "../api";
import { later } from "../later";
import { Link, to } from "../router";
import { Countdown, Icon, Time } from "../ui";
import { hidden, Visible, visible } from "../visible";
import { EFFECTS } from "../generated/words";
import { AskedAgain } from "../told";
import { grouped } from "../words";
import type { Deciding } from "./deciding";
import { diff } from "./diff";
import type { Form } from "./form";
import { escalatedWords, stepOf, type Item, type Seen } from "./items";
import { isObj, text, type Json } from "./json";
import { afterwards, headingOf, kindOf, prose } from "./naming";
import { Hiding, Rows, Whole } from "./reading";

const Fields = later(async () => (await import("./parts")).Fields, true);
const Files = later(async () => (await import("./parts")).Files, true);
const Choices = later(async () => (await import("./parts")).Choices, true);

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
          <Link to={run}>
            <Visible text={name} />
          </Link>
        </span>
      ))}
      {step ? (
        <span class="row">
          <Icon name="right" />
          <Link to={`${run}?step=${encodeURIComponent(step)}`} title={visible(step)}>
            {seen.place.length ? <Visible text={seen.place.join(" › ")} /> : <>step {visible(step)}</>}
          </Link>
        </span>
      ) : null}
    </nav>
  );
}

export function Head({ seen, editing, heading }: { seen: Seen; editing: boolean; heading: { current: HTMLHeadingElement | null } }) {
  const i = seen.item;
  const c = i.call;
  const words = !c && i.kind === "question" && prose(i.payload) === headingOf(i);
  return (
    <header class="act">
      <div class="row sm t3 over">
        <span>{editing ? "Edit this action" : headingOf(i) === kindOf(i)[2] && !c ? kindOf(i)[1] : kindOf(i)[2]}</span>
        <span class="grow" />
        <Crumbs seen={seen} />
      </div>
      <h2 class={c ? "call" : "ask"} id="item-head" tabIndex={-1} ref={heading}>
        <Visible text={c ? c.tool : headingOf(i)} />
      </h2>
      {c?.description ? <Definition text={c.description} /> : null}
      {c && hidden(c.tool) ? <Hiding n={hidden(c.tool)} /> : null}
      {words ? <div class="sm t3">the agent’s own words, not checked</div> : null}
      {seen.earlier ? (
        <p class="def">
          <AskedAgain of={seen.earlier} />
        </p>
      ) : null}
      {i.disowned.length ? (
        <p class="t2 def" data-disowned>
          Open again: not signed by a person whom this worker trusts: <Visible text={i.disowned.join(", ")} />
        </p>
      ) : null}
      {seen.open && i.escalated ? (
        <p class="t2 def" data-escalated>
          <b class="fail">Escalated</b> <Visible text={escalatedWords(i, afterwards(i))} />
        </p>
      ) : null}
      {i.kind === "in_doubt" ? <p class="t2 def">The call began, and its end was not recorded. It is not known whether it happened.</p> : null}
      <div class="row wrap tags">
        {c?.effect ? (
          <span class="tag">
            <Icon name={c.effect === "unsafe" ? "fail" : "done"} />
            <Visible text={EFFECTS[c.effect] ?? c.effect} />
          </span>
        ) : null}
        {c ? (
          <span class="tag">
            <Icon name="undo" />
            {c.undo ? "can be undone" : "has no undo"}
          </span>
        ) : null}
        {seen.startedBy ? (
          <span class="tag">
            <Icon name="person" />
            started by <Visible text={seen.startedBy} />
          </span>
        ) : null}
        {i.groups.length ? (
          <span class="tag">
            <Icon name="person" />
            for <Visible text={i.groups.join(", ")} />
          </span>
        ) : null}
      </div>
      {seen.title ? (
        <div class="sm t3 task">
          Asked for: <Visible text={seen.title.length > 300 ? `${seen.title.slice(0, 300)}…` : seen.title} />
        </div>
      ) : null}
    </header>
  );
}

const LONG = 600;

/** What the tool says of itself, from its definition and not from the agent. */
function Definition({ text: said }: { text: string }) {
  if (said.length > LONG)
    return (
      <>
        <Whole text={said} name="The tool’s definition" class="t2 def" />
        <div class="sm t3">(from the tool’s definition)</div>
      </>
    );
  return (
    <div class="t2 def">
      <Visible text={said} /> <span class="t3">(from the tool’s definition)</span>
    </div>
  );
}

export function Content({
  deciding: d,
  seen,
  choose,
  extra,
}: {
  deciding: Deciding;
  seen: Seen;
  choose: (name: string) => void;
  extra: Form | null;
}) {
  const i = seen.item;
  const off = Boolean(d.off.value);
  const rows = i.call ? i.call.arguments : rest(i);
  return (
    <>
      {d.edit.value ? <Fields form={d.edit.value} reading={d.reading} root="Arguments" /> : null}
      {!d.edit.value && rows !== undefined ? (
        <Rows
          value={rows}
          schema={i.kind === "approval" ? i.schema : undefined}
          reading={d.reading}
          changes={seen.closed?.edit ? diff(rows, seen.closed.edit) : (d.stale.value?.changes ?? [])}
          label={i.call ? "Arguments" : "What it says"}
        />
      ) : null}
      {rows !== undefined ? <Files run={i.run} value={rows} /> : null}
      {i.kind === "question" && d.answer.value && seen.open ? <Fields form={d.answer.value} root="answer" off={off} /> : null}
      {i.choices.length && seen.open ? <Choices deciding={d} item={i} choose={choose} extra={extra} off={off} /> : null}
      {!seen.open && seen.closed && seen.closed.why === "value" ? <Rows value={seen.closed.value} label="Answer" /> : null}
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

export function Meta({ seen, deciding: d }: { seen: Seen; deciding: Deciding }) {
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
          <Whole
            text={i.call.reason ? i.call.reason.charAt(0).toUpperCase() + i.call.reason.slice(1) : "Its policy asks every time"}
            name="Why it asks"
            class=""
          />
          {i.call.rule ? <Whole text={i.call.rule} name="Rule" class="sm t3 mono" /> : null}
        </div>
      ) : null}
      {i.call && i.kind === "in_doubt" && i.call.reason ? (
        <div>
          <h3>What is known</h3>
          <Whole text={i.call.reason} name="What is known" class="" />
        </div>
      ) : null}
      {seen.open ? (
        <div data-expires>
          <h3>Expires</h3>
          {i.expiresAt === null ? (
            "never"
          ) : past ? (
            <span class="fail">{done ? "expired" : "its time is over"}</span>
          ) : (
            <Countdown to={i.expiresAt} over={over} />
          )}
          <div class="sm t3">{!past ? afterwards(i) : done ? "recorded as expiry" : "waiting for the record of it"}</div>
        </div>
      ) : null}
      <Seats item={i} />
      {i.call ? (
        <div>
          <h3>{seen.approvedDigest ? "Digest: asked → approved" : "Digest of what is shown"}</h3>
          {seen.approvedDigest ? (
            <span class="mono" data-digests>
              <del title={i.digest}>{grouped(i.digest)}</del> → <ins title={seen.approvedDigest}>{grouped(seen.approvedDigest)}</ins>
            </span>
          ) : d.edit.value ? (
            <span class="t2">new, when approved</span>
          ) : (
            <span class="mono" title={i.digest}>
              {grouped(i.digest)}
            </span>
          )}
          <div class="sm t3">
            {d.edit.value ? (
              <>
                this was <span class="mono">{grouped(i.digest)}</span>
              </>
            ) : seen.approvedDigest ? (
              "exactly what was approved runs, or nothing"
            ) : (
              "exactly this runs, or nothing"
            )}
          </div>
        </div>
      ) : null}
    </div>
  );
}

/** Who must agree, and who has. */
function Seats({ item }: { item: Item }) {
  const seats = item.slots;
  if (seats.length < 2 && !seats.some((seat) => seat.groups.length || seat.notRequester)) return null;
  return (
    <div data-quorum>
      <h3>Who must agree</h3>
      <span class="num">
        {seats.filter((seat) => seat.filledBy).length} of {seats.length}
      </span>
      <ul class="sm" aria-label="Who must agree">
        {seats.map((seat, n) => (
          <li key={n} title={seat.rule} data-seat={seat.filledBy || "empty"}>
            <span class="t3">
              <Visible text={seat.groups.join(" or ") || "any approver"} />
              {seat.notRequester ? ", not who asked" : ""}
            </span>{" "}
            {seat.filledBy ? <Visible text={seat.filledBy} /> : "–"}
          </li>
        ))}
      </ul>
      {item.requesters.length ? (
        <div class="sm t3">
          asked for by <Visible text={item.requesters.join(", ")} />
        </div>
      ) : null}
    </div>
  );
}

export function Words({ text: said }: { text: string }) {
  const unseen = useMemo(() => hidden(said), [said]);
  if (!said) return null;
  return (
    <section class="words" aria-label="The agent’s own words, not checked">
      <div class="row sm">
        <Icon name="model" />
        <span>
          <b>The agent’s own words</b> <span class="t3">not checked, not part of what you approve</span>
        </span>
      </div>
      <Whole text={said} name="The agent’s own words" class="said" />
      <Hiding n={unseen} />
    </section>
  );
}

const VERDICTS: Record<string, string> = {
  approve: "approved",
  deny: "denied",
  value: "answered",
  instead: "gave the result",
  dismiss: "dismissed",
};

/** Who decided, or tried to. */
export function History({ seen }: { seen: Seen }) {
  if (!seen.attempts.length) return null;
  return (
    <section class="history" aria-label="Who decided">
      <h3>Who decided</h3>
      <ul>
        {seen.attempts.slice(-20).map((a, n) => (
          <li key={n} class="sm">
            <b>
              <Visible text={a.by || "someone"} />
            </b>{" "}
            {a.refused ? `tried: ${a.verdict || "answer"}` : (VERDICTS[a.verdict] ?? visible(a.verdict))}{" "}
            <span class="t3">
              <Time at={a.at} />
            </span>
            {a.note ? (
              <>
                {" "}
                “<Visible text={a.note} />”
              </>
            ) : null}
            {a.refused ? (
              <div class="t3">
                refused: <Visible text={a.refused} />
              </div>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
