/** One run in the list. */
import { memo } from "../memo";
import { now } from "../api";
import { tick } from "../live";
import { row } from "../rows";
import { go, Link, to } from "../router";
import { RunId, Pill, Time } from "../ui";
import { Visible } from "../visible";
import { count, money, remaining, rough } from "../words";
import { glance } from "./glances";
import { Shape } from "./shape";
import type { Glance, Run } from "../types";

const ENDED = ["completed", "cancelled", "stopped", "failed"];

/** Its status as people see it: running under a halt finishes. */
export function shownStatus(run: Run, halted: boolean): string {
  return halted && run.status === "running" ? "finishing" : run.status;
}

export interface RowProps {
  id: string;
  top: number;
  index: number;
  selected: boolean;
  leaving: boolean;
  halted: boolean;
  enter: (id: string) => void;
  leave: (id: string) => void;
  last: boolean;
}

export const Row = memo(function Row({ id, top, index, selected, leaving, halted, enter, leave, last }: RowProps) {
  const run = row(id)?.value;
  if (!run) return null;
  const seen = glance(id).value;
  const status = shownStatus(run, halted);
  const path = to("runs", id);
  return (
    <div
      role="row"
      aria-rowindex={index + 2}
      aria-selected={selected}
      class={`rl r ${selected ? "sel" : ""} ${leaving ? "leaving" : ""} ${last ? "last" : ""}`}
      style={{ top: `${top}px` }}
      data-run={id}
      data-status={run.status}
      onPointerEnter={() => enter(id)}
      onPointerLeave={() => leave(id)}
      onFocusCapture={() => enter(id)}
      onBlurCapture={() => leave(id)}
      onClick={(e) => {
        if ((e.target as HTMLElement).closest("a, button") || getSelection()?.toString()) return;
        go(path);
      }}
    >
      <div role="gridcell" class="c-st">
        <Pill status={status} bare />
        <div class="sm t3 since">
          <Since run={run} seen={seen} status={status} />
        </div>
      </div>
      <div role="gridcell" class="grow c-run">
        <Link to={path} class="what clip" tabIndex={selected ? 0 : -1} data-row-link={id}>
          <Visible text={run.title || run.program} />
        </Link>
        <div class="sm t3 clip">
          <Visible text={run.program} /> · <RunId id={id} />
        </div>
      </div>
      <div role="gridcell" class="grow c-now">
        <Now run={run} seen={seen} status={status} />
      </div>
      <div role="gridcell" class="c-shape">
        {seen ? <Shape pieces={seen.shape} status={status} since={run.updated_at} /> : null}
      </div>
      <div role="gridcell" class="end num c-cost">
        {seen ? money(seen.cost) : ""}
      </div>
      <div role="gridcell" class="end num t2 c-age">
        <Time at={run.created_at} bare />
      </div>
    </div>
  );
});

function Since({ run, seen, status }: { run: Run; seen: Glance | null; status: string }) {
  const at = seen && status === "waiting" ? seen.since : run.updated_at;
  return ENDED.includes(status) ? <Time at={at} /> : <Time at={at} bare />;
}

/** What it does or waits for, and on a second line the detail. */
function Now({ run, seen, status }: { run: Run; seen: Glance | null; status: string }) {
  const [first, second] = seen ? lines(run, seen, status) : ["", ""];
  return (
    <>
      <div class="clip">
        <Said text={first} />
      </div>
      <div class="sm t3 clip">
        <Visible text={second} />
        {seen?.expires_at && status === "waiting" ? <Expires at={seen.expires_at} lead={second ? " · " : ""} /> : null}
      </div>
    </>
  );
}

/** A tool's name at the beginning is what the machine will use, so it is mono. */
function Said({ text }: { text: string }) {
  const [, before = "", name = "", rest = ""] =
    /^(Finishing |Undoing )?([\w.-]+_[\w.-]+|[a-z][\w.-]*)((?: needs approval| may have happened|, then| failed).*|)$/s.exec(text) ?? [];
  if (!name || name === "model") return <Visible text={text} />;
  return (
    <>
      {before}
      <span class="mono">
        <Visible text={name} />
      </span>
      <Visible text={rest} />
    </>
  );
}

function lines(run: Run, g: Glance, status: string): [string, string] {
  const quoted = (text: string): string => (text ? `“${text}”` : "");
  const more = g.waits > 1 ? `${g.waits - 1} more ${g.waits === 2 ? "waits" : "wait"}` : "";
  const join = (...parts: string[]): string => parts.filter(Boolean).join(" · ");
  switch (status) {
    case "running":
      return [g.now === "model" ? "Writing" : g.now, `step ${g.steps || 1}`];
    case "finishing":
      return [`Finishing ${g.now}, then held`, "a call in flight is never cut"];
    case "held":
      return [`Before step ${g.steps + 1}`, "goes on by itself when unhalted"];
    case "pausing":
      return [`Finishing ${g.now.replace(/^finishing /, "")}, then stops`, "nothing new starts"];
    case "paused":
      return [`Paused ${g.now}`, "uses nothing until resumed"];
    case "cancelling":
      return [g.now.replace(/^undoing/, "Undoing"), "last thing first"];
    case "ready":
      return ["Waits for a worker", `before step ${g.steps + 1}`];
    case "completed":
      return [quoted(g.now), join(count(g.steps, "step"), g.tokens ? count(g.tokens, "token") : "")];
    case "cancelled":
      return [g.now, "what it did is undone, as far as it could be"];
    case "stopped":
      return [`Stopped ${g.now}`, "by its limit, with what there was"];
    default:
      return [
        g.now,
        join(
          g.detail,
          more,
          run.status === "failed" && !g.detail ? "try it again, or cancel" : g.detail || g.expires_at ? "" : "no expiry",
        ),
      ];
  }
}

function Expires({ at, lead }: { at: number; lead: string }) {
  tick.value;
  const left = at - now();
  return (
    <>
      {lead}
      {left <= 0 ? "expires now" : <span class={left < 60 ? "fail" : ""}>expires in {left < 60 ? remaining(left) : rough(left)}</span>}
    </>
  );
}

/** A row that is not there yet. */
export function EmptyRow({ n }: { n: number }) {
  return (
    <div class="rl r static" aria-hidden="true">
      <div class="skel" style={{ width: "84px" }} />
      <div class="stack tight">
        <div class="skel" style={{ width: n % 2 ? "64%" : "82%" }} />
        <div class="skel" style={{ width: "38%", height: "9px" }} />
      </div>
      <div class="skel c-now" style={{ width: n % 3 ? "70%" : "52%" }} />
      <div class="skel c-shape" style={{ width: "150px" }} />
      <div class="skel c-cost right" style={{ width: "46px" }} />
      <div class="skel right" style={{ width: "46px" }} />
    </div>
  );
}
