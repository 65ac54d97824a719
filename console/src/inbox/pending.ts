/** The list: what waits for people, what was escalated first, then soonest expiry. New items wait behind a count until they are asked for. */
import { batch, computed, signal } from "@preact/signals";
import { now } from "../api";
import { listen, tick, type Changed } from "../live";
import { query } from "../router";
import { say } from "../ui";
import { count } from "../words";
import { byUrgency, itemOf, type Item } from "./items";
import { list, text } from "./json";
import { ask } from "./wire";

const PAGE = 100;
/** So many are read; beyond that, a filter is asked for. */
export const MOST = 10_000;
/** So long a row that is decided stays, if neither pointer nor focus is in the list. */
const FADE = 2;
const SOON = 250;
const SLACK = 3;

export interface Filters {
  kind: string;
  agent: string;
  text: string;
  mine: boolean;
  /** What the reader has put off, and nothing else. */
  snoozed: boolean;
}
export const filters = computed<Filters>(() => {
  const q = query.value;
  const is = (name: string): boolean => q.get(name) === "true";
  return { kind: q.get("kind") ?? "", agent: q.get("agent") ?? "", text: q.get("text") ?? "", mine: is("mine"), snoozed: is("snoozed") };
});
export const filtered = computed(() => Object.values(filters.value).some(Boolean));
const keyed = computed(() => JSON.stringify(filters.value));

const items = new Map<string, Item>();
/** What is shown, in order. */
export const order = signal<string[]>([]);
/** What has arrived since, and is not shown. */
export const newer = signal<string[]>([]);
/** What is decided, and since when; it leaves when nobody's hand is there. */
export const gone = signal<ReadonlyMap<string, number>>(new Map());
export const loading = signal(true);
export const failure = signal<unknown>(null);
export const truncated = signal(false);
/** Whether a pointer or the focus is in the list. */
export const touched = { pointer: false, focus: false };

/** Every agent that was seen to ask: what can be filtered by. */
export const agents = signal<string[]>([]);

export const itemBy = (ref: string): Item | undefined => items.get(ref);

const wanted = (i: Item): boolean => i.snoozed > now() === filters.peek().snoozed;

/** How many items the reader has put off. */
export const asleep = signal(0);

/** What is on an item has changed. */
export function marked(ref: string, assigned: string, snoozed: number): void {
  const i = items.get(ref);
  if (!i || (i.assigned === assigned && i.snoozed === snoozed)) return;
  items.set(ref, { ...i, assigned, snoozed });
  batch(() => {
    order.value = sorted(order.peek().includes(ref) ? order.peek() : [...order.peek(), ref]);
    asleep.value += Number(snoozed > now()) - Number(i.snoozed > now());
  });
}

/** Its time has come: it waits behind the count, as what is new does. */
function back(i: Item): void {
  items.set(i.ref, { ...i, snoozed: 0 });
  asleep.value -= 1;
  if (!filters.peek().snoozed) newer.value = [...newer.peek(), i.ref];
}

function sorted(refs: Iterable<string>): string[] {
  const found = [...refs].flatMap((ref) => items.get(ref) ?? []).filter(wanted);
  return found.sort(byUrgency).map((i) => i.ref);
}

/** How many there are of each action, so that equal ones can be decided together. */
const actions = computed(() => {
  const out = new Map<string, string[]>();
  for (const ref of order.value) {
    const action = items.get(ref)?.action;
    if (!action || gone.value.has(ref)) continue;
    const had = out.get(action);
    if (had) had.push(ref);
    else out.set(action, [ref]);
  }
  return out;
});
/** How many others are the same action. */
export const alikeCount = (i: Item): number => (i.action ? Math.max(0, (actions.value.get(i.action)?.length ?? 0) - 1) : 0);
/** The other items that are the same action, shown in the list and still open. */
export function alike(i: Item): Item[] {
  if (!i.action) return [];
  return (actions.value.get(i.action) ?? []).filter((ref) => ref !== i.ref).flatMap((ref) => items.get(ref) ?? []);
}

let control: AbortController | null = null;
let newest = 0;

async function pages(since: number | undefined, signal: AbortSignal, take: (found: Item[]) => void): Promise<void> {
  const f = filters.peek();
  let after: string | undefined;
  for (let n = 0; n < MOST / PAGE; n += 1) {
    const answer = await ask(
      "/inbox",
      { kind: f.kind, agent: f.agent, text: f.text, mine: f.mine || undefined, snoozed: true, since, after, limit: PAGE },
      signal,
    );
    take(list(answer.get("items")).map(itemOf));
    after = text(answer.get("after")) || undefined;
    if (!after || signal.aborted) return;
  }
  truncated.value = true;
}

