/** One run in the list. */
import { memo } from "../memo";
import { now } from "../api";
import { haltOn, tick } from "../live";
import { row } from "../rows";
import { go, Link, to } from "../router";
import { RunId, Pill, Time } from "../ui";
import { afterUnhalt } from "../touched";
import { Visible } from "../visible";
import { count, money, remaining, rough } from "../words";
import { KIND_WORDS } from "../generated/words";
import { chosen } from "./chosen";
import { glance } from "./glances";
import { Shape } from "./shape";
import type { Activity, RunGlance as Glance, RunSummary as Run } from "../generated/types";

const ENDED = ["completed", "cancelled", "stopped", "failed"];

/** Its status as people see it: what runs a call that a halt touches finishes. */
export function shownStatus(run: Run, tools: readonly string[]): string {
  return run.status === "running" && haltOn([run.agent], tools) ? "finishing" : run.status;
}

export interface RowProps {
  id: string;
  top: number;
  index: number;
  selected: boolean;
  leaving: boolean;
  enter: (id: string) => void;
  leave: (id: string) => void;
  last: boolean;
}

export const Row = memo(function Row({ id, top, index, selected, leaving, enter, leave, last }: RowProps) {
  const run = row(id)?.value;
  if (!run) return null;
  const seen = glance(id).value;
  const status = shownStatus(run, seen?.now.tools ?? []);
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
        if ((e.target as HTMLElement).closest("a, button, input") || getSelection()?.toString()) return;
        go(path);
      }}
    >
      <div role="gridcell" class="c-st">
        <input
          type="checkbox"
          class="pick-run"
          tabIndex={selected ? 0 : -1}
          aria-label={`Choose ${run.title || run.agent}`}
          checked={chosen.ids.value.has(id)}
          onChange={() => chosen.toggle(id)}
        />
        <Pill status={status} bare />
        <div class="sm t3 since">
          <Since run={run} seen={seen} status={status} />
        </div>
      </div>
      <div role="gridcell" class="grow c-run">
        <Link to={path} class="what clip" tabIndex={selected ? 0 : -1} data-row-link={id}>
          <Visible text={run.title || run.agent} />
        </Link>
        <div class="sm t3 clip">
          <Visible text={run.agent} /> · <RunId id={id} />
        </div>
      </div>
      <div role="gridcell" class="grow c-now">
        <Now agent={run.agent} seen={seen} status={status} />
      </div>
      <div role="gridcell" class="c-shape">
        {seen ? <Shape pieces={seen.spans} status={status} since={run.updated_at} /> : null}
      </div>
      <div role="gridcell" class="end num c-cost">
        {!seen ? "" : seen.usage.cost ? money(seen.usage.cost) : <span class="t3">–</span>}
      </div>
      <div role="gridcell" class="end num t2 c-age">
        <Time at={run.created_at} bare />
      </div>
    </div>
  );
});

function Since({ run, seen, status }: { run: Run; seen: Glance | null; status: string }) {
  const at = seen && status === "waiting" ? seen.now.since : run.updated_at;
  return ENDED.includes(status) ? <Time at={at} /> : <Time at={at} bare />;
}

/** What it does or waits for, and on a second line the detail. */
function Now({ agent, seen, status }: { agent: string; seen: Glance | null; status: string }) {
  if (!seen) return null;
  const agents = [agent, seen.now.agent].filter(Boolean);
  const after = status === "waiting" || status === "failed" ? afterUnhalt(seen.now.kind, agents, seen.now.tools[0] ?? "") : "";
  const first = headOf(seen, status);
  const second = after || detailOf(seen, status);
  const until = status === "waiting" ? seen.now.until : null;
  return (
    <>
      <div class="clip">
        <Said words={first} />
      </div>
      <div class="sm t3 clip">
        <Visible text={second} />
        {until ? <Expires at={until} lead={second ? " · " : ""} /> : null}
      </div>
    </>
  );
}

