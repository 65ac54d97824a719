/** Who may use it, in what role, with which keys; and the sessions that are open. */
import { useState } from "preact/hooks";
import { get, me, now, post } from "../api";
import { Dialog } from "../dialog";
import type { KeyView as Key, NewKey, PersonView as Person, SessionView as Session } from "../generated/types";
import { ROLES } from "../generated/words";
import { useLoaded } from "../loading";
import { Failure } from "../states";
import type { Page } from "../types";
import { Button, Command, refused, Time, toast } from "../ui";
import { Visible } from "../visible";
import { count, remaining } from "../words";
import { useWish } from "../wish";

type Role = Person["role"];
const CHOICES = Object.keys(ROLES) as Role[];
const DAY = 86_400;
const LIVES: readonly [string, number | null][] = [
  ["It never ends", null],
  ["Ends in 30 days", 30 * DAY],
  ["Ends in 90 days", 90 * DAY],
  ["Ends in a year", 365 * DAY],
];

type Asked =
  | { what: "add" }
  | { what: "groups" | "keys" | "remove"; person: Person }
  | { what: "revoke"; person: Person; key: Key }
  | { what: "made"; made: NewKey };

export function People() {
  const { data, error, again } = useLoaded((s) => get<Page<Person>>("/people", {}, s), []);
  const [asked, setAsked] = useState<Asked | null>(null);
  const [wanted, setWanted] = useState("");
  const people = data?.items ?? [];
  const shown = people.filter((p) => [p.name, p.role, ...p.groups].some((t) => t.toLowerCase().includes(wanted.toLowerCase())));
  const change = (person: Person, role: Role): void => {
    post<Person>("/people/change", { name: person.name, role }).then(
      () => {
        const told = person.sessions ? ` It counts in ${count(person.sessions, "open session", "open sessions")}.` : "";
        toast("done", `${person.name} is ${role} now.${told}`);
        again();
      },
      (e: unknown) => {
        refused("Not changed", e);
        again();
      },
    );
  };
  const done = (next: Asked | null = null): void => {
    setAsked(next);
    again();
  };
  return (
    <section class="card pad stack" aria-labelledby="set-people">
      <div class="row wrap">
        <h2 id="set-people" class="grow">
          People and programs {data ? <span class="t3">{people.length}</span> : null}
        </h2>
        {people.length > 5 ? (
          <input
            class="inp sans"
            type="search"
            aria-label="Find by name, role or group"
            placeholder="name, role, group"
            value={wanted}
            onInput={(e) => setWanted(e.currentTarget.value)}
          />
        ) : null}
        <Button look="p" onClick={() => setAsked({ what: "add" })}>
          Add a person…
        </Button>
      </div>
      {error && !data ? <Failure error={error} again={again} /> : null}
      {data && !people.length ? (
        <p class="t2">No users yet: each person who has the link of this server is its admin. Add yourself before you let others in.</p>
      ) : null}
      <ul class="told people">
        {shown.map((p) => (
          <PersonRow key={p.name} person={p} change={change} ask={setAsked} />
        ))}
      </ul>
      <details open={data?.items.length === 0 && innerWidth > 640}>
        <summary>What each role may do</summary>
        <dl class="kv">
          {CHOICES.map((role) => (
            <>
              <dt key={role}>{role}</dt>
              <dd>{ROLES[role]}</dd>
            </>
          ))}
        </dl>
      </details>
      {asked?.what === "add" ? <Add close={done} /> : null}
      {asked?.what === "groups" ? <Groups person={asked.person} close={done} /> : null}
      {asked?.what === "keys" ? <Keys person={asked.person} ask={setAsked} close={done} /> : null}
      {asked?.what === "made" ? <Made made={asked.made} close={done} /> : null}
      {asked?.what === "remove" ? (
        <Sure
          title={`Remove ${asked.person.name}?`}
          verb="Remove"
          text={`Ends ${count(asked.person.keys.length, "key", "keys")} and ${count(asked.person.sessions, "session", "sessions")} at once. Runs they started continue, and what they decided stays.`}
          act={() => post("/people/remove", { name: asked.person.name })}
          did={`${asked.person.name} is removed.`}
          close={done}
        />
      ) : null}
      {asked?.what === "revoke" ? (
        <Sure
          title={`Revoke the key …${asked.key.hint} of ${asked.person.name}?`}
          verb="Revoke"
          text="Ends the sessions that were opened with it, too. Runs it started continue."
          act={() => post("/keys/revoke", { id: asked.key.id })}
          did={`The key …${asked.key.hint} is revoked.`}
          close={done}
        />
      ) : null}
    </section>
  );
}

