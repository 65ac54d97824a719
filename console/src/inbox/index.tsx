/** What waits for a person: the list at the left, one item at the right; on a phone one after the other. */
import { signal, useSignal } from "@preact/signals";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { now } from "../api";
import { Connection, Top } from "../frame";
import { HaltButton } from "../halt";
import { useKeys } from "../keys";
import { state, tick, waiting } from "../live";
import { back, go, href, Link, place, query, setQuery } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { Button, Icon, Tabs } from "../ui";
import { visible } from "../visible";
import { many, rough } from "../words";
import { later } from "../later";
import { wear } from "../late_style";
import { ItemPane } from "./item";
import { kindOf, KINDS } from "./naming";
import { picked } from "./chosen";
import { addressOf, List } from "./list";
import {
  agents,
  asleep,
  failure,
  filtered,
  filters,
  followInbox,
  gone,
  itemBy,
  load,
  loading,
  MOST,
  newer,
  order,
  showNewer,
  truncated,
} from "./pending";
import style from "./inbox.late.css";

wear(style);

const SeveralBar = later(async () => (await import("./parts")).SeveralBar, true);
const Decided = later(async () => (await import("./parts")).Decided, true);

const phone = matchMedia("(max-width: 900px)");
const narrow = signal(phone.matches);
phone.addEventListener("change", (e) => (narrow.value = e.matches));

const ASKED = ["approval", "question", "in_doubt", "limit", "error", "undo"] as const;

function search(): string {
  const text = query.value.toString();
  return text ? `?${text}` : "";
}

export function InboxPage() {
  const ref = place.value[1] ?? "";
  const decided = query.value.get("show") === "decided";
  const focus = useSignal(false);
  const head = useRef<HTMLHeadingElement>(null);
  const atHead = useRef(false);
  // Before it is painted: a key that follows at once must not go where the item was.
  useLayoutEffect(() => {
    if (!ref && atHead.current) head.current?.focus();
    atHead.current = false;
  }, [ref]);
  useEffect(() => followInbox(), []);
  const nothing = !ref && !decided && !filtered.value && !loading.value && !order.value.length;
  const first = order.value.find((r) => !gone.value.has(r)) ?? "";
  useEffect(() => {
    if (!ref && first && !narrow.value && !decided && !loading.value) go(addressOf(first, search()), { replace: true });
  }, [ref, first, narrow.value, decided, loading.value]);
  useEffect(() => {
    document.body.classList.toggle("item-open", Boolean(ref));
    return () => document.body.classList.remove("item-open");
  }, [ref]);
  const show = (next: string, andFocus = false): void => {
    focus.value = andFocus;
    go(addressOf(next, search()), { replace: Boolean(ref) });
  };
  const step = (by: number): void => {
    const all = order.peek();
    const at = all.indexOf(ref);
    const next = all[at < 0 ? 0 : Math.min(all.length - 1, Math.max(0, at + by))];
    if (next && next !== ref) show(next);
  };
  /** To the new action, or to the next item that is still open; without one, back to the list. */
  const onward = (to?: string): void => {
    if (to) {
      if (newer.peek().includes(to)) showNewer();
      return show(to, true);
    }
    const all = order.peek();
    const at = all.indexOf(ref);
    const open = (r: string): boolean => r !== ref && !gone.peek().has(r);
    const next = all.slice(at + 1).find(open) ?? all.slice(0, Math.max(0, at)).findLast(open);
    if (next) return show(next, true);
    if (newer.peek().length) showNewer();
    atHead.current = true;
    go(`/inbox${search()}`, { replace: true });
  };
  useKeys({
    ...(decided ? {} : { j: () => step(1), k: () => step(-1), x: () => ref && picked.toggle(ref), ".": showNewer }), // what is decided has its own
    ...(ref && (decided || narrow.value) ? { Escape: () => back(`/inbox${search()}`) } : {}),
  });
  return (
    <main class={`inbox-page ${ref ? "has-item" : ""}`}>
      {ref && narrow.value ? <PhoneTop id={ref} /> : <Top title="Inbox" />}
      <div class="row inbox-head">
        <h1 tabIndex={-1} ref={head}>
          Inbox
        </h1>
        <span class="grow" />
        {ref && narrow.value ? (
          <Button icon="left" onClick={() => back(`/inbox${search()}`)}>
            Back to the list
          </Button>
        ) : null}
      </div>
      <div class={`inbox ${nothing ? "nothing" : ""} ${decided && !ref ? "wide" : ""}`}>
        <section class="il-col" aria-label="List">
          <Filters decided={decided} />
          {decided ? <Decided on={ref} search={search()} /> : <Open on={ref} />}
          {!decided && picked.ids.value.size ? <SeveralBar /> : null}
          <KeysHint keys={decided ? (ref ? [...MOVE, ["esc", "back to the list"]] : [...MOVE, ["↵", "open"]]) : [...MOVE, ["a", "approve"], ["e", "edit"], ["d", "deny"]]} />
        </section>
        <div class="item-col">{ref ? <ItemPane key={ref} id={ref} focus={focus.value} onward={onward} /> : null}</div>
      </div>
    </main>
  );
}

type Hint = readonly [keys: string, what: string];
const MOVE: readonly Hint[] = [["j k", "move"]];

/** The keys that do something here. */
function KeysHint({ keys }: { keys: readonly Hint[] }) {
  return (
    <p class="keys-hint sm t3" aria-hidden="true">
      {[...keys, ["?", ""] as const].map(([all, what]) => (
        <span key={all}>
          {all.split(" ").map((key) => (
            <>
              <kbd>{key}</kbd>{" "}
            </>
          ))}
          {what}
        </span>
      ))}
    </p>
  );
}

