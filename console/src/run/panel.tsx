/** The selected step, whole: arguments, result, policy, identity. */
import { go, to } from "../router";
import { denied } from "../api";
import { Button, CopyText, Duration, Pill } from "../ui";
import { LongText, Values } from "../values";
import { Visible } from "../visible";
import { EFFECTS } from "../generated/words";
import { clock, count, exactTime, grouped } from "../words";
import { ancestors } from "../ids";
import { AskedAgain, Changes, Told } from "../told";
import { nameOf, wordsOf } from "./tree";
import type { RunView as RunState } from "../generated/types";
import type { Step } from "../types";

interface Props {
  step: Step;
  state: RunState;
  total: number;
  fork: () => void;
  record: (n: number) => void;
  close?: () => void;
  text: string | undefined;
}

export function Panel({ step, state, total, fork, record, close, text }: Props) {
  const tool = ["tool", "agent", "chunk", "undo", "residue"].includes(step.kind);
  const where = [state.agent, ...(step.place.length ? step.place : [...agentsOf(step, state), ...(tool ? [step.name] : [])])];
  const words = wordsOf(step).text;
  const open = step.interrupt_ref && state.interrupts.some((i) => i.ref === step.interrupt_ref) ? step.interrupt_ref : "";
  return (
    <aside class="card panel" tabIndex={0} aria-label={`Step ${step.call_id || nameOf(step)}`} data-panel={step.call_id || `@${step.first_seq}`}>
      <header>
        <div class="row wrap">
          <h2 class="mono stepname">
            <Visible text={nameOf(step)} />
          </h2>
          {step.status && step.kind !== "end" ? <Pill status={step.in_doubt ? "in_doubt" : step.status} /> : null}
          <span class="grow" />
          {step.call_id && step.first_seq && !step.place.length ? <span class="sm t3 num">step {step.call_id}</span> : null}
          {close ? (
            <Button look="q" class="x drawer-x" label="Close the step" onClick={close}>
              ×
            </Button>
          ) : null}
        </div>
        <div class="sm t3 where">
          <Visible text={where.join(" › ")} /> ·{" "}
          <time title={exactTime(step.at)}>
            {step.status === "waiting" ? "asked" : "at"} {clock(step.spans.at(-1)?.start ?? step.at)}
          </time>
          {step.inherited ? " · inherited: the origin did it" : ""}
        </div>
      </header>
      {step.kind === "writing" ? (
        <Section title="Text so far">
          <p class="prose">
            <LongText text={text ?? ""} limit={4000} />
          </p>
        </Section>
      ) : null}
      {tool && !(step.kind === "undo" && step.arguments === null) ? (
        <Section title={step.kind === "chunk" ? "Input" : step.decision?.changes.length ? "What ran" : "Arguments"}>
          {step.decision?.changes.length ? (
            <p class="prose">
              Edited, the model asked for something else: <Changes of={step.decision.changes} />
            </p>
          ) : null}
          <Values value={step.arguments ?? null} />
        </Section>
      ) : null}
      {!tool && words && step.kind !== "writing" ? (
        <Section title={step.kind === "model" ? "Text" : step.kind === "end" ? "Output" : "What"}>
          <p class="prose">
            <LongText text={words} limit={4000} />
          </p>
        </Section>
      ) : null}
      {step.kind === "end" && step.result !== null && step.result !== undefined && typeof step.result !== "string" ? (
        <Section title="Output">
          <Values value={step.result} />
        </Section>
      ) : null}
      {step.error ? (
        <Section title="Error">
          <p class="fail prose">
            <LongText text={step.error} limit={2000} />
          </p>
        </Section>
      ) : tool && (step.status === "completed" || step.ran) && step.kind !== "residue" ? (
        <Section title="Result">
          <Values value={step.result} limit={2000} />
        </Section>
      ) : null}
      {step.earlier ? (
        <Section title="Why it is asked again">
          <p class="prose">
            <AskedAgain of={step.earlier} />
          </p>
        </Section>
      ) : null}
      {step.decision && step.status !== "waiting" ? (
        <Section title="Decision">
          <p class="prose" data-decision={step.decision.verdict}>
            <Told decision={step.decision} outcome={step.outcome} />
          </p>
          <p class="sm t3">
            {step.asked_at ? <>asked {clock(step.asked_at)}, </> : null}
            {step.decision.verdict === "expired" ? "expired" : "decided"} <time title={exactTime(step.decision.at)}>{clock(step.decision.at)}</time>
          </p>
        </Section>
      ) : null}
      {step.note && !step.decision && step.note !== step.error && !(open && step.status === "waiting") ? (
        <Section title="Note">
          <p class="prose">
            <Visible text={step.note} />
          </p>
        </Section>
      ) : null}
      {step.reason || step.rules.length || step.effect ? <PolicyPart step={step} open={!!open} /> : null}
      <Identity step={step} total={total} />
      <div class={open || step.first_seq ? "sec row wrap" : "hide"}>
        {open ? (
          <Button look="p" onClick={() => go(to("inbox", open))} label={`Review ${nameOf(step)}`}>
            Review
          </Button>
        ) : null}
        {step.first_seq ? (
          <>
            <Button icon="fork" off={denied("control")} onClick={fork} name="fork-here">
              Fork from here
            </Button>
            <span class="grow" />
            <Button look="q" icon="right" onClick={() => record(step.first_seq)} label={`See record ${step.first_seq} in the journal`}>
              Record
            </Button>
          </>
        ) : null}
      </div>
    </aside>
  );
}

