/** Exact values, with everything that hides made visible; what is long is opened on request, and says how long it is. */
import { Fragment } from "preact";
import { useState } from "preact/hooks";
import { Big } from "./numbers";
import { hidden, Visible } from "./visible";
import { count, json } from "./words";

const LONG = 600;

/** One value as JSON. */
export function Value({ value, limit = LONG }: { value: unknown; limit?: number }) {
  const text = typeof value === "object" && value !== null && !(value instanceof Big) ? json(value, 2) : json(value);
  return <LongText text={text} limit={limit} of={typeof value === "string" ? value : undefined} />;
}

/** A text, in full or its beginning. */
export function LongText({ text, limit = LONG, of }: { text: string; limit?: number; of?: string | undefined }) {
  const [all, setAll] = useState(false);
  const long = text.length > limit;
  const shown = long && !all ? text.slice(0, limit) : text;
  const concealed = hidden((of ?? text).replaceAll("\n", ""));
  return (
    <>
      <span class="pre">
        <Lines text={shown} />
        {long && !all ? "…" : ""}
      </span>
      {long || concealed ? (
        <div class="sm t3 sans">
          {count((of ?? text).length, "character")}
          {concealed ? <span class="fail">, {concealed} of them cannot normally be seen</span> : null}
          {long ? (
            <>
              {" · "}
              <button type="button" class="link" onClick={() => setAll(!all)}>
                {all ? "show less" : "show all"}
              </button>
            </>
          ) : null}
        </div>
      ) : null}
    </>
  );
}

/** Text in its own lines: a line's end is seen as one, everything else that hides is shown. */
export function Lines({ text }: { text: string }) {
  if (!text.includes("\n")) return <Visible text={text} />;
  return (
    <>
      {text.split("\n").map((line, i) => (
        <Fragment key={i}>
          {i ? "\n" : ""}
          <Visible text={line} />
        </Fragment>
      ))}
    </>
  );
}

/** Named values, one under the other; anything else as one value, of which `limit` characters are shown at first. */
export function Values({ value, limit = LONG }: { value: unknown; limit?: number }) {
  if (value && typeof value === "object" && !Array.isArray(value) && !(value instanceof Big)) {
    const entries = Object.entries(value);
    if (!entries.length) return <p class="t3">none</p>;
    return (
      <dl class="kv mono">
        {entries.map(([name, v]) => (
          <div key={name} class="kvp">
            <dt>
              <Visible text={name} />
            </dt>
            <dd>
              <Value value={v} limit={300} />
            </dd>
          </div>
        ))}
      </dl>
    );
  }
  return (
    <div class="mono rawv">
      <Value value={value} limit={limit} />
    </div>
  );
}
