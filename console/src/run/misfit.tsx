/** No present worker fits a run: what differs, and the change accepted for this run by whoever may. */
import { useState } from "preact/hooks";
import { at, denied } from "../api";
import { Dialog } from "../dialog";
import { offline } from "../live";
import { Button, refused, toast } from "../ui";
import { Visible } from "../visible";
import { useWish } from "../wish";
import type { MisfitView as Misfit, RunSummary as Run } from "../generated/types";
import { Bar } from "./note";

export function NoWorkerFits({ misfit: m, run }: { misfit: Misfit; run: Run }) {
  const [asking, setAsking] = useState(false);
  if (m.queued) return <Bar tone="wait" icon="clock" head="Waits for its turn" text={<Visible text={m.why} />} />;
  return (
    <>
      <Bar
        tone="fail"
        icon="fail"
        head="No worker fits this run"
        text={
          <>
            <Visible text={m.why} />. {m.digest ? "Start a worker of the old version, or accept the change for this run." : ""}
          </>
        }
      >
        {m.digest ? (
          <Button look="p" off={denied("decide") || offline.value} onClick={() => setAsking(true)} name="accept">
            Accept…
          </Button>
        ) : null}
      </Bar>
      {asking ? <Accepting misfit={m} run={run} close={() => setAsking(false)} /> : null}
    </>
  );
}

function Accepting({ misfit: m, run, close }: { misfit: Misfit; run: Run; close: () => void }) {
  const [seen] = useState(m); // what is accepted is what was shown when this was opened
  const [busy, setBusy] = useState(false);
  const wish = useWish();
  const off = denied("decide") || offline.value;
  const send = (): void => {
    if (off || busy) return;
    setBusy(true);
    wish.send(`/runs/${at(run.run_id)}/accept`, { digest: seen.digest }).then(
      () => {
        close();
        toast("done", "Accepted.", "A worker that has this version continues the run.");
      },
      (e: unknown) => {
        setBusy(false);
        refused("Not accepted", e);
      },
    );
  };
  return (
    <Dialog
      title="Accept the changed program?"
      close={close}
      lead={
        <p class="t2">
          For this run only, with exactly the version that a worker has refused. Approvals of what has changed are asked for again.
        </p>
      }
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button big keys="esc" onClick={close}>
              Leave it
            </Button>
          </span>
          <Button big look="p" off={off} busy={busy ? "Sending…" : ""} onClick={send} name="accept-now">
            Accept for this run
          </Button>
        </>
      }
    >
      <ul aria-label="What differs">
        {seen.changes.map((what, n) => (
          <li key={n}>
            <Visible text={what} />
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
