/** What waits for a person, as the API tells it, with every value kept exactly. */
import type { EarlierApproval } from "../generated/types";
import type { Kind } from "../types";
import { list, num, Num, obj, text, type Json, type Obj } from "./json";

export interface PendingCall {
  id: string;
  tool: string;
  arguments: Obj;
  reason: string;
  rule: string;
  description: string;
  effect: string;
  undo: boolean;
}

export interface Item {
  ref: string;
  id: string;
  run: string;
  agent: string;
  kind: Kind;
  type: string;
  callId: string;
  payload: Json;
  call: PendingCall | null;
  schema: Json | undefined;
  path: string;
  openedAt: number;
  expiresAt: number | null;
  choices: [string, string][];
  onExpiry: string;
  approvers: number;
  groups: string[];
  digest: string;
  /** Equal for two items if everything that is shown of their calls is; "" without a call to approve. */
  action: string;
  said: string;
  slots: Seat[];
  /** Everybody who has shaped the run, where a rule wants somebody else. */
  requesters: string[];
  /** Nobody decided it in time: it is asked once more, perhaps of others. */
  escalated: boolean;
  /** Who decided it before without a signature that a worker trusts: it is open again. */
  disowned: string[];
  /** A person, or `group:NAME`; "" for nobody. */
  assigned: string;
  /** When the reader wants to see it again; 0 if it was not put off. */
  snoozed: number;
}

/** One person who must agree: of one of the groups (none: anybody). */
export interface Seat {
  rule: string;
  groups: string[];
  notRequester: boolean;
  filledBy: string;
}

export interface Vote {
  by: string;
  at: number;
  note: string;
}
export interface Attempt extends Vote {
  verdict: string;
  refused: string;
  seq: number;
}
export interface Closed {
  why: string;
  by: string;
  at: number;
  seq: number;
  note: string;
  edit: Obj | null;
  value: Json;
}
/** One item with what is around it. */
export interface Seen {
  item: Item;
  open: boolean;
  status: string;
  attempts: Attempt[];
  notes: Json[];
  votes: Vote[];
  closed: Closed | null;
  title: string;
  startedBy: string;
  agents: string[];
  /** Where it stands in a flow, in words. */
  place: string[];
  /** `RUN@RECORD`, if its run is a fork. */
  forkedFrom: string;
  /** The approval that no longer counted when it was asked again. */
  earlier: EarlierApproval | null;
  /** Of what was approved, if that was edited. */
  approvedDigest: string;
}

export function itemOf(from: Json | undefined): Item {
  const o = obj(from);
  const expires = o.get("expires_at");
  const call = o.get("call");
  return {
    ref: text(o.get("ref")),
    id: text(o.get("id")),
    run: text(o.get("run_id")),
    agent: text(o.get("agent")),
    kind: text(o.get("kind")) as Kind,
    type: text(o.get("type")),
    callId: text(o.get("call_id")),
    payload: o.get("payload") ?? null,
    call: call instanceof Map ? callOf(call) : null,
    schema: o.get("answer_schema"),
    path: text(o.get("path")),
    openedAt: num(o.get("opened_at")),
    expiresAt: expires instanceof Num ? num(expires) : null,
    choices: [...obj(o.get("choices"))].map(([k, v]) => [k, text(v)]),
    onExpiry: text(o.get("on_expiry")),
    approvers: num(o.get("approvers")),
    groups: list(o.get("groups")).map(text),
    digest: text(o.get("digest")),
    action: text(o.get("action")),
    said: text(o.get("said")),
    slots: list(o.get("slots")).map(seatOf),
    requesters: list(o.get("requesters")).map(text),
    disowned: list(o.get("disowned")).map(text),
    escalated: o.get("escalated") === true,
    assigned: text(o.get("assigned_to")),
    snoozed: num(o.get("snoozed_until")),
  };
}

/** What was escalated first, as in the API; then soonest expiry; then what has waited longest. */
export function byUrgency(a: Item, b: Item): number {
  const time = (i: Item): number => i.expiresAt ?? Number.MAX_VALUE;
  return Number(b.escalated) - Number(a.escalated) || time(a) - time(b) || a.openedAt - b.openedAt || (a.ref < b.ref ? -1 : 1);
}

/** For whom it is now that nobody decided it in time. `then`: what happens when its time is over, and when that is. */
export function escalatedWords(i: Item, then: string): string {
  const whom = i.groups.length ? `for ${i.groups.join(" or ")}` : "for every person who may decide";
  return `No one decided it in time. It is now ${whom}; ${then}.`;
}

function seatOf(from: Json): Seat {
  const o = obj(from);
  return {
    rule: text(o.get("rule")),
    groups: list(o.get("groups")).map(text),
    notRequester: o.get("not_requester") === true,
    filledBy: text(o.get("filled_by")),
  };
}

function callOf(o: Obj): PendingCall {
  return {
    id: text(o.get("call_id")),
    tool: text(o.get("tool")),
    arguments: obj(o.get("arguments")),
    reason: text(o.get("reason")),
    rule: text(o.get("rule")),
    description: text(o.get("description")),
    effect: text(o.get("effect")),
    undo: o.get("undo") === true,
  };
}

export function seenOf(o: Obj): Seen {
  const closed = o.get("closed");
  return {
    item: itemOf(o),
    open: text(o.get("status")) === "open",
    status: text(o.get("run_status")),
    attempts: list(o.get("attempts")).map(attemptOf),
    notes: list(o.get("notes")),
    votes: list(o.get("votes")).map(voteOf),
    closed: closed instanceof Map ? closedOf(closed) : null,
    title: text(o.get("title")),
    startedBy: text(o.get("started_by")),
    agents: list(o.get("agents")).map(text),
    place: list(o.get("place")).map(text),
    forkedFrom: text(o.get("forked_from")),
    earlier: earlierOf(o.get("earlier")),
    approvedDigest: text(o.get("approved_digest")),
  };
}

function earlierOf(from: Json | undefined): Seen["earlier"] {
  if (!(from instanceof Map)) return null;
  return { by: list(from.get("by")).map(text), at: num(from.get("at")), valid_for: num(from.get("valid_for")) };
}

function voteOf(from: Json): Vote {
  const o = obj(from);
  return { by: text(o.get("by")), at: num(o.get("at")), note: text(o.get("note")) };
}

function attemptOf(from: Json): Attempt {
  const o = obj(from);
  return { ...voteOf(from), verdict: text(o.get("verdict")), refused: text(o.get("refused")), seq: num(o.get("seq")) };
}

function closedOf(o: Obj): Closed {
  const edit = o.get("edit");
  return {
    ...voteOf(o),
    why: text(o.get("why")),
    seq: num(o.get("seq")),
    edit: edit instanceof Map ? edit : null,
    value: o.get("value") ?? null,
  };
}

/** The call an item is about, as written after the run in an address; "" for one without a call. */
export const stepOf = (i: Item): string => i.callId;
