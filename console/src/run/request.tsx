/** What went to the model, rebuilt from the journal, and whether it is what was sent. */
import { useState } from "preact/hooks";
import { at, get } from "../api";
import { Dialog } from "../dialog";
import type { RequestView } from "../generated/types";
import { useLoaded } from "../loading";
import { Failure, Skeleton } from "../states";
import { Button, copy, say, Tabs } from "../ui";
import { LongText, Value } from "../values";
import { Visible } from "../visible";
import { count, duration, grouped, json, many } from "../words";
import type { Message, Part } from "./talk";
import type { Page } from "../types";

/** `request` of a `RequestView`; null where it was not recorded. */
export interface SentRequest {
  messages: { type: string; text?: string; parts?: Part[]; tool?: string; content?: unknown }[];
  instructions: string | null;
  settings: Record<string, unknown> | null;
  tools: { name?: string; description?: string }[] | null;
}

interface Props {
  run: string;
  message: Message;
  /** The reply before it, by its record; 0: there was none. */
  earlier: number;
  close: () => void;
}

const PROOFS: Record<string, string> = {
  "as sent": "What went to the model, rebuilt from the journal and checked against its digest. Keys are never recorded.",
  differs: "This is not what was sent: it has another digest than the one that was recorded.",
  erased: "A turn that was in it was erased since, so it is unknown whether the rest is as it was sent.",
  "not recorded": "Rebuilt from the journal. No digest was recorded with it, so nothing vouches for it.",
};

export function ExactRequest({ run, message: m, earlier, close }: Props) {
  const [tab, setTab] = useState("request");
  const read = (seq: number, s: AbortSignal): Promise<RequestView | undefined> =>
    get<Page<RequestView>>(`/runs/${at(run)}/requests`, { seq }, s).then((page) => page.items[0]);
  const { data, error, again } = useLoaded(
    async (s) => ({ one: await read(m.seq, s), old: earlier ? await read(earlier, s) : undefined }),
    [m.seq],
  );
  const one = data?.one;
  const proof = one?.proof ?? "";
  return (
    <Dialog
      title="Exact request"
      side
      close={close}
      lead={
        one ? (
          <p class={`sm ${proof === "differs" ? "fail" : "t2"}`} data-proof={proof}>
            {PROOFS[proof] ?? proof} {one.digest ? <span class="mono">{grouped(one.digest)}</span> : null}
          </p>
        ) : null
      }
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button keys="esc" onClick={close}>
              Close
            </Button>
          </span>
          <Button look="p" off={one ? "" : "it is not read yet"} onClick={() => void copy(json(one?.request, 2)).then(() => say("Copied."))}>
            Copy as JSON
          </Button>
        </>
      }
    >
      {error ? <Failure error={error} again={again} /> : null}
      {!data && !error ? <Skeleton rows={3} row={(n) => <div class="msg skel-msg" key={n} />} /> : null}
      {one ? (
        <>
          <Tabs
            label="Request or answer"
            look="uline"
            on={tab}
            go={(t) => setTab(t.id)}
            tabs={[
              { id: "request", word: "Request", to: location.pathname },
              { id: "answer", word: "Answer", to: location.pathname },
            ]}
          />
          {tab === "request" ? <Asked one={one} message={m} had={data?.old?.messages ?? 0} /> : <Answer message={m} />}
        </>
      ) : null}
    </Dialog>
  );
}

function Asked({ one, message: m, had }: { one: RequestView; message: Message; had: number }) {
  const sent = one.request as unknown as SentRequest | null;
  if (!sent) return null;
  const fresh = Math.max(0, sent.messages.length - had);
  const tools = sent.tools ?? [];
  return (
    <>
      <dl class="kv gap-top">
        <dt>Model</dt>
        <dd class="mono">
          <Visible text={one.model || m.name || "not recorded"} />
        </dd>
        <dt>Settings</dt>
        <dd class="mono">
          {sent.settings && Object.keys(sent.settings).length ? <Value value={sent.settings} /> : <span class="t3">those of the provider</span>}
        </dd>
        <dt>Tokens</dt>
        <dd class="num">
          {many(m.usage.input_tokens ?? 0)} in ({many(m.usage.cache_read_tokens ?? 0)} cached) · {many(m.usage.output_tokens ?? 0)} out
        </dd>
        <dt>Took</dt>
        <dd>{duration(m.took)}</dd>
      </dl>
      {sent.instructions ? (
        <Block title="System prompt">
          <LongText text={sent.instructions} limit={1500} />
        </Block>
      ) : null}
      <Block title={`Messages, ${many(sent.messages.length)}`} note={had && fresh < sent.messages.length ? `the last ${many(fresh)} are new` : ""}>
        {sent.messages.map((one, n) => (
          <div key={n}>
            <b>{ROLES[one.type] ?? one.type}</b>{" "}
            {one.tool ? (
              <b>
                <Visible text={one.tool} />{" "}
              </b>
            ) : null}
            <Said message={one} />
          </div>
        ))}
      </Block>
      {tools.length ? (
        <Block title={`Tools offered, ${many(tools.length)}`}>
          {tools.map((tool, n) => (
            <details key={n}>
              <summary>
                <b>
                  <Visible text={tool.name ?? ""} />
                </b>{" "}
                <span class="t2">
                  <Visible text={(tool.description ?? "").split("\n")[0] ?? ""} />
                </span>
              </summary>
              <Value value={tool} limit={4000} />
            </details>
          ))}
        </Block>
      ) : null}
    </>
  );
}

const ROLES: Record<string, string> = { user: "user", assistant: "assistant", result: "tool" };

function Said({ message: m }: { message: SentRequest["messages"][number] }) {
  if (m.type === "result") return typeof m.content === "string" ? <LongText text={m.content} /> : <Value value={m.content} />;
  if (m.parts) return <Parts parts={m.parts} />;
  return <LongText text={m.text ?? ""} limit={1500} />;
}

function Parts({ parts }: { parts: Part[] }) {
  return (
    <>
      {parts.map((p, n) =>
        p.type === "call" ? (
          <div key={n}>
            → <Visible text={p.tool ?? ""} /> <Value value={p.args} />
          </div>
        ) : p.text !== undefined ? (
          <LongText key={n} text={p.text} limit={1500} />
        ) : (
          <Value key={n} value={p} />
        ),
      )}
    </>
  );
}

function Answer({ message: m }: { message: Message }) {
  return (
    <Block title={m.parts.length ? count(m.parts.length, "part") : "Text"}>
      {m.parts.length ? <Parts parts={m.parts} /> : <LongText text={m.text} limit={4000} />}
      {m.flaw ? <div class="fail">{m.flaw}</div> : null}
    </Block>
  );
}

function Block({ title, note = "", children }: { title: string; note?: string; children: preact.ComponentChildren }) {
  return (
    <section class="gap-top">
      <div class="row">
        <h2 class="grow lb">{title}</h2>
        <span class="sm t3">{note}</span>
      </div>
      <div class="mono rawv sentbox">{children}</div>
    </section>
  );
}
