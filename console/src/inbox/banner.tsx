/** What changed while somebody was reading: old → new, who won, that nothing ran. The buttons are off until it was seen. */
import { now } from "../api";
import { Button, Icon, Time } from "../ui";
import { Visible } from "../visible";
import { grouped, rough } from "../words";
import type { Deciding, Stale } from "./deciding";
import type { Closed } from "./items";
import { closedWords } from "./naming";
import { OldNew } from "./reading";

function headline(s: Stale): string {
  const since = now() - s.at;
  const ago = since < 2 ? "just now" : `${rough(since)} ago`;
  if (s.how === "edited") return `This is no longer what would run. ${s.by || "Someone"} edited it ${ago}, while you were reading.`;
  if (s.how === "changed")
    return `This is no longer what would run. ${s.by ? `${s.by} changed it ${ago}` : "It changed"}, while you were reading.`;
  const words = s.closed ? closedWords(s.closed) : "It no longer waits";
  return s.closed?.by ? `${words} ${ago}, before you did.` : `${words}.`;
}

function consequence(s: Stale): string {
  if (s.how !== "closed")
    return s.sent
      ? "Your decision was not recorded, and nothing ran by it. Nothing you chose applies to the new action."
      : "Your decision was not sent. Nothing you chose applies to the new action.";
  return s.sent ? "Your decision was not recorded, and nothing ran by it." : "You have decided nothing.";
}

/** `onward`: to the new action, or to the next item where there is none. */
export function StaleBanner({ deciding: d, onward }: { deciding: Deciding; onward: () => void }) {
  const s = d.stale.value;
  if (!s) return null;
  const [head, ...rest] = headline(s).split(/(?<=\.) /);
  return (
    <div class="banner" role="alert" data-stale={s.how}>
      <span class="fail">
        <Icon name={s.closed?.why === "expired" ? "clock" : "fail"} size="l" />
      </span>
      <div class="grow">
        <div>
          <b>
            <Visible text={head ?? ""} />
          </b>{" "}
          <Visible text={rest.join(" ")} />
        </div>
        {s.changes.length || s.digests ? (
          <ul class="changes t2">
            {s.changes.slice(0, 12).map((c) => (
              <li key={c.name}>
                <code>
                  <Visible text={c.name || "value"} />
                </code>{" "}
                <span class="mono">
                  <OldNew change={c} />
                </span>
              </li>
            ))}
            {s.changes.length > 12 ? <li>{s.changes.length - 12} more</li> : null}
            {s.digests ? (
              <li>
                digest <del class="mono">{grouped(s.digests[0]).slice(0, 9)}</del> →{" "}
                <ins class="mono">{grouped(s.digests[1]).slice(0, 9)}</ins>
              </li>
            ) : null}
          </ul>
        ) : null}
        {s.closed?.note ? (
          <div class="t2">
            {"Note: "}“<Visible text={s.closed.note} />”
          </div>
        ) : null}
        <div class="sm t2">
          {consequence(s)}
          {d.note.value ? " Your note is kept." : ""}
        </div>
      </div>
      {s.how === "closed" ? (
        <Button onClick={onward} name="next">
          Next item
        </Button>
      ) : (
        <Button look="p" onClick={onward} name="show-new">
          Show the new action
        </Button>
      )}
    </div>
  );
}

/** How an item was closed that was closed before it was opened here. */
export function ClosedStrip({ closed: c }: { closed: Closed }) {
  const good = c.why === "approve" || c.why === "value" || c.why === "event";
  return (
    <div class="strip-closed" data-closed={c.why}>
      <span class={good ? "done" : c.why === "expired" ? "t3" : "fail"}>
        <Icon name={good ? "done" : c.why === "expired" ? "clock" : c.why === "deny" ? "fail" : "cancel"} size="m" />
      </span>
      <div class="grow">
        <b>
          <Visible text={`${closedWords(c)}.`} />
        </b>{" "}
        {c.at ? (
          <span class="t3">
            <Time at={c.at} />
          </span>
        ) : null}
        {c.note ? (
          <div class="t2">
            “<Visible text={c.note} />”
          </div>
        ) : null}
      </div>
    </div>
  );
}
