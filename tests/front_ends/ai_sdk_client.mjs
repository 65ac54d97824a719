// The AI SDK's own chat and stream reader against our server: node ai_sdk_client.mjs URL KEY. It prints what it saw.
import { Chat } from "@ai-sdk/react";
import {
  DefaultChatTransport,
  lastAssistantMessageIsCompleteWithApprovalResponses,
  readUIMessageStream,
  safeValidateUIMessages,
} from "ai";

const [url, key] = process.argv.slice(2);
const headers = { Authorization: `Bearer ${key}` };
const seen = { errors: [] };

function open(agent, id, messages = []) {
  const api = `${url}/ai-sdk/${agent}`;
  const finished = [];
  const transport = new DefaultChatTransport({ api, headers });
  const chat = new Chat({
    id,
    messages,
    transport,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
    onError: (error) => seen.errors.push(String(error.message)),
    onFinish: () => finished.splice(0).forEach((tell) => tell()),
  });
  return { api, chat, transport, next: () => new Promise((tell) => finished.push(tell)) };
}

const last = (chat) => chat.messages[chat.messages.length - 1];
const tools = (message) => message.parts.filter((part) => part.type === "dynamic-tool");
const asked = (chat) => tools(last(chat)).filter((part) => part.state === "approval-requested");
const texts = (messages) => messages.map((m) => m.parts.filter((p) => p.type === "text").map((p) => p.text).join("|"));

// asked, one approved, one denied, finished: all in one message of the assistant
const one = open("cashier", "chat-1");
await one.chat.sendMessage({ text: "refund both" });
seen.paused = structuredClone(last(one.chat));
const [first, second] = asked(one.chat);
const done = one.next();
await one.chat.addToolApprovalResponse({ id: first.approval.id, approved: true });
await one.chat.addToolApprovalResponse({ id: second.approval.id, approved: false, reason: "too much" });
const answered = structuredClone(one.chat.messages);
await done;
seen.finished = structuredClone(one.chat.messages);
seen.valid = (await safeValidateUIMessages({ messages: one.chat.messages })).success;

// the same answers once more, read with the stream reader
const stream = await one.transport.sendMessages({ chatId: "chat-1", messages: answered, trigger: "submit-message", messageId: answered[1].id });
let again;
for await (const message of readUIMessageStream({ message: answered[1], stream })) again = message;
seen.same = JSON.stringify(again.parts) === JSON.stringify(last(one.chat).parts);

// the next turn; and a page that was loaded again
await one.chat.sendMessage({ text: "thanks" });
seen.next = texts(one.chat.messages);
const history = async (agent, id) => (await (await fetch(`${url}/ai-sdk/${agent}/${id}`, { headers })).json()).messages;
const loaded = open("cashier", "chat-1", await history("cashier", "chat-1"));
await loaded.chat.resumeStream();
seen.loaded = texts(loaded.chat.messages);
seen.loadedValid = (await safeValidateUIMessages({ messages: loaded.chat.messages })).success;

// asked in one page, approved in another
const two = open("cashier", "chat-2");
await two.chat.sendMessage({ text: "refund both" });
const three = open("cashier", "chat-2", await history("cashier", "chat-2"));
seen.before = texts(three.chat.messages);
await three.chat.resumeStream();
const resumed = three.next();
for (const part of asked(three.chat)) await three.chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
await resumed;
seen.elsewhere = [texts(three.chat.messages), tools(last(three.chat)).map((part) => part.state)];

// a question, which is no approval of a call
const desk = open("desk", "chat-3");
await desk.chat.sendMessage({ text: "ask" });
const question = last(desk.chat).parts.find((part) => part.type === "data-interrupt");
seen.question = question.data;
await desk.chat.sendMessage(undefined, { body: { resume: [{ interruptId: question.id, status: "resolved", payload: { ok: true } }] } });
seen.questioned = structuredClone(last(desk.chat));

// reasoning, and text as it arrives
const thinker = open("thinker", "chat-4");
await thinker.chat.sendMessage({ text: "think" });
seen.thought = last(thinker.chat).parts;
let states = 0;
const talker = open("talker", "chat-5");
const words = { id: "u1", role: "user", parts: [{ type: "text", text: "talk" }] };
const talk = await talker.transport.sendMessages({ chatId: "chat-5", messages: [words], trigger: "submit-message" });
for await (const message of readUIMessageStream({ stream: talk })) {
  states += 1;
  seen.talked = texts([message])[0];
}
seen.states = states;
console.log(JSON.stringify(seen));
process.exit(0);
