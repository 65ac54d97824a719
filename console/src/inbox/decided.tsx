/** Who decided what, newest first: read from the audit, so refused attempts, expiries and escalations are there too. */
import { useSignal } from "@preact/signals";
import type { RefObject } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { at, get, me } from "../api";
import { listen } from "../live";
import { Link, query, setQuery } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { Button, Icon, Time } from "../ui";
import { shownText } from "../visible";
import { shortId } from "../words";
import { itemOf, type Item } from "./items";
import { list, num, obj, text, from } from "./json";
import { addressOf } from "./list";
import { titleOf } from "./naming";
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
}
const VERDICTS: Record<string, readonly [string, string, string]> = {
  approve: ["done", "done", "Approved"],
  deny: ["cancel", "denied", "Denied"],
  value: ["done", "model", "Answered"],
  instead: ["cancel", "model", "Result given"],
  dismiss: ["cancel", "denied", "Dismissed"],
  expire: ["cancel", "expired", "Expired"],
  escalate: ["wait", "person", "Escalated"],
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
};
const PAGE = 200;

export function Decided({ on, search }: { on: string; search: string }) {
  const which = query.value.get("which") ?? "";
  return (
    <>
      <Chips on={which} />
      <Lines key={which} which={which} on={on} search={search} />
    </>
  );
}

function Lines({ which, on, search }: { which: string; on: string; search: string }) {
  const lines = useSignal<Line[] | null>(null);
  const after = useSignal("");
  const error = useSignal<unknown>(null);
  const read = async (more: boolean): Promise<void> => {
    try {
      const only = which === "mine" ? { by: me.peek()?.name ?? "" } : { verb: which };
      const page = await ask("/audit", { limit: PAGE, after: more ? after.value : "", ...only });
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
        }));
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
        if (c.closed.length && (lines.peek()?.length ?? 0) <= PAGE) void read(false);
      },
    });
  }, []);
  if (error.value && !lines.value) return <Failure error={error.value} again={() => void read(false)} />;
  if (!lines.value) return <Skeleton rows={5} row={(n) => <div class="il skel-row" key={n} />} />;
  if (!lines.value.length && !after.value)
    return (
      <Empty icon="inbox" title="No decisions yet">
        <p>{NOTHING[which] ?? "Approvals, denials and answers appear here, with who gave them, and what expired."}</p>
      </Empty>
    );
  return (
    <div class="scroll">
      <ul aria-label="Decided">
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
  item: Item;
  decision: StepDecision | null;
  outcome: CallOutcome | null;
}
const known = new Map<string, Promise<Known>>();

async function read(ref: string): Promise<Known> {
  const found = await get<InterruptView>(`/interrupts/${at(ref)}`);
  return { item: itemOf(from(found)), decision: found.decision, outcome: found.outcome };
}

/** What was decided: the audit has its name only, so it is read once its row comes into sight. */
function useItem(ref: string): { row: RefObject<HTMLLIElement>; found: Known | null } {
  const row = useRef<HTMLLIElement>(null);
  const [found, setFound] = useState<Known | null>(null);
  useEffect(() => {
    const watcher = new IntersectionObserver(([seen]) => {
      if (!seen?.isIntersecting) return;
      watcher.disconnect();
      const reading = known.get(ref) ?? read(ref);
      known.set(ref, reading);
      reading.then(
        (one) => {
          setFound(one);
          if (one.outcome && !OVER.has(one.outcome.state)) known.delete(ref); // it goes on
        },
        () => known.delete(ref),
      );
    });
    if (row.current) watcher.observe(row.current);
    return () => watcher.disconnect();
  }, [ref]);
  return { row, found };
}
const OVER = new Set(["ran", "failed", "not_run", "undone"]);

function DecidedRow({ line: l, on, search }: { line: Line; on: boolean; search: string }) {
  const { row, found } = useItem(l.ref);
  const item = found?.item;
  const [tone, glyph, word] = l.refused
    ? (["t3", "cancel", "Refused"] as const)
    : (VERDICTS[l.verdict] ?? (["t3", "done", "Answered"] as const));
  const { tool, rest } = item ? titleOf(item) : { tool: "", rest: `${shortId(l.run)} · ${l.ref.slice(l.run.length + 1)}` };
  return (
    <li ref={row}>
      <Link to={addressOf(l.ref, search)} class={`il decided ${on ? "on" : ""}`} aria-current={on ? "true" : undefined}>
        <div class="row sm">
          <span class={tone}>
            <Icon name={glyph} />
          </span>
          <b class={`${tone} semi`}>{word}</b>
          <span class="grow" />
          <span class="t3">
            <Time at={l.at} />
          </span>
        </div>
        <div class="clip what">
          {tool ? <span class="mono">{shownText(tool)}</span> : null} {shownText(rest)}
        </div>
        <div class="sm t3 clip">
          {MISSED[l.verdict] ?? <>by {shownText(l.by || "someone")}</>}
          {l.note ? " · “" : ""}
          {shownText(l.note.slice(0, 200))}
          {l.note ? "”" : ""}
        </div>
        {found?.decision?.changes.length && !l.refused ? (
          <div class="sm clip">
            <Changes of={found.decision.changes} />
          </div>
        ) : null}
        {found?.outcome && !l.refused ? (
          <div class="sm clip">
            <Outcome of={found.outcome} tone />
          </div>
        ) : null}
      </Link>
    </li>
  );
}
