/** Server-sent events, read by hand: unlike `EventSource` it sees refusals, silence, and where a broken stream has to continue. */

export interface Event {
  kind: string;
  id: string;
  data: unknown;
}

/** Why a stream was refused. */
export interface Refusal {
  status: number;
  detail: string;
}

export interface Listener {
  event(e: Event): void;
  /** The stream is open. */
  open(): void;
  /** It broke, and will be tried again. */
  broken(): void;
  /** It was refused in a way that trying again would not change. */
  ended(why: Refusal | null): void;
}

/** The server gives a sign every 15 s. */
export const SILENCE = 20_000;
const FIRST = 400;
const SLOWEST = 5_000;

/** Follow a stream until the result is called. It comes back by itself after a break, with `Last-Event-ID`. */
export function follow(url: () => string, listener: Listener, last = ""): () => void {
  let stopped = false;
  let tries = 0;
  let control = new AbortController();
  let timer: ReturnType<typeof setTimeout> | undefined;

  async function attempt(): Promise<void> {
    control = new AbortController();
    const mine = control;
    // What a page does by itself keeps no session alive.
    const headers: Record<string, string> = { Accept: "text/event-stream", "X-Idle": "1" };
    if (last) headers["Last-Event-ID"] = last;
    const late = setTimeout(() => mine.abort(), SILENCE);
    const response = await fetch(url(), { headers, signal: mine.signal, credentials: "same-origin", cache: "no-store" }).finally(() =>
      clearTimeout(late),
    );
    if (response.status === 204) return finish(null);
    if (!response.ok || !response.body) {
      const detail = await response.text().catch(() => "");
      if ([400, 401, 403, 404].includes(response.status)) return finish({ status: response.status, detail });
      throw new Error(detail);
    }
    if (stopped) return mine.abort();
    tries = 0;
    listener.open();
    await read(response.body.getReader(), mine);
    if (!stopped) throw new Error("the stream ended");
  }

  async function read(reader: ReadableStreamDefaultReader<Uint8Array>, mine: AbortController): Promise<void> {
    const decoder = new TextDecoder();
    let rest = "";
    for (;;) {
      const watchdog = setTimeout(() => mine.abort(), SILENCE);
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

  function end(): void {
    stopped = true;
    clearTimeout(timer);
  }

  function finish(why: Refusal | null): void {
    if (stopped) return;
    end();
    listener.ended(why);
  }

  function run(): void {
    attempt().catch(() => {
      if (stopped) return;
      listener.broken();
      timer = setTimeout(run, Math.min(SLOWEST, FIRST * 2 ** tries++));
    });
  }

  run();
  return () => {
    end();
    control.abort();
  };
}
