/** Who is told of events, and what has not arrived. */
import { useState } from "preact/hooks";
import { get, post } from "../api";
import { Dialog } from "../dialog";
import { OCCASIONS } from "../generated/words";
import { useLoaded } from "../loading";
import { Failure } from "../states";
import { Button, Command, Pill, refused, sentence, Time, toast } from "../ui";
import { Visible } from "../visible";
import { count } from "../words";
import { useWish } from "../wish";
import type { EndpointView as Endpoint, LetterView as Letter, TestedEndpoint as Tested } from "../generated/types";
import type { Page } from "../types";

/** Of what somebody is told, in words. */
export const occasions = (topics: readonly string[]): string => topics.map((t) => OCCASIONS[t] ?? t).join("; ");

export function Occasions({ chosen, set }: { chosen: readonly string[]; set: (next: string[]) => void }) {
  return (
    <>
      {Object.entries(OCCASIONS).map(([topic, words]) => (
        <label key={topic} class="row sm">
          <input
            type="checkbox"
            checked={chosen.includes(topic)}
            onChange={(e) => set(e.currentTarget.checked ? [...chosen, topic] : chosen.filter((x) => x !== topic))}
          />
          {sentence(words).slice(0, -1)}
        </label>
      ))}
    </>
  );
}

/** Sends a message that nothing depends on, and says what came of it. */
export function SendTest({ path, name, shown }: { path: string; name: string; shown: string }) {
  const [busy, setBusy] = useState(false);
  const send = (): void => {
    setBusy(true);
    post<Tested>(path, { name })
      .then(
        (a) => {
          const said = sentence(`${a.says} after ${a.took.toFixed(1)} s`);
          if (a.arrived) toast("done", `A test was taken for ${shown}.`, said);
          else toast("fail", `The test did not arrive at ${shown}.`, said);
        },
        (e: unknown) => refused("No test sent", e),
      )
      .finally(() => setBusy(false));
  };
  return (
    <Button busy={busy ? "Sending…" : ""} label={`Send a test to ${shown}`} onClick={send}>
      Send a test
    </Button>
  );
}

/** How it stands with an endpoint: what it has not taken yet, or will never. */
function Delivery({ letters, name }: { letters: readonly Letter[] | null; name: string }) {
  if (!letters) return null;
  const mine = letters.filter((l) => l.endpoint === name);
  const dead = mine.filter((l) => l.state === "dead");
  const last = (dead.length ? dead : mine).at(-1);
  if (!last) return <span class="sm done row">{"nothing undelivered"}</span>;
  const held = mine.every((l) => l.is_held);
  return (
    <span class={`sm row ${dead.length ? "fail" : held ? "t3" : "wait"}`}>
      {dead.length ? `${dead.length} not delivered` : held ? `${mine.length} kept for after quiet hours` : `${mine.length} waiting`}
      {last.error && !held ? <Visible text={`: ${last.error}`} /> : null}
    </span>
  );
}

