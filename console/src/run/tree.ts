/** The steps as rows: a nested agent's below its call, collapsed ones left out, what is being written at the end of its agent. */
import type { RunState, Step, Thinking } from "../types";

export interface Line {
  step: Step;
  level: number;
  children: number;
  open: boolean;
  last: boolean;
  agent: string;
  writes: boolean;
}

/** `3.0/1.0` → `1.0`: where it is inside its agent; the rail shows the rest. */
export const address = (step: Step): string =>
  step.kind === "writing" ? "" : step.id.slice(step.id.lastIndexOf("/") + 1).replace(/!.*$/, "");

/** What was running when the run ended, or only read when a cancel came, was cut off there: nobody writes that down. */
function cutOff(steps: Step[]): Step[] {
  const end = steps.find((s) => s?.kind === "end") ?? steps.findLast((s) => s?.kind === "cancel");
  if (!end) return steps;
  const cut = (s: Step): boolean =>
    s.status === "running" && s.kind !== "undo" && (end.kind === "end" || s.effect === "" || s.effect === "read") && s.at <= end.at;
  return steps.map((s) =>
    s && cut(s)
      ? {
          ...s,
          status: "cancelled",
          note: "cut off",
          spans: s.spans.map((x) => (x.to === null ? { ...x, to: Math.max(x.from, end.at) } : x)),
        }
      : s,
  );
}

export function linesOf(all: Step[], thinking: Thinking[], closed: ReadonlySet<string>, program: string): Line[] {
  const steps = cutOff(all);
  const under = new Map<string, Step[]>();
  const agents = new Map<string, string>([["", program]]);
  for (const step of steps) {
    if (!step) continue;
    if (step.kind === "child") agents.set(step.id, step.name);
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
    (under.get(path) ?? []).some((s) => (s.kind !== "child" && s.status === status) || (s.kind === "child" && stirs(s.id, status)));
  const shown = (s: Step): Step =>
    s.kind === "child" && s.status === "running" && !stirs(s.id, "running") && stirs(s.id, "waiting") ? { ...s, status: "waiting" } : s;
  const lines: Line[] = [];
  const walk = (path: string, level: number): void => {
    const list = under.get(path) ?? [];
    list.forEach((step, i) => {
      const children = step.kind === "child" ? (under.get(step.id)?.length ?? 0) : 0;
      const open = !closed.has(step.id);
      lines.push({
        step: shown(step),
        level,
        children,
        open,
        last: i === list.length - 1,
        agent: agents.get(path) ?? "",
        writes: step.kind === "writing",
      });
      if (children && open) walk(step.id, level + 1);
    });
  };
  walk("", 0);
  return lines;
}

/** A model call that has no record yet. */
function writing(t: Thinking, n: number): Step {
  return {
    n: -1 - n,
    seq: 0,
    record: 0,
    kind: "writing",
    id: t.path ? `${t.path}/…` : "…",
    name: "model",
    text: "writing…",
    quoted: false,
    status: "running",
    note: "",
    path: t.path,
    level: 0,
    at: t.since,
    took: null,
    spans: [{ kind: "run", from: t.since, to: null }],
    arguments: null,
    result: null,
    error: "",
    ran: false,
    digest: "",
    key: "",
    effect: "",
    undo: false,
    reason: "",
    rules: [],
    attempt: 0,
    tokens: 0,
    interrupt: null,
  };
}

/** The stretches of a step; a read has no record of its beginning, but says how long it took. */
export function spansOf(step: Step): Step["spans"] {
  if (step.spans.length || !step.took || step.kind === "end") return step.spans;
  return [{ kind: "run", from: step.at, to: step.at + step.took }];
}

/** The step that a person most probably wants to see. */
export function firstChoice(lines: Line[], state: RunState | null): Step | null {
  const refs = new Set(state?.interrupts.map((i) => i.ref));
  const waits = lines.find((l) => l.step.interrupt && refs.has(l.step.interrupt));
  const runs = lines.findLast((l) => l.step.status === "running" && l.step.kind !== "child");
  return (waits ?? runs ?? lines.at(-1))?.step ?? null;
}

const GLYPHS: Record<string, string> = {
  start: "person",
  resume: "person",
  say: "person",
  model: "model",
  summary: "model",
  writing: "run",
  call: "tool",
  chunk: "tool",
  child: "child",
  pause: "pause",
  cancel: "cancel",
  undo: "undo",
  end: "done",
  wait: "clock",
  fault: "fail",
  worker: "person",
  left: "fail",
  event: "link",
};
const TONES: Record<string, string> = {
  running: "run",
  waiting: "wait",
  failed: "fail",
  completed: "done",
  paused: "pause",
  cancelled: "cancel",
  stopped: "cancel",
  ready: "idle",
};

/** Its glyph and the colour of its status. */
export function lookOf(step: Step): { glyph: string; tone: string } {
  const tone = TONES[step.status] ?? "t2";
  if (step.kind === "pause") return { glyph: "pause", tone: "pause" };
  if (step.kind === "left") return { glyph: "fail", tone: "fail" };
  if (step.kind === "end") return { glyph: step.status === "completed" ? "done" : "cancel", tone };
  if (step.kind === "child") return { glyph: "child", tone };
  if (step.status === "waiting") return { glyph: step.note === "in doubt" ? "doubt" : "wait", tone };
  if (step.status === "running") return { glyph: "run", tone: "run" };
  if (step.status === "failed") return { glyph: "fail", tone: "fail" };
  if (step.status === "ready") return { glyph: "ready", tone: "idle" };
  return { glyph: GLYPHS[step.kind] ?? "tool", tone: step.kind === "undo" ? "cancel" : tone };
}

const NAMES: Record<string, string> = {
  started: "Started",
  model: "Model",
  summary: "Summary",
  paused: "Paused",
  resumed: "Resumed",
  said: "Said",
  cancel: "Cancel asked",
  completed: "Completed",
  stopped: "Stopped",
  cancelled: "Cancelled",
  "left behind": "Left behind",
  "taken over": "Taken over",
  event: "Event",
};
export const nameOf = (step: Step): string =>
  ["call", "child", "chunk", "undo"].includes(step.kind) ? step.name : (NAMES[step.name] ?? step.name);
