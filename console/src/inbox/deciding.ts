/** One item that somebody looks at: what they saw, what they are about to decide, and what became of it. Nothing is optimistic. */
import { batch, computed, signal } from "@preact/signals";
import { at, denied, me, now } from "../api";
import { offline } from "../live";
import { afterUnhalt } from "../touched";
import { diff, type Change } from "./diff";
import type { Form } from "./form";
import { draftedForm, type Drafted } from "./forms";
import { itemOf, seenOf, stepOf, type Closed, type Item, type Seen } from "./items";
import { isObj, list, num, obj, text, type Json, type Obj } from "./json";
import { closed as leave } from "./pending";
import { placeOf } from "./schema";
import { Reading } from "./reading";
import { ask, Intention, Refusal } from "./wire";

export type Verb = "approve" | "deny" | "answer" | "instead" | "dismiss";
export type Scope = "once" | "run" | "later";

/** What is shown is no longer what would run. */
export interface Stale {
  /** "edited": asked again with other arguments · "changed": the same item, other bytes · "closed": decided, or over. */
  how: "edited" | "changed" | "closed";
  by: string;
  at: number;
  /** Whether a decision was sent and refused; else it was not sent. */
  sent: boolean;
  changes: Change[];
  digests: [string, string] | null;
  closed: Closed | null;
  next: string;
}

/** What one of several decisions came to. */
export interface Outcome {
  item: Item;
  error: Refusal | null;
}

/** Keys do nothing for a moment after an item appears or changes. */
const DEAD = 700;
/** An item that came up by itself is decided by nobody before no finger has touched the screen for so long. */
const SLID = 1200;

/** A note that was typed for an action which then changed: it is there again under the new one. */
const notes = new Map<string, string>();
const noteKey = (i: Item): string => `${i.run}/${stepOf(i) || i.ref}`;

export class Deciding {
  readonly seen = signal<Seen | null>(null);
  readonly error = signal<unknown>(null);
  readonly stale = signal<Stale | null>(null);
  readonly sending = signal<Verb | "">("");
  /** Of several: how many are recorded. */
  readonly progress = signal("");
  readonly refusal = signal<Refusal | null>(null);
  readonly scope = signal<Scope>("once");
  /** For which later calls it stands, if that is its scope. */
  readonly stands = signal<Obj>(new Map());
  readonly note = signal("");
  readonly together = signal(false);
  readonly edit = signal<Form | null>(null);
  readonly answer = signal<Form | null>(null);
  readonly choice = signal("");
  readonly over = signal(false);
  reading = new Reading();
  /** True if it was closed when it was opened: then nothing happened under anybody's hands. */
  calm = false;
  private alive = true;
  private settled = 0;
  private intention: Intention | null = null;
  private draft: Drafted | null = null;

  /** Why nothing is decided yet, or "": an item that came up by itself stands where another one was, and the second of two taps
      was meant for that one. */
  readonly settling = signal("");

  /** `slid`: it came up by itself, after another one was decided. */
  constructor(
    readonly ref: string,
    private readonly slid = false,
  ) {}

  end(): void {
    this.alive = false;
    this.draft?.stop();
    const i = this.seen.peek()?.item;
    if (i && this.note.peek() && this.seen.peek()?.open) notes.set(noteKey(i), this.note.peek());
  }

  /** Whether keys do something yet. */
  get awake(): boolean {
    return performance.now() >= this.settled;
  }
  private changed(): void {
    this.settled = performance.now() + DEAD;
  }

  /** Read the item. What is shown stays; if something else is there now, that is said. */
  async look(): Promise<void> {
    try {
      const found = seenOf(await ask(`/interrupts/${at(this.ref)}`));
      if (this.alive) await this.compare(found);
    } catch (e) {
      if (this.alive && !this.seen.peek()) this.error.value = e;
    }
  }

  private async compare(found: Seen): Promise<void> {
    const had = this.seen.peek();
    if (!found.open) leave([this.ref]);
    if (!had) return this.take(found);
    if (this.stale.peek() || this.sending.peek()) return;
    if (had.open && found.open && had.item.digest === found.item.digest) {
      this.seen.value = found; // the same action; perhaps one approval more
      return;
    }
    if (!had.open) return;
    const closed = found.closed;
    const later = closed?.edit ? await nextOf(found.item) : null;
    const next = found.open ? this.ref : (later?.ref ?? "");
    const digest = found.open ? found.item.digest : (later?.digest ?? "");
    if (!this.alive || this.sending.peek()) return;
    this.becomes({
      how: found.open ? "changed" : next ? "edited" : "closed",
      by: closed?.by ?? "",
      at: closed?.at ?? now(),
      sent: false,
      changes: diff(shownOf(had.item), found.open ? shownOf(found.item) : (closed?.edit ?? shownOf(had.item))),
      digests: digest ? [had.item.digest, digest] : null,
      closed,
      next,
    });
  }

