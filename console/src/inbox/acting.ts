/** From a person's hand to the record: what the buttons and keys of an item do. */
import { useKeys } from "../keys";
import { go, to } from "../router";
import { say, toast } from "../ui";
import type { Acts, Refs } from "./bar";
import type { Deciding, Outcome, Verb } from "./deciding";
import type { Form } from "./form";
import { formOf } from "./forms";
import type { Item } from "./items";
import { from, isFixed, obj, type Json } from "./json";
import { kindOf } from "./naming";
import { alike, alikeCount } from "./pending";

const DONE = { approve: "Approved", deny: "Denied", answer: "Answered", instead: "Result given, not run", dismiss: "Dismissed" } as const;

export function useActs(d: Deciding, extra: Form | null, onward: (to?: string) => void): Acts {
  const finish = async (verb: Verb, value?: Json): Promise<void> => {
    const i = d.seen.peek()?.item;
    if (!i || d.settling.peek()) return;
    const scope = d.scope.peek();
    const seq = await d.decide(verb, value);
    if (seq === null) return;
    const what = i.call
      ? `${i.call.tool}${verb === "approve" ? (value !== undefined ? ", edited" : scope === "run" ? ", for this run" : scope === "later" ? ", and later ones" : ", once") : ""}`
      : kindOf(i)[1];
    recorded(`${DONE[verb]}.`, `${what}. Recorded.`, i, seq);
    if (i.approvers === 1 || verb !== "approve") return onward();
    await d.look(); // others must agree too: it stays here until they have
    if (!d.seen.peek()?.open || d.stale.peek()) onward();
  };
  const several = async (verb: "approve" | "deny"): Promise<void> => {
    const i = d.seen.peek()?.item;
    if (!i || d.settling.peek()) return;
    const found = await d.decideAll(verb, alike(i));
    summed(verb, found);
    if (found[0]?.error) await d.look();
    else onward();
  };
  return {
    onward: () => onward(),
    approve: () => {
      const form = d.edit.peek();
      if (d.blocked.peek()) return;
      if (!form) return void (all(d) ? several("approve") : finish("approve"));
      form.try();
      const { value } = form.read();
      if (value !== undefined && form.changed) void finish("approve", value);
    },
    deny: () => void (d.off.peek() ? undefined : all(d) ? several("deny") : finish("deny")),
    startEdit: () => {
      const i = d.seen.peek()?.item;
      if (!i?.call || d.off.peek() || d.halted.peek() || i.approvers > 1 || isFixed(i.schema)) return;
      const began = (form: Form): void => {
        if (d.off.peek() || d.edit.peek() || d.seen.peek()?.item !== i) return;
        d.edit.value = form;
        if (d.scope.peek() === "later") d.scope.value = "once";
        focusFirst(FRAMES);
      };
      formOf(i.schema ?? undefined, i.call.arguments).then(began, (e: unknown) => (d.error.value = e));
    },
    discard: () => (d.edit.value = null),
    instead: (result) => void (d.blocked.peek() ? undefined : finish("instead", result)),
    dismiss: () => void (d.off.peek() ? undefined : finish("dismiss")),
    answer: () => {
      const i = d.seen.peek()?.item;
      if (!i || d.blocked.peek()) return;
      const form = i.kind === "question" ? d.answer.peek() : extra;
      if (i.kind === "question" && !form) return; // it is not there yet
      form?.try();
      const read = form?.read();
      // what is wrong is marked when it is drawn; the first of it is where to go on
      if (form && read?.value === undefined)
        return void requestAnimationFrame(() => document.querySelector<HTMLElement>("[aria-invalid=true]")?.focus());
      if (i.kind === "question") return void finish("answer", read!.value);
      if (d.choice.peek()) void finish("answer", new Map([...obj(from({ choice: d.choice.peek() })), ...obj(read?.value)]));
    },
  };
}

/** Whether the decision is also about the others that are alike. One that stands is about one. */
const all = (d: Deciding): boolean => d.together.peek() && d.scope.peek() !== "later" && alikeCount(d.seen.peek()!.item) > 0;

const FRAMES = 30;

/** The first field of the form that is about to be drawn; its controls may come a few frames later. Who is in a field by then stays
    there: what they type must not go into another one. */
function focusFirst(frames: number): void {
  requestAnimationFrame(() => {
    if (document.activeElement?.matches("input, textarea, select, .form.editing *")) return;
    const first = document.querySelector<HTMLElement>(".form.editing :is(input, textarea, select, button)");
    if (first) first.focus();
    else if (frames) focusFirst(frames - 1);
  });
}

function recorded(head: string, body: string, i: Item, seq: number): void {
  const told = toast("done", head, body, { word: "Record", go: () => go(`${to("runs", i.run, "journal")}?record=${seq}`) });
  say(head);
  if (i.call) void import("./parts").then((m) => m.follow(i, told));
}

function summed(verb: "approve" | "deny", found: Outcome[]): void {
  const bad = found.filter((o) => o.error);
  const done = found.length - bad.length;
  if (done) toast("done", `${DONE[verb]} ${done}.`, `${found[0]?.item.call?.tool ?? ""}, each with its own digest. Recorded.`);
  if (bad.length)
    toast("fail", `${bad.length} not recorded: ${bad[0]!.error!.detail}`, "Nothing ran by those. They are still listed if they are open.");
}

/** `a` and `d` do not decide: they move the focus. */
export function useItemKeys(d: Deciding, acts: Acts, refs: Refs): void {
  const awake = (f: () => void) => (): void => {
    if (d.awake && d.seen.peek()?.open) f();
  };
  useKeys({
    a: awake(() => refs.approve.current?.focus()),
    d: awake(() => refs.deny.current?.focus()),
    e: awake(() => acts.startEdit()),
    n: awake(() =>
      document.querySelector<HTMLElement>(".note-open")?.offsetParent
        ? document.querySelector<HTMLElement>(".note-open")?.click()
        : refs.note.current?.focus(),
    ),
    "1": awake(() => (d.scope.value = "once")),
    "2": awake(() => (d.scope.value = "run")),
    ...(d.edit.value ? { Escape: () => acts.discard() } : { "3": awake(() => (d.scope.value = "later")) }),
  });
}
