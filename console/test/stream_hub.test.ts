import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { StreamHub, type Tab, type ToTab } from "../src/stream_hub";

/** Every stream that was asked for, and the end of each that a test writes to. */
interface Opened {
  url: URL;
  last: string;
  write(kind: string, data: unknown, id?: string): void;
  closed: boolean;
}
let opened: Opened[] = [];
const real = globalThis.fetch;

beforeEach(() => {
  opened = [];
  globalThis.fetch = ((url: string, init: RequestInit) => {
    let sink!: ReadableStreamDefaultController<Uint8Array>;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => {
        sink = controller;
      },
    });
    const one: Opened = {
      url: new URL(url),
      last: (init.headers as Record<string, string>)["Last-Event-ID"] ?? "",
      write: (kind, data, id = "") =>
        sink.enqueue(new TextEncoder().encode(`${id ? `id: ${id}\n` : ""}event: ${kind}\ndata: ${JSON.stringify(data)}\n\n`)),
      closed: false,
    };
    init.signal?.addEventListener("abort", () => {
      one.closed = true;
      try {
        sink.error(new Error("aborted"));
      } catch {
        // it has ended already
      }
    });
    opened.push(one);
    return Promise.resolve(new Response(body, { status: 200 }));
  }) as typeof fetch;
});
afterEach(() => {
  globalThis.fetch = real;
});

class Page implements Tab {
  readonly told: ToTab[] = [];
  tell(message: ToTab): void {
    this.told.push(message);
  }
  events(run = ""): string[] {
    return this.told.flatMap((m) => (m.kind === "event" && m.run === run ? [m.event.kind] : []));
  }
}

const SNAPSHOT = { open: ["a:1", "b:1"], halts: [], now: 1 };
const settled = (): Promise<void> => new Promise((done) => setTimeout(done, 40));

test("many tabs have one stream, and it carries every run that one of them shows", async () => {
  const hub = new StreamHub("http://x/api/v1/events");
  const pages = Array.from({ length: 15 }, () => new Page());
  pages.forEach((page, n) => {
    hub.hear(page, { kind: "look", on: true });
    if (n < 5) hub.hear(page, { kind: "watch", run: `R${n % 3}`, after: n });
  });
  await settled();
  assert.equal(opened.length, 1);
  assert.equal(opened[0]!.url.search, "?runs=R0%2CR1%2CR2&after=0%2C1%2C2");
  opened[0]!.write("inbox", SNAPSHOT, "boot-0");
  opened[0]!.write("run", { run_id: "R0", kind: "record", data: { seq: 1 } });
  await settled();
  assert.ok(pages.every((page) => page.events().length === 1));
  assert.deepEqual(
    pages.map((page) => page.events("R0").length).slice(0, 6),
    [1, 0, 0, 1, 0, 0],
  );
  assert.deepEqual(pages[0]!.told[0], { kind: "open", tabs: 15 });
  for (const page of pages) hub.hear(page, { kind: "gone" });
  await settled();
  assert.ok(opened[0]!.closed);
});

test("nothing is opened while no tab is looked at, and the stream is closed when none is any more", async () => {
  const hub = new StreamHub("http://x/api/v1/events");
  const page = new Page();
  hub.hear(page, { kind: "watch", run: "R", after: 0 });
  hub.hear(page, { kind: "look", on: false });
  await settled();
  assert.equal(opened.length, 0);
  hub.hear(page, { kind: "look", on: true });
  await settled();
  hub.hear(page, { kind: "look", on: false });
  await settled();
  assert.deepEqual([opened.length, opened[0]!.closed], [1, true]);
});

test("a tab that comes later is told what is open now, and another run makes the stream continue where it was", async () => {
  const hub = new StreamHub("http://x/api/v1/events");
  const [one, two] = [new Page(), new Page()];
  hub.hear(one, { kind: "look", on: true });
  hub.hear(one, { kind: "watch", run: "R", after: 3 });
  await settled();
  opened[0]!.write("inbox", SNAPSHOT, "boot-0");
  opened[0]!.write("changed", { opened: ["c:1"], closed: ["a:1"], halts: [], runs: [], more: false, open_interrupts: 2, now: 2 }, "boot-1");
  opened[0]!.write("run", { run_id: "R", kind: "record", data: { seq: 9 } });
  await settled();
  hub.hear(two, { kind: "look", on: true });
  const first = two.told.find((m) => m.kind === "event");
  assert.deepEqual(first, { kind: "event", run: "", event: { kind: "inbox", id: "", data: { open: ["b:1", "c:1"], halts: [], now: 2 } } });
  hub.hear(two, { kind: "watch", run: "S", after: 5 });
  await settled();
  assert.equal(opened.length, 2);
  assert.ok(opened[0]!.closed);
  assert.deepEqual([opened[1]!.last, opened[1]!.url.search], ["boot-1", "?runs=R%2CS&after=9%2C5"]);
  hub.hear(one, { kind: "gone" });
  hub.hear(two, { kind: "gone" });
  await settled();
});

