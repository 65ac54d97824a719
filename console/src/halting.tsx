/** Halt… and Unhalt…: what is halted is chosen from what exists, and what that holds is said before and after. */
import type { ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { denied, intent, now, post, Problem } from "./api";
import { here, quoted } from "./command";
import { Dialog } from "./dialog";
import { asking } from "./halt";
import { heldWords, readScopes, scopeOf, scopes, unknownWords } from "./held";
import { scopeParts } from "./ids";
import { halts, looking, offline, tick } from "./live";
import { ScopePicker } from "./scope_picker";
import { Button, Command, Icon, refused, RunId, sentence, Time, toast } from "./ui";
import { Visible } from "./visible";
import { count, rough, scopeWords } from "./words";
import type { Halt, HaltScope } from "./generated/types";
import type { Page } from "./types";

const COUNTED_EVERY = 2000;
const TYPED = 150;
const LATE = 3000;
const AGAIN = 1000;

export function HaltDialogs() {
  const what = asking.value;
  if (!what) return null;
  const close = (): void => {
    asking.value = "";
  };
  return what === "halt" ? <Halting close={close} /> : <Lifting halt={what} close={close} />;
}

type Kind = "*" | "agent" | "tool";
const KINDS: readonly (readonly [Kind, string])[] = [
  ["*", "Everything"],
  ["agent", "One agent"],
  ["tool", "One tool"],
];

/** Count again every two seconds while the dialog is open, and when another scope is looked at. */
function useCounted(scope: string): void {
  useEffect(() => {
    const control = new AbortController();
    const read = (): void => {
      if (looking.peek()) readScopes(scope, control.signal).catch(() => undefined);
    };
    const first = setTimeout(read, scopes.peek() ? TYPED : 0);
    const timer = setInterval(read, COUNTED_EVERY);
    return () => {
      control.abort();
      clearTimeout(first);
      clearInterval(timer);
    };
  }, [scope]);
}

type Halted = Page<Halt> & { scope: HaltScope; complete: boolean };

/** Send it until there is an answer: the same intention twice is one halt. */
function useSending(scope: string, reason: string, done: () => void): { send: () => void; busy: boolean; late: boolean } {
  const [busy, setBusy] = useState(false);
  const [late, setLate] = useState(false);
  const key = useMemo(intent, [scope, reason]);
  const gone = useRef(false);
  useEffect(() => () => {
    gone.current = true;
  }, []);
  const told = (answer: Halted): void => {
    halts.value = answer.items;
    done();
    const unknown = unknownWords(answer.scope);
    const held = `${heldWords(answer.scope, answer.complete)}.`;
    toast("done", `Halted: ${scopeWords(scope)}.`, unknown ? `${unknown} ${held}` : `${held} No new call starts.`);
  };
  const attempt = (): void => {
    post<Halted>("/halts", { scope, reason }, key).then(told, (e: unknown) => {
      if (gone.current) return;
      if (e instanceof Problem && e.status === 0) {
        setLate(true);
        return void setTimeout(() => gone.current || attempt(), AGAIN);
      }
      setBusy(false);
      refused("Not halted", e);
    });
  };
  const send = (): void => {
    if (busy) return;
    setBusy(true);
    setTimeout(() => setLate(true), LATE);
    attempt();
  };
  return { send, busy, late };
}

/** Whether something that exists has this in its name. */
function isPartOfName(kind: Kind, part: string): boolean {
  const wanted = part.toLowerCase();
  return (scopes.value?.items ?? []).some((s) => s.known && scopeParts(s.scope).kind === kind && scopeParts(s.scope).name.toLowerCase().includes(wanted));
}

function Halting({ close }: { close: () => void }) {
  const [kind, setKind] = useState<Kind>("*");
  const [name, setName] = useState("");
  const [typing, setTyping] = useState(false);
  const [anyway, setAnyway] = useState("");
  const [reason, setReason] = useState("");
  const why = useRef<HTMLInputElement>(null);
  const scope = kind === "*" ? "*" : `${kind}:${name.trim()}`;
  const named = kind === "*" || name.trim() !== "";
  useCounted(named ? scope : "");
  const found = named ? scopeOf(scopes.value, scope) : undefined;
  /** The list still offers something that is not chosen yet. */
  const near = !found?.known && named && isPartOfName(kind, name.trim());
  const on = halts.value.find((h) => h.scope === scope);
  const { send, busy, late } = useSending(scope, reason.trim(), close);
  const use = (chosen: string): void => {
    setName(chosen);
    why.current?.focus();
  };
  const off =
    (!named ? "choose which one" : "") ||
    (on ? "it is halted already" : "") ||
    (found && !found.known && anyway !== scope ? "choose what you mean: nothing here has that name" : "") ||
    (!reason.trim() ? "say why: it is shown on every page" : "");
  return (
    <Dialog
      title="Halt"
      close={close}
      lead={
        <p class="t2">
          No new call starts. Tool calls in flight finish, at most one per run. Held runs continue by themselves when unhalted. Nothing is
          cancelled or undone.
        </p>
      }
      footer={
        <>
          <span class="grow sm t3 why-off">{busy ? "Sent. Nothing is said to be halted before it is recorded." : off ? sentence(off) : ""}</span>
          <Button big keys="esc" off={busy ? "it is being sent" : ""} onClick={close}>
            Keep running
          </Button>
          <Button big look="dp" off={off} busy={busy ? "Halting…" : ""} onClick={send} name="halt-now">
            {named ? `Halt ${scopeWords(scope)}` : `Halt one ${kind}`}
          </Button>
        </>
      }
    >
      <div class="stack halting">
        <fieldset class="stack">
          <legend class="lb">What</legend>
          <div class="seg" role="radiogroup" aria-label="What to halt">
            {KINDS.map(([id, word]) => (
              <button
                key={id}
                type="button"
                role="radio"
                aria-checked={kind === id}
                class={kind === id ? "on" : ""}
                data-first={kind === id ? true : undefined}
                onClick={() => {
                  setKind(id);
                  setName("");
                }}
              >
                {word}
              </button>
            ))}
          </div>
        </fieldset>
        {kind === "*" ? null : (
          <ScopePicker
            kind={kind}
            all={scopes.value?.items ?? []}
            name={name}
            set={setName}
            chosen={() => why.current?.focus()}
            typing={setTyping}
          />
        )}
        {named && !(typing && near) ? (
          <Consequence scope={scope} found={found} use={use} anyway={anyway === scope} insist={() => setAnyway(scope)} />
        ) : null}
        <label class="stack">
          <span class="lb">
            Reason <span class="t3">required · shown on every page</span>
          </span>
          <input ref={why} class="inp sans" aria-required="true" value={reason} onInput={(e) => setReason(e.currentTarget.value)} maxLength={200} />
        </label>
        {busy && late ? (
          <SayBox tone="fail" icon="fail" alert>
            <b>Not halted: the server did not answer in 3 s.</b> Still trying. From a terminal beside the store:
            <Command text={here(`adjourn halt ${quoted(scope)} --reason ${quoted(reason.trim())}`)} />
          </SayBox>
        ) : null}
      </div>
    </Dialog>
  );
}

interface SayBoxProps {
  children: ComponentChildren;
  icon: string;
  tone?: string;
  alert?: boolean;
}

function SayBox({ children, icon, tone = "", alert = false }: SayBoxProps) {
  return (
    <div class={`say-box ${tone}`} role={alert ? "alert" : "status"}>
      <Icon name={icon} size="m" />
      <div class="grow">{children}</div>
    </div>
  );
}

interface ConsequenceProps {
  scope: string;
  found: HaltScope | undefined;
  use: (name: string) => void;
  anyway: boolean;
  insist: () => void;
}

/** What halting this would hold, now. */
function Consequence({ scope, found, use, anyway, insist }: ConsequenceProps) {
  if (!found)
    return (
      <SayBox icon="halt">
        <span class="t3">Counting what this holds…</span>
      </SayBox>
    );
  if (!found.known) return <Unknown found={found} use={use} anyway={anyway} insist={insist} />;
  const on = halts.value.find((h) => h.scope === scope) ?? halts.value.find((h) => h.scope === "*");
  if (on)
    return (
      <SayBox icon="halt">
        <b>
          Already halted: <Visible text={scopeWords(on.scope)} />
        </b>{" "}
        (<Visible text={on.by || "someone"} />, <Time at={on.at} />
        ).{" "}
        {on.scope === scope ? (
          `${heldWords(found, scopes.value?.complete ?? true)}.`
        ) : (
          <>
            A halt of <Visible text={scopeWords(scope)} /> stays on when that one is lifted.
          </>
        )}
      </SayBox>
    );
  if (!found.holds)
    return (
      <SayBox icon="ready">
        <b data-holds="0">This holds no run now.</b>{" "}
        {scopeParts(scope).kind === "tool" ? "The next run that wants it is held before the call." : "The next run that starts is held before its first step."}
      </SayBox>
    );
  return <Holding scope={scope} found={found} />;
}

function Holding({ scope, found }: { scope: string; found: HaltScope }) {
  tick.value;
  const next = found.holds - found.finishing - found.waiting;
  const first = found.in_flight[0];
  const held = found.holds - found.more;
  const least = scopes.value?.complete ? "" : "at least ";
  return (
    <SayBox icon="halt">
      <b data-holds={found.holds}>
        This holds {least}
        {held ? count(found.more, "more run", "more runs") : count(found.holds, "run")} now
      </b>
      {scopeParts(scope).kind === "tool" ? ", and every run that wants it later." : ", and every run that starts later."}
      <div class="sm t2">
        {[
          found.finishing ? (
            <>
              {count(found.finishing, "call in flight finishes", "calls in flight finish")}
              {found.finishing === 1 && first ? (
                <>
                  {" "}
                  (<RunId id={first.run_id} />, {rough(now() - first.since)} so far)
                </>
              ) : null}
            </>
          ) : null,
          next ? count(next, "would begin something next", "would begin something next") : null,
          found.waiting ? (
            <>{count(found.waiting, "waits for a person: an approval", "wait for people: approvals")} can be denied now and approved after the unhalt</>
          ) : null,
          held ? count(held, "is held already", "are held already") : null,
        ]
          .filter(Boolean)
          .map((part, n) => (
            <span key={n}>
              {n ? " · " : ""}
              {part}
            </span>
          ))}
      </div>
    </SayBox>
  );
}

function Unknown({ found, use, anyway, insist }: Omit<ConsequenceProps, "found" | "scope"> & { found: HaltScope }) {
  const { name } = scopeParts(found.scope);
  const [near] = found.near;
  return (
    <SayBox tone="wait" icon="wait">
      <b>
        <Visible text={unknownWords(found)} />
      </b>{" "}
      Halting it would hold nothing.{" "}
      {near ? (
        <>
          Did you mean <Visible text={near} />?
        </>
      ) : null}
      <div class="row">
        {near ? (
          <Button onClick={() => use(near)} name="use-near">
            {`Use ${near}`}
          </Button>
        ) : null}
        {anyway ? (
          <span class="sm">It is halted all the same: a worker elsewhere may know it.</span>
        ) : (
          <Button look="q" onClick={insist} name="halt-anyway">
            {`Halt ${name} all the same`}
          </Button>
        )}
      </div>
    </SayBox>
  );
}

function Lifting({ halt, close }: { halt: Halt; close: () => void }) {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [key] = useState(intent);
  const found = scopeOf(scopes.value, halt.scope);
  const others = halts.value.filter((h) => h.scope !== halt.scope);
  const off = offline.value || denied("halt") || (!reason.trim() ? "say why it may continue: it is recorded" : "");
  const send = (): void => {
    if (off || busy) return;
    setBusy(true);
    post<Page<Halt>>("/halts/lift", { scope: halt.scope, reason: reason.trim() }, key).then(
      (answer) => {
        halts.value = answer.items;
        close();
        toast("done", `Unhalted: ${scopeWords(halt.scope)}.`, others.length ? "What another halt touches stays held." : "Held runs continue by themselves.");
      },
      (e: unknown) => {
        setBusy(false);
        refused("Not unhalted", e);
      },
    );
  };
  return (
    <Dialog
      title={`Unhalt ${scopeWords(halt.scope)}?`}
      close={close}
      lead={
        <p class="t2">
          Halted by <Visible text={halt.by || "someone"} />, <Time at={halt.at} />: “<Visible text={halt.reason} />
          ”. {found ? `${heldWords(found, scopes.value?.complete ?? true)}. ` : ""}
          {found?.holds === 0
            ? ""
            : others.length
              ? `They continue at once, except those that the halt of ${others.map((h) => scopeWords(h.scope)).join(", ")} holds.`
              : "Every held run continues at once."}{" "}
          Denials and answers that were given meanwhile are recorded; approvals were refused, and can be given again.
        </p>
      }
      footer={
        <>
          <span class="grow sm t3 why-off">{off && !busy ? sentence(off) : ""}</span>
          <Button big keys="esc" onClick={close}>
            Stay halted
          </Button>
          <Button big look="p" off={off} busy={busy ? "Sending…" : ""} onClick={send} name="unhalt-now">
            {`Unhalt ${scopeWords(halt.scope)}`}
          </Button>
        </>
      }
    >
      <label class="stack">
        <span class="lb">
          Reason, for the record <span class="t3">required</span>
        </span>
        <input
          class="inp sans"
          aria-required="true"
          data-first
          value={reason}
          onInput={(e) => setReason(e.currentTarget.value)}
          onKeyDown={(e) => e.key === "Enter" && send()}
          maxLength={200}
        />
      </label>
    </Dialog>
  );
}
