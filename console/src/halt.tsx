/** The switch that stops everything, or one agent, or one tool: always there. */
import { signal } from "@preact/signals";
import { denied } from "./api";
import { Button, Icon } from "./ui";
import type { Halt } from "./generated/types";

/** What a dialog asks: whether to halt, or to lift this one. */
export const asking = signal<"" | "halt" | Halt>("");

export function HaltButton({ phone = false }: { phone?: boolean }) {
  const off = denied("halt");
  const open = (): void => {
    if (!off) asking.value = "halt";
  };
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
