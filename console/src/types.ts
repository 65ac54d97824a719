/** What the API gives: the schemas of `server/schemas.py`, as types. */

export type Status =
  "ready" | "waiting" | "pausing" | "paused" | "cancelling" | "stuck" | "completed" | "cancelled" | "running" | "failed" | "stopped" | "held";
export type Kind = "approval" | "question" | "event" | "timer" | "limit" | "error" | "in_doubt" | "undo";
export type Role = "viewer" | "operator" | "approver" | "admin" | "run";
export type Json = unknown;

export interface Page<T> {
  items: T[];
  after: string | null;
}
export interface Me {
  name: string;
  role: Role;
  groups: string[];
  csrf: string;
  /** They came by the link of this start of the server. */
  link: boolean;
  now?: number;
}

export interface Run {
  id: string;
  kind: string;
  program: string;
  status: Status;
  title: string;
  session: string;
  labels: Record<string, string>;
  seq: number;
  interrupts: number;
  held: string[];
  worker: string;
  epoch: number;
  created_at: number;
  updated_at: number;
  erased_at: number | null;
}

export interface Usage {
  requests: number;
  input_tokens: number;
  output_tokens: number;
  cache_read_tokens: number;
  cost: number;
  estimated: boolean;
}

export interface ToolCall {
  call_id: string;
  tool: string;
  arguments: Record<string, Json>;
  reason: string;
  rule: string;
  digest: string;
  description: string;
  effect: string;
  undo: boolean;
}

export interface Interrupt {
  id: string;
  ref: string;
  run_id: string;
  agent: string;
  kind: Kind;
  type: string;
  payload: Json;
  call: ToolCall | null;
  answer_schema: Json;
  path: string;
  opened_at: number;
  expires_at: number | null;
  choices: Record<string, string>;
  on_expiry: string;
  approvers: number;
  groups: string[];
  digest: string;
  seq: number;
  said: string;
}

export interface Seen {
  interrupt: Interrupt;
  open: boolean;
  run_status: Status;
  attempts: Audit[];
  closed: { why: string; by: string; at: number | null; seq: number | null } | null;
}

export interface RunState {
  run: Run;
  input: Json;
  steps: number;
  usage: Usage;
  interrupts: Interrupt[];
  calls: Json[];
  done: Json[];
  data: Record<string, Json>;
  text: string;
  output: Json;
  undone: string[];
  residue: Json[];
  children: { path: string; agent: string; text: string; done: boolean }[];
  graph: Graph | null;
  started_by: string;
  forked_from: string;
  misfit: Misfit | null;
  holds: Halt[];
}

/** Why no present worker advances a run. `digest` names the version that was refused; "" if there is none to accept. */
export interface Misfit {
  why: string;
  changes: string[];
  digest: string;
  queued: boolean;
}

export interface Graph {
  chains: { root?: boolean; when?: Json; items: GraphItem[] }[];
  [more: string]: Json;
}
export interface GraphItem {
  is: string;
  name?: string;
  [more: string]: Json;
}

export interface Span {
  kind: "run" | "wait" | "pause";
  from: number;
  to: number | null;
}
export interface Step {
  n: number;
  seq: number;
  record: number;
  kind: string;
  id: string;
  name: string;
  text: string;
  quoted: boolean;
  status: string;
  note: string;
  path: string;
  level: number;
  at: number;
  took: number | null;
  spans: Span[];
  arguments: Json;
  result: Json;
  error: string;
  ran: boolean;
  digest: string;
  key: string;
  effect: string;
  undo: boolean;
  reason: string;
  rules: string[];
  attempt: number;
  tokens: number;
  interrupt: string | null;
}
export interface Thinking {
  path: string;
  agent: string;
  since: number;
}
export interface Timeline {
  seq: number;
  now: number;
  worked: number;
  waited: number;
  steps: Step[];
  thinking: Thinking[];
}

export interface Piece {
  kind: "model" | "tool" | "wait" | "pause" | "undo";
  from: number;
  to: number | null;
  status: string;
}
export interface Glance {
  id: string;
  seq: number;
  status: string;
  now: string;
  detail: string;
  steps: number;
  tokens: number;
  cost: number;
  since: number;
  shape: Piece[];
  expires_at: number | null;
  waits: number;
}

export interface Recorded {
  seq: number;
  record: { t: string; at: number; [more: string]: Json };
}
export interface Halt {
  scope: string;
  by: string;
  reason: string;
  at: number;
}
export interface Audit {
  at: number;
  run: string;
  verb: string;
  by?: string;
  from?: string;
  seq?: number;
  refused?: string;
  [more: string]: Json;
}
export interface Preview {
  in_flight: Undoing[];
  undo: Undoing[];
  residue: Undoing[];
}
export interface Undoing {
  call: string;
  tool: string;
  arguments?: Json;
  result?: Json;
  undo?: Json;
  [more: string]: Json;
}
export interface Program {
  name: string;
  kind: string;
  picture: string | null;
}
export interface Endpoint {
  name: string;
  kind: string;
  url: string;
  topics: string[];
  at: number;
}
export interface Letter {
  n: number;
  id: string;
  endpoint: string;
  topic: string;
  run_id: string | null;
  at: number;
  state: string;
  tries: number;
  due_at: number;
  error: string;
}
