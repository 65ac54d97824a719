/** One run: what it does, why it waits, every step; and the verbs. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { now } from "../api";
import { forkOf, hostOf } from "../ids";
import { useKeys } from "../keys";
import { later } from "../later";
import { wear } from "../late_style";
import { tick } from "../live";
import { about, back, go, href, Link, place, query, setQuery, to } from "../router";
import { row, summaryOf } from "../rows";
import { shownStatus } from "../runs/row";
import { Failure, Skeleton } from "../states";
import { HaltButton } from "../halt";
import { Icon, Pill, RunId, say, STATUSES, Tabs } from "../ui";
import { Lines } from "../values";
import { Visible, visible } from "../visible";
import { duration, many, money, rough, shortId } from "../words";
import { Callout } from "./callout";
import { Composer } from "./composer";
import { RunModel } from "./model";
import { Panel } from "./panel";
import { firstChoice, linesOf, type Line } from "./tree";
import { ENDED, PhoneVerbs, reasons, usePause, Verbs, type Ask } from "./verbs";
import { following, Switches, Waterfall } from "./waterfall";
import type { RunSummary as Run, RunView as RunState } from "../generated/types";
import type { Step } from "../types";
import style from "./run.late.css";

wear(style);

// What only some look at, and never first.
const tabs = () => import("./tabs");
const Picture = later(async () => (await tabs()).Picture, true);
const Conversation = later(async () => (await tabs()).Conversation, true);
const Journal = later(async () => (await tabs()).Journal, true);
const Checkpoint = later(async () => (await tabs()).Checkpoint, true);
const Children = later(async () => (await tabs()).Children, true);
const StandingList = later(async () => (await import("./standing")).StandingList, true);
const CancelDialog = later(async () => (await tabs()).CancelDialog, true);
const ForkDialog = later(async () => (await tabs()).ForkDialog, true);
const Origin = later(async () => (await import("../origin")).Origin, true);
const AgainDialog = later(async () => (await import("./again")).AgainDialog, true);
const ResumeDialog = later(async () => (await tabs()).ResumeDialog, true);

export function RunPage({ id }: { id: string }) {
  const model = useMemo(() => new RunModel(id), [id]);
  useEffect(() => () => model.end(), [model]);
  useEffect(() => {
    document.body.classList.add("on-run");
    return () => document.body.classList.remove("on-run");
  }, []);
  const state = model.state.value;
  if (model.error.value && !state) {
    return (
      <main>
        <Failure whole error={model.error.value} again={() => void model.begin()} />
      </main>
    );
  }
  if (!state) {
    return (
      <main>
        <Skeleton rows={1} row={() => <div class="skel-run" />} />
      </main>
    );
  }
  return <Shown model={model} state={state} />;
}

const TABS = ["timeline", "conversation", "picture", "children", "journal", "checkpoint"];

function Shown({ model, state }: { model: RunModel; state: RunState }) {
  const run = row(state.run_id)?.value ?? summaryOf(state);
  const [ask, setAsk] = useState<Ask>("");
  const [closed, setClosed] = useState<ReadonlySet<string>>(new Set());
  const [drawer, setDrawer] = useState(false);
  const [from, setFrom] = useState<Step | null>(null);
  const field = useRef<HTMLTextAreaElement>(null);
  const { send: pause } = usePause(run);
  const steps = model.steps.value;
  const lines = useMemo(() => linesOf(steps, model.thinking.value, closed, run.agent), [steps, model.thinking.value, closed]);
  const wanted = query.value.get("step");
  const chosen = wanted ? lines.find((l) => l.step.call_id === wanted || `@${l.step.first_seq}` === wanted)?.step : undefined;
  const selected = chosen ?? firstChoice(lines, state);
  const named = place.value[2] ?? "";
  const tab = TABS.includes(named) && !(named === "conversation" && run.kind === "flow") ? named : "timeline";
  const alive = !ENDED.includes(run.status);
  const off = reasons(run);
  const origin = state.forked_from ? forkOf(state.forked_from).run : "";
  useAnnounced(run);
  useEffect(() => {
    about.value = visible((run.title || run.agent).slice(0, 60));
    return () => {
      about.value = "";
    };
  }, [run.title]);
  const select = (step: Step, open = false): void => {
    setQuery({ step: step.call_id || `@${step.first_seq}` });
    if (open) setDrawer(true);
  };
  const speak = (): void => {
    if (tab !== "timeline") go(to("runs", run.run_id), { replace: true });
    requestAnimationFrame(() => {
      field.current?.scrollIntoView({ block: "center" });
      field.current?.focus();
    });
  };
  const open = (what: Ask): void => {
    setFrom(null);
    setAsk(what);
  };
  useKeys({
    s: () => off.say || speak(),
    p: () => pause(false),
    r: () => off.resume || open("resume"),
    f: () => off.fork || open("fork"),
    g: () => (following.value = true),
    Escape: () => (drawer ? setDrawer(false) : back("/runs")),
  });
  const panel = selected ? (
    <Panel
      step={selected}
      state={state}
      total={model.clock.value.seq}
      text={model.texts.value.get(selected.path)}
      close={() => setDrawer(false)}
      fork={() => {
        setFrom(selected);
        setAsk("fork");
      }}
      record={(n) => go(`${to("runs", run.run_id, "journal")}?record=${n}`)}
    />
  ) : null;
  return (
    <main class="run-page" data-run={run.run_id} data-status={run.status}>
      <PhoneTop run={run} />
      <nav class="row sm t3 trail" aria-label="Where you are">
        <Link to="/runs">Runs</Link>
        <Icon name="right" />
        <Link to={`/runs?q=${encodeURIComponent(`agent:${run.agent}`)}`}>
          <Visible text={run.agent} />
        </Link>
        <Icon name="right" />
        <RunId id={run.run_id} />
        {state.started_by ? (
          <span>
            · started by <Visible text={state.started_by} />
          </span>
        ) : null}
        {run.session ? (
          <Link to={`/runs?q=${encodeURIComponent(`session:${run.session}`)}`}>
            session <Visible text={run.session} />
          </Link>
        ) : null}
        {Object.entries(run.labels).map(([k, v]) => (
          <Link key={k} class="tag" to={`/runs?q=${encodeURIComponent(`label:${k}=${v}`)}`}>
            <Visible text={`${k}=${v}`} />
          </Link>
        ))}
        {origin ? (
          <span>
            · forked from <Link to={to("runs", origin)}>{shortId(origin)}</Link> <Link to={beside(origin, run.run_id)}>compare</Link>
          </span>
        ) : null}
        {state.again_of ? (
          <span data-again>
            · again of <Link to={to("runs", state.again_of)}>{state.again_of}</Link>{" "}
            <Link to={beside(state.again_of, run.run_id)}>compare</Link>
          </span>
        ) : null}
      </nav>
      <div class="row start title">
        <Title text={run.title || run.agent} />
        <Verbs run={run} ask={open} speak={speak} />
      </div>
      <div class="row facts-row">
        <Pill status={shownStatus(run, state.now.tools)} />
        <Facts model={model} state={state} run={run} lines={lines} />
      </div>
      <Callout state={{ ...state, ...run }} lines={lines} resume={off.resume ? null : () => open("resume")} />
      {state.forked_from ? <Origin forkedFrom={state.forked_from} run={run.run_id} /> : null}
      {steps.some((s) => s.decision?.stands) ? <StandingList run={run.run_id} seq={model.clock.value.seq} /> : null}
      <div class={`split ${drawer ? "drawn" : ""}`}>
        <div class="left">
          <RunTabs run={run} state={state} tab={tab} seq={model.clock.value.seq} />
          {tab === "timeline" ? (
            <>
              <Waterfall
                model={model}
                lines={lines}
                alive={alive}
                selected={selected}
                select={select}
                fold={(id, on) => setClosed((old) => folded(old, id, on))}
              >
                <LiveText model={model} lines={lines} run={run} />
              </Waterfall>
              <Composer run={run} questions={state.interrupts} field={field} />
            </>
          ) : tab === "conversation" ? (
            <Conversation model={model} />
          ) : tab === "picture" ? (
            <Picture state={state} steps={steps} selected={selected} select={select} />
          ) : tab === "children" ? (
            <Children state={state} steps={steps} open={(s) => go(`${to("runs", run.run_id)}?step=${encodeURIComponent(s.call_id)}`)} />
          ) : tab === "journal" ? (
            <Journal model={model} />
          ) : (
            <Checkpoint run={run} />
          )}
        </div>
        {tab === "timeline" || tab === "picture" ? <div class="drawer">{panel}</div> : null}
      </div>
      <PhoneVerbs run={run} ask={open} speak={speak} />
      {ask === "resume" ? <ResumeDialog run={run} steps={state.steps} close={() => setAsk("")} /> : null}
      {ask === "fork" ? <ForkDialog run={run} step={from} close={() => setAsk("")} /> : null}
      {ask === "again" ? <AgainDialog run={run} state={state} close={() => setAsk("")} fork={() => open("fork")} /> : null}
      {ask === "cancel" ? (
        <CancelDialog run={run} steps={steps} close={() => setAsk("")} pause={off.pause ? null : () => pause(false)} />
      ) : null}
    </main>
  );
}

/** The address of two runs beside each other. */
const beside = (left: string, right: string): string => `/compare?${new URLSearchParams({ left, right })}`;

