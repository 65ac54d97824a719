/** The one stream about everything: whether we are connected, which halts are on, how much waits for people, which runs changed. */
import { computed, signal } from "@preact/signals";
import { address, me, now, setClock } from "./api";
import { merge, row } from "./rows";
import { follow, type Event } from "./sse";
import { clock, count, rough, scopeWords } from "./words";
export type { FeedChange as Changed } from "./generated/types";
import type { FeedChange as Changed, FeedSnapshot as Whole, Halt } from "./generated/types";

const GRACE = 10;
const HIDDEN = 30_000;

/** Ticks once a second while somebody looks: everything that counts time reads it. */
export const tick = signal(0);
/** "connecting" until the first event; "back" for a few seconds after a break. */
export const state = signal<"connecting" | "live" | "broken" | "back">("connecting");
const brokenAt = signal(0);
const caught = signal(0);
export const halts = signal<Halt[]>([]);
/** How many interrupts wait for a person. */
export const waiting = signal<number | null>(null);

/** In words for the frame: its class, and what it says. */
export const connection = computed<{ tone: string; text: string }>(() => {
  if (state.value === "live") return { tone: "", text: "Live" };
  if (state.value === "connecting") return { tone: "t3", text: "Connecting…" };
  if (state.value === "back")
    return { tone: "t2", text: caught.value ? `Back. ${count(caught.value, "record")} caught up.` : "Back. Nothing was missed." };
  tick.value;
  const gone = now() - brokenAt.value;
  if (gone < GRACE) return { tone: "wait", text: `Reconnecting… shown as of ${clock(brokenAt.value)}` };
  return { tone: "fail", text: `Offline ${rough(gone)}. Buttons that decide are off.` };
});

/** Why nothing can be decided just now, or "". */
export const offline = computed<string>(() => {
  if (state.value !== "broken") return "";
  tick.value;
  return now() - brokenAt.value < GRACE ? "" : "the connection is lost; it comes back by itself";
});

/** The halt that touches a call, if one does: of everything, of one of its agents, or of its tool. */
export function haltOn(agents: readonly string[], tools: readonly string[] = []): Halt | undefined {
  const scopes = new Set(["*", ...agents.map((name) => `agent:${name}`), ...tools.map((name) => `tool:${name}`)]);
  return halts.value.find((h) => scopes.has(h.scope));
}

/** Why no call may start, or "". */
export function haltedFor(agent: string): string {
  const on = haltOn([agent]);
  return on ? `${scopeWords(on.scope)} is halted by ${on.by || "someone"}: ${on.reason}` : "";
}

type Hear = { changed?: (c: Changed) => void; whole?: () => void };
const listeners = new Set<Hear>();

/** Hear of every change; `whole` is called when so much was missed that everything must be read again. */
export function listen(hear: Hear): () => void {
  listeners.add(hear);
  return () => listeners.delete(hear);
}

let first = true;
let returning = false;

function event(e: Event): void {
  if (e.kind === "inbox") {
    const data = e.data as Whole;
    setClock(data.now);
    halts.value = data.halts;
    waiting.value = data.open.length;
    if (!first) for (const l of [...listeners]) l.whole?.();
    first = false;
  } else if (e.kind === "changed") {
    const data = e.data as Changed;
    setClock(data.now);
    if (JSON.stringify(data.halts) !== JSON.stringify(halts.value)) halts.value = data.halts;
    waiting.value = data.waiting;
    const unknown = data.runs.filter((r) => !row(r.run_id)).reduce((n, r) => n + r.seq, 0);
    noticed(merge(data.runs) + unknown);
    for (const l of [...listeners]) l.changed?.(data);
  }
}

/** So many records were new; after a break they are told to people, once. */
export function noticed(records: number): void {
  if (returning) caught.value += records;
}

function opened(): void {
  if (state.value !== "broken") {
    state.value = "live";
    return;
  }
  returning = true;
  caught.value = 0;
  state.value = "back";
  setTimeout(() => {
    returning = false;
    if (state.value === "back") state.value = "live";
  }, 6000);
}

function broke(): void {
  if (state.value === "broken") return;
  brokenAt.value = now();
  state.value = "broken";
}

let stop: (() => void) | null = null;

/** Begin, once somebody is logged in. */
export function connect(): void {
  stop?.();
  stop = follow(address("/inbox/events"), {
    event,
    open: opened,
    broken: broke,
    ended: (why) => {
      if (why && me.value) broke();
    },
  });
}

/** Nobody is logged in any more. */
export function disconnect(): void {
  stop?.();
  stop = null;
  first = true;
  state.value = "connecting";
}

// One timer for everything that counts, and none in a hidden tab; its streams are given back, because a browser has only six.
let timer = 0;
let hidden = 0;
/** False while the tab has been hidden for long: streams are closed until it is looked at again. */
export const looking = signal(true);

function visibility(): void {
  clearInterval(timer);
  clearTimeout(hidden);
  if (document.hidden) {
    hidden = window.setTimeout(() => {
      looking.value = false;
      stop?.();
      stop = null;
    }, HIDDEN);
    return;
  }
  timer = window.setInterval(() => tick.value++, 1000);
  tick.value++;
  looking.value = true;
  if (me.value && !stop) connect();
}
document.addEventListener("visibilitychange", visibility);
visibility();