  private take(found: Seen): void {
    batch(() => {
      const i = found.item;
      this.seen.value = found;
      this.error.value = null;
      this.calm = !found.open;
      this.reading = new Reading();
      this.note.value = notes.get(noteKey(i)) ?? this.note.peek();
      if (i.kind === "question") void this.questioned(i);
      this.changed();
      if (this.slid && found.open) this.settle();
    });
  }

  /** Whoever taps on is still busy with the item before: each tap begins the time anew. */
  private settle(): void {
    this.settling.value = "it has just come up; look at it first";
    let timer = 0;
    const again = (): void => {
      clearTimeout(timer);
      timer = setTimeout(over, SLID);
    };
    const over = (): void => {
      removeEventListener("pointerdown", again, true);
      this.settling.value = "";
    };
    addEventListener("pointerdown", again, true);
    again();
  }

  private async questioned(i: Item): Promise<void> {
    try {
      this.draft?.stop();
      const made = await draftedForm(me.peek()?.name ?? "", i.ref, i.schema ?? undefined);
      if (!this.alive) return made.stop();
      this.draft = made;
      this.answer.value = made.form;
    } catch (e) {
      this.error.value = e;
    }
  }

  private becomes(stale: Stale): void {
    batch(() => {
      this.stale.value = stale;
      this.sending.value = "";
      this.edit.value = null;
      this.choice.value = "";
      this.scope.value = "once";
      this.together.value = false;
      this.refusal.value = null;
      this.changed();
    });
  }

  /** Show what is there now; gives the item to go to if it is another one. */
  async renew(): Promise<string> {
    const stale = this.stale.peek();
    const i = this.seen.peek()?.item;
    if (i && this.note.peek()) notes.set(noteKey(i), this.note.peek());
    if (stale?.next && stale.next !== this.ref) return stale.next;
    batch(() => {
      this.stale.value = null;
      this.seen.value = null;
    });
    await this.look();
    return "";
  }

  // What can be decided

  /** Why it can only be approved after a halt was lifted, or "". A question can be answered during a halt. */
  readonly halted = computed(() => {
    const s = this.seen.value;
    if (!s) return "";
    const agents = s.agents.length ? s.agents : [s.item.agent];
    const after = afterUnhalt(s.item.kind, agents, s.item.call?.tool ?? "");
    if (!after) return "";
    return s.item.kind === "approval" ? `${after}. Deny is possible now` : after;
  });

  /** Why nothing at all can be decided, or "". */
  readonly off = computed(() => {
    const s = this.seen.value;
    if (!s) return "it is not read yet";
    if (this.stale.value) return this.stale.value.how === "closed" ? "it is decided" : "off until you have seen the new action";
    if (!s.open) return "it is decided";
    if (this.over.value) return "its time is over";
    const role = denied("decide");
    if (role) return role;
    const who = me.value;
    if (s.item.groups.length && who && !s.item.groups.some((g) => who.groups.includes(g)))
      return `this is for ${s.item.groups.join(", ")}; you are not one of them`;
    return offline.value;
  });
  /** Whether this person is one of those who approved it; it waits for somebody else then, and can still be denied. */
  readonly voted = computed(() => this.seen.value?.votes.some((v) => v.by === me.value?.name) === true);
  /** Why it cannot be approved or answered, or "". */
  readonly blocked = computed(() => {
    if (this.off.value || this.halted.value) return this.off.value || this.halted.value;
    if (this.voted.value) return "you approved it; it waits for someone else";
    return this.seen.value?.item.call ? this.reading.off : "";
  });

  // Doing it

  body(i: Item, verb: Verb, value?: Json): Obj {
    const out: Obj = new Map<string, Json>([["digest", i.digest]]);
    if (verb === "answer") out.set("value", value ?? null);
    if (verb === "instead") out.set("result", value ?? null);
    if (this.note.peek().trim()) out.set("note", this.note.peek().trim());
    if (verb === "approve" && this.scope.peek() === "run") out.set("scope", "run");
    if (this.scope.peek() === "later" && (verb === "approve" || verb === "deny")) out.set("stands", this.stands.peek());
    if (verb === "approve" && value !== undefined) out.set("edit", value);
    return out;
  }

