/** Who decided what, newest first: read from the audit, so refused attempts, expiries and escalations are there too. */
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { at, get, me } from "../api";
import { localOf } from "../ids";
import { useKeys } from "../keys";
import { listen } from "../live";
import { go, Link, query, setQuery } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { Button, Icon, Time } from "../ui";
import { shownText } from "../visible";
import { shortId } from "../words";
import { itemOf, type Item } from "./items";
import { list, num, obj, text, from } from "./json";
import { addressOf } from "./list";
import { answerOf } from "./answered";
import { choiceOf, titleOf } from "./naming";
import type { CallOutcome, InterruptView, StepDecision } from "../generated/types";
import { Changes, Outcome } from "../told";
import { ask } from "./wire";
import { wear } from "../late_style";
import style from "./decided.late.css";

wear(style);

interface Line {
  at: number;
  run: string;
  by: string;
  ref: string;
  verdict: string;
  note: string;
  refused: string;
  standing: boolean;
  /** The same person decided it once more. */
  again: boolean;
}
/** What is a decision, or the end of a question, in ink: colour is for what came of it. Other lines about an item (a comment, an assignment, a snooze) decide nothing. */
const VERDICTS: Record<string, readonly [string, string, string]> = {
  approve: ["", "done", "Approved"],
  deny: ["", "denied", "Denied"],
  value: ["", "model", "Answered"],
  instead: ["cancel", "model", "Result given"],
  dismiss: ["cancel", "denied", "Dismissed"],
  expire: ["cancel", "expired", "Expired"],
  escalate: ["wait", "person", "Escalated"],
  revoke: ["cancel", "denied", "Revoked"],
};
/** What no one decided. */
const MISSED: Record<string, string> = { expire: "no one answered", escalate: "no one answered; others were asked" };
const CHIPS: readonly [string, string][] = [
  ["", "Everything"],
  ["mine", "By me"],
  ["approve", "Approved"],
  ["deny", "Denied"],
  ["value", "Answered"],
  ["expire", "Expired"],
  ["escalate", "Escalated"],
  ["revoke", "Revoked"],
  ["failed", "Failed afterwards"],
];

/** Which of them: in the address, as every filter is. */
function Chips({ on }: { on: string }) {
  return (
    <div class="row wrap chips" role="group" aria-label="Which decisions">
      {CHIPS.map(([id, word]) => (
        <button key={id} type="button" class={`chip ${on === id ? "on" : ""}`} aria-pressed={on === id} onClick={() => setQuery({ which: id || null })}>
          {word}
        </button>
      ))}
    </div>
  );
}

const NOTHING: Record<string, string> = {
  mine: "You have decided nothing yet.",
  approve: "Nothing was approved.",
  deny: "Nothing was denied.",
  value: "Nothing was answered.",
  expire: "Nothing expired: everything was answered in time.",
  escalate: "Nothing was escalated: everything was answered in time.",
  revoke: "No standing decision was revoked.",
  failed: "Nothing that was approved has failed when it ran.",
};
const PAGE = 200;
const who = (l: Line): string => `${l.ref} ${l.by}`;

export function Decided({ on, search }: { on: string; search: string }) {
  const which = query.value.get("which") ?? "";
  const words = query.value.get("text") ?? "";
  return (
    <>
      <Chips on={which} />
      <Lines key={`${which} ${words}`} which={which} words={words} on={on} search={search} />
    </>
  );
}

