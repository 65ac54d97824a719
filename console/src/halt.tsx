/** The switch that stops everything, or one agent, or one tool: a strip on every page while it is on. */
import { signal } from "@preact/signals";
import { denied } from "./api";
import { halts, offline } from "./live";
import { Button, Icon, Time } from "./ui";
import { Visible } from "./visible";
import { scopeWords } from "./words";
import type { Halt } from "./generated/types";

/** What a dialog asks: whether to halt, or to lift this one. */
export const asking = signal<"" | "halt" | Halt>("");

export function HaltButton({ phone = false }: { phone?: boolean }) {
  const off = denied("halt") || offline.value;
  const open = (): void => {
    asking.value = halts.value[0] && phone ? halts.value[0] : "halt";
  };
  if (phone) {
    return (
      <button type="button" aria-disabled={off ? true : undefined} title={off} onClick={() => off || open()}>
        <Icon name="halt" size="l" />
        {halts.value.length ? "Unhalt…" : "Halt…"}
      </button>
    );
  }
  return (
    <Button look="q" icon="halt" class="plain" off={off} onClick={open} name="halt">
      Halt…
    </Button>
  );
}

/** One line for each halt that is on. */
export function HaltStrip() {
  if (!halts.value.length) return null;
  const off = denied("halt") || offline.value;
  return (
    <div class="halts">
      {halts.value.map((h) => (
        <div class="halt" role="alert" key={h.scope} data-halt={h.scope}>
          <Icon name="halt" size="l" />
          <div class="grow">
            <b>
              Halted: <Visible text={scopeWords(h.scope)} />.
            </b>{" "}
            {h.scope === "*" ? "No new call starts anywhere." : "No new call of it starts."} Calls in flight finish.{" "}
            <span class="quiet">
              “<Visible text={h.reason} />” · <Visible text={h.by || "someone"} /> · <Time at={h.at} />
            </span>
          </div>
          <Button off={off} onClick={() => (asking.value = h)} label={`Unhalt ${scopeWords(h.scope)}…`} name="unhalt">
            Unhalt…
          </Button>
        </div>
      ))}
    </div>
  );
}
