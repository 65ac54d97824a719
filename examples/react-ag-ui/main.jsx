// A chat with an agent behind AG-UI: text as it arrives, the calls that wait for a person, and buttons to decide.
import { HttpAgent, runHttpRequest, transformHttpEventStream } from "@ag-ui/client";
import { useMemo, useState } from "react";
import { createRoot } from "react-dom/client";

// HttpAgent cannot reconnect by itself; Adjourn shows a thread again at /connect, from the journal.
class AdjournAgent extends HttpAgent {
  connect(input) {
    const request = this.requestInit(input);
    return transformHttpEventStream(runHttpRequest(() => fetch(`${this.url}/connect`, request)));
  }
}

function Chat({ settings }) {
  const agent = useMemo(() => {
    const headers = { Authorization: `Bearer ${settings.key}` };
    const made = new AdjournAgent({ url: "/ag-ui/cashier", headers, threadId: settings.thread });
    made.subscribe({ onMessagesChanged: ({ messages }) => setMessages([...messages]) });
    return made;
  }, [settings]);
  const [messages, setMessages] = useState([]);
  const [waits, setWaits] = useState([]);
  const [answers, setAnswers] = useState({});
  const [status, setStatus] = useState("ready");

  async function show(work) {
    setStatus("running");
    setWaits([]);
    setAnswers({});
    try {
      await work();
      setStatus(agent.pendingInterrupts.length ? "waiting" : "ready");
      setWaits([...agent.pendingInterrupts]);
    } catch (error) {
      setStatus(`failed: ${error.message}`);
    }
  }

  function say(event) {
    event.preventDefault();
    const content = new FormData(event.target).get("text");
    event.target.reset();
    agent.addMessage({ id: crypto.randomUUID(), role: "user", content });
    show(() => agent.runAgent());
  }

  // All that the run waits for is answered in one request.
  function decide(interrupt, approved) {
    const given = { ...answers, [interrupt.id]: { interruptId: interrupt.id, status: "resolved", payload: { approved } } };
    setAnswers(given);
    if (waits.every((one) => given[one.id])) {
      show(() => agent.runAgent({ resume: Object.values(given) }));
    }
  }

  return (
    <main>
      <p>
        Status: <output>{status}</output> <button onClick={() => show(() => agent.connectAgent())}>Reconnect</button>
      </p>
      <ol>
        {messages.map((message) => (
          <li key={message.id} data-role={message.role}>
            {message.content}
            {message.toolCalls?.map((call) => (
              <code key={call.id}>{`${call.function.name} ${call.function.arguments}`}</code>
            ))}
          </li>
        ))}
      </ol>
      {waits.map((interrupt) => (
        <section key={interrupt.id} aria-label={interrupt.message}>
          <p>{interrupt.message}</p>
          <pre>{JSON.stringify(interrupt.metadata.adjourn.arguments)}</pre>
          <button disabled={interrupt.id in answers} onClick={() => decide(interrupt, true)}>
            Approve
          </button>
          <button disabled={interrupt.id in answers} onClick={() => decide(interrupt, false)}>
            Deny
          </button>
        </section>
      ))}
      <form onSubmit={say}>
        <input name="text" aria-label="Message" required disabled={status === "running" || waits.length > 0} />
        <button disabled={status === "running" || waits.length > 0}>Send</button>
      </form>
    </main>
  );
}

function App() {
  const [settings, setSettings] = useState(null);
  if (settings) return <Chat settings={settings} />;
  const open = (event) => {
    event.preventDefault();
    setSettings(Object.fromEntries(new FormData(event.target)));
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
