/** The timeline: every step with its bar; nested agents below their call; the text that is being written under it. */
import { signal } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { memo } from "../memo";
import { isCallOf } from "../ids";
import { useKeys } from "../keys";
import { ticking } from "../live";
import { go, to } from "../router";
import { Icon, Switch } from "../ui";
import { Visible } from "../visible";
import { useWindow } from "../window";
import { argumentLine, clock, duration, rough } from "../words";
import { RIGHT, scaleOf, type Scale } from "./scale";
import { AskedAgain, deciders, outcomeWords, Told } from "../told";
import { OUTCOMES } from "../generated/words";
import { address, lookOf, nameOf, spansOf, wordsOf, type Line } from "./tree";
import type { RunModel } from "./model";
import type { Span } from "../generated/types";
import type { Step } from "../types";

const narrow = matchMedia("(max-width: 640px)");
const height = signal(narrow.matches ? 44 : 34);
narrow.addEventListener("change", (e) => (height.value = e.matches ? 44 : 34));

export const cutting = signal(true);
export const following = signal(true);

export function Switches() {
  return (
    <span class="row sm t2 switches">
      <Switch on={cutting.value} set={(on) => (cutting.value = on)}>
        Cut quiet time
      </Switch>
      <Switch on={following.value} set={(on) => (following.value = on)}>
        Follow
      </Switch>
    </span>
  );
}

interface Props {
  model: RunModel;
  lines: Line[];
  alive: boolean;
  selected: Step | null;
  select: (step: Step, open?: boolean) => void;
  fold: (id: string, open: boolean) => void;
  children?: preact.ComponentChildren;
}

export function Waterfall({ model, lines, alive, selected, select, fold, children }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const h = height.value;
  const rows = useMemo(() => lines.flatMap((l) => (isTold(l.step) ? [{ line: l, told: false }, { line: l, told: true }] : [{ line: l, told: false }])), [lines]);
  const range = useWindow(box, rows.length, h);
  const moving = alive && lines.some((l) => l.step.status === "running" || l.step.status === "waiting" || l.step.status === "pausing" || l.step.status === "paused" || l.step.status === "held");
  const at = moving ? ticking() : model.clock.value.now;
  const scale = useMemo(
    () =>
      scaleOf(
        lines.map((l) => l.step),
        at,
        alive,
        cutting.value,
      ),
    [lines, at, alive, cutting.value],
  );
  const cutOut = scale.parts.filter((p) => p.busy);
  const long = cutOut.reduce((sum, p) => sum + p.to - p.from, 0);
  useFollow(box, rows.length, h, alive);
  const step = (by: number): void => {
    const i = lines.findIndex((l) => l.step === selected || l.step.number === selected?.number);
    const next = lines[Math.min(lines.length - 1, Math.max(0, i + by))];
    if (!next) return;
    following.value = false;
    select(next.step);
    const top = (box.current?.getBoundingClientRect().top ?? 0) + rows.findIndex((r) => r.line === next) * h;
    if (top < 100) scrollBy(0, top - 100);
    else if (top + h > innerHeight - 90) scrollBy(0, top + h - innerHeight + 90);
  };
  const folding = (open: boolean): void => {
    const line = lines.find((l) => l.step.number === selected?.number);
    const id = line?.children ? line.step.call_id : line?.step.path;
    if (id) fold(id, open);
  };
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    ArrowDown: () => step(1),
    ArrowUp: () => step(-1),
    "[": () => folding(false),
    "]": () => folding(true),
    Enter: () => {
      const open = selected?.interrupt_ref && model.state.peek()?.interrupts.some((i) => i.ref === selected.interrupt_ref);
      if (open && selected.interrupt_ref) go(to("inbox", selected.interrupt_ref));
      else if (selected) select(selected, true);
    },
  });
  return (
    <section class="card" aria-label="Timeline">
      <div class="wr axis" aria-hidden="true">
        <span />
        <span />
        <span class="tr">
          <Axis scale={scale} />
        </span>
        <span />
      </div>
      <div class="wf" role="treegrid" aria-label="Steps" aria-rowcount={rows.length} ref={box} style={{ height: `${rows.length * h}px` }}>
        <div class="grid-lines" aria-hidden="true">
          <span class="tr">
            {scale.parts
              .filter((p) => p.cut)
              .map((p) => (
                <i class="gap" key={p.from} style={{ left: `${p.left}%`, width: `${p.right - p.left}%` }} />
              ))}
            {alive ? <i class="now" style={{ left: `${RIGHT}%` }} /> : null}
          </span>
        </div>
        {rows.slice(range.from, range.to).map(({ line, told }, i) =>
          told ? (
            <ToldRow key={`${line.step.number}told`} line={line} index={range.from + i} top={(range.from + i) * h} selected={line.step.number === selected?.number} select={select} />
          ) : (
          <Row
            key={line.step.number}
            line={line}
            index={range.from + i}
            top={(range.from + i) * h}
            scale={scale}
            selected={line.step.number === selected?.number}
            select={select}
            fold={fold}
            lines={lines}
          />
          ),
        )}
      </div>
      {long ? (
        <p class="sm t3 pad cut-note">
          {cutOut.length > 1 ? "Long steps are" : "A long step is"} cut, {duration(long)} in all, so that the others keep a width; the number at the right is the
          whole.
        </p>
      ) : null}
      {children}
    </section>
  );
}

