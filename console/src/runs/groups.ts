/** Which runs a list shows, in which groups, read page by page: what needs a person first, what works, what rests. */
import { get, now } from "../api";
import { merge, row } from "../rows";
import type { RunSummary as Run, RunStatus as Status } from "../generated/types";
import type { Page } from "../types";

export type GroupId = "needs" | "finishing" | "held" | "working" | "rest";
export const GROUPS: Record<GroupId, { word: string; note: string }> = {
  needs: { word: "Needs a person", note: "" },
  finishing: { word: "Finishing", note: "at most one call each" },
  held: { word: "Held by halt", note: "" },
  working: { word: "Working", note: "" },
  rest: { word: "At rest", note: "" },
};

const NEEDS: Status[] = ["waiting", "stuck", "failed", "held"];
const WORKS: Status[] = ["running", "ready", "pausing", "cancelling", "held"];
const RESTS: Status[] = ["paused", "completed", "stopped", "cancelled"];
const PAGE = 100;

export type TabId = "needs" | "working" | "paused" | "failed" | "all";
export const TABS: { id: TabId; word: string; statuses: Status[] }[] = [
  { id: "needs", word: "Needs a person", statuses: NEEDS },
  { id: "working", word: "Working", statuses: WORKS },
  { id: "paused", word: "Paused", statuses: ["paused"] },
  { id: "failed", word: "Failed", statuses: ["failed"] },
  { id: "all", word: "All", statuses: [...new Set([...NEEDS, ...WORKS, ...RESTS])] },
];

/** Whether a halt, and nothing else, keeps it from going on. */
export const isHeld = (run: Run): boolean => run.status === "held" && run.open_interrupts === 0;

/** Where a run belongs. While a halt is on, what still finishes and what is held are groups of their own. */
export function groupOf(run: Run, halted: boolean): GroupId {
  if (isHeld(run)) return "held";
  if (NEEDS.includes(run.status)) return "needs";
  if (!WORKS.includes(run.status)) return "rest";
  return halted && run.status !== "ready" ? "finishing" : "working";
}

/** What a person asks for, from the address. */
export interface Wanted {
  tab: TabId;
  q: string;
  time: string;
}
const DAYS: Record<string, number> = { "1d": 1, "7d": 7, "30d": 30 };

/** `agent:x session:x label:k=v status:x` are filters of the list; the rest is what the server's index of runs is asked for. */
export function filters(w: Wanted): { status: string; query: Record<string, string | number> } {
  const query: Record<string, string | number> = {};
  let status = "";
  const words: string[] = [];
  for (const [word] of w.q.matchAll(/[^\s"]*"[^"]*"|\S+/g)) {
    const [, name, value] = /^(agent|session|label|status):(.+)$/.exec(word) ?? [];
    if (name === "status") status = value ?? "";
    else if (name) query[name] = value ?? "";
    else words.push(word);
  }
  if (words.length) query["search"] = words.join(" ").slice(0, 200);
  const days = DAYS[w.time];
  if (days) query["since"] = Math.floor(now() - days * 86400);
  return { status, query };
}

/** The runs of one status, newest first, a page at a time. */
class Stream {
  ids: string[] = [];
  private after = "";
  done = false;
  constructor(
    readonly status: string,
    private readonly query: Record<string, string | number>,
  ) {}

  async read(signal: AbortSignal): Promise<void> {
    const page = await get<Page<Run>>("/runs", { ...this.query, status: this.status, after: this.after, limit: PAGE }, signal);
    merge(page.items);
    this.ids.push(...page.items.map((r) => r.run_id));
    this.after = page.after ?? "";
    this.done = page.after === null;
  }
}

/** Several statuses as one list, newest first, as far as all of them were read. */
export class Feed {
  private streams: Stream[];
  private reading: Promise<string[]> | null = null;
  constructor(statuses: readonly string[], query: Record<string, string | number>) {
    this.streams = statuses.map((s) => new Stream(s, query));
  }

  get done(): boolean {
    return this.streams.every((s) => s.done && !s.ids.length);
  }

  /** The next page of ids; one reading at a time. */
  next(signal: AbortSignal): Promise<string[]> {
    this.reading ??= this.read(signal).finally(() => (this.reading = null));
    return this.reading;
  }

  private async read(signal: AbortSignal): Promise<string[]> {
    await Promise.all(this.streams.filter((s) => !s.done && !s.ids.length).map((s) => s.read(signal)));
    const found: string[] = [];
    for (;;) {
      // Where a status has more that was not read, what is older than its last must wait.
      if (this.streams.some((s) => !s.done && !s.ids.length)) break;
      const newest = this.streams.reduce<Stream | null>((best, s) => (created(s) > created(best) ? s : best), null);
      const id = newest?.ids.shift();
      if (id === undefined) break;
      found.push(id);
    }
    return found;
  }
}

const created = (s: Stream | null): number => (s?.ids[0] === undefined ? -1 : (row(s.ids[0])?.peek().created_at ?? 0));

/** The feeds of a tab, by group: each can be read further on its own. */
export function feedsOf(w: Wanted): { group: GroupId; feed: Feed }[] {
  const { status, query } = filters(w);
  const tab = TABS.find((t) => t.id === w.tab) ?? TABS[4];
  const wanted = (tab?.statuses ?? []).filter((s) => !status || s === status);
  const parts: [GroupId, Status[]][] = [
    ["needs", NEEDS],
    ["working", WORKS.filter((s) => s !== "held" || w.tab === "working")],
    ["rest", RESTS],
  ];
  return parts.flatMap(([group, all]) => {
    const statuses = all.filter((s) => wanted.includes(s));
    return statuses.length ? [{ group, feed: new Feed(statuses, query) }] : [];
  });
}