function PhoneTop({ id }: { id: string }) {
  const i = itemBy(id);
  return (
    <div class="top">
      <Button look="q" class="x" label="Back to the list" onClick={() => back(`/inbox${search()}`)}>
        <Icon name="left" size="m" />
      </Button>
      <b class="grow clip" role="heading" aria-level={1}>{i ? kindOf(i)[1] : "Item"}</b>
      {i?.expiresAt && state.value === "live" ? (
        <span class="tag">
          <Icon name="clock" />
          <Left to={i.expiresAt} />
        </span>
      ) : (
        <Connection />
      )}
      <HaltButton top />
    </div>
  );
}

function Left({ to }: { to: number }) {
  tick.value;
  const left = to - now();
  return <span class={left < 60 ? "fail num" : "num"}>{left > 0 ? rough(left) : "expired"}</span>;
}

function Filters({ decided }: { decided: boolean }) {
  const f = filters.value;
  const tab = decided ? "decided" : f.mine ? "mine" : "open";
  const choose = (id: string): void => {
    const q = new URLSearchParams(query.value);
    q.delete("show");
    q.delete("mine");
    q.delete("which");
    q.delete("snoozed");
    if (id === "decided") q.set("show", "decided");
    if (id === "mine") q.set("mine", "true");
    const text = q.toString();
    go(`/inbox${text ? `?${text}` : ""}`, { replace: true });
  };
  const shown = order.value.length - gone.value.size;
  return (
    <>
      <Tabs
        label="Which items"
        on={tab}
        go={(t) => choose(t.id)}
        tabs={[
          { id: "open", word: "Open", n: waiting.value === null ? null : many(waiting.value), to: href("/inbox") },
          {
            id: "mine",
            word: narrow.value ? "Mine" : "Assigned to me",
            n: tab === "mine" && !loading.value ? many(shown) : null,
            to: href("/inbox?mine=true"),
          },
          { id: "decided", word: "Decided", to: href("/inbox?show=decided") },
        ]}
      />
      <div class="row filter" role="search">
          <label class="field grow">
            <Icon name="search" />
            <input
              type="search"
              aria-label={decided ? "Search the decisions" : "Search the inbox"}
              placeholder={decided ? "tool, argument, note, who, run id…" : "tool, task, run id…"}
              value={f.text}
              onInput={(e) => typed({ text: e.currentTarget.value })}
            />
          </label>
        {decided ? null : (
          <>
          <select class="inp" aria-label="Kind" value={f.kind} onChange={(e) => setQuery({ kind: e.currentTarget.value })}>
            <option value="">every kind</option>
            {ASKED.map((k) => (
              <option key={k} value={k}>
                {KINDS[k][1]}
              </option>
            ))}
          </select>
          <select
            class={`inp ${f.agent ? "" : "unset"}`}
            aria-label="Agent"
            value={f.agent}
            onChange={(e) => setQuery({ agent: e.currentTarget.value })}
          >
            <option value="">every agent</option>
            {[...new Set([...agents.value, f.agent])].filter(Boolean).map((a) => (
              <option key={a} value={a}>
                {visible(a)}
              </option>
            ))}
          </select>
          </>
        )}
      </div>
    </>
  );
}

let pause = 0;
/** A filter that is typed is used after a moment of rest. */
function typed(change: Record<string, string>): void {
  clearTimeout(pause);
  pause = window.setTimeout(() => setQuery(change), 250);
}

function Open({ on }: { on: string }) {
  if (failure.value && !order.value.length) return <Failure error={failure.value} again={() => void load()} />;
  if (loading.value && !order.value.length)
    return (
      <Skeleton
        rows={5}
        row={(n) => (
          <div class="il skel-row" key={n}>
            <div class="skel" />
            <div class="skel" />
          </div>
        )}
      />
    );
  if (order.value.length) {
    return (
      <>
        <List on={on} search={search()} />
        <Asleep />
        {truncated.value ? <p class="sm t3 older">The {many(MOST)} that wait longest. Narrow the list to see others.</p> : null}
      </>
    );
  }
  return (
    <>
      {filtered.value ? <NoMatch /> : <Nothing />}
      <Asleep />
    </>
  );
}

/** What the reader has put off. */
function Asleep() {
  if (filters.value.snoozed || !asleep.value) return null;
  return (
    <p class="sm t3 older">
      {many(asleep.value)} snoozed by you.{" "}
      <Link to="/inbox?snoozed=true">Show</Link>
    </p>
  );
}

function NoMatch() {
  const f = filters.value;
  const named = [
    f.kind ? `kind ${KINDS[f.kind as keyof typeof KINDS]?.[1] ?? f.kind}` : "",
    f.agent ? `agent ${f.agent}` : "",
    f.text ? `“${f.text}”` : "",
    f.mine ? "assigned to me" : "",
    f.snoozed ? "snoozed by you" : "",
  ].filter(Boolean);
  return (
    <Empty icon="search" title="No match">
      <p>
        Nothing open fits {named.join(", ")}. {waiting.value ? `${many(waiting.value)} outside this filter.` : ""}
      </p>
      <div class="row center">
        <Button look="p" onClick={() => go("/inbox", { replace: true })}>
          Show everything
        </Button>
      </div>
    </Empty>
  );
}

function Nothing() {
  return (
    <Empty icon="inbox" title="Nothing waits for a person">
      <p>Approvals, questions, calls in doubt and limits of all runs appear here.</p>
      <p class="sm t3">A rule of a policy makes a call wait: ask("refund", reason="large refund").</p>
    </Empty>
  );
}
