/** The flow's picture: what happened is solid, what has not is dashed; arrow keys walk it, and the same is there as a list. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef } from "preact/hooks";
import { placeOf } from "../ids";
import { ticking } from "../live";
import { Icon } from "../ui";
import { visible } from "../visible";
import { duration, gist, rough } from "../words";
import { H, planeOf, type Arm, type Box, type Join } from "./layout";
import type { RunView as RunState } from "../generated/types";
import type { Graph, Step } from "../types";

type Look = "done" | "running" | "waiting" | "failed" | "not reached" | "not taken" | "undone";
const LOOKS: Record<Look, { glyph: string; tone: string; fill: string; stroke: string; dash: boolean; width: number }> = {
  done: { glyph: "done", tone: "done", fill: "var(--surface)", stroke: "var(--done)", dash: false, width: 1.5 },
  running: { glyph: "run", tone: "run", fill: "var(--run-t)", stroke: "var(--run)", dash: false, width: 2 },
  waiting: { glyph: "wait", tone: "wait", fill: "var(--wait-t)", stroke: "var(--wait-m)", dash: false, width: 2 },
  failed: { glyph: "fail", tone: "fail", fill: "var(--fail-t)", stroke: "var(--fail)", dash: false, width: 2 },
  undone: { glyph: "undo", tone: "cancel", fill: "var(--surface)", stroke: "var(--cancel)", dash: false, width: 1.5 },
  "not reached": { glyph: "ready", tone: "idle", fill: "var(--bg)", stroke: "var(--edge)", dash: true, width: 1.5 },
  "not taken": { glyph: "cancel", tone: "idle", fill: "var(--bg)", stroke: "var(--line)", dash: true, width: 1.5 },
};

/** A picture that is wider than a phone gets no smaller than this, and is moved sideways. */
const READABLE = 0.85;

const phone = matchMedia("(max-width: 640px)");
const down = signal(phone.matches);
phone.addEventListener("change", (e) => (down.value = e.matches));

interface Seen {
  look: Look;
  text: string;
  step: Step | null;
  times: number;
}

function seenAt(box: Box, steps: Map<string, Step[]>, over: boolean, taken: readonly Arm[]): Seen {
  const found = steps.get(box.place) ?? [];
  const step = found.findLast((s) => s.status === "waiting") ?? found.findLast((s) => s.status === "running") ?? found.at(-1) ?? null;
  if (!step) {
    const skipped = over || box.arms.some((a) => taken.some((t) => t.of === a.of) && !taken.some((t) => t.of === a.of && t.branch === a.branch));
    return { look: skipped ? "not taken" : "not reached", text: skipped ? "not taken" : "not reached", step: null, times: 0 };
  }
  const times = found.length;
  const since = step.spans.at(-1)?.start ?? step.at;
  if (step.status === "waiting")
    return { look: "waiting", text: `waiting ${rough(ticking() - since)} · ${step.note}`, step, times };
  if (step.status === "running") return { look: "running", text: `live · ${rough(ticking() - since)}`, step, times };
  if (step.status === "failed") return { look: "failed", text: step.error || step.note, step, times };
  const result = gist(step.result);
  const room = down.value ? 8 : 12;
  const took = step.took === null ? "" : duration(step.took);
  return {
    look: step.status === "cancelled" ? "undone" : "done",
    text: [result.length > room ? `${result.slice(0, room - 1)}…` : result, took, times > 1 ? `${times}×` : ""].filter(Boolean).join(" · "),
    step,
    times,
  };
}

interface Props {
  state: RunState;
  steps: Step[];
  selected: Step | null;
  select: (s: Step, open?: boolean) => void;
}

