/** How items are called: kinds, choices, expiry, and how they were closed. */
import { now } from "../api";
import { clock } from "../words";
import type { Kind } from "../types";
import type { Closed, Item } from "./items";
import { isObj, Num, text, write, type Json } from "./json";

/** Kind → glyph, word, what is asked. */
export const KINDS: Record<Kind, readonly [glyph: string, word: string, ask: string]> = {
  approval: ["wait", "Approval", "Approve this action?"],
  question: ["model", "Question", "Answer this question"],
  in_doubt: ["doubt", "In doubt", "Did this happen?"],
  limit: ["clock", "Limit", "A limit is reached"],
  error: ["fail", "Error", "A step failed"],
  undo: ["undo", "Undo", "An undo failed"],
  event: ["clock", "Event", "Waits for an event"],
  timer: ["clock", "Timer", "Sleeps"],
};

const BRIEF = 200;
const brief = (t: string): string => (t.length > BRIEF ? `${t.slice(0, BRIEF)}…` : t);

/** The prose in a payload, if there is any. */
export function prose(payload: Json): string {
  if (typeof payload === "string") return payload;
  if (isObj(payload))
    for (const name of ["question", "text", "message", "title", "reason", "error"])
      if (text(payload.get(name))) return text(payload.get(name));
  return "";
}

/** An item in one line of a list: a tool's name, then words. It may be shortened; the item itself never is. */
export function titleOf(i: Item): { tool: string; rest: string } {
  const tool = brief(i.call?.tool ?? "");
  if (i.kind === "approval" && i.call) {
    return {
      tool,
      rest: brief(
        [...i.call.arguments]
          .slice(0, 4)
          .map(([k, v]) => `${brief(k)} ${short(v)}`)
          .join(", "),
      ),
    };
  }
  if (i.kind === "in_doubt") return { tool, rest: "may have happened" };
  if (i.kind === "undo") return { tool: brief(isObj(i.payload) ? text(i.payload.get("undo")) : ""), rest: "could not be undone" };
  if (i.kind === "limit")
    return {
      tool: "",
      rest: brief(isObj(i.payload) ? `${text(i.payload.get("condition")) || "a limit"} is reached` : "a limit is reached"),
    };
  return { tool: "", rest: brief(prose(i.payload) || (i.payload === null ? i.type : short(i.payload))) };
}

function short(v: Json): string {
  if (typeof v === "string") return brief(v);
  if (v instanceof Num || v === null || typeof v === "boolean") return write(v);
  return Array.isArray(v) ? `${v.length} in a list` : "{…}";
}

/** What an item's heading says, if it is not a tool's name. */
export function headingOf(i: Item): string {
  if (i.kind === "question") {
    const words = prose(i.payload);
    return words && words.length <= BRIEF && !words.includes("\n")
      ? words
      : i.type === "question"
        ? "A question"
        : `${brief(i.type)}: an answer is needed`;
  }
  if (i.kind === "limit") return titleOf(i).rest;
  return KINDS[i.kind][2];
}

const EXPIRY: Record<string, string> = {
  deny: "then denied by expiry",
  cancel: "then its run is cancelled by expiry",
  escalate: "then escalated by expiry",
};
/** What happens when its time is over, and when that is. */
export function afterwards(i: Item): string {
  if (i.expiresAt === null) return "it waits until somebody decides";
  const today = new Date(i.expiresAt * 1000).toDateString() === new Date(now() * 1000).toDateString();
  const when = today ? clock(i.expiresAt).slice(0, 5) : new Date(i.expiresAt * 1000).toLocaleString("sv-SE").slice(0, 16);
  return `${EXPIRY[i.onExpiry] ?? `then ${i.onExpiry}`}, ${when}`;
}

/** A choice → its word, what it means, what the button says. */
export const CHOICES: Record<string, Record<string, readonly [word: string, what: string, deed: string]>> = {
  in_doubt: {
    happened: ["It happened", "Record this as its result and go on.", "Record that it happened"],
    run: ["It did not happen", "Run it now, with the same key.", "Run it now"],
    cancel: ["Give up", "Cancel the run and undo what can be undone.", "Cancel and undo"],
  },
  in_doubt_undoing: {
    happened: ["It happened", "Undo it.", "Record that it happened"],
    not: ["It did not happen", "There is nothing to undo.", "Record that it did not"],
    leave: ["Leave it", "It is listed as residue.", "Leave it"],
  },
  limit: {
    extend: ["Extend", "Go on until the new limit.", "Extend and resume"],
    stop: ["Stop here", "End the run with what it has.", "Stop the run here"],
  },
  error: {
    retry: ["Try the step again", "Nothing that finished runs again.", "Try the step again"],
    cancel: ["Give up", "Cancel the run and undo what can be undone.", "Cancel and undo"],
  },
  undo: {
    retry: ["Run the undo again", "With the same key.", "Run the undo again"],
    done: ["It is undone", "Somebody did it by hand, or it was never needed.", "Record that it is undone"],
    leave: ["Leave it", "It is listed as residue.", "Leave it"],
  },
};
export function choiceOf(i: Item, name: string, what: string): readonly [string, string, string] {
  const undoing = i.kind === "in_doubt" && i.choices.some(([k]) => k === "not");
  return CHOICES[undoing ? "in_doubt_undoing" : i.kind]?.[name] ?? [name, what, `Choose ${name}`];
}

/** How it was closed, as a sentence without its end: `ben approved it`. */
export function closedWords(c: Closed): string {
  const by = c.by || "somebody";
  switch (c.why) {
    case "approve":
      return c.edit ? `${by} edited and approved it` : `${by} approved it`;
    case "deny":
      return `${by} denied it`;
    case "value":
      return `${by} answered it`;
    case "expired":
      return "Expired. Recorded as expiry, not as a denial";
    case "event":
      return "The event that it waited for came";
    case "abandoned":
      return "Somebody gave the agent another task, and it was dropped";
    default:
      return "It no longer waits: its run was cancelled, or the action changed";
  }
}
