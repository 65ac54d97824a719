/** The switch that stops everything, or one agent, or one tool: always there. */
import { signal } from "@preact/signals";
import { denied } from "./api";
import { Button, Icon } from "./ui";
import type { Halt } from "./generated/types";

/** What a dialog asks: whether to halt, or to lift this one. */
export const asking = signal<"" | "halt" | Halt>("");

/** `phone`: in the bar at the foot of a phone; `top`: its glyph, at the head of a page that has another bar there. */
export function HaltButton({ phone = false, top = false }: { phone?: boolean; top?: boolean }) {
  const off = denied("halt");
  const open = (): void => {
    if (!off) asking.value = "halt";
  };
  if (top) {
    return (
      <Button look="q" class="x" label="Halt…" off={off} onClick={open} name="halt">
        <Icon name="halt" size="l" />
      </Button>
    );
  }
  if (phone) {
    return (
      <button type="button" aria-disabled={off ? true : undefined} title={off} onClick={open} data-name="halt">
        <Icon name="halt" size="l" />
        Halt…
      </button>
    );
  }
  return (
    <Button look="q" icon="halt" class="plain" off={off} onClick={open} name="halt">
      Halt…
    </Button>
  );
}
