// A chat with an agent behind the AI SDK's stream: text as it arrives, the calls that wait for a person, and buttons to decide.
import { useChat } from "@ai-sdk/react";
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useMemo, useState } from "react";
import { createRoot } from "react-dom/client";

const API = "/ai-sdk/cashier";

function Chat({ settings, before }) {
  const headers = { Authorization: `Bearer ${settings.key}` };
  const transport = useMemo(() => new DefaultChatTransport({ api: API, headers }), [settings]);
  const { messages, sendMessage, addToolApprovalResponse, status, error } = useChat({
    id: settings.thread,
    messages: before,
    transport,
    resume: true, // what was going on when the page was closed is shown again
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  const waits = messages.at(-1)?.parts.some((part) => part.state === "approval-requested") ?? false;

  function say(event) {
    event.preventDefault();
    sendMessage({ text: new FormData(event.target).get("text") });
    event.target.reset();
  }

  return (
    <main>
      <p>
        Status: <output>{error ? `failed: ${error.message}` : waits && status === "ready" ? "waiting" : status}</output>
      </p>
      <ol>
        {messages.map((message) => (
          <li key={message.id} data-role={message.role}>
            {message.parts.map((part, index) => (
              <Part key={index} part={part} decide={addToolApprovalResponse} />
            ))}
          </li>
        ))}
      </ol>
      <form onSubmit={say}>
        <input name="text" aria-label="Message" required disabled={status !== "ready" || waits} />
        <button disabled={status !== "ready" || waits}>Send</button>
      </form>
    </main>
  );
}

function Part({ part, decide }) {
  if (part.type === "text") return <span>{part.text}</span>;
  if (part.type !== "dynamic-tool") return null;
  const what = `${part.toolName} ${JSON.stringify(part.input)}`;
  if (part.state !== "approval-requested") return <code data-state={part.state}>{what}</code>;
  const answer = (approved) => decide({ id: part.approval.id, approved });
  return (
    <section aria-label={part.toolName}>
      <pre>{what}</pre>
      <button onClick={() => answer(true)}>Approve</button>
      <button onClick={() => answer(false)}>Deny</button>
    </section>
  );
}

function App() {
  const [opened, setOpened] = useState(null);
  if (opened) return <Chat {...opened} />;
  const open = async (event) => {
    event.preventDefault();
    const settings = Object.fromEntries(new FormData(event.target));
    const headers = { Authorization: `Bearer ${settings.key}` };
    const answer = await fetch(`${API}/${encodeURIComponent(settings.thread)}`, { headers });
    setOpened({ settings, before: (await answer.json()).messages });
  };
  return (
    <form onSubmit={open}>
      <input name="key" type="password" aria-label="Key" required />
      <input name="thread" aria-label="Thread" defaultValue={crypto.randomUUID()} required />
      <button>Open</button>
    </form>
  );
}

createRoot(document.getElementById("root")).render(<App />);
