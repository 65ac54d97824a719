/** Who is told of events, and what has not arrived. */
import { useState } from "preact/hooks";
import { get, intent, post } from "../api";
import { Dialog } from "../dialog";
import { TOPICS } from "../generated/words";
import { useLoaded } from "../loading";
import { Failure } from "../states";
import { Button, Command, Pill, refused, sentence, Time, toast } from "../ui";
import { Visible } from "../visible";
import { count } from "../words";
import type { EndpointView as Endpoint, LetterView as Letter, TestedEndpoint as Tested } from "../generated/types";
import type { Page } from "../types";

export function Endpoints() {
  const { data, error, again } = useLoaded((s) => get<Page<Endpoint>>("/endpoints", {}, s), []);
  const [adding, setAdding] = useState(false);
  const [testing, setTesting] = useState("");
  const remove = (name: string): void => {
    post("/endpoints/remove", { name }).then(
      () => {
        toast("done", `${name} is told nothing more.`);
        again();
      },
      (e: unknown) => refused("Not removed", e),
    );
  };
  const test = (name: string): void => {
    setTesting(name);
    post<Tested>("/endpoints/test", { name })
      .then(
        (a) => {
          const said = sentence(`${a.says} after ${a.took.toFixed(1)} s`);
          if (a.arrived) toast("done", `A test arrived at ${name}.`, said);
          else toast("fail", `The test did not arrive at ${name}.`, said);
        },
        (e: unknown) => refused("No test sent", e),
      )
      .finally(() => setTesting(""));
  };
  return (
    <section class="card pad stack" aria-labelledby="set-told">
      <div class="row">
        <h2 id="set-told" class="grow">
          Who is told
        </h2>
        <Button onClick={() => setAdding(true)}>Add a webhook…</Button>
      </div>
      {error && !data ? <Failure error={error} again={again} /> : null}
      {data && !data.items.length ? (
        <p class="t2">
          Nobody yet. A webhook hears of new approvals, of runs that end, and of halts; what it gets is signed, and never contains a link
          that decides.
        </p>
      ) : null}
      <ul class="told">
        {(data?.items ?? []).map((e) => (
          <li key={e.name} class="row">
            <div class="grow">
              <b>
                <Visible text={e.name} />
              </b>{" "}
              <span class="mono sm t2">
                <Visible text={e.url} />
              </span>
              <div class="sm t3">
                {e.topics.length ? e.topics.join(", ") : "everything"} · since <Time at={e.at} />
              </div>
            </div>
            <Button busy={testing === e.name ? "Sending…" : ""} label={`Send a test to ${e.name}`} onClick={() => test(e.name)}>
              Send a test
            </Button>
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

function AddEndpoint({ close }: { close: () => void }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("https://");
  const [topics, setTopics] = useState<string[]>([]);
  const [busy, setBusy] = useState(false);
  const [secret, setSecret] = useState("");
  const [key, setKey] = useState(intent);
  const off = !/^[A-Za-z0-9][A-Za-z0-9 ._-]{0,99}$/.test(name)
    ? "give it a name of letters and digits"
    : !/^https:\/\/[^/\s]+/.test(url)
      ? "the address begins with https://"
      : "";
  const send = (): void => {
    if (off || busy) return;
    setBusy(true);
    post<{ secret: string }>("/endpoints", { name, url, ...(topics.length ? { topics } : {}) }, key)
      .then(
        (a) => setSecret(a.secret),
        (e: unknown) => {
          setKey(intent());
          refused("Not added", e);
        },
      )
      .finally(() => setBusy(false));
  };
  if (secret) {
    return (
      <Dialog
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
      title="Add a webhook"
      close={close}
      footer={
        <>
          <span class="grow" />
          <Button look="q" onClick={close}>
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
          <span class="lb">Name</span>
          <input class="inp sans" data-first value={name} onInput={(e) => setName(e.currentTarget.value)} maxLength={100} />
        </label>
        <label class="stack">
          <span class="lb">Address</span>
          <input class="inp" value={url} onInput={(e) => setUrl(e.currentTarget.value.trim())} maxLength={2000} />
        </label>
        <fieldset class="stack">
          <legend class="lb">Told of, nothing chosen means everything</legend>
          <div class="topics">
            {TOPICS.map((t) => (
              <label key={t} class="row sm">
                <input
                  type="checkbox"
                  checked={topics.includes(t)}
                  onChange={(e) => setTopics((old) => (e.currentTarget.checked ? [...old, t] : old.filter((x) => x !== t)))}
                />
                {t}
              </label>
            ))}
          </div>
        </fieldset>
      </div>
    </Dialog>
  );
}

export function Letters() {
  const { data, error, again } = useLoaded((s) => get<Page<Letter>>("/letters", {}, s), []);
  const act = (verb: "retry" | "drop", n: number): void => {
    post(`/letters/${verb}`, { n }).then(again, (e: unknown) => refused(verb === "retry" ? "Not sent again" : "Not dropped", e));
  };
  return (
    <section class="card pad stack" aria-labelledby="set-letters">
      <div class="row">
        <h2 id="set-letters" class="grow">
          Not arrived
        </h2>
        <Button look="q" onClick={again}>
          Look again
        </Button>
      </div>
      {error && !data ? <Failure error={error} again={again} /> : null}
      {data && !data.items.length ? <p class="t2">Everything has arrived.</p> : null}
      <ul class="told">
        {(data?.items ?? []).map((l) => (
          <li key={l.n} class="row" data-letter={l.n}>
            <div class="grow">
              <Pill status={l.state === "dead" ? "failed" : "ready"} bare /> <b>{l.topic}</b> to <Visible text={l.endpoint} />
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
                <Button onClick={() => act("retry", l.n)} label={`Send letter ${l.n} once more`}>
                  Send once more
                </Button>
                <Button look="q" onClick={() => act("drop", l.n)} label={`Drop letter ${l.n}`}>
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
