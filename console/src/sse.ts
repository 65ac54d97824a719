/** Server-sent events, read by hand: unlike `EventSource` it sees refusals, silence, and where a broken stream has to go on. */
import { fetchHere, refusal } from "./api";

export interface Event {
  kind: string;
  id: string;
  data: unknown;
}

export interface Listener {
  event(e: Event): void;
  /** The stream is open. */
  open?(): void;
  /** It broke, and will be tried again. */
  broken?(e: unknown): void;
  /** It ended, or was refused in a way that trying again would not change. */
  ended?(e: unknown): void;
}

const SILENCE = 40_000;
const FIRST = 400;
const SLOWEST = 5_000;

/** Follow a stream until the result is called. It comes back by itself after a break, with `Last-Event-ID`. */
export function follow(url: string, listener: Listener): () => void {
  let stopped = false;
  let last = "";
  let tries = 0;
  let control = new AbortController();
  let timer = 0;

  async function attempt(): Promise<void> {
    control = new AbortController();
    const headers: Record<string, string> = { Accept: "text/event-stream" };
    if (last) headers["Last-Event-ID"] = last;
    const response = await fetchHere(url, { headers, signal: control.signal });
    if (response.status === 204) return finish(null);
    if (!response.ok || !response.body) {
      const problem = await refusal(response);
      if ([400, 401, 403, 404].includes(response.status)) return finish(problem);
      throw problem;
    }
    tries = 0;
    listener.open?.();
    await read(response.body.getReader());
    if (!stopped) throw new Error("the stream ended");
  }

  async function read(reader: ReadableStreamDefaultReader<Uint8Array>): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const watchdog = setTimeout(() => control.abort(), SILENCE);
      const { value, done } = await reader.read().finally(() => clearTimeout(watchdog));
      if (done || stopped) return;
      const parts = (rest + decoder.decode(value, { stream: true })).split("\n\n");
      rest = parts.pop() ?? "";
      for (const part of parts) dispatch(part);
    }
  }

  function dispatch(block: string): void {
    const found: Event = { kind: "", id: "", data: null };
    for (const line of block.split("\n")) {
      if (line.startsWith("event: ")) found.kind = line.slice(7);
      else if (line.startsWith("id: ")) found.id = last = line.slice(4);
      else if (line.startsWith("data: ")) found.data = JSON.parse(line.slice(6));
    }
    if (found.kind && !stopped) listener.event(found);
  }

  function finish(reason: unknown): void {
    stopped = true;
    removeEventListener("online", soon);
    removeEventListener("offline", cut);
    listener.ended?.(reason);
  }

  function run(): void {
    attempt().catch((e: unknown) => {
      if (stopped) return;
      listener.broken?.(e);
      timer = window.setTimeout(run, Math.min(SLOWEST, FIRST * 2 ** tries++));
    });
  }

  const soon = (): void => {
    if (timer) {
      clearTimeout(timer);
      timer = 0;
      run();
    }
  };
  const cut = (): void => control.abort();
  addEventListener("online", soon);
  addEventListener("offline", cut);
  run();
  return () => {
    stopped = true;
    clearTimeout(timer);
    removeEventListener("online", soon);
    removeEventListener("offline", cut);
    control.abort();
  };
}