/** While it follows, the running step stays in view; scrolling up ends that. */
function useFollow(box: preact.RefObject<HTMLElement>, count: number, h: number, alive: boolean): void {
  const [y, setY] = useState(0);
  const before = useRef(count);
  useEffect(() => {
    // What was there when the page opened does not move it.
    const grown = before.current > 0 && count > before.current;
    before.current = count;
    if (!alive || !following.value || !grown) return;
    const bottom = (box.current?.getBoundingClientRect().top ?? 0) + count * h;
    if (bottom > innerHeight - 160 && bottom - innerHeight < 4000) scrollBy(0, bottom - innerHeight + 200);
    setY(scrollY);
  }, [count, following.value]);
  useEffect(() => {
    const scrolled = (): void => {
      if (scrollY < y - 40) following.value = false;
    };
    addEventListener("wheel", scrolled, { passive: true });
    return () => removeEventListener("wheel", scrolled);
  }, [y]);
}

function Axis({ scale }: { scale: Scale }) {
  const labels: { x: number; text: string; tone: string; mid?: boolean }[] = [];
  // Labels never overlap: what has no room is said by the cut's title and by the row.
  const room = (x: number, mid: boolean): [number, number] => (mid ? [x - 6, x + 6] : [x, x + 15]);
  const put = (x: number, text: string, tone = "", mid = false): void => {
    const [a, b] = room(x, mid);
    const taken = labels.some((l) => {
      const [c, d] = room(l.x, !!l.mid);
      return a < d && c < b;
    });
    if (!taken) labels.push({ x, text, tone, mid });
  };
  for (const p of scale.parts) if (p.cut) put((p.left + p.right) / 2, rough(p.to - p.from), p.busy ? "done" : "pause", true);
  const first = scale.parts[0];
  if (first) put(first.left, clock(first.from));
  scale.parts.forEach((p, i) => {
    if (p.cut && scale.parts[i + 1] && p.right < RIGHT - 16) put(p.right + 0.6, clock(p.to));
  });
  const busiest = scale.parts
    .filter((p) => !p.cut)
    .reduce((a, b) => (b.right - b.left > a.right - a.left ? b : a), { from: 0, to: 0, left: 0, right: 0, cut: false });
  const unit = [1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600].find((s) => s >= (busiest.to - busiest.from) / 3);
  if (unit && busiest.right - busiest.left > 30) {
    for (let t = busiest.from + unit; t < busiest.to; t += unit) {
      const x = scale.x(t);
      if (x < RIGHT - 13)
        put(
          x,
          `+${duration(t - busiest.from)
            .replace(/\.0 s$/, " s")
            .replace(/ 00 [sm]$/, "")}`,
        );
    }
  }
  return (
    <>
      {scale.parts
        .filter((p) => p.cut)
        .map((p) => (
          <i class="gap" key={p.from} title={`${duration(p.to - p.from)} cut out`} style={{ left: `${p.left}%`, width: `${p.right - p.left}%` }} />
        ))}
      {labels.map((l) => (
        <span key={`${l.x}${l.text}`} class={`${l.tone} ${l.mid ? "mid" : ""}`} style={{ left: `${l.x}%` }}>
          {l.tone ? <b>{l.text}</b> : l.text}
        </span>
      ))}
      {scale.alive ? (
        <b
          class={`axis-now ${scale.parts.at(-1)?.cut || (scale.parts.at(-2)?.cut && RIGHT - (scale.parts.at(-1)?.left ?? 0) < 6) ? "beside" : ""}`}
          style={{ left: `${RIGHT}%` }}
        >
          now
        </b>
      ) : null}
    </>
  );
}

