/** What happened, told the same way everywhere: who decided what and why, what was changed, what came of it. */
import { DECISIONS, OUTCOMES } from "./generated/words";
import type { CallOutcome, EarlierApproval, EditedArgument, StepDecision } from "./generated/types";
import { ticking } from "./live";
import { shownText, Visible } from "./visible";
import { clock, duration, exactTime, json, rough } from "./words";

const LONGEST = 80;
const brief = (value: unknown): string => {
  const text = json(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
};

/** `Approved by ben and ana`, `Expired: no one answered`. */
export function deciders(d: StepDecision): string {
  const word = d.choice ? `Answered “${d.choice}”` : DECISIONS[d.verdict];
  if (d.verdict === "expired") return word;
  return `${word} by ${d.by.map((name) => name || "someone").join(" and ")}${d.under ? `, standing decision ${d.under}` : ""}`;
}

/** `cents 48250 → 39900`: what goes is struck through, what comes is bold. */
export function Changes({ of }: { of: EditedArgument[] }) {
  return (
    <>
      {of.map((c, n) => (
        <span key={c.name} class="mono">
          {n ? ", " : ""}
          <Visible text={c.name} />{" "}
          {c.added ? null : (
            <del>
              <span class="hide">was </span>
              <Visible text={brief(c.old)} />
            </del>
          )}
          {c.added ? "+ " : " → "}
          {c.removed ? (
            <i>left out</i>
          ) : (
            <ins>
              <span class="hide">now </span>
              <Visible text={brief(c.new)} />
            </ins>
          )}
        </span>
      ))}
    </>
  );
}

const TONES: Record<CallOutcome["state"], string> = { due: "idle", running: "run", ran: "done", failed: "fail", not_run: "t2", undone: "cancel" };

/** `ran once, 0.8 s`, in the colour of its status. */
export function Outcome({ of, tone = false }: { of: CallOutcome; tone?: boolean }) {
  return (
    <span class={tone ? TONES[of.state] : ""} data-outcome={of.state}>
      <Visible text={outcomeWords(of)} />
    </span>
  );
}

export function outcomeWords(of: CallOutcome): string {
  const word = of.state === "ran" && of.attempt > 1 ? `ran, attempt ${of.attempt}` : OUTCOMES[of.state];
  if (of.state === "running") return `${word}, ${rough(ticking() - of.since)}`;
  if (of.state === "failed") return `${word}: ${of.error.slice(0, 200)}`;
  return of.took === null ? word : `${word}, ${duration(of.took)}`;
}

/** Why it is asked again: whose approval no longer counts. */
export function AskedAgain({ of }: { of: EarlierApproval }) {
  return (
    <span data-earlier>
      <b>Asked again</b>:{" "}
      <span class="t2">
        the approval of <time title={exactTime(of.at)}>{clock(of.at).slice(0, 5)}</time> by <Visible text={of.by.join(" and ") || "someone"} />{" "}
        {of.valid_for ? `had expired before the call ran (it held ${duration(of.valid_for)})` : "no longer covers it: its rules, the tool or the arguments have changed"}.
      </span>{" "}
    </span>
  );
}

/** A decision and what came of it, as one line. */
export function Told({ decision: d, outcome }: { decision: StepDecision; outcome: CallOutcome | null }) {
  return (
    <span data-verdict={d.verdict}>
      <b>{shownText(deciders(d))}</b> <span class="t2">after {duration(d.after)}</span>
      {d.verdict === "expired" ? <>: no one answered</> : null}
      {d.changes.length ? (
        <>
          , edited: <Changes of={d.changes} />
        </>
      ) : null}
      {d.scope === "run" ? ", for this run" : null}
      {d.note ? (
        <span class="t2">
          {" “"}
          <Visible text={d.note} />”
        </span>
      ) : null}
      {outcome ? (
        <span class="t3">
          {" · "}
          <Outcome of={outcome} />
        </span>
      ) : null}
    </span>
  );
}