function PersonRow({ person, change, ask }: { person: Person; change: (p: Person, role: Role) => void; ask: (a: Asked) => void }) {
  const expiring = person.keys.map((k) => k.expires_at).filter((at) => at !== null);
  return (
    <li class="row wrap" data-person={person.name}>
      <div class="grow">
        <b>
          <Visible text={person.name} />
        </b>{" "}
        {person.name === me.value?.name ? <span class="t3 sm">you</span> : null}
        <div class="sm t3">
          {person.tenant ? (
            <>
              tenant <Visible text={person.tenant} /> ·{" "}
            </>
          ) : null}
          {person.grants.length ? (
            <>
              <Visible text={person.grants.join("; ")} /> ·{" "}
            </>
          ) : null}
          {person.groups.length ? <Visible text={person.groups.join(", ")} /> : "no groups"} · {count(person.keys.length, "key", "keys")}
          {expiring.length ? (
            <>
              , one ends in {remaining(Math.min(...expiring) - now())}
            </>
          ) : null}
          {" · "}
          {person.seen_at === null ? (
            "not here now"
          ) : (
            <>
              {count(person.sessions, "session", "sessions")}, seen <Time at={person.seen_at} />
            </>
          )}
        </div>
      </div>
      <select
        class="inp sans"
        aria-label={`Role of ${person.name}`}
        value={person.role}
        onChange={(e) => change(person, e.currentTarget.value as Role)}
      >
        {CHOICES.map((role) => (
          <option key={role}>{role}</option>
        ))}
      </select>
      <Button look="q" label={`Groups of ${person.name}`} onClick={() => ask({ what: "groups", person })}>
        Groups…
      </Button>
      <Button look="q" label={`Keys of ${person.name}`} onClick={() => ask({ what: "keys", person })}>
        Keys…
      </Button>
      <Button look="q" label={`Remove ${person.name}`} onClick={() => ask({ what: "remove", person })}>
        Remove…
      </Button>
    </li>
  );
}

const namesOf = (text: string): string[] => [
  ...new Set(
    text
      .split(",")
      .map((t) => t.trim())
      .filter(Boolean),
  ),
];

function Add({ close }: { close: (next?: Asked | null) => void }) {
  const [name, setName] = useState("");
  const [role, setRole] = useState<Role>("approver");
  const [groups, setGroups] = useState("");
  const [life, setLife] = useState(0);
  const [busy, setBusy] = useState(false);
  const wish = useWish();
  const off = !name.trim() ? "give a name" : name.startsWith("@") ? "a name does not begin with @" : "";
  const send = (): void => {
    if (off || busy) return;
    setBusy(true);
    const ends = LIVES[life]?.[1] ?? null;
    const body = { name: name.trim(), role, groups: namesOf(groups), ...(ends === null ? {} : { expires_in: ends }) };
    wish.send<NewKey>("/people", body)
      .then(
        (made) => close({ what: "made", made }),
        (e: unknown) => {
          refused("Not added", e);
        },
      )
      .finally(() => setBusy(false));
  };
  return (
    <Dialog
      title="Add a person or a program"
      close={() => close()}
      lead={<p class="t2">This makes a key, which is shown once: hand it over yourself.</p>}
      footer={
        <>
          <span class="grow" />
          <Button look="q" onClick={() => close()}>
            Not yet
          </Button>
          <Button look="p" off={off} busy={busy ? "Sending…" : ""} onClick={send}>
            Add
          </Button>
        </>
      }
    >
      <div class="stack">
        <label class="stack">
          <span class="lb">Name, under which decisions are recorded</span>
          <input class="inp sans" data-first value={name} onInput={(e) => setName(e.currentTarget.value)} maxLength={100} />
        </label>
        <label class="stack">
          <span class="lb">Role</span>
          <select class="inp sans" value={role} onChange={(e) => setRole(e.currentTarget.value as Role)}>
            {CHOICES.map((r) => (
              <option key={r} value={r}>
                {r}: may {ROLES[r]}
              </option>
            ))}
          </select>
        </label>
        <label class="stack">
          <span class="lb">Groups, separated by commas</span>
          <input class="inp sans" value={groups} onInput={(e) => setGroups(e.currentTarget.value)} maxLength={1000} />
        </label>
        <Life life={life} set={setLife} />
      </div>
    </Dialog>
  );
}

function Life({ life, set }: { life: number; set: (n: number) => void }) {
  return (
    <label class="stack">
      <span class="lb">Key</span>
      <select class="inp sans" value={String(life)} onChange={(e) => set(Number(e.currentTarget.value))}>
        {LIVES.map(([word], n) => (
          <option key={word} value={String(n)}>
            {word}
          </option>
        ))}
      </select>
    </label>
  );
}

function Made({ made, close }: { made: NewKey; close: () => void }) {
  return (
    <Dialog
      title={`A key for ${made.name}`}
      close={close}
      lead={<p class="t2">It is shown this once. Each person who has it acts as {made.name}.</p>}
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button look="p" onClick={close}>
              I have kept it
            </Button>
          </span>
        </>
      }
    >
      <Command text={made.key} />
    </Dialog>
  );
}