export function Picture({ state, steps, selected, select }: Props) {
  const svg = useRef<SVGSVGElement>(null);
  const plane = useMemo(() => (state.graph ? planeOf(state.graph as Graph, down.value) : null), [state.graph, down.value]);
  const by = useMemo(() => {
    const map = new Map<string, Step[]>();
    for (const s of steps)
      if (s && ["chunk", "agent", "tool"].includes(s.kind)) map.set(placeOf(s.call_id), [...(map.get(placeOf(s.call_id)) ?? []), s]);
    return map;
  }, [steps]);
  // who comes to a picture that does not fit sees what matters now, not its left edge
  const came = useRef(false);
  useEffect(() => {
    if (came.current || !plane) return;
    came.current = true;
    const at = svg.current?.querySelector("[data-look=waiting], [data-look=running], [data-look=failed]");
    if (down.value && at) at.scrollIntoView({ block: "nearest", inline: "center" });
  }, [plane]);
  if (!plane) return null;
  const over = ["completed", "cancelled", "stopped"].includes(state.status);
  const taken = plane.boxes.filter((b) => by.has(b.place)).flatMap((b) => b.arms);
  const seen = new Map(plane.boxes.map((b) => [b.key, seenAt(b, by, over, taken)]));
  const passed = (key: string): boolean => {
    const s = seen.get(key);
    if (s) return s.look === "done" || s.look === "undone";
    const join = plane.joins.find((j) => j.key === key);
    return !!join && join.parts.every(passed);
  };
  const reached = (key: string): boolean => (seen.get(key)?.step ?? null) !== null || passed(key);
  const walk = (e: KeyboardEvent): void => {
    const at = plane.boxes.find((b) => seen.get(b.key)?.step?.number === selected?.number) ?? plane.boxes[0];
    const next =
      at &&
      nearest(
        plane.boxes.filter((b) => seen.get(b.key)?.step),
        at,
        e.key,
      );
    const step = next && seen.get(next.key)?.step;
    if (!step) return;
    e.preventDefault();
    select(step);
    svg.current?.querySelector<SVGGElement>(`[data-box="${CSS.escape(next.key)}"]`)?.focus();
  };
  const centre = (key: string, side: "in" | "out"): [number, number] => {
    const b = plane.boxes.find((x) => x.key === key);
    const out = side === "out";
    if (b) return down.value ? [b.x + plane.box / 2, out ? b.y + H : b.y] : [out ? b.x + plane.box : b.x, b.y + H / 2];
    const j = plane.joins.find((x) => x.key === key);
    if (!j) return [0, 0];
    const r = out ? 12 : -12;
    return down.value ? [j.x, j.y + r] : [j.x + r, j.y];
  };
  const label = `Flow ${state.agent}: ${plane.boxes.map((b) => `${b.name} ${seen.get(b.key)?.look ?? ""}`).join("; ")}`;
  return (
    <section class="card picture" aria-label="Picture">
      <div class="scroller" role="region" aria-label="Picture, scrolls sideways" tabIndex={0}>
        <svg
          ref={svg}
          viewBox={`0 0 ${plane.w} ${plane.h}`}
          style={{ maxWidth: `${plane.w}px`, minWidth: `${Math.min(plane.w, down.value ? Math.max(340, plane.w * READABLE) : 620)}px` }}
          role="group"
          aria-label={label}
          onKeyDown={walk}
        >
          {plane.frames.map((f) => (
            <rect key={f.key} x={f.x} y={f.y} width={f.w} height={f.h} rx="14" fill="var(--bg)" stroke="var(--line)" />
          ))}
          {plane.edges.map((e, i) => {
            const [[x1, y1], [x2, y2]] = [centre(e.from, "out"), centre(e.to, "in")];
            const happened = passed(e.from) && (plane.joins.some((j) => j.key === e.to) || reached(e.to));
            return (
              <g key={i}>
                <path
                  class={happened ? "pe" : "pe no"}
                  d={curve(x1, y1, x2, y2)}
                  marker-end="url(#m-to)"
                />
                {e.label ? (
                  <text class="pl" x={down.value ? x2 + 8 : x2 - 8} y={y2 - 8} text-anchor={down.value ? "start" : "end"}>
                    {visible(e.label.slice(0, 22))}
                  </text>
                ) : null}
              </g>
            );
          })}
          {plane.frames.map((f) => (
            <text key={f.key} x={f.x + 16} y={f.y + 22} class="ps over">
              {visible(f.label)} {countIn(f.key, plane.joins, passed)}
            </text>
          ))}
          {plane.joins.map((j) => (
            <g key={j.key}>
              <circle cx={j.x} cy={j.y} r="11" fill="var(--surface)" stroke="var(--ink-2)" stroke-width="1.5" />
              <text x={j.x} y={j.y + 4} text-anchor="middle" class="pj">
                {j.parts.filter(passed).length}
              </text>
              <text x={down.value ? j.x + 18 : j.x} y={j.y + (down.value ? 4 : 30)} text-anchor={down.value ? "start" : "middle"} class="ps">
                join of {j.of}
              </text>
            </g>
          ))}
          {plane.boxes.map((b) => (
            <Node
              key={b.key}
              box={b}
              wide={plane.box}
              seen={seen.get(b.key) as Seen}
              on={!!selected && seen.get(b.key)?.step?.number === selected.number}
              select={select}
            />
          ))}
        </svg>
      </div>
      <ol class="hide" aria-label="The picture as a list">
        {plane.boxes.map((b) => (
          <li key={b.key}>
            {visible(b.name)}: {visible(seen.get(b.key)?.text || seen.get(b.key)?.look || "")}
          </li>
        ))}
      </ol>
      <div class="row legend">
        {(["done", "running", "waiting", "not reached", "not taken"] as Look[]).map((l) => (
          <span key={l} class="row sm t2">
            <span class={LOOKS[l].tone}>
              <Icon name={LOOKS[l].glyph} />
            </span>
            {l}
          </span>
        ))}
        <span class="grow" />
        <span class="sm t3 by-keys">
          <kbd>←</kbd> <kbd>→</kbd> walk the picture
        </span>
      </div>
    </section>
  );
}

