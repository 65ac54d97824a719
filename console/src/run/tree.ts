/** The steps as rows: a nested agent's below its call, collapsed ones left out, what is being written at the end of its agent. */
import { labelOf, ownPart } from "../ids";
import { json } from "../words";
import type { RunView as RunState, ModelCallView as Thinking } from "../generated/types";
import type { Step } from "../types";

export interface Line {
  step: Step;
  level: number;
  children: number;
  open: boolean;
  last: boolean;
  agent: string;
  writes: boolean;
}

/** `3.0/1.0` → `1.0`: where it is inside its agent; the rail shows the rest. Of a flow's step the words beside its name say it. */
export const address = (step: Step): string =>
  step.kind === "writing" || step.place.length ? "" : ownPart(step.call_id);

/** What was running when the run ended, or only read when a cancel came, was cut off there: nobody writes that down. */
function cutOff(steps: Step[]): Step[] {
  const end = steps.find((s) => s?.kind === "end");
  const cancel = steps.findLast((s) => s?.kind === "cancel");
  const cut = (s: Step): Step => {
    const read = s.effect === "" || s.effect === "read";
    const at = (read && cancel && s.at <= cancel.at ? cancel : end)?.at;
    const going = s.status === "running" || (s.status === "ready" && end);
    if (at === undefined || !going || s.kind === "undo" || s.at > at) return s;
    const spans = s.spans.map((x) => (x.end === null ? { ...x, end: Math.max(x.start, at) } : x));
    return { ...s, status: "cancelled", note: "cut off", spans, took: s.took ?? at - (s.spans.at(-1)?.start ?? s.at) };
  };
  return steps.map((s) => (s ? cut(s) : s));
}

export function linesOf(all: Step[], thinking: Thinking[], closed: ReadonlySet<string>, program: string): Line[] {
  const steps = cutOff(all);
  const under = new Map<string, Step[]>();
  const agents = new Map<string, string>([["", program]]);
  for (const step of steps) {
    if (!step) continue;
    if (step.kind === "agent") agents.set(step.call_id, step.name);
    const list = under.get(step.path);
    if (list) list.push(step);
    else under.set(step.path, [step]);
  }
  for (const t of thinking) {
    const list = under.get(t.path) ?? [];
    list.push(writing(t, list.length));
    under.set(t.path, list);
  }
  // A nested agent of which nothing runs, because something of it waits, waits itself.
  const stirs = (path: string, status: string): boolean =>
    (under.get(path) ?? []).some((s) => (s.kind !== "agent" && s.status === status) || (s.kind === "agent" && stirs(s.call_id, status)));
  const shown = (s: Step): Step =>
    s.kind === "agent" && s.status === "running" && !stirs(s.call_id, "running") && stirs(s.call_id, "waiting") ? { ...s, status: "waiting" } : s;
  const lines: Line[] = [];
  const walk = (path: string, level: number): void => {
    const list = under.get(path) ?? [];
    list.forEach((step, i) => {
      const children = step.kind === "agent" ? (under.get(step.call_id)?.length ?? 0) : 0;
      const open = !closed.has(step.call_id);
      lines.push({
        step: shown(step),
        level,
        children,
        open,
        last: i === list.length - 1,
        agent: agents.get(path) ?? "",
        writes: step.kind === "writing",
      });
      if (children && open) walk(step.call_id, level + 1);
    });
  };
  walk("", 0);
  return lines;
}

