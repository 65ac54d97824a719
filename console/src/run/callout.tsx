/** Why it waits: for what, in whose name, by which rule, until when. Only when it waits. */
import type { ComponentChildren } from "preact";
import { EXPIRY, KIND_WORDS } from "../generated/words";
import { later } from "../later";
import { tick } from "../live";
import { now } from "../api";
import { go, to } from "../router";
import { Button, Time } from "../ui";
import { Changes, deciders, outcomeWords } from "../told";
import { shownText, Visible } from "../visible";
import { gist, remaining, rough } from "../words";
import type { InterruptSummary as Interrupt, Residue, RunView as RunState } from "../generated/types";
import { Bar } from "./note";
import type { Line } from "./tree";

const NoWorkerFits = later(async () => (await import("./tabs")).NoWorkerFits, true); // few runs ever need it

function headOf(i: Interrupt): ComponentChildren {
  const tool = i.call ? (
    <span class="mono">
      <Visible text={i.call.tool} />
    </span>
  ) : null;
  switch (i.kind) {
    case "approval":
      return <>Waiting for approval of {tool}</>;
    case "in_doubt":
      return <>{tool} may have happened: a person has to say</>;
    case "limit":
      return (
        <>
          {hookOf(i.payload) ? `${KIND_WORDS.check?.asks}: ` : "Limit reached: "}
          <Visible text={brief(gist(i.payload))} />
        </>
      );
    case "error":
      return (
        <>
          A step failed: <Visible text={brief(gist(i.payload))} />
        </>
      );
    case "undo":
      return (
        <>
          An undo failed: <Visible text={brief(gist(i.payload))} />
        </>
      );
    default:
      return (
        <>
          Waiting for an answer: “<Visible text={brief(gist(i.payload) || i.type)} />”
        </>
      );
  }
}
const hookOf = (payload: unknown): unknown => payload && typeof payload === "object" && "hook" in payload && payload.hook;
const SHOWN = 5;
const brief = (text: string): string => (text.length > 200 ? `${text.slice(0, 200)}…` : text);

export function Callout({ state, lines, resume }: { state: RunState; lines: Line[]; resume: (() => void) | null }) {
  const { misfit } = state;
  const run = state;
  if (misfit && run.status === "ready") return <NoWorkerFits misfit={misfit} run={run} />;
  const people = state.interrupts.filter((i) => i.kind !== "event" && i.kind !== "timer");
  const first = [...people].sort((a, b) => (a.expires_at ?? Infinity) - (b.expires_at ?? Infinity) || a.opened_at - b.opened_at)[0];
  if (
    first &&
    ["waiting", "held", "failed", "stuck", "running", "ready"].includes(run.status)
  )
    return <Waiting i={first} more={people.length - 1} state={state} lines={lines} />;
  if (run.status === "held") return <Bar tone="idle" icon="halt" head="Held by a halt" text="It continues by itself when the halt is lifted." />;
  if (run.status === "waiting" && state.interrupts[0]) {
    const i = state.interrupts[0];
    return (
      <Bar
        tone="wait"
        icon="clock"
        head={
          i.kind === "timer" ? (
            "Waiting until its time has come"
          ) : (
            <>
              Waiting for the event{" "}
              <span class="mono">
                <Visible text={i.type} />
              </span>
            </>
          )
        }
        text={i.expires_at ? <Left at={i.expires_at} word={i.kind === "timer" ? "continues" : "expires"} /> : "It uses nothing meanwhile."}
      />
    );
  }
  if (run.status === "paused") {
    const pause = lines.findLast((l) => l.step.kind === "pause")?.step;
    return (
      <Bar
        tone="pause"
        icon="pause"
        head={
          <>
            Paused <Visible text={pause?.text ?? ""} />
          </>
        }
        text="Nothing is lost, nothing is running. It uses nothing until resumed."
      >
        {resume ? (
          <Button look="p" onClick={resume} label="Resume this run…">
            Resume…
          </Button>
        ) : null}
      </Bar>
    );
  }
  if (run.status === "pausing") return <Pausing lines={lines} />;
  if (run.status === "cancelled" && state.residue.length) return <Cancelled state={state} lines={lines} />;
  if (run.erased_at) return <Bar tone="idle" icon="halt" head="Erased" text="Of what was in it nothing is left. The audit says who wanted that." />;
  const hold = state.holds[0];
  if (hold)
    return (
      <Bar
        tone="idle"
        icon="halt"
        head="Under a legal hold"
        text={<Visible text={`Set by ${hold.by}: ${hold.reason}. It is neither erased nor pruned.`} />}
      />
    );
  if (run.status === "completed") return <Ended state={state} lines={lines} />;
  if (run.status === "cancelled") return <Cancelled state={state} lines={lines} />;
  return null;
}

