/** The conversation of a run's own agent, told from its records: who said what and when, and what each reply asked for. */
import { filesIn } from "../file_refs";
import { isCallOf } from "../ids";
import { gist, json } from "../words";
import type { Recorded, Step } from "../types";

export interface Usage {
  input_tokens?: number;
  output_tokens?: number;
  cache_read_tokens?: number;
  cost?: number;
  estimated?: boolean;
}
export interface Part {
  type: string;
  text?: string;
  tool?: string;
  args?: unknown;
  file?: unknown;
}

/** One message. Of a person: who, and what they did. Of the model: what it is called, what it used, how long it took. */
export interface Message {
  seq: number;
  at: number;
  author: "person" | "model" | "summary";
  name: string;
  did: string;
  text: string;
  parts: Part[];
  /** What may refer to files: the input of the run. */
  given: unknown;
  /** The calls that this reply asked for, as they came out. */
  calls: Step[];
  usage: Usage;
  took: number;
  /** The reply was cut off, or is not the output, and why. */
  flaw: string;
  /** When the first request that had it was sent; null: none had it yet, or it was the first message. */
  readAt: number | null;
  /** The system prompt or the tools are others than before. */
  terms: boolean;
}

const NONE = { parts: [], given: null, calls: [], usage: {}, took: 0, flaw: "", readAt: null, terms: false };

interface Reply {
  path?: string;
  upto?: number;
  parts?: Part[];
  text?: string;
  usage?: Usage;
  model?: string;
  took?: number;
  invalid?: string;
  covers?: number;
  sent?: { terms?: Record<string, string> } | null;
}
interface Spoken {
  by?: string;
  text?: string;
  instruction?: string;
  input?: unknown;
}

/** Every message, oldest first. */
export function talkOf(records: readonly Recorded[], steps: readonly Step[]): Message[] {
  const out: Message[] = [];
  const terms = new Map<string, string>();
  const unread: Message[] = [];
  for (const { seq, record } of records) {
    const said = spoken(seq, record);
    if (said) {
      out.push(said);
      if (said.did !== STARTED) unread.push(said);
      continue;
    }
    if (record.t !== "replied" && record.t !== "broke" && record.t !== "summarised") continue;
    const reply = record as unknown as Reply;
    if (reply.path) continue; // a nested agent has a conversation of its own
    const changed = Object.entries(reply.sent?.terms ?? {}).filter(([k, v]) => TOLD.has(k) && terms.get(k) !== v);
    for (const [k, v] of changed) terms.set(k, v);
    const began = record.at - (reply.took ?? 0);
    for (const one of unread.splice(0)) {
      if (one.seq <= (reply.upto ?? 0)) one.readAt = began;
      else unread.push(one);
    }
    out.push(replyOf(seq, record, reply, steps, changed.length > 0));
  }
  return out;
}

/** What of the terms people are shown as the system prompt. */
const TOLD = new Set(["instructions", "tools"]);
const STARTED = "started the run";

function spoken(seq: number, record: Recorded["record"]): Message | null {
  const x = record as unknown as Spoken;
  const by = { ...NONE, seq, at: record.at, author: "person" as const, name: x.by ?? "" };
  if (record.t === "started") return { ...by, did: STARTED, text: inputText(x.input), given: x.input };
  if (record.t === "said") return { ...by, did: "said", text: x.text ?? "" };
  if (record.t === "resumed" && x.instruction) return { ...by, did: "instructed, and resumed the run", text: x.instruction };
  if (record.t === "forked" && x.instruction) return { ...by, did: "instructed, and forked the run", text: x.instruction };
  return null;
}

/** Of texts and files in order, the texts: the files are shown below them. */
function inputText(input: unknown): string {
  const items: unknown[] = Array.isArray(input) ? input : [input];
  const files = items.filter((one) => filesIn(one).length);
  if (files.length && items.every((one) => typeof one === "string" || isFile(one))) return items.filter((one) => typeof one === "string").join("\n");
  return typeof input === "string" ? input : gist(input) || json(input);
}

const isFile = (value: unknown): boolean => typeof value === "object" && value !== null && "$file" in value;

function replyOf(seq: number, record: Recorded["record"], x: Reply, steps: readonly Step[], terms: boolean): Message {
  const step = steps.find((s) => s.first_seq === seq && (s.kind === "model" || s.kind === "summary"));
  const calls = step?.call_id ? steps.filter((s) => !s.path && CALLS.has(s.kind) && isCallOf(s.call_id, step.call_id)) : [];
  const summary = record.t === "summarised";
  return {
    ...NONE,
    seq,
    at: record.at - (x.took ?? 0),
    author: summary ? "summary" : "model",
    name: x.model ?? "",
    did: summary && x.covers ? `in the place of the first ${x.covers} messages` : "",
    text: x.text ?? "",
    parts: x.parts ?? [],
    calls,
    usage: x.usage ?? {},
    took: x.took ?? 0,
    flaw: record.t === "broke" || (summary && !x.covers) ? "cut off" : (x.invalid ?? ""),
    terms,
  };
}

const CALLS = new Set(["tool", "agent"]);
