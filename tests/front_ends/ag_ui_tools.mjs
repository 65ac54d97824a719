// The official client of AG-UI carries out a tool of its own: node ag_ui_tools.mjs URL KEY TOOL.
import { HttpAgent } from "@ag-ui/client";
import { EventSchemas } from "@ag-ui/core/schemas";

const [url, key, tool] = process.argv.slice(2);
const seen = { invalid: [], warnings: [], arguments: [] };
console.warn = (...words) => seen.warnings.push(words.join(" "));

const agent = new HttpAgent({ url: `${url}/ag-ui/painter`, headers: { Authorization: `Bearer ${key}` }, threadId: "node" });
agent.subscribe({
  onRunFinishedEvent: ({ event, pendingToolCallIds }) => {
    if (event.runId === "run-1") Object.assign(seen, { left: pendingToolCallIds, named: event.outcome.pendingToolCallIds });
  },
  onEvent: ({ event }) => {
    const checked = EventSchemas.safeParse(event);
    if (!checked.success) seen.invalid.push([event, checked.error.issues]);
  },
});
const tools = [JSON.parse(tool)];
agent.addMessage({ id: "u1", role: "user", content: "paint the wall" });
await agent.runAgent({ runId: "run-1", tools });
seen.pending = agent.pendingInterrupts.length;
const answered = new Set(agent.messages.filter((m) => m.role === "tool").map((m) => m.toolCallId));
for (const message of structuredClone(agent.messages)) {
  for (const call of message.toolCalls ?? []) {
    if (answered.has(call.id)) continue;
    seen.arguments.push(JSON.parse(call.function.arguments));
    agent.addMessage({ id: `r-${call.id}`, role: "tool", toolCallId: call.id, content: "red" });
  }
}
const done = await agent.runAgent({ runId: "run-2", tools });
seen.result = done.result;
seen.roles = agent.messages.map((m) => m.role);
console.log(JSON.stringify(seen));