/** A model call that has no record yet. */
function writing(t: Thinking, n: number): Step {
  return {
    number: -1 - n,
    first_seq: 0,
    last_seq: 0,
    kind: "writing",
    call_id: `${labelOf(t.path)}…`,
    name: "model",
    agent: t.agent,
    text: "writing…",
    said: null,
    status: "running",
    note: "",
    path: t.path,
    depth: 0,
    at: t.since,
    took: null,
    spans: [{ kind: "run", start: t.since, end: null }],
    arguments: null,
    result: null,
    error: "",
    ran: false,
    digest: "",
    idempotency_key: "",
    effect: "",
    undo: false,
    reason: "",
    rules: [],
    asked_at: null,
    decision: null,
    earlier: null,
    outcome: null,
    place: [],
    attempt: 0,
    tokens: 0,
    interrupt_ref: "",
    interrupt_kind: "",
    inherited: false,
    in_doubt: false,
  };
}

/** The stretches of a step; a read has no record of its beginning, but says how long it took. */
export function spansOf(step: Step): Step["spans"] {
  if (step.spans.length || !step.took || step.kind === "end") return step.spans;
  return [{ kind: "run", start: step.at, end: step.at + step.took }];
}

/** The step that a person most probably wants to see. */
export function firstChoice(lines: Line[], state: RunState | null): Step | null {
  const refs = new Set(state?.interrupts.map((i) => i.ref));
  const waits = lines.find((l) => l.step.interrupt_ref && refs.has(l.step.interrupt_ref));
  const runs = lines.findLast((l) => l.step.status === "running" && l.step.kind !== "agent");
  return (waits ?? runs ?? lines.at(-1))?.step ?? null;
}

const GLYPHS: Record<string, string> = {
  start: "person",
  resume: "person",
  message: "person",
  model: "model",
  summary: "model",
  writing: "run",
  tool: "tool",
  chunk: "tool",
  agent: "child",
  pause: "pause",
  cancel: "cancel",
  undo: "undo",
  end: "done",
  interrupt: "clock",
  failure: "fail",
  takeover: "person",
  hold: "halt",
  residue: "fail",
  event: "link",
};
const TONES: Record<string, string> = {
  running: "run",
  waiting: "wait",
  failed: "fail",
  completed: "done",
  pausing: "pause",
  paused: "pause",
  held: "idle",
  denied: "cancel",
  expired: "cancel",
  cancelled: "cancel",
  stopped: "cancel",
  ready: "idle",
};

/** Its glyph and the colour of its status. */
export function lookOf(step: Step): { glyph: string; tone: string } {
  const tone = TONES[step.status] ?? "t2";
  if (step.kind === "pause") return { glyph: step.status === "pausing" || !step.spans.length ? "pausing" : "pause", tone: "pause" };
  if (step.status === "denied" || step.status === "expired") return { glyph: step.status, tone };
  if (step.kind === "hold") return { glyph: "halt", tone: step.status === "held" ? "wait" : "t2" };
  if (step.kind === "residue") return { glyph: "fail", tone: "fail" };
  if (step.kind === "end") return { glyph: step.status === "completed" ? "done" : "cancel", tone };
  if (step.kind === "agent") return { glyph: "child", tone };
  if (step.status === "waiting") return { glyph: step.in_doubt ? "doubt" : "wait", tone };
  if (step.status === "running") return { glyph: "run", tone: "run" };
  if (step.status === "failed") return { glyph: "fail", tone: "fail" };
  if (step.status === "ready") return { glyph: "ready", tone: "idle" };
  return { glyph: GLYPHS[step.kind] ?? "tool", tone: step.kind === "undo" ? "cancel" : tone };
}

const CALLS = ["tool", "agent", "chunk", "undo"];

/** What a step is called: a call by its name, everything else by what happened. */
export function nameOf(step: Step): string {
  if (CALLS.includes(step.kind)) return step.name;
  return step.kind === "cancel" ? "Cancel asked" : step.name.charAt(0).toUpperCase() + step.name.slice(1);
}

/** What a step says: prose, or what somebody said or what came out, which is quoted. */
export function wordsOf(step: Step): { text: string; quoted: boolean } {
  if (step.said === null || step.said === undefined) return { text: step.text, quoted: false };
  return { text: typeof step.said === "string" ? step.said : json(step.said), quoted: true };
}