function folded(old: ReadonlySet<string>, id: string, on: boolean): ReadonlySet<string> {
  const next = new Set(old);
  if (on) next.delete(id);
  else next.add(id);
  return next;
}

/** A screen reader hears of a new status once it is recorded. */
function useAnnounced(run: Run): void {
  const before = useRef(run.status);
  useEffect(() => {
    if (before.current !== run.status) say(`${STATUSES[run.status]?.[2] ?? run.status}: ${run.title || run.agent}.`);
    before.current = run.status;
  }, [run.status]);
}

/** The input: two lines, then more. */
function Title({ text }: { text: string }) {
  const [all, setAll] = useState(false);
  const long = text.length > 130;
  return (
    <h1 class={`grow ${all ? "" : "two"}`} tabIndex={-1}>
      <Visible text={long && !all ? text.slice(0, 400) : text} />
      {long ? (
        <button type="button" class="link sm t3 more" onClick={() => setAll(!all)}>
          {all ? "less" : "more"}
        </button>
      ) : null}
    </h1>
  );
}

function Facts({ model, state, run, lines }: { model: RunModel; state: RunState; run: Run; lines: Line[] }) {
  const c = model.clock.value;
  const works = run.status === "running" || run.status === "pausing" || run.status === "cancelling";
  const rests = !works && !ENDED.includes(run.status);
  if (works || rests) tick.value;
  const since = Math.max(0, now() - c.now);
  const last = lines.findLast((l) => l.step.status === "running" && l.step.kind !== "agent")?.step ?? lines.at(-1)?.step;
  const done = lines.filter((l) => l.step.status === "completed" && l.step.kind === "chunk").length;
  const flow = run.kind === "flow";
  const u = state.usage;
  return (
    <dl class="facts num">
      {flow ? (
        <Fact name="Chunks" value={chunks(lines, done)} />
      ) : (
        <Fact name="Step" value={last?.call_id && last.kind !== "writing" ? last.call_id : String(state.steps + (works ? 1 : 0))} />
      )}
      <Fact name="Worked" value={duration(c.worked + (works ? since : 0))} />
      {rests || c.waited >= 1 ? <Fact name="Waited" value={duration(c.waited + (rests ? since : 0))} /> : null}
      {u.requests ? <Fact name="Tokens" value={many(u.input_tokens + u.output_tokens)} /> : null}
      {u.requests && u.cost ? <Fact name="Cost" value={`${money(u.cost)}${u.estimated ? ", estimated" : ""}`} /> : null}
      {run.worker ? (
        <Fact name="Worker" value={hostOf(run.worker)} title={`${run.worker}, epoch ${run.epoch}`} />
      ) : null}
    </dl>
  );
}