export function Endpoints() {
  const { data, error, again } = useLoaded((s) => get<Page<Endpoint>>("/endpoints", {}, s), []);
  const letters = useLoaded((s) => get<Page<Letter>>("/letters", { limit: 200 }, s), []);
  const [adding, setAdding] = useState(false);
  const remove = (name: string): void => {
    post("/endpoints/remove", { name }).then(
      () => {
        toast("done", `${name} is told nothing more.`);
        again();
      },
      (e: unknown) => refused("Not removed", e),
    );
  };
  return (
    <section class="card pad stack" aria-labelledby="set-told">
      <div class="row">
        <h2 id="set-told" class="grow">
          Where messages go
        </h2>
        <Button onClick={() => setAdding(true)}>Add…</Button>
      </div>
      {error && !data ? <Failure error={error} again={again} /> : null}
      {data && !data.items.length ? (
        <p class="t2">
          To no one yet. A chat room, a mailbox or a program of yours can be told of new approvals, of runs that end, and of halts. A message
          says exactly what waits, and never contains a link that decides.
        </p>
      ) : null}
      <ul class="told">
        {(data?.items ?? []).map((e) => (
          <li key={e.name} class="row wrap">
            <div class="grow">
              <b>
                <Visible text={e.name} />
              </b>{" "}
              <span class="mono sm t2">
                <Visible text={e.url} />
              </span>
              <div class="sm t3">
                {e.person ? (
                  <>
                    for <Visible text={e.person} /> alone, as they chose:{" "}
                  </>
                ) : null}
                {e.topics.length ? occasions(e.topics) : "everything"} · since <Time at={e.at} />
              </div>
              <Delivery letters={letters.data?.items ?? null} name={e.name} />
            </div>
            <SendTest path="/endpoints/test" name={e.name} shown={e.name} />
            <Button look="q" label={`Remove ${e.name}`} onClick={() => remove(e.name)}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
      {adding ? (
        <AddEndpoint
          close={() => {
            setAdding(false);
            again();
          }}
        />
      ) : null}
    </section>
  );
}

type Kind = "webhook" | "chat" | "mail";
const PATHS: Record<Kind, string> = { webhook: "/endpoints", chat: "/endpoints/chat", mail: "/endpoints/mail" };
const KINDS: readonly (readonly [Kind, string, string])[] = [
  ["chat", "A chat room", "Slack, Teams, Discord or Google Chat. Make an incoming webhook for the room there, and paste its address."],
  ["mail", "A mailbox", "Sent through your mail server, which must be public and speak TLS."],
  ["webhook", "A webhook", "A program of yours. What it gets is signed."],
];
const NAMED = /^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/;
const HTTPS = /^https:\/\/[^/\s]+/;

interface Mail {
  server: string;
  port: string;
  user: string;
  password: string;
  sender: string;
  to: string;
}
const FIELDS: readonly (readonly [keyof Mail, string, string])[] = [
  ["to", "To", "email"],
  ["sender", "From, if it is another one", "email"],
  ["server", "Mail server", "text"],
  ["port", "Port", "number"],
  ["user", "User", "text"],
  ["password", "Password", "password"],
];

/** What is missing, as a person would be told. */
function missing(kind: Kind, name: string, url: string, mail: Mail): string {
  if (!NAMED.test(name)) return "give it a name of letters and digits";
  if (kind !== "mail") return HTTPS.test(url) ? "" : "the address begins with https://";
  if (!mail.to.includes("@")) return "say to whom the mail goes";
  return mail.server ? "" : "name the mail server";
}

function AddEndpoint({ close }: { close: () => void }) {
  const [kind, setKind] = useState<Kind>("chat");
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [mail, setMail] = useState<Mail>({ server: "", port: "587", user: "", password: "", sender: "", to: "" });
  const [topics, setTopics] = useState<string[]>([]);
  const [busy, setBusy] = useState(false);
  const [secret, setSecret] = useState("");
  const wish = useWish();
  const off = missing(kind, name, url, mail);
  const send = (): void => {
    if (off || busy) return;
    setBusy(true);
    const given = Object.entries({ ...mail, port: Number(mail.port) || 587 }).filter(([, value]) => value !== "");
    const where = kind === "mail" ? Object.fromEntries(given) : { url };
    wish.send<{ secret?: string }>(PATHS[kind], { name, ...where, ...(topics.length ? { topics } : {}) })
      .then(
        (a) => {
          if (a.secret) return setSecret(a.secret);
          toast("done", `${name} is told from now on.`, "Send a test to see that it arrives.");
          close();
        },
        (e: unknown) => {
          refused("Not added", e);
        },
      )
      .finally(() => setBusy(false));
  };
  if (secret) {
    return (
      <Dialog
        key="secret"
        title={`${name} is told from now on`}
        close={close}
        lead={<p class="t2">This is its secret, by which it can check who writes. It is shown this once.</p>}
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
        <Command text={secret} />
      </Dialog>
    );
  }
  return (
    <Dialog
      title="Add an endpoint"
      close={close}
      footer={
        <>
          {off && name ? <span class="sm t2">{sentence(off)}</span> : null}
          <span class="grow" />
          <Button look="q" onClick={close}>
            Not yet
          </Button>
          <Button look="p" off={off} busy={busy ? "Sending…" : ""} onClick={send} name="add-endpoint">
            Add
          </Button>
        </>
      }
    >
      <div class="stack">
        <fieldset class="stack tight">
          <legend class="lb">Who</legend>
          {KINDS.map(([id, word, what]) => (
            <label key={id} class="row sm">
              <input type="radio" name="kind" checked={kind === id} onChange={() => setKind(id)} {...(id === "chat" ? { "data-first": true } : {})} />
              <span>
                {word} <span class="t3">{what}</span>
              </span>
            </label>
          ))}
        </fieldset>
        <label class="stack">
          <span class="lb">Name</span>
          <input class="inp sans" value={name} onInput={(e) => setName(e.currentTarget.value)} maxLength={100} />
        </label>
        {kind === "mail" ? (
          <div class="topics">
            {FIELDS.map(([field, word, type]) => (
              <label key={field} class="stack">
                <span class="lb">{word}</span>
                <input
                  class="inp sans"
                  type={type}
                  autocomplete="off"
                  value={mail[field]}
                  onInput={(e) => setMail({ ...mail, [field]: e.currentTarget.value })}
                  maxLength={500}
                />
              </label>
            ))}
          </div>
        ) : (
          <label class="stack">
            <span class="lb">Address</span>
            <input
              class="inp"
              placeholder={kind === "chat" ? "https://hooks.slack.com/services/…" : "https://…"}
              autocomplete="off"
              value={url}
              onInput={(e) => setUrl(e.currentTarget.value.trim())}
              maxLength={2000}
            />
          </label>
        )}
        {kind === "webhook" ? null : <p class="sm t3">{kind === "mail" ? "The password" : "The address"} is kept in the store and never shown again. Nothing can be decided in a message.</p>}
        <fieldset class="stack">
          <legend class="lb">Told of, nothing chosen means everything</legend>
          <div class="topics">
            <Occasions chosen={topics} set={setTopics} />
          </div>
        </fieldset>
      </div>
    </Dialog>
  );
}

export function Letters() {
  const { data, error, again } = useLoaded((s) => get<Page<Letter>>("/letters", {}, s), []);
  const act = (verb: "retry" | "drop", number: number): void => {
    post(`/letters/${verb}`, { number }).then(again, (e: unknown) => refused(verb === "retry" ? "Not sent again" : "Not dropped", e));
  };
  return (
    <section class="card pad stack" aria-labelledby="set-letters">
      <div class="row">
        <h2 id="set-letters" class="grow">
          Not delivered
        </h2>
        <Button look="q" onClick={again}>
          Look again
        </Button>
      </div>
      {error && !data ? <Failure error={error} again={again} /> : null}
      {data && !data.items.length ? <p class="t2">Everything was delivered.</p> : null}
      <ul class="told">
        {(data?.items ?? []).map((l) => (
          <li key={l.number} class="row wrap" data-letter={l.number}>
            <div class="grow">
              <Pill status={l.state === "dead" ? "failed" : "ready"} bare /> <b>{OCCASIONS[l.topic] ?? l.topic}</b>, to <Visible text={l.endpoint} />
              <div class="sm t3">
                <Time at={l.at} /> · {count(l.tries, "try", "tries")}
                {l.error ? (
                  <>
                    {" · "}
                    <Visible text={l.error} />
                  </>
                ) : null}
              </div>
            </div>
            {l.state === "dead" ? (
              <>
                <Button onClick={() => act("retry", l.number)} label={`Send letter ${l.number} once more`}>
                  Send once more
                </Button>
                <Button look="q" onClick={() => act("drop", l.number)} label={`Drop letter ${l.number}`}>
                  Drop
                </Button>
              </>
            ) : null}
          </li>
        ))}
      </ul>
    </section>
  );
}
