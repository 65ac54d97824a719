/** What each visible run does now: asked for those on the screen only, and again when one of them has moved. */
import { signal, type Signal } from "@preact/signals";
import { get, setClock } from "../api";
import { row } from "../rows";
import type { RunGlance as Glance } from "../generated/types";

const MOST = 50;
const PAUSE = 250;
const KEPT = 2000;

const glances = new Map<string, Signal<Glance | null>>();
const wanted = new Set<string>();
let timer = 0;
let asking = false;

/** A run's glance; null until it is there. */
export function glance(id: string): Signal<Glance | null> {
  let found = glances.get(id);
  if (!found) {
    if (glances.size > KEPT) for (const old of [...glances.keys()].slice(0, KEPT / 2)) glances.delete(old);
    found = signal<Glance | null>(null);
    glances.set(id, found);
  }
  return found;
}

/** These are on the screen: ask for those that are missing or have moved. */
export function want(ids: string[]): void {
  wanted.clear();
  for (const id of ids) wanted.add(id);
  soon(40);
}

/** One of them may have moved. */
export function moved(): void {
  soon(PAUSE);
}

function soon(ms: number): void {
  if (!timer && !asking) timer = window.setTimeout(() => void ask(), ms);
}

const stale = (id: string): boolean => {
  const had = glance(id).peek();
  const run = row(id)?.peek();
  return !had || (run !== undefined && (had.seq < run.seq || had.status !== run.status));
};

async function ask(): Promise<void> {
  timer = 0;
  const ids = [...wanted].filter(stale).slice(0, MOST);
  if (!ids.length) return;
  asking = true;
  try {
    const found = await get<{ items: Glance[]; now: number }>("/glances", { runs: ids.join(",") });
    setClock(found.now);
    for (const item of found.items) glance(item.run_id).value = item;
  } catch {
    // the next change asks again
  } finally {
    asking = false;
  }
  if ([...wanted].some(stale)) soon(PAUSE * 2);
}
