/** One item. The order is fixed: the action and its definition, effect, arguments, why, the agent's words, the decision. */
import { useComputed } from "@preact/signals";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { later } from "../later";
import { listen } from "../live";
import { exact } from "../numbers";
import { Failure, Skeleton } from "../states";
import { json } from "../words";
import { useActs, useItemKeys } from "./acting";
import { Bar, type Acts, type Refs } from "./bar";
import { Deciding } from "./deciding";
import type { Form } from "./form";
import { choiceForm } from "./forms";
import { write } from "./json";
import { Content, Head, History, Meta, Words } from "./showing";

const StaleBanner = later(async () => (await import("./parts")).StaleBanner, true);
const Before = later(async () => (await import("./parts")).Before, true);
const Origin = later(async () => (await import("./parts")).Origin, true);
const Notes = later(async () => (await import("./parts")).Notes, true);
const ClosedStrip = later(async () => (await import("./parts")).ClosedStrip, true);

interface Props {
  id: string;
  /** The focus goes to the heading when it is there. */
  focus: boolean;
  /** It is decided, or there is nothing to do here: go to the next one. */
  onward: (to?: string) => void;
}

export function ItemPane({ id, focus, onward }: Props) {
  const d = useMemo(() => new Deciding(id, focus), [id]);
  const heading = useRef<HTMLHeadingElement>(null);
  const refs: Refs = {
    approve: useRef<HTMLButtonElement>(null),
    deny: useRef<HTMLButtonElement>(null),
    note: useRef<HTMLInputElement>(null),
  };
  const [extra, setExtra] = useState<Form | null>(null);
  useEffect(() => {
    void d.look();
    const stop = listen({
      changed: (c) => {
        const run = d.seen.peek()?.item.run;
        if (c.closed.includes(id) || c.more || c.runs.some((r) => r.run_id === run)) void d.look();
      },
      whole: () => void d.look(),
    });
    return () => {
      stop();
      d.end();
    };
  }, [d]);
  const there = useComputed(() => d.seen.value !== null).value;
  useEffect(() => {
    if (!there || !focus) return;
    heading.current?.focus({ preventScroll: true });
    scrollTo(0, 0); // it is read from its beginning
  }, [there]);
  const acts = useActs(d, extra, onward);
  useItemKeys(d, acts, refs);
  const seen = d.seen.value;
  if (d.error.value)
    return (
      <Failure
        error={d.error.value}
        again={() => {
          d.error.value = null;
          void d.look();
        }}
      />
    );
  if (!seen) return <Skeleton rows={1} row={() => <div class="card skel-item" />} />;
  const choose = (name: string): void => {
    const chosen = (form: Form | null): void => {
      d.choice.value = name; // with what it asks for, never before
      setExtra(form);
    };
    choiceForm(seen.item, name).then(chosen, (e: unknown) => (d.error.value = e));
  };
  return (
    <article
      class="card appr"
      aria-labelledby="item-head"
      data-ref={id}
      data-kind={seen.item.kind}
      data-open={seen.open && !d.stale.value}
      onKeyDown={(e) => guard(e, d, acts)}
    >
      <StaleBanner
        deciding={d}
        onward={() => (d.stale.peek()?.how === "closed" ? onward() : void d.renew().then((next) => next && onward(next)))}
      />
      {!seen.open && d.calm && seen.closed ? <ClosedStrip closed={seen.closed} /> : null}
      <Head seen={seen} editing={d.edit.value !== null} heading={heading} />
      <Content deciding={d} seen={seen} choose={choose} extra={extra} />
      {seen.open && seen.forkedFrom && seen.item.call ? (
        <Origin forkedFrom={seen.forkedFrom} run={seen.item.run} call={{ tool: seen.item.call.tool, arguments: new Map([...seen.item.call.arguments].map(([k, v]) => [k, json(exact(write(v)))])) }} />
      ) : null}
      {seen.open && seen.item.kind === "approval" ? <Before item={id} /> : null}
      <Meta seen={seen} deciding={d} />
      {seen.open ? <Words text={seen.item.said} /> : null /* what it says by now, it did not say then */}
      <History seen={seen} />
      <Notes deciding={d} seen={seen} onward={() => onward()} />
      {seen.open && !(d.stale.value?.how === "closed") ? <Bar deciding={d} item={seen.item} acts={acts} refs={refs} extra={extra} /> : null}
    </article>
  );
}

/** Enter and the space bar on a deciding button do nothing while a key is held, nor just after the item appeared or changed. */
function guard(e: KeyboardEvent, d: Deciding, acts: Acts): void {
  const target = e.target as HTMLElement;
  if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && d.edit.peek()) {
    e.preventDefault();
    if (!e.repeat && d.awake) acts.approve();
  } else if (e.key === "Enter" && (e.ctrlKey || e.metaKey) && d.answer.peek() && target.closest?.(".form")) {
    e.preventDefault();
    if (!e.repeat && d.awake) target.closest("article")?.querySelector<HTMLElement>("[data-verb=answer]")?.click();
  } else if ((e.key === "Enter" || e.key === " ") && target.closest?.(".acts button") && (e.repeat || !d.awake)) e.preventDefault();
}