/** A line from one box to the next, the way that the flow runs. */
function curve(x1: number, y1: number, x2: number, y2: number): string {
  const bend = Math.max(16, Math.min(60, (down.value ? y2 - y1 : x2 - x1) / 2));
  return down.value
    ? `M${x1} ${y1}C${x1} ${y1 + bend} ${x2} ${y2 - bend} ${x2} ${y2 - 2}`
    : `M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2 - 2} ${y2}`;
}

/** As many letters as a box has room for. */
const fitted = (text: string, most: number): string => visible(text.length > most ? `${text.slice(0, most - 1)}…` : text);

function countIn(key: string, joins: Join[], passed: (k: string) => boolean): string {
  const join = joins.find((j) => j.frame === key);
  return join ? `· ${join.parts.filter(passed).length} of ${join.of} done` : "";
}

function Node({ box: b, wide, seen, on, select }: { box: Box; wide: number; seen: Seen; on: boolean; select: Props["select"] }) {
  const look = LOOKS[seen.look];
  const name = fitted(b.name, Math.floor((wide - 34) / 7.7));
  const text = fitted(seen.text, Math.floor((wide - 34) / 7));
  const { step } = seen;
  return (
    <g
      class={step ? "pn" : "pn off"}
      data-box={b.key}
      data-look={seen.look}
      role={step ? "button" : "img"}
      tabindex={on ? 0 : -1}
      aria-label={`${name} ${text}${text === seen.look ? "" : `, ${seen.look}`}`}
      aria-pressed={step ? on : undefined}
      onClick={() => step && select(step, true)}
      onKeyDown={(e) => (e.key === "Enter" || e.key === " ") && step && select(step, true)}
    >
      {on ? <rect x={b.x - 5} y={b.y - 5} width={wide + 10} height={H + 10} rx="13" fill="none" stroke="var(--ink)" stroke-width="2" /> : null}
      <rect
        x={b.x}
        y={b.y}
        width={wide}
        height={H}
        rx="9"
        fill={look.fill}
        stroke={look.stroke}
        stroke-width={look.width}
        stroke-dasharray={look.dash ? "4 4" : undefined}
      />
      <svg x={b.x + 12} y={b.y + 13} width="14" height="14" class={look.tone} aria-hidden="true">
        <use href={`#i-${look.glyph}`} />
      </svg>
      <text x={b.x + 34} y={b.y + 25} class="pt">
        {name}
      </text>{" "}
      <text x={b.x + 34} y={b.y + 43} class="ps2">
        {text}
      </text>
    </g>
  );
}

/** The next box in the direction of an arrow key. */
function nearest(boxes: Box[], at: Box, key: string): Box | null {
  const way: Record<string, [number, number]> = { ArrowRight: [1, 0], ArrowLeft: [-1, 0], ArrowDown: [0, 1], ArrowUp: [0, -1] };
  const [dx, dy] = way[key] ?? [0, 0];
  if (!dx && !dy) return null;
  const score = (b: Box): number => {
    const [x, y] = [b.x - at.x, b.y - at.y];
    const along = x * dx + y * dy;
    return along <= 0 ? Infinity : along + 3 * Math.abs(dx ? y : x);
  };
  const best = boxes.filter((b) => b !== at).sort((a, b) => score(a) - score(b))[0];
  return best && score(best) < Infinity ? best : null;
}