/** Who cancelled it, what was undone, and what could not be. */
function Cancelled({ state, lines }: { state: RunState; lines: Line[] }) {
  const said = (kind: string): string => lines.findLast((l) => l.step.kind === kind)?.step.text ?? "";
  const [tone, icon] = state.residue.length ? ["fail", "fail"] : ["idle", "cancel"];
  return (
    <Bar
      tone={tone}
      icon={icon}
      head={said("end") || `${state.residue.length} not undone`}
      lead={<Visible text={said("cancel") && ` · cancelled ${said("cancel")}`} />}
      text={<Visible text={state.residue.map(left).join(" · ")} />}
    />
  );
}

/** A sentence inside another. */
const inside = (text: string): string => text.charAt(0).toLowerCase() + text.slice(1);

/** How it came out and what people had to do with it, for somebody who was not there. */
function Ended({ state, lines }: { state: RunState; lines: Line[] }) {
  const decided = lines.map((l) => l.step).filter((s) => s.decision !== null && s.status !== "waiting");
  if (!decided.length) return null; // then the timeline is as short as this would be
  const shown = decided.slice(0, SHOWN);
  const said = gist(state.output);
  return (
    <Bar
      tone="done"
      icon="done"
      head="Completed."
      lead={
        // what the agent says of it; nobody has checked that
        said && said !== "{}" && said !== "[]" ? (
          <>
            {" "}
            “<Visible text={brief(said)} />”
          </>
        ) : null
      }
      text={
        <span data-people>
          {shown.map((s, n) => (
            <span key={s.number}>
              {n ? " · " : ""}
              <span class="mono">
                <Visible text={s.name} />
              </span>{" "}
              {shownText(inside(deciders(s.decision!)))}
              {s.decision!.changes.length ? (
                <>
                  {": "}
                  <Changes of={s.decision!.changes.slice(0, 2)} />
                </>
              ) : null}
              {s.outcome ? <>, {shownText(outcomeWords(s.outcome))}</> : null}
            </span>
          ))}
          {decided.length > SHOWN ? ` · and ${decided.length - SHOWN} more` : ""}
        </span>
      }
    />
  );
}

const left = (x: Residue): string => [x.tool, x.why].filter(Boolean).join(": ");

function Waiting({ i, more, state, lines }: { i: Interrupt; more: number; state: RunState; lines: Line[] }) {
  const child = state.children.find((c) => c.path === i.path)?.agent;
  const busy = lines
    .filter((l) => l.step.status === "running" && (l.step.kind === "agent" || l.step.kind === "chunk") && l.step.call_id !== i.path)
    .map((l) => l.step.name);
  const rule = i.call?.reason || i.call?.rule;
  const tone = i.kind === "error" ? "fail" : "wait";
  return (
    <Bar
      tone={tone}
      icon={tone === "fail" ? "fail" : i.kind === "in_doubt" ? "doubt" : "wait"}
      head={headOf(i)}
      lead={
        <>
          {child ? (
            <>
              {" "}
              in <Visible text={child} />
            </>
          ) : null}
          {rule && i.kind === "approval" ? (
            <>
              , because of the rule “<Visible text={rule} />”
            </>
          ) : null}
          {child || (rule && i.kind === "approval") ? "." : null}
          {busy.length ? (
            <>
              {" "}
              <span class="mono">
                <Visible text={busy[0] ?? ""} />
              </span>{" "}
              continues meanwhile.
            </>
          ) : null}
        </>
      }
      text={
        <>
          Asked <Time at={i.opened_at} /> ·{" "}
          {i.groups.length ? i.groups.join(", ") : i.kind === "approval" ? "any approver" : "every person who may decide"}
          {i.approvers > 1 ? ` · ${i.approvers} must agree` : ""}
          {i.expires_at ? (
            <>
              {" "}
              · <Left at={i.expires_at} word="expires" />, then {EXPIRY[i.on_expiry] ?? i.on_expiry}
            </>
          ) : (
            " · no expiry"
          )}
          {more > 0 ? ` · and ${more} more` : ""}
        </>
      }
    >
      <Button look="p" onClick={() => go(to("inbox", i.ref))} keys="↵" name="review">
        Review
      </Button>
    </Bar>
  );
}

function Left({ at, word }: { at: number; word: string }) {
  tick.value;
  const left = at - now();
  return (
    <span class={left < 60 ? "fail" : ""}>{left <= 0 ? `${word} now` : `${word} in ${left < 3600 ? remaining(left) : rough(left)}`}</span>
  );
}

function Pausing({ lines }: { lines: Line[] }) {
  tick.value;
  const busy = lines.findLast((l) => l.step.status === "running" && l.step.kind !== "agent")?.step;
  const asked = lines.findLast((l) => l.step.kind === "pause")?.step;
  const s = asked ? now() - asked.at : 0;
  const name = busy ? (busy.kind === "writing" ? "the model’s answer" : busy.name) : "what runs";
  return (
    <Bar
      tone="pause"
      icon="pausing"
      head={
        s > 5 && busy ? (
          <>
            Pausing: still finishing <Visible text={name} />, {rough(now() - (busy.spans.at(-1)?.start ?? busy.at))}
          </>
        ) : (
          <>
            Pausing: finishing <Visible text={name} />, nothing new starts
          </>
        )
      }
      text="Pause now does not wait for a model; a tool is never cut."
    />
  );
}