test("a tab that has read less gets the records from there on", async () => {
  const hub = new StreamHub("http://x/api/v1/events");
  const [one, two] = [new Page(), new Page()];
  hub.hear(one, { kind: "look", on: true });
  hub.hear(one, { kind: "watch", run: "R", after: 9 });
  hub.hear(two, { kind: "look", on: true });
  hub.hear(two, { kind: "watch", run: "R", after: 4 });
  await settled();
  assert.equal(opened.at(-1)!.url.searchParams.get("after"), "4");
  hub.hear(one, { kind: "gone" });
  hub.hear(two, { kind: "gone" });
  await settled();
});

test("a tab that was not heard of for long does not hold the stream", async () => {
  let now = 0;
  const hub = new StreamHub("http://x/api/v1/events", () => now);
  const [crashed, alive] = [new Page(), new Page()];
  hub.hear(crashed, { kind: "look", on: true });
  hub.hear(crashed, { kind: "watch", run: "R", after: 0 });
  hub.hear(alive, { kind: "look", on: true });
  await settled();
  now = 30_000;
  hub.hear(alive, { kind: "here" });
  await settled();
  assert.equal(opened.at(-1)!.url.search, "");
  assert.deepEqual(alive.told.at(-1), { kind: "open", tabs: 1 });
  hub.hear(alive, { kind: "gone" });
  await settled();
});

test("a machine without a network says so at once, and continues where it was", async () => {
  const hub = new StreamHub("http://x/api/v1/events");
  const page = new Page();
  hub.hear(page, { kind: "look", on: true });
  await settled();
  opened[0]!.write("inbox", SNAPSHOT, "boot-7");
  await settled();
  hub.hear(page, { kind: "net", on: false });
  assert.equal(page.told.at(-1)!.kind, "broken");
  await settled();
  assert.equal(opened.length, 1);
  hub.hear(page, { kind: "net", on: true });
  await settled();
  assert.deepEqual([opened.length, opened[1]!.last], [2, "boot-7"]);
  hub.hear(page, { kind: "gone" });
  await settled();
});

test("a tab that begins to look when no other does gets the whole from the server, whatever the hub has heard before", async () => {
  const hub = new StreamHub("http://x/api/v1/events");
  const [one, two] = [new Page(), new Page()];
  hub.hear(one, { kind: "look", on: true });
  await settled();
  opened[0]!.write("inbox", SNAPSHOT, "boot-0");
  await settled();
  hub.hear(one, { kind: "look", on: false });
  await settled();
  for (const page of [two, one]) {
    hub.hear(page, { kind: "look", on: true });
    await settled();
    assert.equal(opened.at(-1)!.last, "");
    opened.at(-1)!.write("inbox", SNAPSHOT, "boot-1");
    await settled();
    assert.equal(page.events().at(-1), "inbox");
    hub.hear(page, { kind: "gone" });
    await settled();
  }
  assert.equal(opened.length, 3);
});

test("a tab that comes while the stream is broken gets the whole when it is back", async () => {
  const hub = new StreamHub("http://x/api/v1/events");
  const [one, two] = [new Page(), new Page()];
  hub.hear(one, { kind: "look", on: true });
  await settled();
  opened[0]!.write("inbox", SNAPSHOT, "boot-0");
  await settled();
  hub.hear(one, { kind: "net", on: false });
  hub.hear(one, { kind: "gone" });
  hub.hear(two, { kind: "look", on: true });
  await settled();
  assert.deepEqual([opened.length, opened[1]!.last], [2, ""]);
  hub.hear(two, { kind: "gone" });
});

test("the last page that goes closes the stream at once: its browser may keep it and let it do nothing more", async () => {
  const hub = new StreamHub("http://x/api/v1/events");
  const page = new Page();
  hub.hear(page, { kind: "look", on: true });
  await settled();
  hub.hear(page, { kind: "gone" });
  assert.ok(opened[0]!.closed);
  await settled();
});

test("a tab that was taken for lost is told so when it is heard of again, and is not left with what was", async () => {
  let now = 0;
  const hub = new StreamHub("http://x/api/v1/events", () => now);
  const [asleep, awake] = [new Page(), new Page()];
  hub.hear(asleep, { kind: "look", on: true });
  hub.hear(awake, { kind: "look", on: true });
  await settled();
  opened[0]!.write("inbox", SNAPSHOT, "boot-0");
  await settled();
  now = 25_000;
  hub.hear(awake, { kind: "here" });
  hub.hear(asleep, { kind: "here" });
  assert.equal(asleep.told.at(-1)!.kind, "forgotten");
  hub.hear(asleep, { kind: "look", on: true });
  assert.deepEqual(asleep.events(), ["inbox", "inbox"]);
  hub.hear(asleep, { kind: "gone" });
  hub.hear(awake, { kind: "gone" });
  await settled();
});
