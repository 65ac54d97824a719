/** What was said, by whom and when; each reply with the calls it asked for, and how they came out. */
import { useState } from "preact/hooks";
import { at, get } from "../api";
import { Files } from "../files";
import { useKeys } from "../keys";
import { useLoaded } from "../loading";
import { Link, to } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { Told } from "../told";
import type { RequestView } from "../generated/types";
import { Icon } from "../ui";
import { Lines, LongText, Values } from "../values";
import { Visible } from "../visible";
import { argumentLine, clock, count, duration, exactTime, json, many, money } from "../words";
import type { RunModel } from "./model";
import { useRecords } from "./records";
import { ExactRequest, type SentRequest } from "./request";
import { talkOf, type Message, type Part } from "./talk";
import type { Page, Recorded, Step } from "../types";

export function Conversation({ model }: { model: RunModel }) {
  const { records, whole, error, again } = useRecords(model);
  const [open, setOpen] = useState<Message | null>(null);
  const talk = talkOf(records, model.steps.value);
  const first = talk.find((m) => m.author !== "person");
  const last = talk.findLast((m) => m.author !== "person");
  useKeys({ x: () => last && setOpen(last) });
  const writing = model.texts.value.get("");
  if (error && !records.length) return <Failure error={error} again={again} />;
  if (!whole && !records.length) return <Skeleton rows={4} row={(n) => <div class="msg skel-msg" key={n} />} />;
  if (!talk.some((m) => m.author !== "person") && !writing) {
    return (
      <Empty icon="model" title="No conversation yet">
        <p>No model has answered.</p>
      </Empty>
    );
  }
  return (
    <>
      <ol class="card talk" aria-label="Conversation">
        <Before first={records[0]} />
        {first?.terms ? <Prompt run={model.id} seq={first.seq} /> : null}
        {talk.map((m) => (
          <One key={m.seq} run={model.id} message={m} prompt={m.terms && m !== first} open={() => setOpen(m)} />
        ))}
        {writing ? (
          <li class="msg model" aria-live="off">
            <Mark name="run" tone="run turning" />
            <div>
              <h2>Model, writing</h2>
              <p class="prose">
                <Lines text={writing} />
                <span class="caret" />
              </p>
            </div>
          </li>
        ) : null}
      </ol>
      {open ? <ExactRequest run={model.id} message={open} earlier={before(talk, open)} close={() => setOpen(null)} /> : null}
    </>
  );
}

/** The reply before this one: what its request had is not new. */
function before(talk: Message[], one: Message): number {
  return talk.findLast((m) => m.author === "model" && m.seq < one.seq)?.seq ?? 0;
}

/** A run may go on with what was said in another. */
function Before({ first }: { first: Recorded | undefined }) {
  const after = (first?.record as { after?: { run: string; messages?: number } | null } | undefined)?.after;
  if (!after?.run) return null;
  return (
    <li class="msg">
      <Mark name="link" />
      <p class="t2">
        It continues <Link to={to("runs", after.run, "conversation")}>another run</Link>
        {after.messages ? `: ${count(after.messages, "message")} before these` : ""}.
      </p>
    </li>
  );
}

function One({ run, message: m, prompt, open }: { run: string; message: Message; prompt: boolean; open: () => void }) {
  if (m.author === "person") return <Person run={run} message={m} />;
  return (
    <>
      {prompt ? <Prompt run={run} seq={m.seq} again /> : null}
      <li class="msg model" data-message={m.seq} data-author={m.author}>
        <Mark name="model" />
        <div>
          <header class="row wrap">
            <h2>{m.author === "summary" ? "Summary by the model" : "Model"}</h2>
            <span class="sm t3 grow">
              <span class="mono">
                <Visible text={m.name} />
              </span>
              {usageWords(m).map((word) => ` · ${word}`)}
            </span>
            <span class="sm t3 num">
              <time title={exactTime(m.at)}>{clock(m.at)}</time>{" "}
              <button type="button" class="link" onClick={open} aria-label={`Exact request of the reply at ${clock(m.at)}`}>
                exact request
              </button>
            </span>
          </header>
          {m.did ? <p class="sm t3">{m.did}</p> : null}
          {m.flaw ? (
            <p class="sm fail">
              <Visible text={m.flaw} />
            </p>
          ) : null}
          {m.text ? <Prose text={m.text} /> : null}
          {m.parts.map((part, n) => (
            <Spoken key={n} run={run} part={part} />
          ))}
          {m.calls.map((step) => (
            <Call key={step.call_id} run={run} step={step} />
          ))}
        </div>
      </li>
    </>
  );
}

/** `1,204 in, of which 1,040 cached`, `96 out`, `$0.004`, `1.9 s`. */
function usageWords({ usage: u, took }: Message): string[] {
  const cached = u.cache_read_tokens ? `, of which ${many(u.cache_read_tokens)} cached` : "";
  return [
    u.input_tokens ? `${many(u.input_tokens)} in${cached}` : "",
    u.output_tokens ? `${many(u.output_tokens)} out` : "",
    u.cost ? money(u.cost) : "",
    u.estimated ? "estimated" : "",
    took ? duration(took) : "",
  ].filter(Boolean);
}

