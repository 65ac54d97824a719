/** How items are called: kinds, choices, expiry, and how they were closed. */
import { now } from "../api";
import { clock } from "../words";
import { CHOICES, EXPIRY, KIND_WORDS, PROSE } from "../generated/words";
import type { Kind } from "../types";
import type { Closed, Item } from "./items";
import { BRIEF, brief, isObj, short, text, type Json } from "./json";

/** Kind → glyph, word, what is asked. */
export const KINDS: Record<Kind, readonly [glyph: string, word: string, ask: string]> = {
  approval: kind("approval", "wait"),
  question: kind("question", "model"),
  in_doubt: kind("in_doubt", "doubt"),
  limit: kind("limit", "clock"),
  error: kind("error", "fail"),
  undo: kind("undo", "undo"),
  event: kind("event", "clock"),
  timer: kind("timer", "clock"),
};
const CHECK = kind("check", "model");

/** The same for an item: what a hook asks is no limit. */
export const kindOf = (i: Item): readonly [glyph: string, word: string, ask: string] => (isCheck(i) ? CHECK : KINDS[i.kind]);

/** Whether it is a hook that asks. */
export const isCheck = (i: Item): boolean => i.kind === "limit" && isObj(i.payload) && text(i.payload.get("hook")) !== "";

function kind(name: Kind | "check", glyph: string): readonly [string, string, string] {
  const found = KIND_WORDS[name];
  return [glyph, found?.word ?? name, found?.asks ?? name];
}

/** The prose in a payload, if there is any. */
export function prose(payload: Json): string {
  if (typeof payload === "string") return payload;
  if (isObj(payload))
    for (const name of PROSE)
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
  if (isCheck(i)) return { tool: "", rest: brief(prose(i.payload)) };
  if (i.kind === "limit")
    return {
      tool: "",
      rest: brief(isObj(i.payload) ? `${text(i.payload.get("condition")) || "a limit"} is reached` : "a limit is reached"),
    };
  return { tool: "", rest: brief(prose(i.payload) || (i.payload === null ? i.type : short(i.payload))) };
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
  return kindOf(i)[2];
}

/** What happens when its time is over, and when that is. */
export function afterwards(i: Item): string {
  if (i.expiresAt === null) return "it waits until someone decides";
  const today = new Date(i.expiresAt * 1000).toDateString() === new Date(now() * 1000).toDateString();
  const when = today ? clock(i.expiresAt).slice(0, 5) : new Date(i.expiresAt * 1000).toLocaleString("sv-SE").slice(0, 16);
  return `then ${EXPIRY[i.onExpiry] ?? i.onExpiry}, ${when}`;
}

/** A choice: its word, what it means, what the button says. */
export function choiceOf(i: Item, name: string, what: string): readonly [string, string, string] {
  const undoing = i.kind === "in_doubt" && i.choices.some(([k]) => k === "not");
  return CHOICES[undoing ? "in_doubt_undoing" : i.kind]?.[name] ?? [name, what, `Choose ${name}`];
}

/** How it was closed, as a sentence without its end: `ben approved it`. */
export function closedWords(c: Closed): string {
  const by = c.by || "someone";
  switch (c.why) {
    case "approve":
      return c.edit ? `${by} edited and approved it` : `${by} approved it`;
    case "deny":
      return `${by} denied it`;
    case "value":
      return `${by} answered it`;
    case "instead":
      return `${by} gave the result; it did not run`;
    case "dismiss":
      return `${by} dismissed it`;
    case "expired":
      return "Expired. Recorded as expiry, not as a denial";
    case "event":
      return "The event that it waited for came";
    case "abandoned":
      return "Someone gave the agent another task, so it was dropped";
    default:
      return "It no longer waits: its run was cancelled, or the action changed";
  }
}
