/** What the agent was told and what it answered, as the model reads it. */
import { at, get } from "../api";
import { useLoaded } from "../loading";
import { Empty, Failure, Skeleton } from "../states";
import { Icon } from "../ui";
import { Lines, LongText, Value, Values } from "../values";
import { Visible } from "../visible";
import type { RunModel } from "./model";

interface Part {
  type: string;
  text?: string;
  tool?: string;
  args?: unknown;
  id?: string;
}
interface Message {
  type: "user" | "assistant" | "result";
  text?: string;
  parts?: Part[];
  interrupted?: boolean;
  tool?: string;
  content?: unknown;
  error?: boolean;
}

export function Conversation({ model }: { model: RunModel }) {
  const { data, error, again } = useLoaded(
    (s) => get<{ items: Message[] }>(`/runs/${at(model.id)}/messages`, {}, s),
    [model.clock.value.seq],
  );
  const writing = model.texts.value.get("");
  if (error && !data) return <Failure error={error} again={again} />;
  if (!data) return <Skeleton rows={4} row={(n) => <div class="msg skel-msg" key={n} />} />;
  if (!data.items.length && !writing) {
    return (
      <Empty icon="model" title="No conversation">
        <p>A flow has none of its own; its agents’ steps are in the timeline.</p>
      </Empty>
    );
  }
  return (
    <ol class="card talk" aria-label="Conversation">
      {data.items.map((m, i) => (
        <li key={i} class={`msg ${m.type}`}>
          <h2>
            <Icon name={m.type === "user" ? "person" : m.type === "result" ? "tool" : "model"} />
            {m.type === "user" ? (
              "Told"
            ) : m.type === "result" ? (
              <>
                Result of{" "}
                <span class="mono">
                  <Visible text={m.tool ?? ""} />
                </span>
              </>
            ) : (
              "Agent"
            )}
            {m.interrupted ? <span class="tag">cut off</span> : null}
            {m.error ? <span class="tag fail">error</span> : null}
          </h2>
          <MessageBody message={m} />
        </li>
      ))}
      {writing ? (
        <li class="msg assistant" aria-live="off">
          <h2>
            <span class="run turning">
              <Icon name="run" />
            </span>
            Agent, writing
          </h2>
          <p class="prose">
            <Lines text={writing} />
            <span class="caret" />
          </p>
        </li>
      ) : null}
    </ol>
  );
}

function MessageBody({ message: m }: { message: Message }) {
  if (m.type === "result") {
    return (
      <div class="mono rawv">
        {typeof m.content === "string" ? <LongText text={m.content} limit={2000} /> : <Value value={m.content} limit={2000} />}
      </div>
    );
  }
  if (m.type === "user") {
    return (
      <p class="prose">
        <LongText text={m.text ?? ""} limit={8000} />
      </p>
    );
  }
  return (
    <>
      {(m.parts ?? []).map((p, i) =>
        p.type === "call" ? (
          <div key={i} class="asked">
            <div>
              calls{" "}
              <b class="mono">
                <Visible text={p.tool ?? ""} />
              </b>
            </div>
            <Values value={p.args ?? {}} />
          </div>
        ) : p.type === "text" || p.type === "thinking" ? (
          <p key={i} class={`prose ${p.type === "thinking" ? "t3" : ""}`}>
            {p.type === "thinking" ? "Thinking: " : ""}
            <LongText text={p.text ?? ""} limit={8000} />
          </p>
        ) : (
          <p key={i} class="t3 sm">
            a part that only its provider understands
          </p>
        ),
      )}
    </>
  );
}
