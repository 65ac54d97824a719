/** Two runs beside each other: where they part, and what differs. */
import { useState } from "preact/hooks";
import { at, get } from "../api";
import { Top } from "../frame";
import { useKeys } from "../keys";
import { wear } from "../late_style";
import { useLoaded } from "../loading";
import { Link, query, setQuery, to } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { Button, Icon, Pill, RunId } from "../ui";
import { Visible } from "../visible";
import { argumentLine, count, duration, exactTime, gist, json, many, money } from "../words";
import { lookOf, nameOf } from "../run/tree";
import type { Step } from "../types";
import { Parted } from "./parted";
import type { ComparedEffect, ComparedRun, ComparedStep, RunComparison, StepPair } from "../generated/types";
import css from "./compare.late.css";

wear(css);

export function ComparePage() {
  const left = query.value.get("left") ?? "";
  const right = query.value.get("right") ?? "";
  if (!left || !right) {
    return (
      <main class="plain-page">
        <Top title="Compare" />
        <Empty icon="runs" title="Choose two runs" whole>
          <p class="t2">Choose two in the list of runs, then Compare.</p>
        </Empty>
      </main>
    );
  }
  return <Two key={`${left} ${right}`} left={left} right={right} />;
}

function Two({ left, right }: { left: string; right: string }) {
  const { data, error, again } = useLoaded((s) => get<RunComparison>(`/runs/${at(left)}/compare`, { other: right }, s), []);
  const [all, setAll] = useState(false);
  useKeys({ n: () => step(1), p: () => step(-1) });
  return (
    <main class="plain-page">
      <Top title="Compare" />
      <nav class="row sm t3 trail" aria-label="Where you are">
        <Link to="/runs">Runs</Link>
        <Icon name="right" /> Compare
      </nav>
      <div class="row head wrap">
        <h1 class="grow">{data?.relation === "fork" ? "A fork beside its origin" : data?.relation === "again" ? "A run and its repetition" : "Two runs"}</h1>
        <label class="row">
          <input type="checkbox" checked={!all} onChange={(e) => setAll(!e.currentTarget.checked)} /> Only what differs
        </label>
        <Button onClick={() => setQuery({ left: right, right: left })} name="swap">
          Swap
        </Button>
      </div>
      {error && !data ? <Failure whole error={error} again={again} /> : null}
      {!data && !error ? <Skeleton rows={4} row={() => <div class="skel-run" />} /> : null}
      {data ? <Shown data={data} all={all} showAll={() => setAll(true)} /> : null}
    </main>
  );
}

/** To the next difference, or the one before. */
function step(by: number): void {
  const found = [...document.querySelectorAll<HTMLElement>(".cp-pair[tabindex]")];
  const now = found.indexOf(document.activeElement as HTMLElement);
  found[Math.min(found.length - 1, Math.max(0, now + by))]?.focus();
}

const same = (p: StepPair): boolean => p.left !== null && p.right !== null && !p.differs.length;

/** What each of the two is called: of a fork, which one was there first. */
function namesOf(data: RunComparison): [string, string] {
  const first = data.left.run_id === data.origin;
  if (data.relation === "fork") return first ? ["Origin", "Fork"] : ["Fork", "Origin"];
  if (data.relation === "again") return first ? ["First run", "Again"] : ["Again", "First run"];
  return ["Left", "Right"];
}

function Shown({ data, all, showAll }: { data: RunComparison; all: boolean; showAll: () => void }) {
  const pairs = data.steps.filter((p) => all || !same(p));
  const names = namesOf(data);
  return (
    <>
      <Summary data={data} names={names} />
      <section class="card cp" aria-label="Steps">
        <div class="cp-heads">
          <Head run={data.left} name={names[0]} />
          <Head run={data.right} name={names[1]} />
        </div>
        <p class="cp-note">
          {pairs.length ? `${count(data.same, "step is", "steps are")} the same at the beginning.` : "No step differs."} {inheritedWords(data)}{" "}
          {!all && data.same ? (
            <button type="button" class="link" onClick={showAll}>
              Show
            </button>
          ) : null}{" "}
          <span class="cp-key">
            <mark>marked</mark> only this run has it
          </span>{" "}
          <span class="cp-key">
            <i class="alone" /> no such step
          </span>
          {data.cut ? " Only the first 1,000 steps are compared." : ""}
        </p>
        <ol>
          {pairs.map((p, n) => (
            <Pair key={n} pair={p} names={names} />
          ))}
        </ol>
      </section>
      <Totals data={data} names={names} />
    </>
  );
}

