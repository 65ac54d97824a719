/**
 * One stream for all tabs of a browser, which has only six connections to a server.
 *
 * It runs in a shared worker; where there is none, each page has one of its own. It is open while a tab is looked at, carries what
 * changes anywhere and the events of the runs that tabs show, and tells each tab what it asked for.
 */
import { follow, type Event, type Refusal } from "./sse";
import type { FeedChange, FeedSnapshot } from "./generated/types";

/** What a tab says. */
export type FromTab =
  | { kind: "look"; on: boolean }
  | { kind: "watch"; run: string; after: number }
  | { kind: "unwatch"; run: string }
  | { kind: "net"; on: boolean }
  | { kind: "again" }
  | { kind: "here" }
  | { kind: "gone" };

/** What a tab is told. `run`: of which run, "" for what changes anywhere. */
export type ToTab =
  | { kind: "event"; run: string; event: Event }
  | { kind: "open"; tabs: number }
  | { kind: "broken" }
  | { kind: "forgotten" }
  | { kind: "ended"; refusal: Refusal | null };

export interface Tab {
  tell(message: ToTab): void;
}

interface Known {
  looking: boolean;
  /** It was told the whole state since it began to look, and every change after that. */
  whole: boolean;
  heard: number;
  runs: Map<string, number>;
}

/** A tab that has crashed does not say so: those that are looked at say every 5 s that they are there. */
const LOST = 20_000;
const SETTLE = 20;

export class StreamHub {
  private readonly tabs = new Map<Tab, Known>();
  private readonly after = new Map<string, number>();
  private snapshot: FeedSnapshot | null = null;
  private stop: (() => void) | null = null;
  private open = false;
  private cut = false;
  private last = "";
  private settling: ReturnType<typeof setTimeout> | undefined;

  constructor(
    private readonly address: string,
    private readonly now: () => number = () => Date.now(),
  ) {}

  hear(tab: Tab, said: FromTab): void {
    if (said.kind === "gone") {
      this.tabs.delete(tab);
      // A page that its browser keeps does nothing more: there is no later.
      if (!this.count()) this.close();
      return this.settle();
    }
    // It slept for long, and was told nothing meanwhile: it asks anew.
    if (said.kind === "here" && !this.tabs.has(tab)) return tab.tell({ kind: "forgotten" });
    const known = this.tabs.get(tab) ?? { looking: false, whole: false, heard: 0, runs: new Map<string, number>() };
    known.heard = this.now();
    this.tabs.set(tab, known);
    switch (said.kind) {
      case "look":
        return this.look(tab, known, said.on);
      case "watch":
        known.runs.set(said.run, said.after);
        this.after.set(said.run, Math.min(said.after, this.after.get(said.run) ?? said.after));
        return this.settle(true);
      case "unwatch":
        known.runs.delete(said.run);
        return this.settle();
      case "net":
        return this.net(said.on);
      case "again":
        this.last = "";
        this.snapshot = null;
        return this.settle(true);
      case "here":
        return this.forget();
    }
  }

  /** Somebody looks at it, or no more. Who begins to look is told the whole of what is so now: here, or by a stream from its beginning. */
  private look(tab: Tab, known: Known, on: boolean): void {
    if (on && !known.looking) {
      this.cut = false; // who said so may be gone; if there is still no network, trying says it again
      known.whole = this.open && this.snapshot !== null && !this.awaited;
      if (known.whole) {
        tab.tell({ kind: "open", tabs: this.count() + 1 });
        tab.tell({ kind: "event", run: "", event: { kind: "inbox", id: "", data: this.snapshot } });
      }
    }
    known.looking = on;
    this.settle();
  }

  /** The machine has lost its network, or has it again: nobody waits for a time-out. */
  private net(on: boolean): void {
    this.cut = !on;
    this.close();
    if (on) return this.settle();
    this.tell({ kind: "broken" });
  }