function agentsOf(step: Step, state: RunState): string[] {
  return ancestors(step.path).flatMap((path) => state.children.find((c) => c.path === path)?.agent ?? []);
}

function Section({ title, children }: { title: string; children: preact.ComponentChildren }) {
  return (
    <div class="sec">
      <h3>{title}</h3>
      {children}
    </div>
  );
}

function PolicyPart({ step, open }: { step: Step; open: boolean }) {
  return (
    <Section title="Policy">
      <dl class="kv">
        {step.reason || step.rules.length ? (
          <>
            <dt>Verdict</dt>
            <dd>
              <b>{open || step.rules.length ? "ASK" : ""}</b>
              {step.reason ? ", " : ""}
              <Visible text={step.reason} />
            </dd>
          </>
        ) : null}
        {step.rules.length ? (
          <>
            <dt>Rule</dt>
            <dd class="mono">
              <Visible text={step.rules.join(", ")} />
            </dd>
          </>
        ) : null}
        {step.effect ? (
          <>
            <dt>Effect</dt>
            <dd>{EFFECTS[step.effect] ?? step.effect}</dd>
            {step.kind === "undo" ? null : <dt>Undo</dt>}
            {step.kind === "undo" ? null : (
              <dd>
                {step.undo ? "a cancel undoes it" : step.effect === "read" ? "nothing to undo" : "none: a cancel does not undo it"}
              </dd>
            )}
          </>
        ) : null}
      </dl>
    </Section>
  );
}

function Identity({ step, total }: { step: Step; total: number }) {
  const open = step.spans.at(-1);
  return (
    <Section title="Identity">
      <dl class="kv">
        {step.digest ? (
          <>
            <dt>Digest</dt>
            <dd>
              <CopyText text={step.digest}>{grouped(step.digest)}</CopyText>
            </dd>
          </>
        ) : null}
        {step.idempotency_key ? (
          <>
            <dt>Key</dt>
            <dd>
              <CopyText text={step.idempotency_key}>{grouped(step.idempotency_key)}</CopyText>
            </dd>
          </>
        ) : null}
        {step.attempt > 1 ? (
          <>
            <dt>Attempt</dt>
            <dd>{step.attempt}</dd>
          </>
        ) : null}
        {step.tokens ? (
          <>
            <dt>Tokens</dt>
            <dd class="num">{count(step.tokens, "token")}</dd>
          </>
        ) : null}
        {open ? (
          <>
            <dt>{open.kind === "run" ? "Ran" : "Waited"}</dt>
            <dd class="num">
              <Duration from={open.start} to={open.end} />
            </dd>
          </>
        ) : null}
        {step.first_seq ? (
          <>
            <dt>Record</dt>
            <dd class="num">
              {step.first_seq} of {total}
            </dd>
          </>
        ) : null}
      </dl>
    </Section>
  );
}
