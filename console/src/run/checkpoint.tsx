/** The run as one file: signed, complete, and good anywhere else. */
import { useState } from "preact/hooks";
import { at, get } from "../api";
import { Button, Command, refused } from "../ui";
import { many, shortId } from "../words";
import { ENDED } from "./verbs";
import type { RunSummary as Run } from "../generated/types";

export function Checkpoint({ run }: { run: Run }) {
  const [busy, setBusy] = useState(false);
  const [size, setSize] = useState(0);
  const name = `${run.run_id.replace(/^-|[^\w.-]+/g, "_")}.checkpoint.json`;
  const download = async (): Promise<void> => {
    setBusy(true);
    try {
      const { checkpoint } = await get<{ checkpoint: string }>(`/runs/${at(run.run_id)}/checkpoint`);
      const blob = new Blob([checkpoint], { type: "application/json" });
      setSize(blob.size);
      const link = document.createElement("a");
      link.href = URL.createObjectURL(blob);
      link.download = name;
      link.click();
      setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
    } catch (e) {
      refused("Not downloaded", e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <section class="card pad stack" aria-label="Checkpoint">
      <h2>Checkpoint of {shortId(run.run_id)}</h2>
      <p class="t2">
        Everything this run has done, as one file. It can be kept, checked, and resumed on another machine; what finished is not done again.
        Record {many(run.seq)} is the last in it.
      </p>
      <div class="row">
        <Button look="p" icon="down" busy={busy ? "Reading…" : ""} onClick={() => void download()} name="checkpoint">
          Download the checkpoint
        </Button>
        {size ? (
          <span class="sm t3">
            {many(Math.ceil(size / 1024))} KB, {name}
          </span>
        ) : null}
      </div>
      <h3>{ENDED.includes(run.status) ? "Check it" : "Check it, or continue elsewhere"}</h3>
      <Command text={`adjourn checkpoint verify ${name}`} />
      {run.status === "waiting" ? (
        <Command text={`adjourn checkpoint show ${name}`} />
      ) : ENDED.includes(run.status) ? null : (
        <Command text={`adjourn checkpoint resume ${name} app.py:agent`} />
      )}
    </section>
  );
}
