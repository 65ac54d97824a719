/** The one stream about everything: whether we are connected, which halts are on, how much waits for people, which runs changed. */
import { computed, signal } from "@preact/signals";
import { me, now, setClock } from "./api";
import { merge, row } from "./rows";
import { shared } from "./shared";
import type { Event } from "./sse";
import type { ToTab } from "./stream_hub";
import { clock, count, rough, scopeWords } from "./words";
export type { FeedChange as Changed } from "./generated/types";
import type { FeedChange as Changed, FeedSnapshot as Whole, Halt } from "./generated/types";

const GRACE = 10;
const HIDDEN = 30_000;

/** Ticks once a second while somebody looks: everything that counts time reads it. */
export const tick = signal(0);

/** The time now, read by whatever is drawn again with every tick. */
export function ticking(): number {
  void tick.value;
  return now();
}
/** "connecting" until the first event; "back" for a few seconds after a break. */
export const state = signal<"connecting" | "live" | "broken" | "back" | "resting">("connecting");
/** How many tabs share the stream. */
const sharers = signal(1);
/** False while the tab is hidden for long, or gone: nothing is opened until it is looked at again. */
export const looking = signal(!document.hidden);
const brokenAt = signal(0);
const caught = signal(0);
export const halts = signal<Halt[]>([]);
/** How many interrupts wait for a person. */
export const waiting = signal<number | null>(null);

/** In words for the frame: its class, and what it says. */
export const connection = computed<{ tone: string; text: string }>(() => {
  if (state.value === "live") return { tone: "", text: sharers.value > 1 ? `Live, shared by ${sharers.value} tabs` : "Live" };
  if (state.value === "resting") return { tone: "t3", text: "Resting: this tab is hidden" };
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
/** This page itself was told the whole of what is so, since it began to look; before that nothing is said to be live. */
let whole = false;
let open = false;

function event(e: Event): void {
  if (e.kind === "inbox") {
    const data = e.data as Whole;
    setClock(data.now);
    halts.value = data.halts;
    waiting.value = data.open.length;
    if (!first) for (const l of [...listeners]) l.whole?.();
    first = false;
    const late = !whole;
    whole = true;
    if (open && late) opened();
  } else if (e.kind === "changed") {
    const data = e.data as Changed;
    setClock(data.now);
    if (JSON.stringify(data.halts) !== JSON.stringify(halts.value)) halts.value = data.halts;
    waiting.value = data.open_interrupts;
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
  open = true;
  if (!whole) return;
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
  open = false;
  if (state.value === "broken") return;
  brokenAt.value = now();
  state.value = "broken";
}

// This tab's part of the one stream of the browser

type HearRun = (e: Event) => void;
const watching = new Map<string, { hear: HearRun; after: number }>();

function heard(message: ToTab): void {
  switch (message.kind) {
    case "event":
      if (message.run) watching.get(message.run)?.hear(message.event);
      else event(message.event);
      return;
    case "open":
      sharers.value = message.tabs;
      if (state.peek() === "broken") for (const { hear } of watching.values()) hear({ kind: "open", id: "", data: null });
      return opened();
    case "broken":
      return broke();
    case "forgotten":
      if (state.peek() !== "broken" && state.peek() !== "resting") state.value = "connecting";
      return ask();
    case "ended":
      if (message.refusal?.status === 401) me.value = null;
      else if (message.refusal && me.value) broke();
  }
}

/** Say everything that this page wants; it is told the whole of what is so. */
function ask(): void {
  whole = open = false;
  for (const [run, { after }] of watching) say({ kind: "watch", run, after });
  say({ kind: "look", on: looking.peek() && connected });
}

const say = shared(heard, ask);

/** Hear the events of a run until the result is called: its records after this one, and what it writes. */
export function watchRun(run: string, after: number, hear: HearRun): () => void {
  const mine = { hear, after };
  watching.set(run, mine);
  say({ kind: "watch", run, after });
  return () => {
    if (watching.get(run) !== mine) return;
    watching.delete(run);
    say({ kind: "unwatch", run });
  };
}

let connected = false;

/** Begin, once somebody is logged in. */
export function connect(): void {
  connected = true;
  if (looking.peek()) say({ kind: "look", on: true });
}

/** Nobody is logged in any more. */
export function disconnect(): void {
  connected = false;
  say({ kind: "look", on: false });
  say({ kind: "again" });
  first = true;
  whole = open = false;
  state.value = "connecting";
}

// One timer for everything that counts, and none in a hidden tab; nothing is opened while it is hidden.
let timer = 0;
let hidden = 0;

function rest(): void {
  looking.value = false;
  whole = open = false;
  if (state.peek() !== "broken") state.value = "resting";
  say({ kind: "look", on: false });
}

function visibility(): void {
  clearInterval(timer);
  clearTimeout(hidden);
  if (document.hidden) {
    if (looking.peek()) hidden = window.setTimeout(rest, HIDDEN);
    return;
  }
  timer = window.setInterval(() => tick.value++, 1000);
  tick.value++;
  if (looking.peek()) return say({ kind: "here" });
  if (state.peek() === "resting") state.value = "connecting";
  looking.value = true;
  if (connected) say({ kind: "look", on: true });
}
document.addEventListener("visibilitychange", visibility);
addEventListener("pageshow", visibility);
addEventListener("pagehide", () => {
  clearTimeout(hidden);
  rest();
  say({ kind: "gone" });
});
addEventListener("online", () => say({ kind: "net", on: true }));
addEventListener("offline", () => say({ kind: "net", on: false }));
visibility();