/** Read everything: at first, and when a filter changed. With `again`, what is shown stays where it is. */
export async function load(again = false): Promise<void> {
  control?.abort();
  const mine = new AbortController();
  control = mine;
  const found = new Map<string, Item>();
  truncated.value = false;
  try {
    let first = order.peek().length === 0;
    await pages(undefined, mine.signal, (some) => {
      for (const i of some) found.set(i.ref, i);
      if (again || !first || mine.signal.aborted) return;
      first = false;
      show(found); // the rest comes in a moment; this much can be read
    });
    if (mine.signal.aborted) return;
    batch(() => {
      if (again) compared(found);
      else show(found);
      loading.value = false;
      failure.value = null;
    });
  } catch (e) {
    if (mine.signal.aborted) return;
    batch(() => {
      failure.value = e;
      loading.value = false;
    });
  }
}

function show(found: ReadonlyMap<string, Item>): void {
  items.clear();
  for (const [ref, i] of found) {
    items.set(ref, i);
    newest = Math.max(newest, i.openedAt);
  }
  const names = new Set([...agents.peek(), ...[...found.values()].map((i) => i.agent)]);
  batch(() => {
    newer.value = [];
    gone.value = new Map();
    order.value = sorted(found.keys());
    asleep.value = [...found.values()].filter((i) => i.snoozed > now()).length;
    if (names.size !== agents.peek().length) agents.value = [...names].sort();
  });
}

/** What there is against what is shown: after a break, say. */
function compared(found: ReadonlyMap<string, Item>): void {
  const shown = new Set(order.peek());
  for (const [ref, i] of found) items.set(ref, i);
  closed([...shown].filter((ref) => !found.has(ref)));
  newer.value = [...found.values()].filter((i) => wanted(i) && !shown.has(i.ref)).map((i) => i.ref);
  if (!shown.size) showNewer();
}

/** Show what has arrived. */
export function showNewer(): void {
  batch(() => {
    const leaving = gone.peek();
    order.value = sorted([...order.peek().filter((ref) => !leaving.has(ref)), ...newer.peek()]);
    newer.value = [];
    gone.value = new Map();
  });
}

let timer = 0;
let looking: AbortController | null = null;

async function arrived(): Promise<void> {
  looking?.abort();
  const mine = new AbortController();
  looking = mine;
  const fresh: string[] = [];
  try {
    await pages(newest ? newest - SLACK : undefined, mine.signal, (some) => {
      for (const i of some) {
        newest = Math.max(newest, i.openedAt);
        if (!items.has(i.ref)) fresh.push(i.ref);
        items.set(i.ref, i);
      }
    });
  } catch {
    return; // the next change, or the next connection, asks again
  }
  if (!fresh.length) return;
  newer.value = [...newer.peek(), ...fresh];
  say(`${count(newer.peek().length, "newer item", "newer items")} in the inbox.`);
  if (!order.peek().some((ref) => !gone.peek().has(ref))) showNewer(); // there was nothing under the hand
}

/** A decision is recorded, by whomever. */
export function closed(refs: readonly string[]): void {
  const shown = new Set(order.peek());
  const leaving = new Map(gone.peek());
  for (const ref of refs) if (shown.has(ref) && !leaving.has(ref)) leaving.set(ref, now());
  batch(() => {
    if (leaving.size !== gone.peek().size) gone.value = leaving;
    if (newer.peek().some((ref) => refs.includes(ref))) newer.value = newer.peek().filter((ref) => !refs.includes(ref));
  });
}

/** Take away what is decided, if no hand is near; bring back what was put off. */
function sweep(): void {
  for (const i of items.values()) if (i.snoozed && i.snoozed <= now()) back(i);
  for (const ref of order.peek()) {
    const item = items.get(ref);
    const until = item?.expiresAt ?? Number.MAX_VALUE;
    if (until > now() && !item?.escalated) break; // behind what was escalated they are sorted by it
    if (until <= now() && !gone.peek().has(ref)) closed([ref]);
  }
  const leaving = gone.peek();
  if (!leaving.size || touched.pointer || touched.focus) return;
  const done = new Set([...leaving].filter(([, since]) => now() - since >= FADE).map(([ref]) => ref));
  if (!done.size) return;
  batch(() => {
    order.value = order.peek().filter((ref) => !done.has(ref));
    gone.value = new Map([...leaving].filter(([ref]) => !done.has(ref)));
  });
}

/** Follow the inbox while its page is open. */
export function followInbox(): () => void {
  let was = "";
  const stops = [
    keyed.subscribe((key) => {
      if (key === was) return;
      was = key;
      batch(() => {
        loading.value = true;
        order.value = [];
      });
      void load();
    }),
    listen({
      changed: (c: Changed) => {
        if (c.closed.length) closed(c.closed);
        if (!c.opened.length) return;
        clearTimeout(timer);
        timer = window.setTimeout(() => void arrived(), SOON);
      },
      whole: () => void load(true),
    }),
    tick.subscribe(sweep),
  ];
  return () => {
    for (const stop of stops) stop();
    control?.abort();
    looking?.abort();
    clearTimeout(timer);
    order.value = [];
    items.clear();
    newest = 0;
  };
}
