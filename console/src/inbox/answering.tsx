/** What an edit, an answer and a choice have beside the item: the choices, and the bar that sends them. */
import { useState } from "preact/hooks";
import { Dialog } from "../dialog";
import { Button } from "../ui";
import { Visible } from "../visible";
import { count } from "../words";
import { SEND } from "../keys";
import { Note, Refused, ScopeChoice, Who, type Acts, type Props } from "./bar";
import type { Deciding } from "./deciding";
import { Fields, Sent } from "./fields";
import type { Form } from "./form";
import type { Item } from "./items";
import { isObj, write } from "./json";
import { choiceOf } from "./naming";
import { RetryAll } from "./retry_all";

export function Choices({
  deciding: d,
  item: i,
  choose,
  extra,
  off,
}: {
  deciding: Deciding;
  item: Item;
  choose: (name: string) => void;
  extra: Form | null;
  off: boolean;
}) {
  const again = i.kind === "limit" && isObj(i.payload) && i.payload.has("limit") ? write(i.payload.get("limit")!) : "";
  return (
    <fieldset class="choices">
      <legend class="hide">Choose</legend>
      {i.choices.map(([name, what]) => {
        const [word, means] = choiceOf(i, name, what);
        const on = d.choice.value === name;
        return (
          <div class={`choice-row ${on ? "on" : ""}`} key={name} data-choice={name}>
            <label>
              <input type="radio" name="choice" value={name} checked={on} disabled={off} onChange={() => choose(name)} />
              <span>
                <b>
                  <Visible text={word} />
                </b>
                <span class="sm t3">
                  <Visible text={means} />
                </span>
              </span>
            </label>
            {on && extra ? <Fields form={extra} root={word} off={off} /> : null}
            {on && extra && i.kind === "in_doubt" ? <p class="sm t3 hint">Left out: it is recorded without a result.</p> : null}
            {on && extra && again ? <p class="sm t3 hint">Left out: by as much again, {again}.</p> : null}
          </div>
        );
      })}
    </fieldset>
  );
}

/** A person gives the result in the place of the tool: as text, which the agent reads. */
function GiveResult({ deciding: d, acts, close }: { deciding: Deciding; acts: Acts; close: () => void }) {
  const [result, setResult] = useState("");
  return (
    <Dialog
      title="Give the result yourself?"
      close={close}
      lead={<p class="t2">The tool does not run, and there is nothing to undo. The agent reads that the result is from you.</p>}
      footer={
        <>
          <span class="grow" />
          <span data-safe>
            <Button big keys="esc" onClick={close}>
              Back
            </Button>
          </span>
          <Button
            big
            look="p"
            off={d.blocked.value || (result.trim() ? "" : "write the result first")}
            busy={d.sending.value ? "Sending…" : ""}
            onClick={() => {
              close();
              acts.instead(result);
            }}
            name="instead-now"
          >
            Give this result
          </Button>
        </>
      }
    >
      <label class="field">
        <span class="sm">The result</span>
        <textarea rows={4} value={result} onInput={(e) => setResult(e.currentTarget.value)} />
      </label>
    </Dialog>
  );
}

export function EditBar({ deciding: d, acts, refs, form }: Props & { form: Form }) {
  const [giving, setGiving] = useState(false);
  form.version.value;
  const { value, faults } = form.read();
  const wrong = faults.size
    ? `${count(faults.size, "field")} cannot be sent yet`
    : value !== undefined && !form.changed
      ? "nothing is changed yet"
      : "";
  return (
    <div class="decide" role="group" aria-label="Decision">
      {giving ? <GiveResult deciding={d} acts={acts} close={() => setGiving(false)} /> : null}
      <Refused deciding={d} />
      <div class="row options">
        <ScopeChoice deciding={d} upto={2} />
        <Note deciding={d} refs={refs} />
      </div>
      <div class="row acts editing">
        {d.blocked.value ? (
          <Who deciding={d} extra={d.blocked.value} />
        ) : (
          <span class="sm t3 grow who">An edit is a new action: checked, judged by the policy again, with its own digest.</span>
        )}
        <Button big look="q" keys="esc" onClick={acts.discard} name="discard">
          Discard edit
        </Button>
        <Button big off={d.blocked.value} onClick={() => setGiving(true)} name="instead">
          Give the result…
        </Button>
        <Button
          big
          look="p"
          keys={SEND}
          focusRef={refs.approve}
          off={d.blocked.value || wrong}
          busy={d.sending.value ? "Sending…" : ""}
          onClick={acts.approve}
          name="approve-edited"
        >
          Approve the edited action
        </Button>
      </div>
    </div>
  );
}

export function AnswerBar({ deciding: d, item: i, acts, refs, extra }: Props) {
  const form = i.kind === "question" ? d.answer.value : extra;
  form?.version.value;
  const { value, faults } = form ? form.read() : { value: undefined, faults: new Map<string, string>() };
  const chosen = i.choices.find(([name]) => name === d.choice.value);
  const missing = i.kind === "question" ? "" : chosen ? "" : "choose one";
  const wrong = form?.tried && faults.size ? `${count(faults.size, "field")} cannot be sent yet` : "";
  const deed = i.kind === "question" ? "Answer" : chosen ? choiceOf(i, ...chosen)[2] : "Record it";
  return (
    <div class="decide" role="group" aria-label="Decision">
      <Refused deciding={d} />
      {i.kind === "question" && form ? <Sent value={value} form={form} /> : null}
      {i.kind === "question" && form?.version.value ? (
        <p class="sm t3" data-draft>
          What you typed is kept on this device until you answer.
        </p>
      ) : null}
      <div class="row options">
        <Note deciding={d} refs={refs} />
      </div>
      <div class="row acts">
        <Who deciding={d} extra={d.blocked.value || wrong} />
        {i.kind === "question" ? (
          <Button big off={d.off.value || d.settling.value} busy={d.sending.value === "dismiss" ? "Sending…" : ""} onClick={acts.dismiss} name="dismiss">
            Dismiss
          </Button>
        ) : null}
        {i.kind === "error" ? <RetryAll deciding={d} item={i} onward={acts.onward} /> : null}
        <Button
          big
          look="p"
          keys="a"
          focusRef={refs.approve}
          off={d.blocked.value || d.settling.value || missing || wrong}
          busy={d.sending.value ? "Sending…" : ""}
          onClick={acts.answer}
          name="answer"
        >
          {deed}
        </Button>
      </div>
    </div>
  );
}
