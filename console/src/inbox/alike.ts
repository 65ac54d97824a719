/** Failures that are like one another, as the API tells them, and what came of retrying them. */
import { many } from "../words";
import { list, Num, obj, text, type Obj } from "./json";

/** The open errors that are like one, and the time by which they were opened, as it was written. */
export interface Alike {
  refs: string[];
  until: string;
}

/** What came of one of several decisions. */
export interface Retried {
  ref: string;
  refused: { code: string; detail: string } | null;
}

export function alikeOf(o: Obj): Alike {
  const until = o.get("until");
  return { refs: list(o.get("refs")).map(text), until: until instanceof Num ? until.text : "0" };
}

export function retriedOf(o: Obj): Retried[] {
  return list(o.get("items")).map((from) => {
    const one = obj(from);
    const refused = one.get("refused");
    return {
      ref: text(one.get("ref")),
      refused: refused instanceof Map ? { code: text(refused.get("code")), detail: text(refused.get("detail")) } : null,
    };
  });
}

/** What is said afterwards: how many were recorded, and how many were not, with the first reason. */
export function outcomeWords(found: readonly Retried[]): { done: string; refused: string } {
  const bad = found.filter((one) => one.refused);
  const done = found.length - bad.length;
  return {
    done: done ? `Retried ${many(done)}.` : "",
    refused: bad.length ? `${many(bad.length)} not retried: ${bad[0]!.refused!.detail}` : "",
  };
}