/** Whether people decided about it: then a line below it says what. */
const isTold = (step: Step): boolean => (step.decision !== null && step.status !== "waiting") || step.earlier !== null;

function ToldRow({ line, index, top, selected, select }: Pick<RowProps, "line" | "index" | "top" | "selected" | "select">) {
  const { step, level } = line;
  return (
    <div role="row" class={`wr told sm ${selected ? "sel" : ""}`} style={{ top: `${top}px` }} aria-level={level + 1} aria-rowindex={index + 1} data-told={step.call_id} onClick={() => select(step, true)}>
      <span role="gridcell" />
      <span role="gridcell" class="clip">
        {step.earlier ? <AskedAgain of={step.earlier} /> : null}
        {step.decision && step.status !== "waiting" ? <Told decision={step.decision} outcome={step.outcome?.state === "not_run" ? null : step.outcome} /> : null}
      </span>
    </div>
  );
}

interface RowProps {
  line: Line;
  index: number;
  top: number;
  scale: Scale;
  selected: boolean;
  lines: Line[];
  select: (step: Step, open?: boolean) => void;
  fold: (id: string, open: boolean) => void;
}

const Row = memo(function Row({ line, index, top, scale, selected, select, fold, lines }: RowProps) {
  const { step, level, children, open, last } = line;
  const { glyph, tone } = lookOf(step);
  const took = spentOf(step);
  const words = textOf(step, lines);
  return (
    <div
      role="row"
      class={`wr ${selected ? "sel" : ""}`}
      style={{ top: `${top}px` }}
      aria-level={level + 1}
      aria-rowindex={index + 1}
      aria-expanded={children ? open : undefined}
      aria-selected={selected}
      tabIndex={selected ? 0 : -1}
      data-step={step.call_id || `@${step.first_seq}`}
      data-kind={step.kind}
      data-status={step.status}
      onClick={() => select(step, true)}
    >
      <span class="sq" role="gridcell">
        {address(step)}
      </span>
      <span class="nm" role="gridcell">
        {Array.from({ length: level }, (_, i) => (
          <span key={i} class={`ind ${i === level - 1 ? (last ? "last" : "") : "rail"}`} aria-hidden="true" />
        ))}
        <span class={`${tone} ${glyph === "run" ? "turning" : ""}`}>
          <Icon name={glyph} />
        </span>
        <b>
          <Visible text={nameOf(step)} />
        </b>
        <span class={`t3 clip grow ${words.mono ? "mono" : "q"}`}>
          <Visible text={words.text} />
        </span>
        {step.undo && step.kind !== "undo" ? (
          <span class="t3" title="can be undone">
            <Icon name="undo" />
          </span>
        ) : null}
        {children ? (
          <button
            type="button"
            class={`fold ${open ? "open" : ""}`}
            aria-label={`${open ? "Collapse" : "Expand"} ${nameOf(step)}`}
            onClick={(e) => {
              e.stopPropagation();
              fold(step.call_id, !open);
            }}
          >
            <Icon name="right" />
          </button>
        ) : null}
      </span>
      <span class="tr" aria-hidden="true">
        <Bars step={step} scale={scale} />
      </span>
      <span class="du" role="gridcell">
        {step.status === "denied" || step.status === "expired" ? (
          OUTCOMES.not_run
        ) : took === null ? (
          step.note && step.kind === "pause" ? step.note : null
        ) : step.status === "pausing" ? (
          "not yet"
        ) : step.status === "running" || step.status === "waiting" || step.status === "held" ? <b class={tone}>{rough(took)}</b> : duration(took)}
      </span>
      <span class="hide">{spoken(step, took)}</span>
    </div>
  );
});