/** What of it the fork did not do itself. */
function inheritedWords(data: RunComparison): string {
  if (data.relation !== "fork") return "";
  if (!data.inherited) return "The fork inherited none: it did every step itself.";
  return `The fork inherited ${count(data.inherited, "step", "steps")} and did not run ${data.inherited === 1 ? "it" : "them"} again.`;
}

/** What somebody wants to know first, in a sentence. */
function Summary({ data, names }: { data: RunComparison; names: [string, string] }) {
  const other = data.steps.filter((p) => p.differs.length).length;
  const [left, right] = [data.steps.filter((p) => !p.right).length, data.steps.filter((p) => !p.left).length];
  if (!other && !left && !right) return <p class="cp-sum">They did the same.</p>;
  const parts = [
    other ? `${count(other, "step differs", "steps differ")}` : "",
    left ? `${count(left, "step is", "steps are")} only in ${inside(names[0])}` : "",
    right ? `${count(right, "step is", "steps are")} only in ${inside(names[1])}` : "",
  ].filter(Boolean);
  return (
    <p class="cp-sum" data-summary>
      {parts.join(" · ")}
    </p>
  );
}
const inside = (name: string): string => (name === "Left" || name === "Right" ? `the ${name.toLowerCase()} one` : name === "Again" ? "the repetition" : `the ${name.toLowerCase()}`);

function Head({ run, name }: { run: ComparedRun; name: string }) {
  return (
    <div data-side={run.run_id}>
      <div class="row">
        <span class="tag grow-0">{name}</span>
        <span class="grow" />
        <Pill status={run.status} />
      </div>
      <b>
        <Link to={to("runs", run.run_id)}>
          <Visible text={run.title || run.agent} />
        </Link>
      </b>
      <span class="sm t3">
        <Visible text={run.agent} /> · <RunId id={run.run_id} /> · {exactTime(run.created_at)}
        {run.started_by ? " · by " : ""}
        <Visible text={run.started_by} />
      </span>
    </div>
  );
}

function Pair({ pair, names }: { pair: StepPair; names: [string, string] }) {
  const differs = !same(pair);
  return (
    <li
      class={pair.differs.length ? "cp-pair differs" : "cp-pair"}
      data-differs={pair.differs.join(" ") || undefined}
      tabIndex={differs ? -1 : undefined}
    >
      <Side step={pair.left} other={pair.right} differs={pair.differs} name={names[0]} />
      <Side step={pair.right} other={pair.left} differs={pair.differs} name={names[1]} />
    </li>
  );
}

const lineOf = (step: ComparedStep): string => (step.said === null ? step.text : gist(step.said));

function timeOf(step: ComparedStep): string {
  if (step.inherited) return "inherited";
  if (step.status === "denied" || step.status === "expired") return "did not run";
  return step.took === null ? "" : duration(step.took);
}

