/** The list itself: ids by group. Rows change in place; those that are new or belong elsewhere wait until nobody is on them. */
import { signal, untracked } from "@preact/signals";
import { get } from "../api";
import { haltOn, halts, listen, noticed } from "../live";
import { row } from "../rows";
import { feedsOf, filters, groupOf, TABS, type Feed, type GroupId, type Wanted } from "./groups";
import type { InterruptSummary as Interrupt, RunSummary as Run } from "../generated/types";
import type { Page } from "../types";

const ORDER: GroupId[] = ["needs", "working", "rest"];
const HALTED: GroupId[] = ["finishing", "held", "needs", "working", "rest"];
const LINGER = 2000;
const OFTEN = 2000;

export interface Section {
  id: GroupId;
  ids: string[];
  feed: Feed | null;
}

/** Reads, keeps in order and updates what one tab with its filters shows. */
export class List {
  readonly sections = signal<Section[] | null>(null);
  readonly error = signal<unknown>(null);
  /** Ids that have appeared since, behind a count. */
  readonly newer = signal<string[]>([]);
  /** Ids that no longer belong where they are. */
  readonly leaving = signal<ReadonlySet<string>>(new Set());
  /** The row that a pointer or the focus is on: it stays where it is. */
  held = "";

  private feeds: { group: GroupId; feed: Feed }[] = [];
  private at = new Map<string, GroupId>();
  private expiry = new Map<string, number>();
  private control = new AbortController();
  private stopListening: () => void;
  private timer = 0;

  constructor(readonly wanted: Wanted) {
    this.stopListening = listen({
      changed: (c) => {
        this.took(c.runs);
        if (c.more) this.sometimes("refresh", () => this.refresh());
        if (c.opened.length) this.sometimes("soonest", () => this.soonest());
      },
      whole: () => void this.refresh(),
    });
    void this.begin();
  }

  private readonly waits = new Map<string, number>();

  /** Under load once in a while is enough; the last wish is not lost. */
  private sometimes(name: string, what: () => Promise<void>): void {
    if (this.waits.has(name)) return;
    this.waits.set(
      name,
      window.setTimeout(() => {
        this.waits.delete(name);
        void what();
      }, OFTEN),
    );
  }

  end(): void {
    for (const timer of this.waits.values()) clearTimeout(timer);
    this.control.abort();
    clearTimeout(this.timer);
    this.stopListening();
  }

  async begin(): Promise<void> {
    this.control.abort();
    this.control = new AbortController();
    const signal = this.control.signal;
    this.feeds = feedsOf(this.wanted);
    try {
      const found = await Promise.all([...this.feeds.map((f) => f.feed.next(signal)), this.soonest(signal)]);
      if (signal.aborted) return;
      this.at.clear();
      this.newer.value = [];
      this.error.value = null;
      this.fill((found.slice(0, this.feeds.length) as string[][]).flat());
    } catch (e) {
      if (!signal.aborted) this.error.value = e;
    }
  }

  /** Read the next page of a group. */
  async more(group: GroupId): Promise<void> {
    const found = this.feeds.find((f) => f.group === base(group));
    if (!found || found.feed.done) return;
    try {
      const ids = await found.feed.next(this.control.signal);
      this.fill(ids);
    } catch (e) {
      if (!this.control.signal.aborted) this.error.value = e;
    }
  }

  /** Read on until nothing is left or so many are there: what the filters mean, not only what is loaded. */
  async readOn(most: number): Promise<void> {
    for (const { group, feed } of this.feeds) {
      while (!feed.done && this.at.size < most && !this.error.peek() && !this.control.signal.aborted) await this.more(group);
    }
  }

  /** The ids of all that is listed, in order. */
  get ids(): string[] {
    return (this.sections.value ?? []).flatMap((s) => s.ids);
  }

  /** Whether that is all that the filters mean. */
  get whole(): boolean {
    return (this.sections.value ?? []).every((s) => !s.feed || s.feed.done);
  }

  /** So much was missed that the first pages are read again; what is on the page stays there. */
  private async refresh(): Promise<void> {
    const signal = this.control.signal;
    try {
      const before = new Map([...this.at.keys()].map((id) => [id, row(id)?.peek().seq ?? 0]));
      const found = (await Promise.all(feedsOf(this.wanted).map((f) => f.feed.next(signal)))).flat();
      if (signal.aborted) return;
      noticed(found.reduce((n, id) => n + (before.has(id) ? (row(id)?.peek().seq ?? 0) - (before.get(id) ?? 0) : 1), 0));
      this.took(found.flatMap((id) => row(id)?.peek() ?? []));
    } catch {
      // the stream says that the connection is gone
    }
  }

