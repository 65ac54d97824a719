/** A failure that others share: how many there are, one decision for all of them, and what came of each. */
import { useEffect, useRef, useState } from "preact/hooks";
import { at } from "../api";
import { Dialog } from "../dialog";
import { Button, say, toast } from "../ui";
import { Visible } from "../visible";
import { count, many } from "../words";
import { alikeOf, outcomeWords, retriedOf, type Alike } from "./alike";
import type { Deciding } from "./deciding";
import type { Item } from "./items";
import { isObj, text, Num, type Json, type Obj } from "./json";
import { closed } from "./pending";
import { ask, Intention, Refusal } from "./wire";

interface Props {
  deciding: Deciding;
  item: Item;
  onward: () => void;
}

const place = (i: Item, what: string): string => `/interrupts/${at(i.ref)}/${what}`;
const look = (i: Item): Promise<Alike> => ask(place(i, "alike")).then(alikeOf);

export function RetryAll({ deciding: d, item: i, onward }: Props) {
  const [known, setKnown] = useState(0);
  const [meant, setMeant] = useState<Alike | null>(null);
  useEffect(() => {
    let here = true;
    look(i).then(
      (found) => here && setKnown(found.refs.length),
      () => undefined, // the one at hand can be decided all the same
    );
    return () => {
      here = false;
    };
  }, [i.ref]);
  if (known < 2) return null;
  const open = (): void => {
    look(i).then(setMeant, (e: unknown) => {
      d.refusal.value = e instanceof Refusal ? e : new Refusal(0, "failed", String(e));
    });
  };
  return (
    <>
      <Button big off={d.blocked.value} onClick={open} name="retry-all">
        {`Retry all ${many(known)} like this`}
      </Button>
      {meant ? <Confirm deciding={d} item={i} alike={meant} close={() => setMeant(null)} onward={onward} /> : null}
    </>
  );
}

function Confirm({ deciding: d, item: i, alike, close, onward }: Props & { alike: Alike; close: () => void }) {
  const [busy, setBusy] = useState(false);
  const [silent, setSilent] = useState(false);
  const intention = useRef<Intention | null>(null);
  const all = alike.refs.length;
  const send = async (): Promise<void> => {
    if (busy || d.blocked.peek()) return;
    setBusy(true);
    intention.current ??= new Intention(place(i, "retry-all"), body(i, alike, d.note.peek().trim()));
    try {
      const found = retriedOf(await intention.current.send());
      closed(found.filter((one) => !one.refused || one.refused.code === "already_decided").map((one) => one.ref));
      const { done, refused } = outcomeWords(found);
      if (done) toast("done", done, "Each is recorded as your decision.");
      if (refused) toast("fail", refused, "Nothing ran by those. They are still listed if they are open.");
      say([done, refused].filter(Boolean).join(" "));
      close();
      if (found[0]?.refused) await d.look();
      else onward();
    } catch (e) {
      if (!(e instanceof Refusal)) throw e;
      setBusy(false);
      if (e.status === 0) return setSilent(true); // the same intention is sent again: it counts once
      d.refusal.value = e;
      close();
    }
  };
  const unsafe = isObj(i.payload) && text(i.payload.get("effect")) === "unsafe";
  return (
    <Dialog
      title={`Retry ${count(all, "run")}?`}
      close={close}
      lead={
        <p class="t2">
          All open errors of <Visible text={i.agent} /> that failed at the same step with the same kind of error. Each is recorded as your
          decision. Nothing that finished runs again.
        </p>
      }
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button big keys="esc" onClick={close}>
              Leave them
            </Button>
          </span>
          <Button big look="p" off={d.blocked.value} busy={busy ? "Sending…" : ""} onClick={() => void send()} name="retry-all-now">
            {`Retry ${many(all)}`}
          </Button>
        </>
      }
    >
      {silent ? (
        <p class="fail" role="alert">
          No answer came: some may be recorded, or none. Send it again: each decision counts once.
        </p>
      ) : null}
      {unsafe ? <p class="wait">The failed step is unsafe: what it did before it failed, it may do again in each of them.</p> : null}
    </Dialog>
  );
}

function body(i: Item, alike: Alike, note: string): Obj {
  const out: Obj = new Map<string, Json>([
    ["digest", i.digest],
    ["until", new Num(alike.until)],
  ]);
  if (note) out.set("note", note);
  return out;
}