function Side({ step, other, differs, name }: { step: ComparedStep | null; other: ComparedStep | null; differs: readonly string[]; name: string }) {
  if (!step) {
    return (
      <div class="alone">
        <span class="cp-name">{name}: no such step</span>
      </div>
    );
  }
  const { glyph, tone } = lookOf(step as unknown as Step);
  const has = (field: string): boolean => differs.includes(field);
  const line = lineOf(step);
  const result = has("result") && step.result !== null ? gist(step.result) : "";
  const status = has("status") ? step.status : "";
  return (
    <div>
      <span class="cp-name">{name}</span>
      <span class="took sm t3">{timeOf(step)}</span>
      <span class={tone}>
        <Icon name={glyph} />
      </span>{" "}
      <b>
        <Visible text={nameOf(step as unknown as Step)} />
      </b>{" "}
      <span class="sm t3">
        <Visible text={step.place.length ? step.place.slice(0, -1).join(" › ") : step.call_id} />
      </span>{" "}
      {step.arguments === null ? (
        <span class="t2">
          <Parted mine={line} theirs={other && (has("text") || has("said")) ? lineOf(other) : null} />
        </span>
      ) : (
        <Arguments mine={step.arguments} theirs={has("arguments") && other ? other.arguments : undefined} />
      )}
      {status || step.note ? (
        <div class="sm t2">
          {status ? (
            <mark>
              <Visible text={status} />
            </mark>
          ) : null}
          {status && step.note ? " · " : ""}
          <Visible text={step.note} />
        </div>
      ) : null}
      {result && result !== line ? (
        <div class="sm t2">
          result <Parted mine={result} theirs={other && other.result !== null ? gist(other.result) : null} />
        </div>
      ) : null}
      {has("error") && step.error ? (
        <div class="sm fail">
          <Visible text={step.error} />
        </div>
      ) : null}
    </div>
  );
}

const byName = (args: unknown): [string, string][] =>
  args && typeof args === "object" && !Array.isArray(args) ? Object.entries(args).map(([k, v]) => [k, json(v)]) : [["", json(args)]];

/** Every argument with its name; of one that the other has otherwise, what is different in it. */
function Arguments({ mine, theirs }: { mine: unknown; theirs?: unknown }) {
  const others = theirs === undefined ? null : new Map(byName(theirs));
  return (
    <code>
      {byName(mine).map(([name, value], n) => {
        const other = others?.get(name);
        return (
          <span key={name} data-argument={name}>
            {n ? ", " : ""}
            <span class="t3">
              <Visible text={name} />
            </span>{" "}
            {others === null || other === value ? (
              <Visible text={value.slice(0, 300)} />
            ) : other === undefined || !value.startsWith('"') ? (
              <mark>
                <Visible text={value.slice(0, 300)} />
              </mark>
            ) : (
              <Parted mine={value} theirs={other} />
            )}
          </span>
        );
      })}
    </code>
  );
}

/** What it changed, and whether that still stands and whose it is. */
function effectWords(call: ComparedEffect): string {
  const since = [call.inherited ? "by the origin" : "", call.undone ? "undone" : ""].filter(Boolean).join(", ");
  return `${call.tool} ${argumentLine(call.arguments, 40)}`.trim() + (since ? ` (${since})` : "");
}

function Totals({ data, names }: { data: RunComparison; names: [string, string] }) {
  const { left, right } = data;
  const tokens = (r: ComparedRun): number => r.usage.input_tokens + r.usage.output_tokens;
  const world = (r: ComparedRun): string => r.effects.map(effectWords).join(", ") || "nothing";
  const signed = (n: number, word: (n: number) => string): string => (n ? `${n < 0 ? "−" : "+"}${word(Math.abs(n))}` : "the same");
  const rows: [string, string, string, string][] = [
    ["Input", gist(left.input), gist(right.input), gist(left.input) === gist(right.input) ? "the same" : "different"],
    ["Worked", duration(left.worked), duration(right.worked), signed(right.worked - left.worked, duration)],
    ["Waited", duration(left.waited), duration(right.waited), signed(right.waited - left.waited, duration)],
    ["Tokens", many(tokens(left)), many(tokens(right)), signed(tokens(right) - tokens(left), many)],
    ...(left.usage.cost || right.usage.cost
      ? [["Cost", money(left.usage.cost), money(right.usage.cost), signed(right.usage.cost - left.usage.cost, money)] as [string, string, string, string]]
      : []),
    ["Changed the world", world(left), world(right), world(left) === world(right) ? "the same" : "different"],
  ];
  return (
    <section class="card cp" aria-label="Totals">
      <table>
        <thead>
          <tr>
            <td />
            <th scope="col">{names[0]}</th>
            <th scope="col">{names[1]}</th>
            <th scope="col">Difference</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(([name, one, two, difference]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td data-of={names[0]}>
                <Visible text={one} />
              </td>
              <td data-of={names[1]}>
                <Visible text={two} />
              </td>
              <td data-of="Difference">{difference}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}