function Person({ run, message: m }: { run: string; message: Message }) {
  const late = m.readAt === null ? null : m.readAt - m.at;
  return (
    <li class="msg user" data-message={m.seq} data-author="person">
      <Mark name="person" />
      <div>
        <header class="row wrap">
          <h2>
            <Visible text={m.name || "Unknown"} />
          </h2>
          <span class="sm t3 grow">{m.did}</span>
          <time class="sm t3 num" title={exactTime(m.at)}>
            {clock(m.at)}
          </time>
        </header>
        {m.text ? <Prose text={m.text} /> : null}
        <Files run={run} value={m.given} />
        {late === null ? null : <p class="sm t3">read by the model {late > 0.5 ? `${duration(late)} later` : "at once"}</p>}
      </div>
    </li>
  );
}

const Mark = ({ name, tone = "t2" }: { name: string; tone?: string }) => (
  <span class={`mark ${tone}`} aria-hidden="true">
    <Icon name={name} />
  </span>
);

function Prose({ text }: { text: string }) {
  return (
    <p class="prose">
      <LongText text={text} limit={8000} />
    </p>
  );
}

function Spoken({ run, part: p }: { run: string; part: Part }) {
  if (p.type === "call") return null; // it stands below, with what came of it
  if (p.type === "text") return p.text ? <Prose text={p.text} /> : null;
  if (p.type === "file") return <Files run={run} value={p.file} />;
  if (p.type !== "thinking") return <p class="t3 sm">a part that only its provider understands</p>;
  return (
    <details class="sm t3">
      <summary>Thinking</summary>
      <Prose text={p.text ?? ""} />
    </details>
  );
}

/** One call: what was asked for, why people were asked, what they decided, what came of it. */
function Call({ run, step }: { run: string; step: Step }) {
  const asked = step.rules.length || (step.asked_at !== null && step.reason);
  const waits = step.status === "waiting" || step.status === "running" || step.status === "ready";
  return (
    <div class="did" data-call={step.call_id}>
      <div class="row start">
        <Icon name={step.kind === "agent" ? "child" : "tool"} />
        <span class="clip">
          <b class="mono">
            <Visible text={step.name} />
          </b>{" "}
          <span class="mono t2">
            <Visible text={argumentLine(step.arguments)} />
          </span>
        </span>
      </div>
      {asked ? (
        <div class="row start wait">
          <Icon name="wait" />
          <span class="t2">
            asked because of{" "}
            <b>
              <Visible text={step.reason || step.rules.join(", ")} />
            </b>
          </span>
        </div>
      ) : null}
      {step.decision && step.status !== "waiting" ? (
        <div class="row start">
          <Icon name={step.status === "denied" || step.status === "expired" ? step.status : "person"} />
          <span>
            <Told decision={step.decision} outcome={step.outcome} />
          </span>
        </div>
      ) : null}
      {waits ? (
        <div class="row start t3">{step.status === "waiting" ? step.note || "waits for a person" : step.status}</div>
      ) : (
        <CameOut run={run} step={step} />
      )}
    </div>
  );
}

function CameOut({ run, step }: { run: string; step: Step }) {
  const ran = step.ran && !step.error;
  const told = !step.ran || step.error;
  return (
    <div class="row start">
      <span class={ran ? "done" : "t3"}>
        <Icon name={ran ? "done" : "model"} />
      </span>
      <div class="came">
        {told ? <span class="t3">the model was told: </span> : null}
        {ran && step.took !== null ? <span class="t3">{duration(step.took)} </span> : null}
        <span class="mono">
          <Came value={step.result} />
        </span>
        <Files run={run} value={step.result} />
      </div>
    </div>
  );
}

/** Short values on one line, others by their names. */
function Came({ value }: { value: unknown }) {
  if (typeof value === "string") return <LongText text={value} limit={600} />;
  const line = json(value);
  if (line.length <= 120) return <LongText text={line} />;
  return <Values value={value} />;
}

/** The system prompt and the tools, from the request that first had them. */
function Prompt({ run, seq, again = false }: { run: string; seq: number; again?: boolean }) {
  const { data } = useLoaded((s) => get<Page<RequestView>>(`/runs/${at(run)}/requests`, { seq }, s), [seq]);
  const [all, setAll] = useState(false);
  const sent = data?.items[0]?.request as SentRequest | null | undefined;
  if (!sent) return null;
  const tools = sent.tools ?? [];
  return (
    <li class="msg" data-author="system">
      <Mark name="set" />
      <div>
        <header class="row wrap">
          <h2>System prompt</h2>
          <span class="sm t3 grow">
            {again ? "changed: every request from here on has this one" : "from the agent’s definition, in every request"}
          </span>
        </header>
        {sent.instructions ? <Prose text={sent.instructions} /> : <p class="t3">The agent has no instructions.</p>}
        {tools.length ? (
          <p class="sm">
            <button type="button" class="link" aria-expanded={all} onClick={() => setAll(!all)}>
              {count(tools.length, "tool was", "tools were")} offered
            </button>
          </p>
        ) : null}
        {all ? (
          <ul class="sm">
            {tools.map((tool, n) => (
              <li key={n}>
                <b class="mono">
                  <Visible text={String(tool.name ?? "")} />
                </b>{" "}
                <span class="t2">
                  <Visible text={String(tool.description ?? "")} />
                </span>
              </li>
            ))}
          </ul>
        ) : null}
      </div>
    </li>
  );
}
