/** A strip on every page for each halt that is on, with what it holds. */
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { denied } from "./api";
import { asking } from "./halt";
import { heldWords, readScopes, scopeOf, scopes, unknownWords } from "./held";
import { halts, listen, looking, offline } from "./live";
import { Button, Icon, Time } from "./ui";
import { Visible } from "./visible";
import { scopeWords } from "./words";
import type { Halt } from "./generated/types";

const COUNTED_EVERY = 2000;

/** Count what is held: at once, and again when something has changed, but not all the time. */
function useCounts(on: readonly Halt[]): void {
  const key = on.map((h) => h.scope).join("\n");
  useEffect(() => {
    if (!key) return;
    let timer = 0;
    let last = 0;
    const read = (): void => {
      timer = 0;
      last = performance.now();
      if (looking.peek()) readScopes().catch(() => undefined);
    };
    const soon = (): void => {
      timer ||= window.setTimeout(read, Math.max(0, last + COUNTED_EVERY - performance.now()));
    };
    read();
    const end = listen({ changed: soon, whole: soon });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, [key]);
}

/** The page moves down by the height of the strips. */
function useHeight(shown: boolean) {
  const box = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    const root = document.documentElement.style;
    const measure = (): void => root.setProperty("--halts", `${box.current?.offsetHeight ?? 0}px`);
    measure();
    if (!box.current) return;
    const watcher = new ResizeObserver(measure);
    watcher.observe(box.current);
    return () => {
      watcher.disconnect();
      root.setProperty("--halts", "0px");
    };
  }, [shown]);
  return box;
}

/** One line for each halt that is on. */
export function HaltStrip() {
  const on = halts.value;
  useCounts(on);
  const box = useHeight(on.length > 0);
  if (!on.length) return null;
  const off = denied("halt") || offline.value;
  return (
    <div class="halts" ref={box}>
      {on.map((h) => (
        <div class="halt" role="alert" key={h.scope} data-halt={h.scope}>
          <Icon name="halt" size="l" />
          <div class="grow">
            <b>
              Halted: <Visible text={scopeWords(h.scope)} />.
            </b>{" "}
            <span class="means">{h.scope === "*" ? "No new call starts anywhere." : "No new call of it starts."}</span> <Counted scope={h.scope} />{" "}
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

function Counted({ scope }: { scope: string }) {
  const found = scopeOf(scopes.value, scope);
  if (!found) return null;
  const unknown = unknownWords(found);
  return (
    <span data-held={found.holds}>
      {heldWords(found, scopes.value?.complete ?? true)}. {unknown ? <Visible text={unknown} /> : null}
    </span>
  );
}
