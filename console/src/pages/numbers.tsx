/** Numbers: where money goes, what breaks, and how long people let agents wait. */
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { get } from "../api";
import { Top } from "../frame";
import { useLoaded } from "../loading";
import { Link, query, setQuery } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { TableHead } from "../ui";
import { Visible } from "../visible";
import { clock, count, duration, many, money } from "../words";
import type { AnswerNumbers, NumbersView, RunNumbers, ToolNumbers, WaitNumbers } from "../generated/types";
import { wear } from "../late_style";
import { Bars, Key, Lines, Waits } from "./numbers_chart";
import style from "./numbers.late.css";

wear(style);

const DAY = 86400;
type Span = readonly [id: string, word: string, seconds: number];
const SPANS: readonly Span[] = [
  ["24h", "24 h", DAY],
  ["7d", "7 d", 7 * DAY],
  ["14d", "14 d", 14 * DAY],
  ["90d", "90 d", 90 * DAY],
];

const span = (seconds: number | null): string => (seconds === null ? "–" : duration(seconds));
/** One digit behind the point, where it says something. */
const percent = (part: number, whole: number): string => (whole ? `${((100 * part) / whole).toFixed(1).replace(/\.0$/, "")} %` : "–");
/** How the runs ended that did not fail, and how many have not ended. */
const endings = (n: RunNumbers): string =>
  [
    `${many(n.completed)} completed`,
    n.stopped ? `${many(n.stopped)} stopped` : "",
    n.cancelled ? `${many(n.cancelled)} cancelled` : "",
    `${many(n.open)} open`,
  ]
    .filter(Boolean)
    .join(", ");

/** What cost nothing says so without cents. */
const cash = (n: number): string => (n ? money(n) : "$0");
const LEAST = 6;

/** Without the hours or days before the first run: on the first day nearly all of them are empty. */
function begun(data: NumbersView): NumbersView {
  const first = data.times.findIndex((n) => n.runs);
  return { ...data, times: data.times.slice(Math.max(0, Math.min(first, data.times.length - LEAST))) };
}

const tokens = (n: RunNumbers): number => n.input_tokens + n.output_tokens;

/** The numbers of a span. Without one: of fourteen days, or on the first day of that day by the hour. */
async function read(wanted: string, signal: AbortSignal): Promise<{ span: string; view: NumbersView }> {
  const of = async (span: Span): Promise<{ span: string; view: NumbersView }> => {
    // whole minutes: who looks at the same time is counted for once
    const until = (Math.floor(Date.now() / 60000) + 1) * 60;
    const asked = { since: until - span[2], until, offset: -new Date().getTimezoneOffset() };
    return { span: span[0], view: await get<NumbersView>("/numbers", asked, signal) };
  };
  const chosen = SPANS.find(([id]) => id === wanted);
  if (chosen) return of(chosen);
  const wide = await of(SPANS[2]!);
  return wide.view.times.slice(0, -1).some((n) => n.runs) || !wide.view.total.runs ? wide : of(SPANS[0]!);
}

export function NumbersPage() {
  const wanted = query.value.get("span") ?? "";
  const { data: found, error, again } = useLoaded((s) => read(wanted, s), [wanted]);
  const data = found?.view;
  const chosen = wanted || found?.span;
  return (
    <main class="plain-page">
      <Top title="Numbers" />
      <div class="row head">
        <h1 class="grow">Numbers</h1>
        <div class="seg" role="radiogroup" aria-label="Of which time">
          {SPANS.map(([id, word]) => (
            <button
              key={id}
              type="button"
              role="radio"
              aria-checked={chosen === id}
              class={chosen === id ? "on" : ""}
              onClick={() => setQuery({ span: id })}
            >
              {word}
            </button>
          ))}
        </div>
      </div>
      {error && !data ? <Failure whole error={error} again={again} /> : null}
      {!data && !error ? <Skeleton rows={3} row={() => <div class="skel-run" />} /> : null}
      {data && !data.total.runs ? (
        <Empty icon="numbers" title="No run began in this time" whole>
          <p class="t2">Choose a longer time, or start a run.</p>
        </Empty>
      ) : null}
      {data?.total.runs ? <Shown data={data} since={found?.span ?? ""} /> : null}
    </main>
  );
}

/** The same of as much time before; nothing if no run began then. */
function useBefore({ since, until }: NumbersView): RunNumbers | null {
  const asked = { since: 2 * since - until, until: since, offset: -new Date().getTimezoneOffset() };
  const { data } = useLoaded((s) => get<NumbersView>("/numbers", asked, s), [since, until]);
  return data?.until === since && data.total.runs ? data.total : null;
}

