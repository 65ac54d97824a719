/** One's own notifications: which browsers and mailboxes of mine are told, of what, and when not. */
import { useEffect, useState } from "preact/hooks";
import { get, leaving, post } from "../api";
import { Dialog } from "../dialog";
import type { OwnEndpointView as Own, QuietHours } from "../generated/types";
import { useLoaded } from "../loading";
import { deviceName, ownAddress, subscribe, unable, unsubscribe } from "../push";
import { Failure } from "../states";
import type { Page } from "../types";
import { Button, refused, sentence, toast } from "../ui";
import { Visible } from "../visible";
import { Occasions, occasions, SendTest } from "./notices";

const NIGHT = { begins: 20 * 60, ends: 7 * 60 };

export function OwnNotices() {
  const { data, error, again } = useLoaded((s) => get<Page<Own>>("/me/notifications", {}, s), []);
  const [here, setHere] = useState("");
  const [busy, setBusy] = useState(false);
  const [choosing, setChoosing] = useState<Own | null>(null);
  const mine = data?.items ?? [];
  const told = mine.some((own) => own.address === here);
  const why = unable();
  useEffect(() => void ownAddress().then(setHere), [data]);
  useEffect(() => {
    leaving.first = async () => {
      const found = mine.find((own) => own.address === here);
      if (!found) return;
      await unsubscribe();
      await post("/me/notifications/remove", { name: found.name });
    };
  }, [data, here]);
  const add = (): void => {
    setBusy(true);
    subscribe(deviceName())
      .then(
        (own) => {
          toast("done", "This browser is told from now on.", "Logging out ends it.");
          setHere(own.address);
          setChoosing(own);
          again();
        },
        (e: unknown) => refused("This browser is not told", e),
      )
      .finally(() => setBusy(false));
  };
  const remove = async (own: Own): Promise<void> => {
    try {
      await post("/me/notifications/remove", { name: own.name });
      if (own.address === here) await unsubscribe();
      toast("done", `${own.device || own.name} is told nothing more.`);
      again();
    } catch (e) {
      refused("Not removed", e);
    }
  };
  return (
    <section class="card pad stack" aria-labelledby="set-own">
      <div class="row wrap">
        <h2 id="set-own" class="grow">
          My notifications
        </h2>
        {told ? null : (
          <Button off={why} busy={busy ? "Asking…" : ""} onClick={add}>
            Tell this browser
          </Button>
        )}
      </div>
      {error && !data ? <Failure error={error} again={again} /> : null}
      <p class="t2">
        A message says exactly what waits, its digest and until when, and opens the item here. Nothing can be decided in it.
        {why && !told ? ` This browser cannot be told: ${why}.` : ""}
      </p>
      <ul class="told">
        {mine.map((own) => (
          <li key={own.name} class="row wrap" data-own={own.name}>
            <div class="grow">
              <b>
                <Visible text={own.device || own.name} />
              </b>
              {own.address === here ? <span class="tag">this browser</span> : null}
              <div class="sm t3">
                <Visible text={chosenWords(own)} />
              </div>
            </div>
            <SendTest path="/me/notifications/test" name={own.name} shown={own.device || own.name} />
            <Button label={`Choose what ${own.device} is told`} onClick={() => setChoosing(own)}>
              Choose…
            </Button>
            <Button look="q" label={`Remove ${own.device}`} onClick={() => void remove(own)}>
              Remove
            </Button>
          </li>
        ))}
      </ul>
      {choosing ? (
        <Choose
          own={choosing}
          close={() => {
            setChoosing(null);
            again();
          }}
        />
      ) : null}
    </section>
  );
}

