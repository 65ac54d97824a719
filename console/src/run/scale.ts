/** Time on the page: a run works for seconds and waits for hours, so quiet time is cut out and labelled. */
import { spansOf } from "./tree";
import type { Step } from "../types";

export interface Part {
  from: number;
  to: number;
  left: number;
  right: number;
  cut: boolean;
  /** Something ran in it: the middle of a step beside which the others would have no width. */
  busy?: boolean;
}
export interface Scale {
  parts: Part[];
  x: (t: number) => number;
  end: number;
  alive: boolean;
}

const QUIET = 8;
const CUT = 8;
const MOST = 6;
/** So many long steps are cut. */
const MOST_LONG = 4;
export const RIGHT = 96;

/** Percent of the track for every moment between the first step and `now` (or the end). */
export function scaleOf(steps: Step[], now: number, alive: boolean, cut: boolean): Scale {
  const [from, end, busy] = extent(steps, now, alive);
  const pieces = cut ? cutUp(from, end, busy) : [{ from, to: end, cut: false }];
  const cuts = pieces.filter((p) => p.cut).length;
  const active = pieces.reduce((s, p) => s + (p.cut ? 0 : p.to - p.from), 0) || 1;
  const room = RIGHT - cuts * CUT - 1;
  let left = 1;
  const parts = pieces.map((p): Part => {
    const width = p.cut ? CUT : ((p.to - p.from) / active) * room;
    const part = { ...p, left, right: left + width };
    left += width;
    return part;
  });
  const x = (t: number): number => {
    const part = parts.find((p) => t <= p.to) ?? parts.at(-1);
    if (!part) return 1;
    const share = part.to > part.from ? Math.min(1, Math.max(0, (t - part.from) / (part.to - part.from))) : 0;
    return part.left + share * (part.right - part.left);
  };
  return { parts, x, end, alive };
}

function extent(steps: Step[], now: number, alive: boolean): [number, number, [number, number][]] {
  const busy: [number, number][] = [];
  let [from, end] = [Infinity, 0];
  for (const step of steps) {
    from = Math.min(from, step.at);
    end = Math.max(end, step.at);
    busy.push([step.at, step.at]);
    for (const s of spansOf(step)) {
      end = Math.max(end, s.end ?? 0);
      // A nested agent is as busy as its own steps are.
      if (s.kind === "run" && step.kind !== "agent") busy.push([s.start, s.end ?? now]);
    }
  }
  if (alive) end = Math.max(end, now);
  if (!Number.isFinite(from)) from = end = now;
  return [from, Math.max(end, from + 0.5), busy];
}

type Piece = Pick<Part, "from" | "to" | "cut" | "busy">;

/** Busy stretches, and between them what is long enough to be left out. */
function cutUp(from: number, end: number, busy: [number, number][]): Piece[] {
  busy.sort((a, b) => a[0] - b[0]);
  const gaps: [number, number][] = [];
  let until = from;
  for (const [a, b] of [...busy, [end, end] as [number, number]]) {
    if (a - until > 0) gaps.push([until, a]);
    until = Math.max(until, b);
  }
  const quiet = gaps.reduce((s, [a, b]) => s + b - a, 0);
  const work = Math.max(0.5, end - from - quiet);
  const long = gaps
    .filter(([a, b]) => b - a > Math.max(QUIET, work * 0.6))
    .sort((a, b) => b[1] - b[0] - (a[1] - a[0]))
    .slice(0, MOST);
  const still = longOnes(busy, work);
  const quietCuts = long.slice(0, MOST + 1 - Math.max(1, still.length));
  const cuts = [...quietCuts.map((gap) => ({ gap, busy: false })), ...still.map((gap) => ({ gap, busy: true }))];
  cuts.sort((a, b) => a.gap[0] - b.gap[0]);
  const rest = Math.max(0.5, work - still.reduce((s, [a, b]) => s + b - a, 0));
  const pieces: Piece[] = [];
  let at = from;
  for (const { gap, busy: ran } of cuts) {
    const [a, b] = gap;
    // A little stays on both sides, so that one sees where it begins; more of what ran.
    const edge = Math.min(rest * (ran ? 0.3 / still.length : 0.04), (b - a) / 4);
    pieces.push({ from: at, to: a + edge, cut: false }, { from: a + edge, to: b - edge, cut: true, busy: ran });
    at = b - edge;
  }
  pieces.push({ from: at, to: end, cut: false });
  return pieces.filter((p) => p.to > p.from);
}

/**
 * The longest times in which something ran and nothing began or ended, if the rest would have no width beside them: one that is longer
 * than all others together, or several of which each is twice as long as all others together. `busy` is sorted by its beginnings.
 */
function longOnes(busy: [number, number][], work: number): [number, number][] {
  const points = [...new Set(busy.flat())].sort((a, b) => a - b);
  const ran: [number, number][] = [];
  let [until, begun] = [-Infinity, 0];
  for (const [n, a] of points.entries()) {
    while (begun < busy.length && busy[begun]![0] <= a) until = Math.max(until, busy[begun++]![1]);
    const b = points[n + 1];
    if (b !== undefined && until >= b) ran.push([a, b]);
  }
  ran.sort(([a, b], [c, d]) => d - c - (b - a));
  let found: [number, number][] = [];
  let rest = work;
  for (const [n, [a, b]] of ran.slice(0, MOST_LONG).entries()) {
    rest -= b - a;
    if (b - a <= QUIET) break;
    const flattens = n ? rest >= 1 && b - a > 2 * rest : b - a > rest;
    if (flattens) found = ran.slice(0, n + 1);
  }
  return found;
}