function Lines({ which, words, on, search }: { which: string; words: string; on: string; search: string }) {
  const lines = useSignal<Line[] | null>(null);
  const after = useSignal("");
  const error = useSignal<unknown>(null);
  const read = async (more: boolean): Promise<void> => {
    try {
      const only = which === "mine" ? { by: me.peek()?.name ?? "" } : { verb: which };
      const place = { limit: PAGE, after: more ? after.value : "", text: words };
      const page = which === "failed" ? await ask("/decisions/failed", place) : await ask("/audit", { ...place, ...only });
      const seen = new Set(more ? lines.value?.map(who) : []);
      const found = list(page.get("items"))
        .map(obj)
        .filter((o) => text(o.get("interrupt_id")))
        .map((o): Line => ({
          at: num(o.get("at")),
          run: text(o.get("run_id")),
          by: text(o.get("by")),
          ref: `${text(o.get("run_id"))}:${text(o.get("interrupt_id"))}`,
          verdict: text(o.get("verdict")) || text(o.get("verb")),
          note: text(o.get("note")),
          refused: text(o.get("refused")),
          standing: Boolean(text(obj(o.get("more")).get("under"))),
          again: false,
        }))
        .filter((l) => l.verdict in VERDICTS)
        .map((l) => ({ ...l, again: seen.size === seen.add(who(l)).size }));
      lines.value = more ? [...(lines.value ?? []), ...found] : found;
      after.value = text(page.get("after"));
      error.value = null;
    } catch (e) {
      error.value = e;
    }
  };
  useEffect(() => {
    void read(false);
    return listen({
      changed: (c) => {
        const here = lines.peek() ?? [];
        if ((c.closed.length || (which === "failed" && c.runs.length)) && here.length <= PAGE) void read(false);
      },
    });
  }, []);
  const box = useRef<HTMLUListElement>(null);
  /** To the next item; while none is open, to the next line, which Enter opens. */
  const step = (by: 1 | -1): void => {
    const links = [...(box.current?.querySelectorAll("a") ?? [])];
    const here = (a: HTMLAnchorElement): boolean => (on ? a.getAttribute("aria-current") === "true" : a === document.activeElement);
    const now = by > 0 ? links.findLastIndex(here) : links.findIndex(here);
    const next = now < 0 ? 0 : now + by;
    links[next]?.focus();
    const line = lines.peek()?.[next];
    if (on && line) go(addressOf(line.ref, search), { replace: true });
  };
  useKeys({ j: () => step(1), k: () => step(-1) });
  if (error.value && !lines.value) return <Failure error={error.value} again={() => void read(false)} />;
  if (!lines.value) return <Skeleton rows={5} row={(n) => <div class="il skel-row" key={n} />} />;
  if (!lines.value.length && !after.value)
    return (
      <Empty icon="inbox" title={words ? "No match" : "No decisions yet"}>
        <p>{words ? `No decision has “${words}” in its tool, arguments, note, person or run.` : NOTHING[which] ?? "Approvals, denials and answers appear here, with who gave them, and what expired."}</p>
      </Empty>
    );
  return (
    <div class="scroll">
      <div class="decided-heads sm t3" aria-hidden="true">
        <span>Decision</span>
        <span>Action</span>
        <span>By whom, and why</span>
        <span>What came of it</span>
      </div>
      <ul aria-label="Decided" ref={box}>
        {lines.value.slice(0, 180).map((l, n) => (
          <DecidedRow key={n} line={l} on={l.ref === on} search={search} />
        ))}
      </ul>
      {after.value && lines.value.length < 180 ? (
        <Button class="older" onClick={() => void read(true)}>
          Look further back
        </Button>
      ) : null}
      {lines.value.length >= 180 ? (
        <p class="sm t3 older">
          Older decisions are in the <Link to="/audit">audit</Link>.
        </p>
      ) : null}
    </div>
  );
}

interface Known {
  asked: Item;
  /** With the arguments that ran, if they were edited. */
  item: Item;
  decision: StepDecision | null;
  outcome: CallOutcome | null;
  /** What was answered, or given as the result, in short. */
  answer: string;
  open: boolean;
  runStatus: string;
}
/** What closes an item with a value. */
const ANSWERS = new Set(["value", "instead"]);
const known = new Map<string, Promise<Known>>();

async function read(ref: string): Promise<Known> {
  const found = await get<InterruptView>(`/interrupts/${at(ref)}`);
  const asked = itemOf(from(found));
  const { closed, decision, outcome } = found;
  /** What was executed, in the words of a title: not what was asked. */
  const item = asked.call && closed?.edit ? { ...asked, call: { ...asked.call, arguments: obj(from(closed.edit)) } } : asked;
  const given = decision?.choice ? (asked.choices.length ? choiceOf(asked, decision.choice, "")[0] : decision.choice) : closed && ANSWERS.has(closed.why) ? answerOf(asked, from(closed.value)) : "";
  return { asked, item, decision, outcome, answer: given, open: found.status === "open", runStatus: found.run_status };
}

