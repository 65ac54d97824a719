/** The journal, raw: every record, as it was written. */
import { useEffect, useRef, useState } from "preact/hooks";
import { at, get } from "../api";
import { Failure } from "../states";
import { CopyText } from "../ui";
import { LongText } from "../values";
import { Visible } from "../visible";
import { useWindow } from "../window";
import { clock, exactTime, json } from "../words";
import { query, setQuery } from "../router";
import type { RunModel } from "./model";
import type { Page, Recorded } from "../types";

const LINE = 34;

export function Journal({ model }: { model: RunModel }) {
  const [records, setRecords] = useState<Recorded[]>([]);
  const [error, setError] = useState<unknown>(null);
  const box = useRef<HTMLDivElement>(null);
  const seq = model.clock.value.seq;
  const shown = Number(query.value.get("record") ?? 0);
  const range = useWindow(box, records.length, LINE);
  // Read on where the last page ended, until what the run has is here; a later record is one more page.
  useEffect(() => {
    let gone = false;
    const read = async (from: Recorded[]): Promise<void> => {
      let have = from;
      while (!gone && (have.at(-1)?.seq ?? 0) < seq) {
        const page = await get<Page<Recorded>>(`/runs/${at(model.id)}/records`, { after: have.at(-1)?.seq ?? 0, limit: 200 });
        if (!page.items.length || gone) return;
        have = [...have, ...page.items];
        setRecords(have);
      }
    };
    read(records).catch((e: unknown) => gone || setError(e));
    return () => {
      gone = true;
    };
  }, [seq]);
  const open = records.find((r) => r.seq === shown);
  useEffect(() => {
    if (open) box.current?.querySelector(`[data-record="${shown}"]`)?.scrollIntoView({ block: "center" });
  }, [open?.seq]);
  if (error && !records.length) return <Failure error={error} again={() => setError(null)} />;
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
