/** The public API, typed. Everything the console knows comes from here, and everything it does goes through here. */
import { signal } from "@preact/signals";
import { RIGHTS } from "./generated/words";
import { exact } from "./numbers";
import type { Me } from "./generated/types";

/** Where the application is mounted ("" at the root). */
export const base = document.documentElement.dataset["base"] ?? "";
export const API = `${base}/api/v1`;

/** Who looks; null until it is known, and after the session has ended. */
export const me = signal<Me | null>(null);
/** Whether the answer to "who are you" is there. */
export const known = signal(false);

/** The server's clock against this one, in seconds. */
let offset = 0;
export function setClock(now: number | undefined): void {
  if (now) offset = now - Date.now() / 1000;
}
/** The server's time, in seconds since 1970. */
export const now = (): number => Date.now() / 1000 + offset;

/** A refusal, as the server says it. `status` 0: it did not answer at all. */
export class Problem extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    readonly detail: string,
    readonly title = "",
    /** Whatever else the answer says: of a stale decision, what was and what is now. */
    readonly more: Record<string, unknown> = {},
  ) {
    super(detail);
  }
}

type Query = Record<string, string | number | boolean | undefined | null>;

export function address(path: string, query: Query = {}): string {
  const q = new URLSearchParams();
  for (const [k, v] of Object.entries(query)) if (v !== undefined && v !== null && v !== "") q.set(k, String(v));
  const text = q.toString();
  return `${API}${path}${text ? `?${text}` : ""}`;
}

/** An id as one segment of a path. */
export const at = encodeURIComponent;

const UNTOUCHED = 60_000;
let touched = 0;
for (const input of ["pointerdown", "keydown", "wheel", "touchstart"])
  addEventListener(input, () => (touched = performance.now()), { capture: true, passive: true });

/** A request of our own. While nobody touches the page it says so: what a page does by itself keeps no session alive. */
export function fetchHere(url: string, init: RequestInit): Promise<Response> {
  const headers = new Headers(init.headers);
  if (performance.now() - touched > UNTOUCHED) headers.set("X-Idle", "1");
  return fetch(url, { ...init, headers, credentials: "same-origin", cache: "no-store" });
}

/** What the page has asked and got no answer to: since when, and whether it would change something. */
export const unanswered = signal<ReadonlySet<{ since: number; changes: boolean }>>(new Set());

/** A request of our own, which says so while it waits for long. */
export async function asking(url: string, init: RequestInit): Promise<Response> {
  const mine = { since: performance.now(), changes: init.method === "POST" };
  unanswered.value = new Set([...unanswered.peek(), mine]);
  try {
    return await fetchHere(url, init);
  } finally {
    unanswered.value = new Set([...unanswered.peek()].filter((one) => one !== mine));
  }
}

async function send<T>(url: string, init: RequestInit): Promise<T> {
  let response: Response;
  try {
    response = await asking(url, init);
  } catch (e) {
    if (e instanceof DOMException && e.name === "AbortError") throw e;
    throw new Problem(0, "no_answer", "the server does not answer; what was recorded is safe in the store");
  }
  if (response.ok) return (response.status === 204 ? undefined : exact(await response.text())) as T;
  throw await refusal(response);
}

/** The problem of an answer that is not OK; a session that has ended is forgotten. */
export async function refusal(response: Response): Promise<Problem> {
  let found: { code?: string; detail?: string; title?: string; [more: string]: unknown } = {};
  try {
    found = exact(await response.text()) as typeof found;
  } catch {
    // a proxy's page, say
  }
  if (response.status === 401) me.value = null;
  return new Problem(response.status, found.code ?? "failed", found.detail ?? response.statusText, found.title ?? "", found);
}

export function get<T>(path: string, query: Query = {}, signal?: AbortSignal): Promise<T> {
  return send<T>(address(path, query), signal ? { signal } : {});
}

/** Do something. The same `key` twice does it once: make one with `intent()` when a person has decided, and keep it for repeats. */
export function post<T>(path: string, body: unknown, key: string = intent()): Promise<T> {
  const headers: Record<string, string> = {
    "Content-Type": "application/json",
    "X-CSRF-Token": me.value?.csrf ?? "",
    "Idempotency-Key": key,
  };
  return send<T>(address(path), { method: "POST", headers, body: JSON.stringify(body) });
}

/** A new name for one intention. */
export function intent(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  return Array.from(bytes, (b) => b.toString(16).padStart(2, "0")).join("");
}

// Who you are

export type Right = "control" | "decide" | "halt" | "admin";

/** Why this person may not, or "". */
export function denied(right: Right): string {
  const who = me.value;
  if (!who) return "you are not logged in";
  if (who.rights.includes(right)) return ""; // perhaps on some runs only: the server knows on which
  const roles = Object.keys(RIGHTS).filter((r) => RIGHTS[r]?.includes(right));
  return `you are ${who.role}; this needs ${roles.join(" or ")}`;
}

/** The token of the link by which somebody came who is logged in already: they are asked before it makes them somebody else. */
export const offered = signal("");
/** Why the link by which somebody came opened nothing, or "". */
export const wrongLink = signal("");

/**
 * Go on with the session that there is; without one, use the token of the address. It is removed from there in any case.
 *
 * A link carries the token of this start of the server and nothing else: with a key in it, whoever wrote the link would let its
 * reader act under the writer's name.
 */
export async function begin(): Promise<void> {
  const token = new URLSearchParams(location.hash.slice(1)).get("token") ?? "";
  if (token) history.replaceState(history.state, "", location.pathname + location.search);
  try {
    await whoami().catch(unauthorized);
    if (!token || me.value?.link) return;
    if (me.value) offered.value = token;
    else await loginByLink(token);
  } finally {
    known.value = true;
  }
}

/** Nobody is logged in; everything else that went wrong is told. */
function unauthorized(e: unknown): void {
  if (!(e instanceof Problem) || e.status !== 401) throw e;
}

/** Use the token of a link; if it is not of this start of the server, that is said, and whoever is logged in stays so. */
export async function loginByLink(token: string): Promise<void> {
  const was = me.value;
  try {
    me.value = await post<Me>("/session", { token });
    await whoami();
  } catch (e) {
    unauthorized(e);
    me.value = was;
    wrongLink.value = (e as Problem).detail;
  }
}

export async function login(key: string): Promise<void> {
  me.value = await post<Me>("/session", { key });
  await whoami();
}

export async function whoami(): Promise<void> {
  const found = await get<Me>("/me");
  setClock(found.now);
  me.value = found;
}

/** What must be over before somebody logs out: who comes next to this browser is somebody else. */
export const leaving: { first: () => Promise<void> } = { first: async () => {} };

export async function logout(): Promise<void> {
  await leaving.first().catch(() => {}); // nobody is kept in by it
  await post("/session/end", {});
  me.value = null;
}
