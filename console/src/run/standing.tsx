/** The decisions of a run that stand for later calls: what each says, how often it was used, and an end to it. */
import { useEffect, useState } from "preact/hooks";
import { at, denied, get, now } from "../api";
import { wear } from "../late_style";
import { offline, tick } from "../live";
import { Button, Icon, refused, toast } from "../ui";
import { Visible } from "../visible";
import { remaining } from "../words";
import { useWish } from "../wish";
import type { StandingView } from "../generated/types";
import css from "./standing.late.css";

wear(css);

export function StandingList({ run, seq }: { run: string; seq: number }) {
  const [found, setFound] = useState<StandingView[]>([]);
  useEffect(() => {
    let here = true;
    get<{ items: StandingView[] }>(`/runs/${at(run)}/standing`).then(
      (page) => here && setFound(page.items),
      () => undefined, // the timeline says who decided
    );
    return () => {
      here = false;
    };
  }, [run, seq]);
  if (!found.length) return null;
  return (
    <section class="standing-list" aria-label="Standing decisions" data-standing-list>
      <h3 class="sm t3">Standing decisions</h3>
      <ul>
        {found.map((one) => (
          <Standing key={one.ref} one={one} />
        ))}
      </ul>
    </section>
  );
}

function Standing({ one }: { one: StandingView }) {
  const [busy, setBusy] = useState(false);
  const wish = useWish();
  tick.value;
  const stands = one.state === "stands";
  const send = (): void => {
    setBusy(true);
    wish.send(`/interrupts/${at(one.ref)}/revoke`, {}).then(
      () => toast("done", "Revoked.", `${one.tool} is asked about again.`),
      (e: unknown) => {
        setBusy(false);
        refused("Not revoked", e);
      },
    );
  };
  return (
    <li class={`row ${stands ? "" : "t3"}`} data-standing-state={one.state}>
      <Icon name={one.denies ? "fail" : "done"} />
      <span class="grow">
        <span class="mono">
          <Visible text={one.tool} />
        </span>{" "}
        {one.denies ? "denied" : "approved"} by <Visible text={one.by.join(" and ")} />: <Visible text={one.says} />
        {" · "}
        {one.times ? `${one.uses} of ${one.times} used` : `${one.uses} used`}
        {stands && one.until ? ` · ${remaining(one.until - now())} left` : ""}
        {stands ? "" : ` · ${one.state}`}
      </span>
      {stands ? (
        <Button off={denied("decide") || offline.value} busy={busy ? "Revoking…" : ""} onClick={send} name="revoke">
          Revoke
        </Button>
      ) : null}
    </li>
  );
}