function Shown({ data: counted, since }: { data: NumbersView; since: string }) {
  const data = begun(counted);
  const was = useBefore(counted);
  const before = (say: (n: RunNumbers) => string): string => (was ? `${say(was)} in the ${SPANS.find(([id]) => id === since)?.[1] ?? "time"} before` : "");
  const { total } = data;
  const waits = total.waits;
  const all = tokens(total);
  return (
    <>
      <dl class="card nb-tops">
        <Figure name="Runs started" value={<Runs q="" since={since} n={total.runs} />} more={endings(total)} before={before((n) => many(n.runs))} />
        <Figure name="Failed" value={<Runs q="status:failed" since={since} n={total.failed} />} more={`${percent(total.failed, total.runs)} of the runs`} before={before((n) => percent(n.failed, n.runs))} />
        <Figure
          name="Spend"
          value={cash(total.cost)}
          more={`${cash(total.cost / total.runs)} a run${total.estimated ? ` · ${count(total.estimated, "run")} estimated` : ""}`}
          before={before((n) => cash(n.cost))}
        />
        <Figure name="Tokens" value={many(all)} more={`${percent(total.cache_read_tokens, total.input_tokens)} read from the cache`} before={before((n) => many(tokens(n)))} />
        <Figure
          name="People let agents wait"
          value={waits.half === null && waits.open ? <Link to="/inbox">{many(waits.open)} open</Link> : span(waits.half)}
          more={waits.answered ? `half of ${count(waits.answered, "answer")}; ${many(waits.expired)} expired, ${many(waits.open)} open` : `no answer yet; ${many(waits.expired)} expired`}
          before={before((n) => (n.waits.half === null ? "no answer" : span(n.waits.half)))}
        />
      </dl>
      <div class="nb-charts">
        <Waits
          data={data}
          title="How long people let agents wait"
          unit="from question to answer"
          keys={[<Key key="h" look="half" word="half were answered within" />, <Key key="s" look="slow" word="up to the slowest 5 %" />]}
          none={<Unanswered waits={waits} />}
        />
        <Bars
          data={data}
          title="Runs"
          unit="started"
          parts={[
            ["completed", "done", (n) => n.completed + n.stopped],
            ["open", "open", (n) => n.open],
            ["cancelled", "cancelled", (n) => n.cancelled],
            ["failed", "failed", (n) => n.failed],
          ]}
          say={many}
          none="No run began in this time."
        />
        <Bars
          data={data}
          title="Spend"
          unit="recorded price"
          parts={[["spend", "ink", (n) => n.cost]]}
          say={cash}
          none="Nothing was spent: no model call of these runs had a price."
        />
        <Lines data={data} />
      </div>
      <Answers data={data} />
      <Work data={data} since={since} />
      <p class="sm t3 nb-foot">
        Runs that began in this time, with all that they have done since, counted up to {clock(data.counted_at)}
        {data.complete ? "" : "; some have moved since"}. A run that is working is counted as it was when it last rested. {data.people ? "Times of single people are shown to admins and to themselves." : "Times of single people are off."}
      </p>
    </>
  );
}

function Figure({ name, value, more, before }: { name: string; value: ComponentChildren; more: string; before: string }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd class="v">{value}</dd>
      <dd class="sm t3">{more}</dd>
      {before ? (
        <dd class="sm t3" data-before>
          {before}
        </dd>
      ) : null}
    </div>
  );
}

/** In the place of the chart, as long as there is nothing to draw. */
function Unanswered({ waits }: { waits: WaitNumbers }) {
  return (
    <>
      <b>No answers yet.</b> {waits.open ? `${count(waits.open, "question waits", "questions wait")} for a person now. ` : ""}
      From the first answer on, this shows how long agents waited for it.
      {waits.open ? (
        <div>
          <Link to="/inbox" class="b">
            Open the inbox
          </Link>
        </div>
      ) : null}
    </>
  );
}

/** A number that opens the runs behind it. */
function Runs({ q, since, n }: { q: string; since: string; n: number }) {
  if (!n) return <>0</>;
  return <Link to={`/runs?q=${encodeURIComponent(`${q} since:${since}`.trim())}`}>{many(n)}</Link>;
}

function Segments<T extends string>({ label, all, on, set }: { label: string; all: readonly (readonly [T, string])[]; on: T; set: (id: T) => void }) {
  return (
    <div class="seg" role="radiogroup" aria-label={label}>
      {all.map(([id, word]) => (
        <button key={id} type="button" role="radio" aria-checked={on === id} class={on === id ? "on" : ""} onClick={() => set(id)}>
          {word}
        </button>
      ))}
    </div>
  );
}

/** What came of questions; the last is of those that a standing decision answered, so that nobody was asked. */
const MIX = [
  ["approved", "approved"],
  ["edited", "edited"],
  ["denied", "denied"],
  ["instead", "result given"],
  ["dismissed", "dismissed"],
  ["told", "answered"],
  ["stood", "by a standing decision"],
] as const;