  /** When the interrupts of each run expire, as far as one page says. */
  private async soonest(signal: AbortSignal = this.control.signal): Promise<void> {
    try {
      const page = await get<Page<Interrupt>>("/inbox", { limit: 200 }, signal);
      this.expiry.clear();
      for (const i of page.items) {
        if (i.expires_at) this.expiry.set(i.run_id, Math.min(i.expires_at, this.expiry.get(i.run_id) ?? Infinity));
      }
    } catch {
      // then the newest come first
    }
  }

  /** Rows of the live stream: known ones may have to move, unknown ones wait behind the count. */
  private took(runs: Run[]): void {
    if (!this.sections.peek()) return;
    const fresh: string[] = [];
    for (const run of runs) {
      if (this.at.has(run.run_id)) this.check(run);
      else if (this.fits(run)) fresh.push(run.run_id);
    }
    if (!fresh.length) return;
    if (!this.at.size) this.fill(fresh);
    else this.newer.value = [...new Set([...fresh, ...this.newer.peek()])];
  }

  private check(run: Run): void {
    const moved = groupOf(run, isHalted(run)) !== this.at.get(run.run_id) || !this.shown(run);
    if (!moved || this.leaving.peek().has(run.run_id)) return;
    this.leaving.value = new Set([...this.leaving.peek(), run.run_id]);
    if (!this.timer) this.timer = window.setTimeout(() => this.settle(), LINGER);
  }

  /** Move what has to move and nobody is on. */
  private settle(): void {
    this.timer = 0;
    const stay = [...this.leaving.peek()].filter((id) => id === this.held);
    const go = [...this.leaving.peek()].filter((id) => id !== this.held);
    this.leaving.value = new Set(stay);
    if (go.length) {
      const left = go.filter((id) => !this.shown(row(id)?.peek()));
      for (const id of left) this.at.delete(id);
      this.arrange([...this.at.keys()]);
    }
    if (stay.length) this.timer = window.setTimeout(() => this.settle(), LINGER);
  }

  /** What waits behind the count comes in. */
  showNewer(): void {
    const fresh = this.newer.peek();
    this.newer.value = [];
    if (fresh.length) this.fill(fresh);
  }

  private shown(run: Run | undefined): boolean {
    const { status } = filters(this.wanted);
    const statuses = TABS.find((t) => t.id === this.wanted.tab)?.statuses ?? [];
    return !!run && statuses.includes(run.status) && (!status || run.status === status);
  }

  /** Whether a run that has appeared belongs in this list, as far as its row says. */
  private fits(run: Run): boolean {
    const { query } = filters(this.wanted);
    const words = String(query["search"] ?? "").toLowerCase().split(/\s+/);
    const said = `${run.title} ${run.run_id} ${run.agent}`.toLowerCase();
    return (
      this.shown(run) &&
      (!query["agent"] || query["agent"] === run.agent) &&
      (!query["session"] || query["session"] === run.session) &&
      !query["label"] &&
      words.every((word) => said.includes(word)) &&
      run.created_at >= Number(query["since"] ?? 0)
    );
  }

  private fill(ids: string[]): void {
    for (const id of ids) if (!this.at.has(id)) this.at.set(id, "rest");
    this.arrange([...this.at.keys()]);
  }

  /** Every id into its group, in order. */
  private arrange(ids: string[]): void {
    const halted = halts.peek().length > 0;
    const by = new Map<GroupId, Run[]>();
    for (const id of ids) {
      const run = row(id)?.peek();
      if (!run) continue;
      const group = groupOf(run, isHalted(run));
      this.at.set(id, group);
      const list = by.get(group);
      if (list) list.push(run);
      else by.set(group, [run]);
    }
    const far = (r: Run): number => this.expiry.get(r.run_id) ?? Infinity;
    this.sections.value = (halted ? HALTED : ORDER).flatMap((id) => {
      const runs = by.get(id) ?? [];
      runs.sort((a, b) => (id === "needs" && far(a) !== far(b) ? far(a) - far(b) : b.created_at - a.created_at));
      const feed = this.feeds.find((f) => f.group === id)?.feed ?? null;
      return runs.length || (feed && !feed.done) ? [{ id, ids: runs.map((r) => r.run_id), feed }] : [];
    });
  }

  /** A halt came or went: groups change at once, the strip says why. */
  regroup(): void {
    if (this.sections.peek()) this.arrange([...this.at.keys()]);
  }
}

/** Whether a halt touches whatever it does. */
const isHalted = (run: Run): boolean => untracked(() => haltOn([run.agent]) !== undefined);

const base = (group: GroupId): GroupId => (group === "finishing" || group === "held" ? "working" : group);
