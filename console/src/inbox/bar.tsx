/** Scope, note, decision. A button that is off says why; a key moves the focus, Enter decides. */
import type { RefObject } from "preact";
import { useLayoutEffect, useState } from "preact/hooks";
import { me } from "../api";
import { later } from "../later";
import { Button, Icon, sentence } from "../ui";
import { Visible, visible } from "../visible";
import { count } from "../words";
import type { Deciding, Scope } from "./deciding";
import type { Form } from "./form";
import type { Item } from "./items";
import { isFixed } from "./json";
import { alikeCount } from "./pending";

// Most items are approved or denied as they are.
const EditBar = later(async () => (await import("./parts")).EditBar, true);
const AnswerBar = later(async () => (await import("./parts")).AnswerBar, true);
const Terms = later(async () => (await import("./standing")).Terms, true);

export interface Acts {
  approve: () => void;
  deny: () => void;
  startEdit: () => void;
  discard: () => void;
  /** The result of a call in the place of its tool. */
  instead: (result: string) => void;
  /** Drop a question. */
  dismiss: () => void;
  answer: () => void;
  /** All that are like it were decided elsewhere: on to the next item. */
  onward: () => void;
}
export interface Refs {
  approve: RefObject<HTMLButtonElement>;
  deny: RefObject<HTMLButtonElement>;
  note: RefObject<HTMLInputElement>;
}
export interface Props {
  deciding: Deciding;
  item: Item;
  acts: Acts;
  refs: Refs;
  extra: Form | null;
}

const SCOPES: readonly [Scope, string][] = [
  ["once", "Once"],
  ["run", "This run, these exact arguments"],
  ["later", "Later calls too…"],
];

/** An edit is for one call, or for the same one again. */
export function ScopeChoice({ deciding: d, upto = 3 }: { deciding: Deciding; upto?: number }) {
  const turn = (e: KeyboardEvent): void => {
    if (!e.key.startsWith("Arrow")) return;
    e.preventDefault();
    const step = e.key === "ArrowLeft" || e.key === "ArrowUp" ? upto - 1 : 1;
    d.scope.value = SCOPES[(SCOPES.findIndex(([id]) => id === d.scope.value) + step) % upto]![0];
    const box = e.currentTarget as HTMLElement;
    requestAnimationFrame(() => box.querySelector<HTMLElement>("[aria-checked=true]")?.focus());
  };
  return (
    <div class="seg scope" role="radiogroup" aria-label="Scope" onKeyDown={turn}>
      {SCOPES.slice(0, upto).map(([id, word], n) => (
        <button
          key={id}
          type="button"
          role="radio"
          aria-checked={d.scope.value === id}
          class={d.scope.value === id ? "on" : ""}
          title={`Key ${n + 1}`}
          tabIndex={d.scope.value === id ? 0 : -1}
          onClick={() => (d.scope.value = id)}
        >
          {word}
        </button>
      ))}
    </div>
  );
}

export function Note({ deciding: d, refs }: { deciding: Deciding; refs: Refs }) {
  const [open, setOpen] = useState(false);
  // Before it is painted: what is typed at once goes into it.
  useLayoutEffect(() => {
    if (open) refs.note.current?.focus();
  }, [open]);
  return (
    <>
      <div class={`field grow note ${open || d.note.value ? "open" : ""}`}>
        <input
          ref={refs.note}
          aria-label="Note for the record (optional)"
          placeholder="Note for the record (optional)"
          maxLength={10_000}
          value={d.note.value}
          onInput={(e) => (d.note.value = e.currentTarget.value)}
        />
      </div>
      <Button
        class="note-open"
        onClick={() => {
          setOpen(true);
          refs.note.current?.focus(); // if it is there already
        }}
      >
        Note…
      </Button>
    </>
  );
}

/** Who decides, or why nobody can. */
export function Who({ deciding: d, extra = "" }: { deciding: Deciding; extra?: string }) {
  const why = d.off.value || d.halted.value || extra;
  const text = why ? sentence(why) : null;
  return (
    <span class="sm t3 grow who" role="status">
      {text ? (
        <Visible text={text} />
      ) : (
        <>
          You decide as{" "}
          <b class="t2">
            <Visible text={me.value?.name ?? ""} />
          </b>
          . Recorded before anything runs.
        </>
      )}
    </span>
  );
}