/** A sentence around the name of a tool, which is what the machine will use, so it is mono. */
interface Words {
  before?: string;
  tool?: string;
  rest?: string;
}

function Said({ words: { before = "", tool = "", rest = "" } }: { words: Words }) {
  return (
    <>
      <Visible text={before} />
      {tool ? (
        <span class="mono">
          <Visible text={tool} />
        </span>
      ) : null}
      <Visible text={rest} />
    </>
  );
}

const paused = (by: string, reason: string): string => `Paused by ${by || "someone"}${reason ? `: ${reason}` : ""}`;

function headOf(g: Glance, status: string): Words {
  const { now: a } = g;
  const tool = a.tools.join(", ");
  if (status === "finishing") return tool ? { before: "Finishing ", tool, rest: ", then held" } : { rest: "Stopping its model call, then held" };
  switch (a.verb) {
    case "calling_model":
      return { rest: "Writing" };
    case "running":
      return { tool };
    case "finishing":
      return { before: "Finishing ", tool, rest: tool ? ", then stops" : "the model call, then stops" };
    case "undoing":
      return { before: "Undoing ", tool, rest: tool ? "" : "what was done" };
    case "held":
      return { rest: `Before step ${g.steps + 1}` };
    case "queued":
      return { rest: a.reason || "Waits for a worker" };
    case "unfit":
      return { rest: `No worker fits: ${a.reason}` };
    case "paused":
      return { rest: paused(a.by, a.reason) };
    case "waiting":
    case "sleeping":
      return waitingFor(a);
    case "ended":
      return { rest: endOf(g) };
  }
}

function waitingFor(a: Activity): Words {
  const tool = a.tools[0] ?? "";
  const more = a.more ? `, and ${a.more} more` : "";
  if (a.text) return { rest: a.text + more };
  switch (a.kind) {
    case "approval":
      return { tool, rest: ` needs approval${more}` };
    case "in_doubt":
      return { tool, rest: ` may have happened${more}` };
    case "question":
      return { rest: (a.type === "question" ? "A question" : `${a.type}: an answer is needed`) + more };
    case "event":
      return { rest: `${a.type}: waits for an event${more}` };
    case "error":
    case "limit":
    case "undo":
      return { rest: (KIND_WORDS[a.kind]?.asks ?? a.kind) + more };
    default:
      return { rest: `Sleeps until its time has come${more}` };
  }
}

function endOf(g: Glance): string {
  const { now: a } = g;
  if (g.erased_at) return `Erased by ${a.by || "someone"}${a.reason ? `: ${a.reason}` : ""}`;
  if (g.status === "cancelled") return a.more ? `${a.more} not undone` : "No residue";
  if (g.status === "stopped") return `Stopped by ${a.reason}`;
  return a.text ? `“${a.text}”` : "";
}

function detailOf(g: Glance, status: string): string {
  const { now: a } = g;
  const join = (...parts: string[]): string => parts.filter(Boolean).join(" · ");
  const tokens = g.usage.input_tokens + g.usage.output_tokens;
  switch (status) {
    case "running":
      return `step ${g.steps || 1}`;
    case "finishing":
      return g.now.tools.length ? "a tool call in flight is never cut" : "the model is called again after the unhalt";
    case "held":
      return "continues by itself when the halt is lifted";
    case "pausing":
      return "nothing new starts";
    case "paused":
      return "uses nothing until resumed";
    case "cancelling":
      return "last thing first";
    case "ready":
      return `before step ${g.steps + 1}`;
    case "completed":
      return join(count(g.steps, "step"), tokens ? count(tokens, "token") : "");
    case "cancelled":
      return "what it did is undone, as far as it could be";
    case "stopped":
      return "by its limit, with what there was";
    default: {
      const detail = join(a.agent ? `in ${a.agent}` : "", a.reason);
      if (g.status === "failed" && !detail) return "try it again, or cancel";
      return detail || (a.until ? "" : "no expiry");
    }
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
