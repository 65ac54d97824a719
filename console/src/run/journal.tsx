/** The journal, raw: every record, as it was written. */
import { useEffect, useRef } from "preact/hooks";
import { Failure } from "../states";
import { CopyText } from "../ui";
import { LongText } from "../values";
import { Visible } from "../visible";
import { useWindow } from "../window";
import { clock, exactTime, json } from "../words";
import { query, setQuery } from "../router";
import type { RunModel } from "./model";
import { useRecords } from "./records";

const LINE = 34;

export function Journal({ model }: { model: RunModel }) {
  const { records, error, again } = useRecords(model);
  const box = useRef<HTMLDivElement>(null);
  const seq = model.clock.value.seq;
  const shown = Number(query.value.get("record") ?? 0);
  const range = useWindow(box, records.length, LINE);
  const open = records.find((r) => r.seq === shown);
  useEffect(() => {
    if (open) box.current?.querySelector(`[data-record="${shown}"]`)?.scrollIntoView({ block: "center" });
  }, [open?.seq]);
  if (error && !records.length) return <Failure error={error} again={again} />;
  return (
    <section class="card journal" aria-label="Journal">
      <div ref={box} class="lines" role="list" style={{ height: `${records.length * LINE}px` }}>
        {records.slice(range.from, range.to).map((r, i) => {
          const { t, at: when, ...rest } = r.record;
          return (
            <div role="listitem" key={r.seq} class="jw" style={{ top: `${(range.from + i) * LINE}px` }}>
              <button
                type="button"
                class={`jl ${r.seq === shown ? "sel" : ""}`}
                data-record={r.seq}
                aria-expanded={r.seq === shown}
                onClick={() => setQuery({ record: r.seq === shown ? null : String(r.seq) })}
              >
                <span class="sq">{r.seq}</span>
                <time class="t3" title={exactTime(when)}>
                  {clock(when)}
                </time>
                <b>
                  <Visible text={t} />
                </b>
                <span class="mono t3 clip">
                  <Visible text={json(rest).slice(0, 220)} />
                </span>
              </button>
            </div>
          );
        })}
      </div>
      {open ? (
        <div class="jopen" role="region" aria-label={`Record ${open.seq}`}>
          <div class="row">
            <h2 class="grow lb">
              Record {open.seq} of {seq}
            </h2>
            <CopyText text={json(open.record)} label={`Copy record ${open.seq}`}>
              copy
            </CopyText>
          </div>
          <div class="mono rawv">
            <LongText text={json(open.record, 2)} limit={6000} />
          </div>
        </div>
      ) : null}
    </section>
  );
}
