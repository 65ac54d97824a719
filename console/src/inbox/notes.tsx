/** What people leave on an item beside its decision: to whom it is given, until when they put it off, and comments. */
import { useEffect, useRef, useState } from "preact/hooks";
import { at, denied, get, me, now, post } from "../api";
import type { DecidersView, ItemMarkView } from "../generated/types";
import { useKeys } from "../keys";
import { wear } from "../late_style";
import { Button, Icon, refused, Time, toast } from "../ui";
import { Visible, visible } from "../visible";
import { exactTime } from "../words";
import type { Deciding } from "./deciding";
import type { Seen } from "./items";
import { num, obj, text, type Json } from "./json";
import css from "./notes.late.css";
import { marked } from "./pending";

wear(css);

const GROUP = "group:";
const HOUR = 3600;
/** An item is shown again so long before it expires, whatever was asked for. */
const BEFORE = 900;

/** A person's name, or that of a group. */
const nameOf = (to: string): string => (to.startsWith(GROUP) ? `the group ${to.slice(GROUP.length)}` : to);

/** Eight in the morning of tomorrow, or of next Monday, where the reader is. */
function morning(days: number): number {
  const day = new Date(now() * 1000);
  day.setDate(day.getDate() + days);
  day.setHours(8, 0, 0, 0);
  return day.getTime() / 1000;
}

function choices(): [string, number][] {
  const toMonday = (8 - new Date(now() * 1000).getDay()) % 7 || 7;
  return [
    ["15 minutes", now() + HOUR / 4],
    ["1 hour", now() + HOUR],
    ["4 hours", now() + 4 * HOUR],
    ["tomorrow, 8:00", morning(1)],
    ["Monday, 8:00", morning(toMonday)],
  ];
}

interface Props {
  deciding: Deciding;
  seen: Seen;
  onward: () => void;
}

export function Notes({ deciding: d, seen, onward }: Props) {
  const i = seen.item;
  const [deciders, setDeciders] = useState<DecidersView | null>(null);
  const [busy, setBusy] = useState("");
  const assign = useRef<HTMLSelectElement>(null);
  const snooze = useRef<HTMLSelectElement>(null);
  const off = denied("decide");
  useEffect(() => {
    if (off || !seen.open) return;
    get<DecidersView>("/deciders").then(setDeciders, () => undefined); // then it is given to nobody
  }, [off, seen.open]);
  // What others have left is in the list, too, as soon as it is seen here.
  useEffect(() => marked(i.ref, i.assigned, i.snoozed), [i.ref, i.assigned, i.snoozed]);
  useKeys(seen.open && !off ? { m: () => assign.current?.focus(), h: () => snooze.current?.focus() } : {});
  const leave = async (verb: string, body: unknown): Promise<ItemMarkView | null> => {
    setBusy(verb);
    try {
      const mark = await post<ItemMarkView>(`/interrupts/${at(i.ref)}/${verb}`, body);
      marked(i.ref, mark.assigned_to, mark.snoozed_until ?? 0);
      await d.look();
      return mark;
    } catch (e) {
      refused("Not recorded", e);
      return null;
    } finally {
      setBusy("");
    }
  };
  const putOff = async (until: number): Promise<void> => {
    const mark = await leave("snooze", { until });
    if (!mark) return;
    if (!mark.snoozed_until) {
      toast("done", "You see it again.");
      return;
    }
    toast("done", `You see it again ${exactTime(mark.snoozed_until)}.`, "Others see it as before. Its expiry does not move.");
    onward();
  };
  return (
    <section class="notes" aria-label="Notes" data-notes>
      {seen.open ? (
        <div class="row wrap">
          <label class="row sm">
            <span class="t3">Assigned to</span>
            <select
              class="inp"
              ref={assign}
              disabled={Boolean(off || busy)}
              title={off || "Key m"}
              value={i.assigned}
              onChange={(e) => void leave("assign", { to: e.currentTarget.value })}
            >
              <option value="">no one</option>
              {names(deciders, i.assigned).map((to) => (
                <option key={to} value={to}>
                  {visible(to === me.value?.name ? `${to} (you)` : nameOf(to))}
                </option>
              ))}
            </select>
          </label>
          <label class="row sm">
            <span class="t3">Snooze</span>
            <select
              class="inp"
              ref={snooze}
              disabled={Boolean(off || busy)}
              title={off || "Key h. Only you do not see it; it comes back 15 minutes before it expires."}
              value=""
              onChange={(e) => void putOff(Number(e.currentTarget.value))}
            >
              <option value="">{i.snoozed > now() ? `until ${exactTime(i.snoozed)}` : "not snoozed"}</option>
              {i.snoozed > now() ? <option value="0">show it again now</option> : null}
              {choices()
                .filter(([, until]) => i.expiresAt === null || until < i.expiresAt - BEFORE)
                .map(([word, until]) => (
                  <option key={word} value={String(until)}>
                    {word}
                  </option>
                ))}
            </select>
          </label>
        </div>
      ) : null}
      <Thread notes={seen.notes} />
      {off ? null : <Writing busy={busy === "comment"} send={async (said) => Boolean(await leave("comment", { text: said }))} />}
    </section>
  );
}

/** To whom it can be given; to whom it is given now, in any case. */
function names(known: DecidersView | null, on: string): string[] {
  const found = [...(known?.people ?? []), ...(known?.groups ?? []).map((g) => GROUP + g)];
  return on && !found.includes(on) ? [on, ...found] : found;
}

function Thread({ notes }: { notes: Json[] }) {
  if (!notes.length) return null;
  return (
    <ul aria-label="What was left on it">
      {notes.map((from, n) => {
        const o = obj(from);
        return (
          <li key={n} class="sm" data-note={text(o.get("verb"))}>
            <b>
              <Visible text={text(o.get("by")) || "someone"} />
            </b>{" "}
            <Said verb={text(o.get("verb"))} to={text(o.get("to"))} />{" "}
            <span class="t3">
              <Time at={num(o.get("at"))} />
            </span>
            {text(o.get("text")) ? (
              <p>
                <Visible text={text(o.get("text"))} />
              </p>
            ) : null}
          </li>
        );
      })}
    </ul>
  );
}

const WORDS: Record<string, string> = {
  comment: "",
  unassign: "removed the assignment",
  snooze: "put it off",
  unsnooze: "wanted to see it again",
};

function Said({ verb, to }: { verb: string; to: string }) {
  if (verb === "assign") return <>assigned it to <Visible text={nameOf(to)} /></>;
  return <>{WORDS[verb] ?? verb}</>;
}

function Writing({ busy, send }: { busy: boolean; send: (said: string) => Promise<boolean> }) {
  const [said, setSaid] = useState("");
  const submit = (e: Event): void => {
    e.preventDefault();
    if (!said.trim() || busy) return;
    void send(said).then((done) => done && setSaid(""));
  };
  return (
    <form class="row" onSubmit={submit}>
      <label class="field grow" title="It is recorded, and changes nothing.">
        <Icon name="model" />
        <input
          aria-label="Comment"
          placeholder="For others to read"
          maxLength={10_000}
          value={said}
          onInput={(e) => setSaid(e.currentTarget.value)}
        />
      </label>
      <Button busy={busy ? "Sending…" : ""} off={said.trim() ? "" : "write something first"} type="submit">
        Comment
      </Button>
    </form>
  );
}