function chunks(lines: Line[], done: number): string {
  const of = (status: string): number => lines.filter((l) => l.step.kind === "chunk" && l.step.status === status).length;
  const parts = [`${done} done`, of("running") ? `${of("running")} running` : "", of("waiting") ? `${of("waiting")} waiting` : ""];
  return parts.filter(Boolean).join(", ");
}

function Fact({ name, value, title }: { name: string; value: string; title?: string }) {
  return (
    <div data-fact={name.toLowerCase()} title={title}>
      <dt>{name}</dt>
      <dd>
        <Visible text={value} />
      </dd>
    </div>
  );
}

function RunTabs({ run, state, tab, seq }: { run: Run; state: RunState; tab: string; seq: number }) {
  const path = (id: string): string => to(...["runs", run.run_id, ...(id === "timeline" ? [] : [id])]);
  const tabs = [
    { id: "timeline", word: "Timeline" },
    ...(run.kind === "flow" ? [] : [{ id: "conversation", word: "Conversation" }]),
    ...(state.graph ? [{ id: "picture", word: "Picture" }] : []),
    { id: "children", word: "Children", n: state.children.length || null },
    { id: "journal", word: "Journal", n: many(seq) },
    { id: "checkpoint", word: "Checkpoint" },
  ].map((t) => ({ ...t, to: href(path(t.id)) }));
  return (
    <div class="uline">
      <Tabs look="uline" label="Views of this run" on={tab} tabs={tabs} go={(t) => go(path(t.id), { replace: true })} />
      <span class="grow" />
      {tab === "timeline" ? <Switches /> : null}
    </div>
  );
}

/** What is being written, under the timeline, agent by agent. */
function LiveText({ model, lines, run }: { model: RunModel; lines: Line[]; run: Run }) {
  const texts = [...model.texts.value].filter(([, text]) => text);
  if (!texts.length || ENDED.includes(run.status)) return null;
  return (
    <>
      {texts.map(([path, text]) => {
        const agent = path ? lines.find((l) => l.step.call_id === path)?.step.name : run.agent;
        return (
          <div class="say" key={path} data-live={path || "root"}>
            <div class="row sm t3">
              <span class="run turning">
                <Icon name="run" />
              </span>
              {path ? `${path} ` : ""}
              <Visible text={agent ?? ""} /> is writing
            </div>
            <p class="prose">
              {text.length > 6000 ? "…" : ""}
              <Lines text={text.slice(-6000)} />
              <span class="caret" />
            </p>
          </div>
        );
      })}
    </>
  );
}

function PhoneTop({ run }: { run: Run }) {
  return (
    <div class="top">
      <button type="button" class="bare link" aria-label="Back" onClick={() => back("/runs")}>
        <Icon name="left" size="m" />
      </button>
      <div class="grow">
        <b class="clip block">
          <Visible text={run.title || run.agent} />
        </b>
        <div class="sm t3 clip">
          <Visible text={run.agent} /> · {rough(now() - run.created_at)}
        </div>
      </div>
      <Pill status={run.status} />
      <HaltButton top />
    </div>
  );
}
