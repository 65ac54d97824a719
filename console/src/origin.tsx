/** What a fork has of its origin: what is inherited as done, and what the origin did after the cut, which may be done a second time. */
import { useEffect } from "preact/hooks";
import { at, get } from "./api";
import { REPEATS } from "./generated/words";
import { forkOf } from "./ids";
import { wear } from "./late_style";
import { listen } from "./live";
import { useLoaded } from "./loading";
import { Link, to } from "./router";
import { Time } from "./ui";
import { Visible } from "./visible";
import { json, shortId } from "./words";
import type { ForkPreview, OriginCall } from "./generated/types";
import css from "./origin.late.css";

wear(css);

const SHOWN = 5;

/** `order_id "4417", cents 48250`. */
function named(args: unknown): string {
  if (args === null || args === undefined) return "";
  if (typeof args !== "object" || Array.isArray(args)) return json(args);
  return Object.entries(args)
    .map(([k, v]) => `${k} ${json(v)}`)
    .join(", ");
}

export function Calls({ of }: { of: OriginCall[] }) {
  return (
    <ul>
      {of.slice(0, SHOWN).map((c) => (
        <li key={c.call_id} data-origin-call={c.call_id} data-left={c.left}>
          <b class="mono">
            <Visible text={c.tool} />
          </b>{" "}
          <span class="mono t2">
            <Visible text={named(c.arguments).slice(0, 300)} />
          </span>
          <div class="sm t3">
            {REPEATS[c.left]}
            {c.at ? (
              <>
                {" · "}
                <Time at={c.at} />
              </>
            ) : null}
            {c.by.length ? (
              <>
                {" · approved by "}
                <Visible text={c.by.join(" and ")} />
              </>
            ) : null}
          </div>
        </li>
      ))}
      {of.length > SHOWN ? <li class="sm t3">and {of.length - SHOWN} more</li> : null}
    </ul>
  );
}

/** Both lists, or a sentence where there is nothing in one. `future`: the fork is not made yet. */
export function Inherited({ preview: p, future = false }: { preview: ForkPreview; future?: boolean }) {
  const fork = future ? "The fork" : "This run";
  return (
    <div class="halves">
      <div data-inherited>
      <h2 class="oh">Inherited as done</h2>
      {p.inherited.length ? (
        <>
          <Calls of={p.inherited} />
          <p class="sm t3">{fork} neither repeats nor undoes it.</p>
        </>
      ) : (
        <p class="sm t2">Nothing: before the cut nothing in the world was changed.</p>
      )}
      </div>
      <div data-later>
      <h2 class="oh">May be done a second time</h2>
      {p.later.length ? (
        <>
          <Calls of={p.later} />
          <p class="sm t3">
            {future ? "This run" : "The origin"} did it after the cut, or is about to. If {future ? "the fork" : "this run"} wants it too, it is asked about anew
            where a rule asks; where none asks, it simply runs.
          </p>
        </>
      ) : (
        <p class="sm t2">Nothing: after the cut {future ? "this run" : "the origin"} changed nothing in the world.</p>
      )}
      </div>
    </div>
  );
}

export function usePreview(run: string, record: number, answers: "keep" | "reopen") {
  const loaded = useLoaded((s) => get<ForkPreview>(`/runs/${at(run)}/fork-preview`, { ...(record ? { at: record } : {}), answers }, s), [run, record]);
  useEffect(() => listen({ changed: (c) => c.runs.some((r) => r.run_id === run) && loaded.again() }), [run, record]);
  return loaded;
}

interface Props {
  forkedFrom: string;
  /** The fork itself. */
  run: string;
  /** The call that waits for approval, with its arguments as JSON by name. */
  call?: { tool: string; arguments: ReadonlyMap<string, string> };
}

/** Of a run that is a fork, or of an approval in one. */
export function Origin({ forkedFrom, run, call }: Props) {
  const { run: of, record } = forkOf(forkedFrom);
  const { data, error } = usePreview(of, record, "keep");
  const alike = call && data ? data.later.filter((c) => c.tool === call.tool) : [];
  const rest = data && call ? { ...data, later: data.later.filter((c) => c.tool !== call.tool) } : data;
  return (
    <section class="origin" aria-label="What it has of its origin" data-origin={of}>
      {alike.map((c) => (
        <Twice key={c.call_id} one={c} wanted={call!.arguments} />
      ))}
      <p class={call ? "sm t2" : ""}>
        {call ? "Its run is a fork" : <b>A fork</b>} of{" "}
        <Link to={to("runs", of)} class="mono">
          {shortId(of)}
        </Link>
        , cut after record {record}. <Link to={`/compare?${new URLSearchParams({ left: of, right: run })}`}>Compare the two</Link>
      </p>
      {rest && call ? <Besides preview={rest} /> : rest ? <Inherited preview={rest} /> : null}
      {error && !data ? <p class="sm t2">What the origin did is not shown: you may not see that run, or it was erased.</p> : null}
    </section>
  );
}

/** Beside the call that waits: only what there is. */
function Besides({ preview: p }: { preview: ForkPreview }) {
  return (
    <>
      {p.inherited.length ? (
        <div data-inherited>
          <h3>Inherited as done, not run again</h3>
          <Calls of={p.inherited} />
        </div>
      ) : null}
      {p.later.length ? (
        <div data-later>
          <h3>Done by the origin after the cut</h3>
          <Calls of={p.later} />
        </div>
      ) : null}
    </>
  );
}

/** The origin did the same: exactly this, or with other arguments. */
function Twice({ one: c, wanted }: { one: OriginCall; wanted: ReadonlyMap<string, string> }) {
  const theirs = Object.entries((c.arguments ?? {}) as Record<string, unknown>).map(([k, v]) => [k, json(v)] as const);
  const differ = theirs.filter(([k, v]) => wanted.get(k) !== v);
  const exactly = !differ.length && theirs.length === wanted.size;
  const others = differ.map(([k, v]) => `${k} ${v}${wanted.has(k) ? ` (here ${wanted.get(k)})` : ""}`).join(", ");
  const waits = c.left === "asked";
  return (
    <div class="twice" role="note" data-twice={exactly ? "exactly" : "alike"}>
      <b>
        {waits
          ? exactly
            ? "The same action waits in the run this was forked from."
            : "The origin waits with the same tool."
          : c.left === "maybe"
            ? "The origin may have done this already."
            : exactly
              ? "The origin already ran exactly this."
              : "The origin already ran this, with other arguments."}
      </b>{" "}
      <span class="mono">
        <Visible text={`${c.tool} ${exactly ? named(c.arguments) : others}`.slice(0, 300)} />
      </span>
      {c.at && !waits ? (
        <>
          , <Time at={c.at} />
        </>
      ) : null}
      {c.by.length ? (
        <>
          , approved by <Visible text={c.by.join(" and ")} />
        </>
      ) : null}
      . {waits ? "Approving both does it twice." : "Approving it here does it a second time."}
    </div>
  );
}
