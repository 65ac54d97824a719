/** Requests whose answers keep every digit, and whose bodies are sent exactly as they were written. */
import { address, asking, intent, me, Problem } from "../api";
import { BadJson, obj, parse, text, write, type Json, type Obj } from "./json";

/** A refusal, with the members that only some have: `was`, `now`, `by`, `next`. */
export class Refusal extends Problem {
  constructor(
    status: number,
    code: string,
    detail: string,
    readonly facts: Obj = new Map(),
  ) {
    super(status, code, detail);
  }
}

async function send(url: string, init: RequestInit): Promise<Obj> {
  let response: Response;
  let body: string;
  try {
    response = await asking(url, init);
    body = await response.text();
  } catch (e) {
    if (e instanceof DOMException && e.name === "AbortError") throw e;
    throw new Refusal(0, "no_answer", "the server does not answer");
  }
  const found = read(body);
  if (response.ok) return found;
  if (response.status === 401) me.value = null;
  throw new Refusal(response.status, text(found.get("code")) || "failed", text(found.get("detail")) || response.statusText, found);
}

function read(body: string): Obj {
  try {
    return obj(parse(body));
  } catch (e) {
    if (e instanceof BadJson) return new Map(); // a proxy's page, say
    throw e;
  }
}

export function ask(path: string, query: Record<string, string | number | boolean | undefined> = {}, signal?: AbortSignal): Promise<Obj> {
  return send(address(path, query), signal ? { signal } : {});
}

/** One intention of a person: sent again after no answer came, it counts once. */
export class Intention {
  private readonly key = intent();
  readonly text: string;
  constructor(
    readonly path: string,
    body: Json,
  ) {
    this.text = write(body);
  }
  send(): Promise<Obj> {
    const headers = { "Content-Type": "application/json", "X-CSRF-Token": me.value?.csrf ?? "", "Idempotency-Key": this.key };
    return send(address(this.path), { method: "POST", headers, body: this.text });
  }
}
