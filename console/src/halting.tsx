/** Halt… and Unhalt…: both ask for a reason. */
import { useState } from "preact/hooks";
import { denied, intent, post } from "./api";
import { Dialog } from "./dialog";
import { asking } from "./halt";
import { halts, offline } from "./live";
import { Button, refused, Time, toast } from "./ui";
import { Visible } from "./visible";
import { scopeWords } from "./words";
import type { Halt } from "./generated/types";
import type { Page } from "./types";

export function HaltDialogs() {
  const what = asking.value;
  if (!what) return null;
  const close = (): void => {
    asking.value = "";
  };
  return what === "halt" ? <Halting close={close} /> : <Lifting halt={what} close={close} />;
}

function Halting({ close }: { close: () => void }) {
  const [kind, setKind] = useState<"*" | "agent:" | "tool:">("*");
  const [name, setName] = useState("");
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [key] = useState(intent);
  const scope = kind === "*" ? "*" : kind + name.trim();
  const off =
    offline.value || (kind !== "*" && !name.trim() ? "say which one" : "") || (!reason.trim() ? "say why: it is shown on every page" : "");
  const send = (): void => {
    if (off || busy) return;
    setBusy(true);
    post<Page<Halt>>("/halts", { scope, reason: reason.trim() }, key).then(
      (answer) => {
        halts.value = answer.items;
        close();
        toast("done", `Halted: ${scopeWords(scope)}.`, "No new call starts. Calls in flight finish.");
      },
      (e: unknown) => {
        setBusy(false);
        refused("Not halted", e);
      },
    );
  };
  return (
    <Dialog
      title="Halt"
      close={close}
      lead={
        <p class="t2">
          No new call starts. Calls in flight finish, at most one each. Runs stay as they are and go on by themselves when unhalted.
        </p>
      }
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button big keys="esc" onClick={close}>
              Keep running
            </Button>
          </span>
          <Button big look="dp" off={off} busy={busy ? "Sending…" : ""} onClick={send} name="halt-now">
            {`Halt ${scopeWords(scope)}`}
          </Button>
        </>
      }
    >
      <fieldset class="stack">
        <legend class="lb">What</legend>
        <div class="seg" role="radiogroup" aria-label="What to halt">
          {(
            [
              ["*", "Everything"],
              ["agent:", "One agent"],
              ["tool:", "One tool"],
            ] as const
          ).map(([id, word]) => (
            <button
              key={id}
              type="button"
              role="radio"
              aria-checked={kind === id}
              class={kind === id ? "on" : ""}
              onClick={() => setKind(id)}
            >
              {word}
            </button>
          ))}
        </div>
        {kind === "*" ? null : (
          <label class="stack">
            <span class="lb">{kind === "agent:" ? "Agent" : "Tool"}</span>
            <input
              class="inp"
              value={name}
              onInput={(e) => setName(e.currentTarget.value)}
              placeholder={kind === "agent:" ? "support-desk" : "send_email"}
            />
          </label>
        )}
        <label class="stack">
          <span class="lb">Reason, shown on every page</span>
          <input
            class="inp sans"
            value={reason}
            onInput={(e) => setReason(e.currentTarget.value)}
            onKeyDown={(e) => e.key === "Enter" && send()}
            maxLength={200}
          />
        </label>
      </fieldset>
    </Dialog>
  );
}

function Lifting({ halt, close }: { halt: Halt; close: () => void }) {
  const [reason, setReason] = useState("");
  const [busy, setBusy] = useState(false);
  const [key] = useState(intent);
  const off = offline.value || denied("halt") || (!reason.trim() ? "say why it may go on: it is recorded" : "");
  const send = (): void => {
    if (off || busy) return;
    setBusy(true);
    post<Page<Halt>>("/halts/lift", { scope: halt.scope, reason: reason.trim() }, key).then(
      (answer) => {
        halts.value = answer.items;
        close();
        toast("done", `Unhalted: ${scopeWords(halt.scope)}.`, "Held runs go on by themselves.");
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
          ”. Every held run goes on at once, and decisions that were recorded meanwhile take effect.
        </p>
      }
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button big keys="esc" onClick={close}>
              Stay halted
            </Button>
          </span>
          <Button big look="p" off={off} busy={busy ? "Sending…" : ""} onClick={send} name="unhalt-now">
            {`Unhalt ${scopeWords(halt.scope)}`}
          </Button>
        </>
      }
    >
      <label class="stack">
        <span class="lb">Reason, for the record</span>
        <input
          class="inp sans"
          value={reason}
          onInput={(e) => setReason(e.currentTarget.value)}
          onKeyDown={(e) => e.key === "Enter" && send()}
          maxLength={200}
        />
      </label>
    </Dialog>
  );
}