  /** Send a decision and wait for its record. Gives the record's number, or null if it was refused. */
  async decide(verb: Verb, value?: Json): Promise<number | null> {
    const s = this.seen.peek();
    if (!s || this.sending.peek()) return null;
    const next = new Intention(`/interrupts/${at(s.item.ref)}/${verb}`, this.body(s.item, verb, value));
    const again = this.intention?.text === next.text && this.intention.path === next.path;
    if (!again) this.intention = next;
    const mine = this.intention!;
    batch(() => {
      this.sending.value = verb;
      this.refusal.value = null;
    });
    try {
      const answer = await mine.send();
      notes.delete(noteKey(s.item));
      this.note.value = "";
      this.intention = null;
      this.draft?.forget();
      return num(answer.get("seq"));
    } catch (e) {
      if (!(e instanceof Refusal)) throw e;
      this.refused(e, value);
      return null;
    } finally {
      this.sending.value = "";
    }
  }

  private refused(e: Refusal, value?: Json): void {
    if (e.status === 409) return this.conflict(e);
    const fault = e.status === 422 || e.status === 400 ? placeOf(e.facts) : null;
    const form = this.edit.peek() ?? this.answer.peek();
    if (fault && form && value !== undefined) form.refuse(fault);
    this.refusal.value = e;
    if (e.status !== 0) this.intention = null;
  }

  /** Somebody was first, or it changed: what was seen, what is there now, whose doing it was. Nothing ran. */
  private conflict(e: Refusal): void {
    const s = this.seen.peek()!;
    const f = e.facts;
    const [current, was] = [obj(f.get("now")), obj(f.get("was"))];
    const how = text(f.get("how"));
    const next = text(f.get("next")) || (e.code === "stale_decision" ? this.ref : "");
    const digest = text(current.get("digest"));
    this.becomes({
      how: next ? (next === this.ref ? "changed" : "edited") : "closed",
      by: text(f.get("by")),
      at: num(f.get("at")) || now(),
      sent: true,
      changes: current.size ? diff(was.size ? facts(was) : shownOf(s.item), facts(current)) : [],
      digests: digest && digest !== s.item.digest ? [s.item.digest, digest] : null,
      closed: next
        ? null
        : {
            why: how === "edit" ? "approve" : how || "void",
            by: text(f.get("by")),
            at: num(f.get("at")),
            seq: 0,
            note: "",
            edit: how === "edit" ? obj(current.get("arguments")) : null,
            value: null,
          },
      next,
    });
    if (next) return;
    leave([this.ref]);
    void this.noted();
  }

  /** The note of whoever was first. */
  private async noted(): Promise<void> {
    const found = seenOf(await ask(`/interrupts/${at(this.ref)}`));
    const stale = this.stale.peek();
    if (this.alive && stale && found.closed) this.stale.value = { ...stale, closed: found.closed };
  }

  /** The same decision about several equal actions, each with its own digest. */
  async decideAll(verb: "approve" | "deny", others: readonly Item[]): Promise<Outcome[]> {
    const s = this.seen.peek();
    if (!s || this.sending.peek()) return [];
    this.sending.value = verb;
    const out: Outcome[] = [];
    try {
      for (const item of [s.item, ...others]) {
        this.progress.value = ` ${out.length} of ${others.length + 1}`;
        try {
          await new Intention(`/interrupts/${at(item.ref)}/${verb}`, this.body(item, verb)).send();
          out.push({ item, error: null });
          leave([item.ref]);
        } catch (e) {
          if (!(e instanceof Refusal)) throw e;
          out.push({ item, error: e });
        }
      }
    } finally {
      this.sending.value = this.progress.value = "";
    }
    return out;
  }
}

const facts = (o: Obj): Json => (isObj(o.get("arguments")) ? o.get("arguments")! : (o.get("payload") ?? null));
const shownOf = (i: Item): Json => i.call?.arguments ?? i.payload;

/** The open item about the same call: an edit that another rule asks about. */
async function nextOf(i: Item): Promise<Item | null> {
  if (!i.call) return null;
  const found = await ask("/inbox", { run_id: i.run }).catch(() => null);
  return (
    list(found?.get("items"))
      .map(itemOf)
      .find((x) => x.call?.id === i.call!.id && x.ref !== i.ref) ?? null
  );
}