export function Refused({ deciding: d }: { deciding: Deciding }) {
  const e = d.refusal.value;
  if (!e) return null;
  const text =
    e.status === 0
      ? "No answer came: it may be recorded, or not. Send it again: the same decision counts once."
      : `Not recorded: ${e.detail}`;
  return (
    <div class="refused fail" role="alert" data-code={e.code}>
      <Icon name="fail" />{" "}
      <span class="grow">
        <Visible text={text} />
      </span>
    </div>
  );
}

export function Bar(p: Props) {
  const { deciding: d, item: i } = p;
  if (i.kind === "approval") return d.edit.value ? <EditBar {...p} form={d.edit.value} /> : <ApproveBar {...p} />;
  return <AnswerBar {...p} />;
}

function ApproveBar({ deciding: d, item: i, acts, refs }: Props) {
  const [armed, setArmed] = useState("");
  const others = alikeCount(i);
  const all = d.together.value && others && d.scope.value !== "later" ? others + 1 : 0;
  const tool = visible(i.call?.tool ?? "");
  const busy = d.sending.value;
  const sent = busy ? "a decision is being sent" : "";
  const scope = d.scope.value;
  const how = scope === "run" ? "for this run" : scope === "later" ? "and later ones" : "once";
  const word = all ? `Approve ${all} ${how}` : `Approve ${how}`;
  const unread = d.off.value || d.halted.value ? "" : d.blocked.value;
  const arm = (verb: string) => ({ onFocusIn: () => setArmed(verb), onFocusOut: () => setArmed("") });
  return (
    <div class="decide" role="group" aria-label="Decision">
      <Refused deciding={d} />
      <div class="row options">
        <ScopeChoice deciding={d} />
        <Note deciding={d} refs={refs} />
      </div>
      {scope === "later" ? <Terms deciding={d} item={i} /> : null}
      {others && scope !== "later" ? (
        <label class="together sm">
          <input type="checkbox" checked={d.together.value} onChange={(e) => (d.together.value = e.currentTarget.checked)} />
          Also the {count(others, "other", "others")} with exactly the same action
        </label>
      ) : null}
      <div class="row acts">
        <Who deciding={d} extra={unread} />
        <span class="act-b" {...arm("deny")}>
          <Button
            big
            keys={armed === "deny" ? "↵" : "d"}
            focusRef={refs.deny}
            off={d.off.value || d.settling.value || (busy === "deny" ? "" : sent)}
            busy={busy === "deny" ? `Sending…${d.progress.value}` : ""}
            onClick={acts.deny}
            name="deny"
          >
            {all ? `Deny ${all}` : armed === "deny" && !d.off.value ? `Deny ${tool}` : "Deny"}
          </Button>
        </span>
        <Button
          big
          keys="e"
          off={
            d.off.value ||
            sent ||
            d.halted.value ||
            (all
              ? "one at a time"
              : isFixed(i.schema)
                ? "these arguments cannot be changed: a rule says so, or the call has begun; approve it as it is, or deny it and say why"
                : i.approvers > 1
                  ? `${i.approvers} people must agree to the same arguments; deny it and say what should change`
                : "")
          }
          onClick={acts.startEdit}
          name="edit"
        >
          Edit
        </Button>
        <span class="act-b" {...arm("approve")}>
          <Button
            big
            look="p"
            keys={armed === "approve" ? "↵" : "a"}
            focusRef={refs.approve}
            off={d.blocked.value || d.settling.value || (busy === "approve" ? "" : sent)}
            busy={busy === "approve" ? `Sending…${d.progress.value}` : ""}
            onClick={acts.approve}
            name="approve"
          >
            {armed === "approve" && !all && !d.blocked.value ? `Approve ${tool} ${how}` : word}
          </Button>
        </span>
      </div>
    </div>
  );
}
