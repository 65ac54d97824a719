/** One run, followed: its state, its steps, and the text that is being written. Read again only as far as it changed. */
import { effect, signal, type Signal } from "@preact/signals";
import { at, get, setClock } from "../api";
import { looking, watchRun } from "../live";
import { merge, summaryOf } from "../rows";
import type { Event } from "../sse";
import { LiveText, type TextArrived } from "./live_text";
import type { RunView as RunState, ModelCallView as Thinking, TimelineView as Timeline } from "../generated/types";
import type { Step, Recorded } from "../types";

const PAINT = 50;
const GATHER = 60;
/** A run that waits for a worker is looked at so often: why none takes it is no record. */
const GLANCE = 3000;

export class RunModel {
  readonly state = signal<RunState | null>(null);
  readonly steps = signal<Step[]>([]);
  readonly clock = signal<{ now: number; worked: number; waited: number; seq: number }>({ now: 0, worked: 0, waited: 0, seq: 0 });
  readonly thinking = signal<Thinking[]>([]);
  readonly error = signal<unknown>(null);
  /** What each agent is writing, by its path; painted at most every 50 ms. */
  readonly texts = signal<ReadonlyMap<string, string>>(new Map());
  /** Records as they arrive, for whoever reads the journal. */
  readonly last: Signal<Recorded | null> = signal(null);

  private painting = 0;
  private gathering = 0;
  private glancing = 0;
  private reading = false;
  private again = false;
  private stopFollowing: (() => void) | null = null;
  private readonly stopEffect: () => void;
  private control = new AbortController();
  private seen = 0;
  private cost = 0;
  private over = false;

  constructor(readonly id: string) {
    this.stopEffect = effect(() => {
      if (looking.value) void this.begin();
      else this.pause();
    });
  }

  end(): void {
    this.stopEffect();
    this.pause();
    this.control.abort();
    clearTimeout(this.glancing);
    clearTimeout(this.painting);
    clearTimeout(this.gathering);
  }

  private pause(): void {
    this.stopFollowing?.();
    this.stopFollowing = null;
  }

  async begin(): Promise<void> {
    this.error.value = null;
    try {
      await this.read();
    } catch (e) {
      if (!this.control.signal.aborted) this.error.value = e;
      return;
    }
    if (this.stopFollowing || this.over || this.control.signal.aborted || !looking.peek()) return;
    this.stopFollowing = watchRun(this.id, this.clock.peek().seq, (e) => this.heard(e));
  }

  private heard(e: Event): void {
    if (e.kind === "record") {
      const found = e.data as Recorded;
      if (found.seq <= this.recorded) return; // another tab began further back
      this.recorded = found.seq;
      this.last.value = found;
      const { t, path } = found.record as { t: string; path?: string };
      if (t === "replied" || t === "broke") this.text.end(path ?? "");
      this.paint();
      this.soon();
    } else if (e.kind === "live") {
      const found = e.data as TextArrived;
      if (found.type !== "text" || found.thinking) return;
      this.text.add(found);
      this.paint();
    } else if (e.kind === "open") {
      this.soon();
    } else if (e.kind === "end") {
      this.over = true;
      this.pause();
      this.soon();
    }
  }

  private readonly text = new LiveText();
  private recorded = 0;

  private paint(): void {
    this.painting ||= window.setTimeout(() => {
      this.painting = 0;
      this.texts.value = this.text.shown();
    }, PAINT);
  }

  /** Something was recorded: read what changed, once for a burst. */
  soon(): void {
    // A long run is read less often than a short one.
    const wait = Math.min(2000, Math.max(GATHER, this.cost * 3));
    this.gathering ||= window.setTimeout(() => {
      this.gathering = 0;
      if (this.reading) this.again = true;
      else void this.read().catch(() => undefined);
    }, wait);
  }

  private async read(): Promise<void> {
    this.reading = true;
    const began = performance.now();
    try {
      const [state, timeline] = await Promise.all([
        get<RunState>(`/runs/${at(this.id)}`, {}, this.control.signal),
        get<Timeline>(`/runs/${at(this.id)}/timeline`, { after: this.seen || undefined }, this.control.signal),
      ]);
      setClock(timeline.now);
      merge([summaryOf(state)]);
      this.state.value = state;
      clearTimeout(this.glancing);
      if (state.status === "ready" && looking.peek()) this.glancing = window.setTimeout(() => this.soon(), GLANCE);
      if (timeline.steps.length) this.steps.value = placed(this.steps.peek(), timeline.steps);
      this.seen = timeline.seq;
      this.thinking.value = timeline.model_calls;
      this.clock.value = { now: timeline.now, worked: timeline.worked, waited: timeline.waited, seq: timeline.seq };
    } finally {
      this.reading = false;
      this.cost = performance.now() - began;
      if (this.again) {
        this.again = false;
        this.soon();
      }
    }
  }
}

/** The steps, with those that changed in their places. */
function placed(old: Step[], changed: Step[]): Step[] {
  const next = old.slice();
  for (const step of changed) next[step.number] = step;
  return next;
}