/** What somebody chose, as one would say it. */
export function chosenWords(own: Pick<Own, "topics" | "mine" | "agents" | "tools" | "groups" | "quiet">): string {
  const parts = [own.topics.length ? occasions(own.topics) : "everything"];
  if (own.mine) parts.push("decisions only if they wait for me or a group of mine");
  if (own.agents.length) parts.push(`only of ${own.agents.join(", ")}`);
  if (own.tools.length) parts.push(`only of the tools ${own.tools.join(", ")}`);
  if (own.groups.length) parts.push(`only if they ask ${own.groups.join(", ")}`);
  if (own.quiet) parts.push(`quiet from ${time(own.quiet.begins)} to ${time(own.quiet.ends)} (${own.quiet.zone})`);
  return parts.join(" · ");
}

const time = (minutes: number): string =>
  `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
const minutes = (text: string): number => {
  const [h = 0, m = 0] = text.split(":").map(Number);
  return h * 60 + m;
};
const names = (text: string): string[] => [...new Set(text.split(",").map((t) => t.trim()))].filter(Boolean);

function Choose({ own, close }: { own: Own; close: () => void }) {
  const [device, setDevice] = useState(own.device);
  const [topics, setTopics] = useState<string[]>([...own.topics]);
  const [mine, setMine] = useState(own.mine);
  const [only, setOnly] = useState({ agents: own.agents.join(", "), tools: own.tools.join(", "), groups: own.groups.join(", ") });
  const [quiet, setQuiet] = useState<QuietHours | null>(own.quiet);
  const [busy, setBusy] = useState(false);
  const off = topics.length ? "" : "choose at least one occasion, or remove it";
  const save = (): void => {
    setBusy(true);
    const filters = { agents: names(only.agents), tools: names(only.tools), groups: names(only.groups) };
    post("/me/notifications/change", { name: own.name, device, topics, mine, quiet, ...filters }).then(close, (e: unknown) => {
      setBusy(false);
      refused("Not changed", e);
    });
  };
  return (
    <Dialog
      title={`What ${own.device || own.name} is told`}
      close={close}
      footer={
        <>
          {off ? <span class="sm t2">{sentence(off)}</span> : null}
          <span class="grow" />
          <Button look="q" onClick={close}>
            Leave it
          </Button>
          <Button look="p" off={off} busy={busy ? "Sending…" : ""} onClick={save}>
            Save
          </Button>
        </>
      }
    >
      <div class="stack">
        <label class="stack">
          <span class="lb">What you call it</span>
          <input class="inp sans" data-first value={device} maxLength={100} onInput={(e) => setDevice(e.currentTarget.value)} />
        </label>
        <fieldset class="stack">
          <legend class="lb">Told when</legend>
          <div class="topics">
            <Occasions chosen={topics} set={setTopics} />
          </div>
        </fieldset>
        <label class="row sm">
          <input type="checkbox" checked={mine} onChange={(e) => setMine(e.currentTarget.checked)} />
          Of decisions, only those that wait for me or one of my groups
        </label>
        {(["agents", "tools", "groups"] as const).map((what) => (
          <label key={what} class="stack">
            <span class="lb">Only these {what}, separated by commas; empty: all</span>
            <input class="inp" value={only[what]} onInput={(e) => setOnly({ ...only, [what]: e.currentTarget.value })} />
          </label>
        ))}
        <fieldset class="stack">
          <legend class="lb">Quiet hours</legend>
          <label class="row sm">
            <input
              type="checkbox"
              checked={quiet !== null}
              onChange={(e) => setQuiet(e.currentTarget.checked ? { ...NIGHT, zone: Intl.DateTimeFormat().resolvedOptions().timeZone } : null)}
            />
            Send nothing at night, except halts and what expires within the hour
          </label>
          {quiet ? (
            <div class="row sm">
              <label class="row">
                from <input class="inp" type="time" value={time(quiet.begins)} onInput={(e) => setQuiet({ ...quiet, begins: minutes(e.currentTarget.value) })} />
              </label>
              <label class="row">
                to <input class="inp" type="time" value={time(quiet.ends)} onInput={(e) => setQuiet({ ...quiet, ends: minutes(e.currentTarget.value) })} />
              </label>
              <span class="t3">{quiet.zone}</span>
            </div>
          ) : null}
        </fieldset>
      </div>
    </Dialog>
  );
}