/** What was decided: the audit has its name only, so it is read once its row comes into sight. */
function useItem(ref: string, run: string): { row: RefObject<HTMLLIElement>; found: Known | null } {
  const row = useRef<HTMLLIElement>(null);
  const [found, setFound] = useState<Known | null>(null);
  useEffect(() => {
    let [sighted, over, here] = [false, false, true];
    const look = (): void => {
      const reading = known.get(ref) ?? read(ref);
      known.set(ref, reading);
      reading.then(
        (one) => {
          if (here) setFound(one);
          over = OVER.has(one.outcome?.state ?? "");
          if (!over) known.delete(ref); // it goes on
        },
        () => known.delete(ref),
      );
    };
    const watcher = new IntersectionObserver(([seen]) => {
      if (!seen?.isIntersecting) return;
      watcher.disconnect();
      sighted = true;
      look();
    });
    if (row.current) watcher.observe(row.current);
    // What came of it may be known only now; what ran may be undone.
    const stop = listen({
      changed: (c) => {
        if (!sighted || (over && !c.runs.some((r) => r.run_id === run && UNDOING.has(r.status)))) return;
        if (!c.more && !c.runs.some((r) => r.run_id === run)) return;
        known.delete(ref);
        look();
      },
    });
    return () => {
      here = false;
      watcher.disconnect();
      stop();
    };
  }, [ref]);
  return { row, found };
}
const OVER = new Set(["ran", "failed", "not_run", "undone"]);
const UNDOING = new Set(["cancelling", "cancelled"]);

function DecidedRow({ line: l, on, search }: { line: Line; on: boolean; search: string }) {
  const { row, found } = useItem(l.ref, l.run);
  const item = found?.item;
  const [tone, glyph, word] = l.refused ? (["t3", "cancel", "Refused"] as const) : VERDICTS[l.verdict]!;
  /** It was recorded, and no worker took it for a decision: what came of the call came of another one. */
  const disowned = Boolean(item?.disowned.includes(l.by) && (l.again || !found?.decision?.by.includes(l.by)));
  const decided = !l.refused && l.verdict !== "revoke" && !disowned;
  const { tool, rest } = found ? titleOf(decided ? found.item : found.asked) : { tool: "", rest: `${shortId(l.run)} · ${localOf(l.run, l.ref)}` };
  return (
    <li ref={row}>
      <Link to={addressOf(l.ref, search)} class={`il decided ${on ? "on" : ""}`} aria-current={on ? "true" : undefined}>
        <div class="dc-how sm">
          <span class={tone}>
            <Icon name={glyph} />
          </span>
          <b class={`${tone} semi`}>{word}</b>
          <span class="t3 when">
            <Time at={l.at} />
          </span>
        </div>
        <div class="dc-what">
          <div class="clip what">
            {tool ? <span class="mono">{shownText(tool)}</span> : null} {shownText(rest)}
          </div>
          {found?.decision?.changes.length && decided ? (
            <div class="sm clip">
              <Changes of={found.decision.changes} />
            </div>
          ) : null}
          {found?.answer && decided && ANSWERS.has(l.verdict) ? (
            <div class="sm clip" data-answer>
              → <b>{shownText(found.answer)}</b>
            </div>
          ) : null}
          {item ? (
            <div class="sm t3 clip">
              {shownText(item.agent)} {shortId(l.run)}
            </div>
          ) : null}
        </div>
        <div class="dc-who sm clip">
          {MISSED[l.verdict] ?? (
            <>
              {l.standing ? "by a standing decision of " : l.verdict === "revoke" ? "the standing decision, by " : "by "}
              <b>{shownText(l.by || "someone")}</b>
            </>
          )}
          {found?.decision?.changes.length && decided ? ", edited" : ""}
          {l.note ? (
            <span class="t2">
              {" "}
              “{shownText(l.note.slice(0, 200))}”
            </span>
          ) : null}
        </div>
        <div class="dc-came sm">
          {disowned ? (
            <div class="fail" data-disowned>
              did not count: not signed by a person whom the worker trusts
            </div>
          ) : null}
          {found?.outcome && decided ? (
            <div class="clip">
              <Outcome of={found.outcome} tone />
              {found.outcome.state === "not_run" && found.runStatus === "completed" ? <span class="t3">; the run completed without it</span> : null}
            </div>
          ) : null}
          {found?.open && decided ? <span class="wait">still open</span> : null}
          {l.refused ? <span class="t3">nothing was recorded</span> : null}
        </div>
      </Link>
    </li>
  );
}
