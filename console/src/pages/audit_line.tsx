/** A line of the audit: one sentence; opened, what it was about, who, from where, on what ground, and its place in the chain. */
import { at, get } from "../api";
import { isRun } from "../ids";
import { useLoaded } from "../loading";
import { Link, setQuery, to } from "../router";
import { Button, copy, Icon, say } from "../ui";
import { Values } from "../values";
import { Visible } from "../visible";
import { clock, exactTime, grouped, json, many, shortId } from "../words";
import type { AuditEntry, RunView } from "../generated/types";
import type { Page } from "../types";

const GLYPHS: Record<string, string> = {
  approve: "done", deny: "cancel", value: "done", halt: "halt", unhalt: "run", cancel: "undo", pause: "pause", resume: "run",
  start: "ready", fork: "ready", import: "ready",
};

/** Who, what, to which call, with which words. */
export function Sentence({ entry: e }: { entry: AuditEntry }) {
  const t = e.told;
  return (
    <span class="au-said">
      <b>
        <Visible text={t.who} />
      </b>{" "}
      <Visible text={t.did} />{" "}
      {t.tool ? <code><Visible text={t.tool} /></code> : null}
      <Visible text={t.what.slice(t.tool.length)} />
      {t.changes.map((c, n) => (
        <span key={c.name}>
          {n ? ", " : ": "}
          <Visible text={c.name} /> <s><Visible text={c.was || "–"} /></s> → <b><Visible text={c.now || "–"} /></b>
        </span>
      ))}
      {t.note ? (
        <>
          {t.changes.length ? ", " : ": "}“<Visible text={t.note} />”
        </>
      ) : null}
    </span>
  );
}

/** What stands under the sentence. */
function Beside({ entry: e }: { entry: AuditEntry }) {
  const facts = [
    e.agent && <span>{e.agent}</span>,
    isRun(e.run_id) && <code>{shortId(e.run_id)}</code>,
    e.told.void ? (
      <span class="fail" data-void>
        {e.told.void}
      </span>
    ) : e.refused ? (
      <span class="fail">
        refused: <Visible text={e.refused} />
      </span>
    ) : null,
    e.origin && (
      <>
        from <Visible text={e.origin} />
      </>
    ),
  ].filter(Boolean);
  return (
    <span class="au-side sm t3">
      {facts.map((fact, n) => (
        <span key={n}>
          {n ? " · " : ""}
          {fact}
        </span>
      ))}
    </span>
  );
}

export function Line({ entry: e, open }: { entry: AuditEntry; open: boolean }) {
  const bad = Boolean(e.refused || e.told.void);
  const glyph = bad ? "fail" : (GLYPHS[e.verdict || e.verb] ?? "audit");
  return (
    <li class={open ? "au open" : "au"} data-verb={e.verb} data-refused={e.refused ? "" : undefined}>
      <button type="button" class="au-row" aria-expanded={open} data-line={e.cursor} onClick={() => setQuery({ line: open ? null : e.cursor })}>
        <time class="t3 num" dateTime={new Date(e.at * 1000).toISOString()} title={exactTime(e.at)}>
          {clock(e.at)}
        </time>
        <span class={bad ? "fail" : "t2"}>
          <Icon name={glyph} />
        </span>
        <span class="au-text">
          <Sentence entry={e} />
          <Beside entry={e} />
        </span>
        <Icon name="chev" />
      </button>
      {open ? <Opened entry={e} /> : null}
    </li>
  );
}

const Fact = ({ name, text }: { name: string; text: string }) =>
  text ? (
    <div class="kvp">
      <dt>{name}</dt>
      <dd>
        <Visible text={text} />
      </dd>
    </div>
  ) : null;

function Opened({ entry: e }: { entry: AuditEntry }) {
  const more = Object.entries(e.more).filter(([, v]) => v !== "" && v !== null);
  const cancelled = useCancelled(e);
  const outcome = e.told.void ? `nothing: it ${e.told.void}` : e.refused ? `refused: ${e.refused}` : cancelled || (e.seq ? `record ${e.seq} of the run` : "done");
  return (
    <div class="au-open">
      <div class="au-two">
        {Object.keys(e.arguments).length ? (
          <section>
            <h3>What it was about</h3>
            <Values value={e.arguments} />
          </section>
        ) : null}
        <section>
          <h3>By whom, from where, on what ground</h3>
          <dl class="kv">
            <Fact name="When" text={exactTime(e.at)} />
            <Fact name="Who" text={e.by || "unknown"} />
            <Fact name="From" text={e.origin || "unknown"} />
            <Fact name="Run" text={isRun(e.run_id) ? `${e.title ? `${e.title} · ` : ""}${e.run_id}` : ""} />
            <Fact name="Agent" text={e.agent} />
            <Fact name="Tool" text={e.tool} />
            <Fact name="Interrupt" text={e.interrupt_id} />
            <Fact name="Rule" text={e.rules.join("; ")} />
            <Fact name="Shown" text={e.digest ? `digest ${grouped(e.digest)}` : ""} />
            {more.map(([name, value]) => (
              <Fact key={name} name={name.charAt(0).toUpperCase() + name.slice(1)} text={typeof value === "string" ? value : json(value)} />
            ))}
            <Fact name="Came of it" text={outcome} />
          </dl>
        </section>
      </div>
      <h3>Its place in the chain</h3>
      <Place entry={e} />
      <div class="row au-verbs">
        {isRun(e.run_id) ? (
          <Link class="b" to={to("runs", e.run_id)}>
            Open the run
          </Link>
        ) : null}
        {e.by ? <Button onClick={() => setQuery({ by: e.by, line: null })}>All by <Visible text={e.by} /></Button> : null}
        {e.tool ? <Button onClick={() => setQuery({ tool: e.tool, line: null })}>All on <Visible text={e.tool} /></Button> : null}
        <span class="grow" />
        <Button look="q" icon="copy" keys="y" onClick={() => copyLine(e)} name="copy-line">
          Copy as JSON
        </Button>
      </div>
    </div>
  );
}

/** What came of a cancel, once it is read; "" of anything else. */
function useCancelled(e: AuditEntry): string {
  const asked = e.verb === "cancel" && !e.refused && isRun(e.run_id);
  const { data: run } = useLoaded((s) => (asked ? get<RunView>(`/runs/${at(e.run_id)}`, {}, s) : Promise.resolve(null)), [e.cursor]);
  if (!run) return "";
  if (run.status !== "cancelled") return `record ${e.seq}; the run is ${run.status} now`;
  const left = run.residue.map((one) => one.tool).join(", ");
  return `${run.undone.length} undone, ${run.residue.length} not undone${left ? `: ${left}` : ""}`;
}

export const copyLine = (entry: AuditEntry): void => void copy(json(entry)).then(() => say("Copied."));

/** The line between its neighbours, each with its number and the beginning of its hash. */
function Place({ entry: e }: { entry: AuditEntry }) {
  const near = useLoaded(
    (s) => get<Page<AuditEntry>>("/audit/place", { run_id: e.run_id, number: e.number }, s),
    [e.cursor],
  );
  const lines = near.data?.items ?? [e];
  return (
    <ol class="au-chain" aria-label="The line and its neighbours">
      {lines.map((line) => (
        <li key={line.number} class={line.number === e.number ? "here" : ""} aria-current={line.number === e.number ? "true" : undefined}>
          <b>{many(line.number)}</b> <code>{grouped(line.head).slice(0, 9)}</code>
        </li>
      ))}
    </ol>
  );
}