function Answers({ data }: { data: NumbersView }) {
  const kinds: [string, string, readonly (AnswerNumbers | ToolNumbers)[]][] = [
    ["group", "Group", data.groups],
    ["tool", "Tool", data.tools.filter((t) => t.waits.asked || t.waits.stood)],
    ...(data.people ? [["person", "Person", data.people] as [string, string, readonly AnswerNumbers[]]] : []),
  ];
  const [on, set] = useState("");
  const kind = kinds.find(([id]) => id === on) ?? kinds.find(([, , rows]) => rows.length) ?? kinds[0]!;
  const mix = (w: WaitNumbers): string =>
    MIX.filter(([word]) => w[word])
      .map(([word, name]) => `${many(w[word])} ${name}`)
      .join(", ") || "–";
  return (
    <section class="card nb-tab" data-table="answers">
      <div class="row wrap">
        <h2 class="grow">Who answers, and how fast</h2>
        <Segments label="Answers by" all={kinds.map(([id, word]) => [id, word] as const)} on={kind[0]} set={set} />
      </div>
      <Table
        head={[kind[1], "Asked", "Answered", "Open", "Expired", "Half within", "Slowest 5 %", "How"]}
        rows={kind[2].map((r) => [
          <Visible key="n" text={r.name} />,
          many(r.waits.asked),
          many(r.waits.answered),
          r.waits.open ? <b key="o" class="wait">{many(r.waits.open)}</b> : "0",
          many(r.waits.expired),
          <Half key="h" of={r.waits.half} most={Math.max(...kind[2].map((x) => x.waits.half ?? 0))} />,
          span(r.waits.slow),
          mix(r.waits),
        ])}
        none={kind[0] === "group" ? "No question was put to a group." : "No question was asked."}
      />
    </section>
  );
}

/** A time, and beside it a bar: whose is long is seen before it is read. */
function Half({ of, most }: { of: number | null; most: number }) {
  return (
    <span class="nb-half">
      {of === null ? null : (
        <svg viewBox="0 0 60 8" aria-hidden="true">
          <rect width={Math.max(2, (60 * of) / (most || 1))} height="8" rx="2" style="fill:var(--wait-m)" />
        </svg>
      )}
      {span(of)}
    </span>
  );
}

function Work({ data, since }: { data: NumbersView; since: string }) {
  const [on, set] = useState<"agent" | "tool">("agent");
  const byAgent = data.agents.map((a) => [
    <Visible key="n" text={a.name} />,
    <Runs key="r" q={`agent:${quoted(a.name)}`} since={since} n={a.runs} />,
    a.failed ? <Runs key="f" q={`agent:${quoted(a.name)} status:failed`} since={since} n={a.failed} /> : "0",
    percent(a.failed, a.runs),
    cash(a.cost),
    cash(a.cost / a.runs),
    many(tokens(a)),
    span(a.waits.half),
  ]);
  const byTool = data.tools.map((t) => [
    <Visible key="n" text={t.name} />,
    many(t.calls),
    many(t.failed),
    percent(t.failed, t.calls),
    t.calls ? duration(t.took / t.calls) : "–",
    many(t.waits.asked),
    span(t.waits.half),
  ]);
  return (
    <section class="card nb-tab" data-table="work">
      <div class="row wrap">
        <h2 class="grow">By {on}</h2>
        <Segments label="Work by" all={[["agent", "Agent"], ["tool", "Tool"]]} on={on} set={set} />
      </div>
      {on === "agent" ? (
        <Table head={["Agent", "Runs", "Failed", "Failed share", "Spend", "Spend a run", "Tokens", "Half answered within"]} rows={byAgent} none="" />
      ) : (
        <Table head={["Tool", "Calls", "Failed", "Failed share", "Took, on average", "Asked", "Half answered within"]} rows={byTool} none="No tool was called." />
      )}
    </section>
  );
}

const quoted = (name: string): string => (/\s/.test(name) ? `"${name}"` : name);

function Table({ head, rows, none }: { head: string[]; rows: ComponentChildren[][]; none: string }) {
  if (!rows.length) return <p class="t3 pad">{none}</p>;
  return (
    <div class="nb-scroll" tabIndex={0} role="region" aria-label={head[0]}>
      <table>
        <TableHead columns={head} />
        <tbody>
          {rows.map((cells, n) => (
            <tr key={n}>
              {cells.map((c, k) => (k ? <td key={k} class={c === "0" || c === "–" || c === "0 %" || c === "$0" ? "zero" : ""} data-word={head[k]}>{c}</td> : <th key={k} scope="row">{c}</th>))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
