/** Pages that are loaded when they are first looked at; the others follow while nothing else is to be done. */
import { signal } from "@preact/signals";
import { h, type FunctionComponent } from "preact";
import { Failure } from "./states";

const RELOADED = "adjourn.reloaded";
const loads: (() => void)[] = [];

/** A page, or with `part` a part of one. */
export function later<P extends object>(load: () => Promise<FunctionComponent<P>>, part = false): FunctionComponent<P> {
  const found = signal<FunctionComponent<P> | null>(null);
  const error = signal<unknown>(null);
  let loading = false;
  const begin = (): void => {
    if (loading || found.peek()) return;
    loading = true;
    error.value = null;
    load()
      .then(
        (page) => (found.value = page),
        (e: unknown) => (error.value = e),
      )
      .finally(() => (loading = false));
  };
  loads.push(begin);
  return function Later(props: P) {
    if (found.value) return h(found.value, props);
    const Place = part ? "div" : "main";
    if (error.value) {
      renew();
      return (
        <Place>
          <Failure whole={!part} error={error.value} again={begin} />
        </Place>
      );
    }
    begin();
    return <Place aria-busy="true" />;
  };
}

/** The server may be newer than this page, whose parts are then gone: the new page has them. Once, not for ever. */
function renew(): void {
  try {
    if (sessionStorage.getItem(RELOADED) || !navigator.onLine) return;
    sessionStorage.setItem(RELOADED, "yes");
    location.reload();
  } catch {
    // then the message stands
  }
}

/** Fetch the other pages as well, so that going there takes no time and needs no connection. */
export function fetchAll(): void {
  const idle = "requestIdleCallback" in window ? requestIdleCallback : (f: () => void) => setTimeout(f, 1500);
  idle(() => {
    for (const begin of loads) begin();
  });
}