function Groups({ person, close }: { person: Person; close: () => void }) {
  const [text, setText] = useState(person.groups.join(", "));
  const [busy, setBusy] = useState(false);
  const send = (): void => {
    setBusy(true);
    post("/people/change", { name: person.name, groups: namesOf(text) })
      .then(
        () => {
          toast("done", `${person.name} is in ${namesOf(text).join(", ") || "no group"} now.`);
          close();
        },
        (e: unknown) => refused("Not changed", e),
      )
      .finally(() => setBusy(false));
  };
  return (
    <Dialog
      title={`Groups of ${person.name}`}
      close={close}
      lead={<p class="t2">Approvals that ask for a group count the decisions of its members only.</p>}
      footer={
        <>
          <span class="grow" />
          <Button look="q" onClick={close}>
            Not now
          </Button>
          <Button look="p" busy={busy ? "Sending…" : ""} onClick={send}>
            Change
          </Button>
        </>
      }
    >
      <label class="stack">
        <span class="lb">Groups, separated by commas</span>
        <input class="inp sans" data-first value={text} onInput={(e) => setText(e.currentTarget.value)} maxLength={2000} />
      </label>
    </Dialog>
  );
}

function Keys({ person, ask, close }: { person: Person; ask: (a: Asked) => void; close: (next?: Asked | null) => void }) {
  const [life, setLife] = useState(0);
  const [busy, setBusy] = useState(false);
  const make = (): void => {
    setBusy(true);
    const ends = LIVES[life]?.[1] ?? null;
    post<NewKey>("/people/keys", { name: person.name, ...(ends === null ? {} : { expires_in: ends }) })
      .then(
        (made) => close({ what: "made", made }),
        (e: unknown) => refused("No key made", e),
      )
      .finally(() => setBusy(false));
  };
  return (
    <Dialog
      title={`Keys of ${person.name}`}
      close={() => close()}
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button look="q" onClick={() => close()}>
              Close
            </Button>
          </span>
          <Button look="p" busy={busy ? "Sending…" : ""} onClick={make}>
            New key
          </Button>
        </>
      }
    >
      <div class="stack">
        <ul class="told">
          {person.keys.map((k) => (
            <li key={k.id} class="row">
              <div class="grow">
                <span class="mono">…{k.hint}</span>
                <div class="sm t3">
                  made <Time at={k.created_at} />
                  {k.expires_at === null ? null : (
                    <>
                      , ends in {remaining(k.expires_at - now())}
                    </>
                  )}
                </div>
              </div>
              <Button look="q" label={`Revoke the key ending in ${k.hint}`} onClick={() => ask({ what: "revoke", person, key: k })}>
                Revoke…
              </Button>
            </li>
          ))}
        </ul>
        <Life life={life} set={setLife} />
      </div>
    </Dialog>
  );
}

interface SureProps {
  title: string;
  text: string;
  verb: string;
  act: () => Promise<unknown>;
  did: string;
  close: () => void;
}

function Sure({ title, text, verb, act, did, close }: SureProps) {
  const [busy, setBusy] = useState(false);
  const send = (): void => {
    setBusy(true);
    act()
      .then(
        () => {
          toast("done", did);
          close();
        },
        (e: unknown) => refused(`Not done: ${verb.toLowerCase()}`, e),
      )
      .finally(() => setBusy(false));
  };
  return (
    <Dialog
      title={title}
      close={close}
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button look="q" onClick={close}>
              Keep
            </Button>
          </span>
          <Button look="d" busy={busy ? "Sending…" : ""} onClick={send}>
            {verb}
          </Button>
        </>
      }
    >
      <p class="t2">{text}</p>
    </Dialog>
  );
}

/** One's own sessions; with `all`, those of all users. */
export function Sessions({ all }: { all: boolean }) {
  const { data, error, again } = useLoaded((s) => get<Page<Session>>("/sessions", all ? { all: "true" } : {}, s), [all]);
  const items = data?.items ?? [];
  const end = (path: string, body: object): void => {
    post<{ count: number }>(path, body).then(
      (a) => {
        toast("done", a.count ? `${count(a.count, "session is", "sessions are")} ended.` : "There was no other session.");
        again();
      },
      (e: unknown) => refused("Not ended", e),
    );
  };
  const others = items.filter((s) => !s.is_this).length;
  return (
    <section class="card pad stack" aria-labelledby="set-sessions">
      <div class="row">
        <h2 id="set-sessions" class="grow">
          {all ? "Sessions" : "Your sessions"} {data ? <span class="t3">{items.length} open</span> : null}
        </h2>
        <Button look="q" off={others ? "" : "there is no other session"} onClick={() => end("/sessions/end-others", all ? { all } : {})}>
          End all but this
        </Button>
      </div>
      {error && !data ? <Failure error={error} again={again} /> : null}
      {data && !items.length ? <p class="t2">None was opened with a key: you came by the link of this start.</p> : null}
      <ul class="told">
        {items.map((s) => (
          <li key={s.id} class="row" data-session={s.id}>
            <div class="grow">
              <b>
                <Visible text={s.name} />
              </b>{" "}
              {s.is_this ? <span class="t3 sm">this one</span> : null}
              <div class="sm t3">
                seen <Time at={s.seen_at} /> · ends in {remaining(s.expires_at - now())}
              </div>
            </div>
            {s.is_this ? null : (
              <Button look="q" label={`End the session of ${s.name}`} onClick={() => end("/sessions/end", { id: s.id })}>
                End
              </Button>
            )}
          </li>
        ))}
      </ul>
    </section>
  );
}