  private looking(): [Tab, Known][] {
    return [...this.tabs].filter(([, known]) => known.looking);
  }

  private count(): number {
    return this.looking().length;
  }

  /** Tabs that have not been heard of for long have crashed. */
  private forget(): void {
    for (const [tab, known] of this.tabs) {
      if (known.looking && this.now() - known.heard > LOST) {
        this.tabs.delete(tab);
        this.settle();
      }
    }
  }

  private wanted = "";
  private renewed = false;
  /** The stream was opened from its beginning, and has not told the whole state yet. */
  private awaited = false;

  /** Open what is wanted now; several wishes at once are one. */
  private settle(renew = false): void {
    this.renewed ||= renew;
    this.settling ??= setTimeout(() => {
      this.settling = undefined;
      this.arrange();
    }, SETTLE);
  }

  private arrange(): void {
    const tabs = this.looking();
    const runs = [...new Set(tabs.flatMap(([, known]) => [...known.runs.keys()]))].sort();
    for (const run of this.after.keys()) if (!runs.includes(run)) this.after.delete(run);
    const wanted = runs.join(",");
    const behind = tabs.some(([, known]) => !known.whole);
    const renew = this.renewed || wanted !== this.wanted || (behind && !this.awaited);
    if (behind) this.last = "";
    this.renewed = false;
    this.wanted = wanted;
    if (!tabs.length || this.cut) return this.close();
    if (this.stop && !renew) return this.tellOpen();
    this.begin(runs);
  }

  private close(): void {
    this.stop?.();
    this.stop = null;
    this.open = false;
    this.awaited = false;
  }

  private begin(runs: string[]): void {
    this.stop?.();
    this.awaited = !this.last;
    const url = (): string => {
      if (!runs.length) return this.address;
      const after = runs.map((run) => this.after.get(run) ?? 0);
      return `${this.address}?${new URLSearchParams({ runs: runs.join(","), after: after.join(",") }).toString()}`;
    };
    this.stop = follow(
      url,
      {
        event: (e) => this.event(e),
        open: () => {
          this.open = true;
          this.tellOpen();
        },
        broken: () => {
          this.open = false;
          this.tell({ kind: "broken" });
        },
        ended: (refusal) => {
          this.close();
          this.last = "";
          this.tell({ kind: "ended", refusal });
        },
      },
      this.last,
    );
  }

  private tellOpen(): void {
    if (this.open) this.tell({ kind: "open", tabs: this.count() });
  }

  private tell(message: ToTab): void {
    for (const [tab] of this.looking()) tab.tell(message);
  }

  private event(e: Event): void {
    if (e.kind === "run") return this.ofRun(e.data as { run_id: string; kind: string; data: unknown });
    if (e.id) this.last = e.id;
    if (e.kind === "inbox") {
      this.snapshot = e.data as FeedSnapshot;
      this.awaited = false;
      for (const [, known] of this.looking()) known.whole = true;
    } else if (e.kind === "changed" && this.snapshot) this.snapshot = applied(this.snapshot, e.data as FeedChange);
    this.tell({ kind: "event", run: "", event: e });
  }

  private ofRun({ run_id, kind, data }: { run_id: string; kind: string; data: unknown }): void {
    if (kind === "record") this.after.set(run_id, (data as { seq: number }).seq);
    if (kind === "end") for (const known of this.tabs.values()) known.runs.delete(run_id);
    for (const [tab, known] of this.looking())
      if (known.runs.has(run_id) || kind === "end") tab.tell({ kind: "event", run: run_id, event: { kind, id: "", data } });
  }
}

/** What is open after a change. */
function applied(was: FeedSnapshot, change: FeedChange): FeedSnapshot {
  const open = new Set(was.open);
  for (const ref of change.closed) open.delete(ref);
  for (const ref of change.opened) open.add(ref);
  return { open: [...open], halts: change.halts, now: change.now };
}