function spentOf(step: Step): number | null {
  if (step.kind === "start" || step.kind === "resume" || step.kind === "message" || step.kind === "end") return null;
  const open = step.spans.at(-1);
  if (open && open.end === null) return ticking() - open.start;
  return step.took;
}

const whereOf = (step: Step): string => (step.place.length ? `, step ${step.place.join(" › ")}` : step.call_id ? `, step ${step.call_id}` : "");

function spoken(step: Step, took: number | null): string {
  if (step.decision && step.status !== "waiting") {
    const came = step.outcome ? `, ${outcomeWords(step.outcome)}` : "";
    return `${nameOf(step)}, ${deciders(step.decision)}${came}${whereOf(step)}`;
  }
  const wait = step.status === "waiting" ? `, waiting, ${step.note}` : step.status ? `, ${step.status}` : "";
  return `${nameOf(step)}${wait}${took === null ? "" : `, ${duration(took)}`}${whereOf(step)}`;
}

/** One line about a step: what was said, the arguments, or what happened. */
export function textOf(step: Step, lines: Line[]): { text: string; mono: boolean } {
  const brief = (text: string): string => (text.length > 160 ? `${text.slice(0, 160)}…` : text);
  if (step.kind === "agent") return { text: "child", mono: false };
  const { text, quoted } = wordsOf(step);
  if (step.kind === "model" && !text) {
    const calls = lines
      .filter((l) => l.step.kind !== "residue" && l.step.kind !== "undo" && isCallOf(l.step.call_id, step.call_id))
      .map((l) => l.step.name);
    return {
      text:
        step.note ||
        (calls.length ? `calls ${calls.slice(0, 3).join(" and ")}${calls.length > 3 ? ` and ${calls.length - 3} more` : ""}` : ""),
      mono: false,
    };
  }
  if (step.kind === "resume" && step.note) return { text: `${text} · what stands above was recorded by its origin`, mono: false };
  if (text) return { text: quoted ? `“${brief(text)}”` : brief(text), mono: false };
  if (step.status === "failed" || step.kind === "failure") return { text: brief(step.error || step.note), mono: false };
  if (step.place.length > 1) return { text: step.place.slice(0, -1).join(" › "), mono: false };
  if (step.arguments !== null && step.arguments !== undefined) return { text: argumentLine(step.arguments), mono: true };
  return { text: brief(step.note), mono: false };
}

const POINTS = new Set(["start", "resume", "message", "cancel", "end", "event", "residue", "takeover", "failure"]);

function Bars({ step, scale }: { step: Step; scale: Scale }) {
  const spans = spansOf(step);
  if (!spans.length) return POINTS.has(step.kind) ? <i class="dot" style={{ left: `${scale.x(step.at)}%` }} /> : null;
  const crossed = scale.parts.filter((p) => p.busy && spans.some((s) => s.kind === "run" && s.start <= p.from && (s.end ?? scale.end) >= p.to));
  return (
    <>
      {spans.map((s) => {
        const left = scale.x(s.start);
        const right = s.end === null ? RIGHT : scale.x(s.end);
        return (
          <i
            key={`${s.kind}${s.start}`}
            class={`bar ${barOf(step, s)}`}
            style={{ left: `${left}%`, width: `${Math.max(0, right - left)}%` }}
          />
        );
      })}
      {crossed.map((p) => (
        <i class="bar-cut" key={p.from} style={{ left: `${p.left}%`, width: `${p.right - p.left}%` }} />
      ))}
    </>
  );
}

function barOf(step: Step, s: Span): string {
  if (s.kind === "wait") return s.end === null ? "open" : "open shut";
  if (s.kind === "pausing") return "held";
  if (s.kind === "pause") return "held";
  if (step.kind === "agent") return "child";
  if (s.end === null) return "live";
  if (step.status === "failed") return "bad";
  if (step.kind === "undo" || step.status === "cancelled") return "undo";
  return step.kind === "model" ? "model" : "tool";
}
