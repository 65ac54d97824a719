// The official client of AG-UI against our server: node ag_ui_client.mjs URL KEY. It prints what it saw.
import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";

const [url, key] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const seen = { invalid: [], warnings: [] };
console.warn = (...words) => seen.warnings.push(words.join(" "));
console.error = () => {};

class AdjournAgent extends HttpAgent {
  connect(input) {
    const body = { method: "POST", headers: { ...this.headers, "Content-Type": "application/json" }, body: JSON.stringify(input) };
    return transformHttpEventStream(runHttpRequest(() => fetch(`${this.url}/connect`, body)));
  }
}

function agent(name, threadId) {
  const made = new AdjournAgent({ url: `${url}/ag-ui/${name}`, headers, threadId });
  made.events = [];
  made.subscribe({
    onEvent: ({ event }) => {
      made.events.push(event);
      const checked = EventSchemas.safeParse(event);
      if (!checked.success) seen.invalid.push([event, checked.error.issues]);
    },
  });
  return made;
}

const last = (made) => made.events[made.events.length - 1];
const texts = (made) => made.messages.filter((m) => m.content && m.role !== "tool").map((m) => m.content);

// pause, a partial resume that the client refuses, one approved, one cancelled
const cashier = agent("cashier", "node-1");
cashier.addMessage({ id: "u1", role: "user", content: "refund both" });
await cashier.runAgent({ runId: "run-1" });
seen.interrupts = cashier.pendingInterrupts;
seen.state = cashier.state;
seen.paused = structuredClone(cashier.messages);
const [first, second] = cashier.pendingInterrupts;
const approve = { interruptId: first.id, status: "resolved", payload: { approved: true } };
try {
  await cashier.runAgent({ runId: "run-2", resume: [approve] });
} catch (error) {
  seen.partial = String(error.message);
}
const resume = [approve, { interruptId: second.id, status: "cancelled" }];
const copy = cashier.clone();
copy.events = [];
const finished = await cashier.runAgent({ runId: "run-2", resume });
seen.result = finished.result;
seen.outcome = last(cashier).outcome;
seen.messages = structuredClone(cashier.messages);

// the same resume once more, from a client that never heard what came of the first
copy.subscribers = [];
const again = await copy.runAgent({ runId: "run-2b", resume });
seen.again = again.result;
seen.same = JSON.stringify(copy.messages) === JSON.stringify(cashier.messages);

// the next turn, and a client that has nothing and connects
cashier.addMessage({ id: "u2", role: "user", content: "thanks" });
await cashier.runAgent({ runId: "run-3" });
seen.next = texts(cashier);
const fresh = agent("cashier", "node-1");
await fresh.connectAgent();
seen.fresh = texts(fresh);

// two clients of one paused thread: both show the same interrupts
const one = agent("cashier", "node-2");
one.addMessage({ id: "u1", role: "user", content: "refund both" });
await one.runAgent();
const two = agent("cashier", "node-2");
await two.connectAgent();
seen.shared = [one.pendingInterrupts.map((i) => i.id), two.pendingInterrupts.map((i) => i.id)];
const yes = two.pendingInterrupts.map((i) => ({ interruptId: i.id, status: "resolved", payload: { approved: true } }));
await two.runAgent({ resume: yes });
seen.elsewhere = last(two).outcome;

// thinking, streaming, and a run that fails before it begins
const thinker = agent("thinker", "node-3");
thinker.addMessage({ id: "u1", role: "user", content: "think" });
await thinker.runAgent();
seen.thought = thinker.messages.map((m) => [m.role, m.content]);
const talker = agent("talker", "node-4");
talker.addMessage({ id: "u1", role: "user", content: "talk" });
await talker.runAgent();
seen.pieces = talker.events.filter((e) => e.type === "TEXT_MESSAGE_CONTENT").length;
seen.talked = texts(talker);
const nobody = agent("nobody", "node-5");
nobody.addMessage({ id: "u1", role: "user", content: "hello" });
try {
  await nobody.runAgent();
} catch (error) {
  seen.refused = String(error.message ?? error);
}
console.log(JSON.stringify(seen));
