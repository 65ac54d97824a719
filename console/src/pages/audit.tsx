/** Who wanted what, and what became of it: every command, also those that were refused. */
import { useEffect, useRef, useState } from "preact/hooks";
import { denied, get } from "../api";
import { Top } from "../frame";
import { listen } from "../live";
import { useLoaded } from "../loading";
import { Link, query, setQuery, to } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { Button, Icon, refused, Time } from "../ui";
import { Visible } from "../visible";
import { useWindow } from "../window";
import { count, many, shortId } from "../words";
import type { AuditEntry as Audit } from "../generated/types";
import type { Page } from "../types";

const ROW = 44;
const PLAIN = new Set(["at", "run_id", "verb", "by", "origin", "seq", "refused", "number", "cursor", "more"]);

const CHOICES = [
  ["", "Everything"],
  ["refused", "Refused"],
  ["security", "Security"],
] as const;

export function AuditPage() {
  const [rows, setRows] = useState<Audit[]>([]);
  const [after, setAfter] = useState<string | null>(null);
  const [newer, setNewer] = useState(false);
  const only = query.value.get("only") ?? "";
  const security = only === "security";
  const { data, error, again } = useLoaded((s) => get<Page<Audit>>("/audit", { limit: 100, security }, s), [security]);
  const box = useRef<HTMLDivElement>(null);
  const reading = useRef(false);
  const shown = only === "refused" ? rows.filter((r) => r.refused) : rows;
  const range = useWindow(box, shown.length, ROW);
  useEffect(() => {
    if (!data) return;
    setRows(data.items);
    setAfter(data.after);
    setNewer(false);
  }, [data]);
  useEffect(() => listen({ changed: () => setNewer(true), whole: () => setNewer(true) }), []);
  const more = async (): Promise<void> => {
    if (!after || reading.current) return;
    reading.current = true;
    try {
      const page = await get<Page<Audit>>("/audit", { after, limit: 200, security });
      setRows((old) => [...old, ...page.items]);
      setAfter(page.after);
    } catch (e) {
      refused("Not read", e);
    } finally {
      reading.current = false;
    }
  };
  useEffect(() => {
    if (after && range.to + 20 > shown.length) void more();
  }, [range.to, after, shown.length]);
  return (
    <main class="plain-page">
      <Top title="Audit" />
      <div class="row head">
        <h1 class="grow">Audit</h1>
        <Verify />
      </div>
      <div class="row filters">
        <div class="seg" role="radiogroup" aria-label="Which entries">
          {CHOICES.filter(([word]) => word !== "security" || !denied("admin")).map(([word, name]) => (
            <button
              key={word}
              type="button"
              role="radio"
              aria-checked={only === word}
              class={only === word ? "on" : ""}
              onClick={() => setQuery({ only: word || null })}
            >
              {name}
            </button>
          ))}
        </div>
        <span class="grow" />
        {newer ? (
          <button type="button" class="newer-runs sm t3" onClick={again}>
            newer entries, show
          </button>
        ) : null}
        <span class="sm t3 num">{many(shown.length) + (after ? "+" : "")}</span>
      </div>
      {error && !data ? (
        <Failure error={error} again={again} />
      ) : !data ? (
        <Skeleton rows={6} row={(n) => <div class="skel-line" key={n} />} />
      ) : !shown.length && !after ? (
        <Empty icon="audit" title={only === "refused" ? "Nothing was refused" : "Nothing yet"}>
          <p>Every start, decision, pause, cancel and halt is listed here with who did it and from where, also when it was refused.</p>
        </Empty>
      ) : (
        <div class="card audit" role="table" aria-label="Audit" aria-rowcount={after ? -1 : shown.length + 1}>
          <div class="al ah" role="row">
            {["When", "Who", "What", "Run", "Outcome"].map((w) => (
              <span key={w} role="columnheader">
                {w}
              </span>
            ))}
          </div>
          <div ref={box} class="lines" role="rowgroup" style={{ height: `${shown.length * ROW}px` }}>
            {shown.slice(range.from, range.to).map((r, i) => (
              <Line key={range.from + i} entry={r} top={(range.from + i) * ROW} />
            ))}
          </div>
        </div>
      )}
    </main>
  );
}

function Line({ entry: r, top }: { entry: Audit; top: number }) {
  const rest = Object.entries({ ...r, ...r.more }).filter(([k, v]) => !PLAIN.has(k) && typeof v !== "object" && v !== "");
  return (
    <div class="al" role="row" style={{ top: `${top}px` }} data-verb={r.verb} data-refused={r.refused ? "" : undefined}>
      <span role="cell" class="t2 num">
        <Time at={r.at} />
      </span>
      <span role="cell" class="clip" title={r.origin ? `from ${r.origin}` : ""}>
        <Visible text={r.by || "someone"} />
      </span>
      <span role="cell" class="clip">
        <b>
          <Visible text={r.verb} />
        </b>{" "}
        <span class="t3 sm">
          <Visible text={rest.map(([k, v]) => `${k.replace(/_id$/, "")} ${String(v)}`).join(" · ")} />
        </span>
      </span>
      <span role="cell" class="mono sm clip">
        {r.run_id && !r.run_id.startsWith("@") ? (
          <Link to={to("runs", r.run_id)}>
            <Visible text={shortId(r.run_id)} />
          </Link>
        ) : (
          "–"
        )}
      </span>
      <span role="cell" class="clip">
        {r.refused ? (
          <span class="st fail" title={r.refused}>
            <Icon name="fail" />
            <span class="clip">
              Refused: <Visible text={r.refused} />
            </span>
          </span>
        ) : (
          <span class="t3">{r.seq ? `record ${r.seq}` : "done"}</span>
        )}
      </span>
    </div>
  );
}

/** Read every journal, the chains of the audit and its seals again, and say how far that goes. */
function Verify() {
  const [busy, setBusy] = useState(false);
  const [found, setFound] = useState<{ broken: string[]; says: string } | null>(null);
  const broken = found?.broken ?? [];
  const run = (): void => {
    setBusy(true);
    get<{ broken: string[]; says: string }>("/audit/verify")
      .then(
        setFound,
        (e: unknown) => refused("Not checked", e),
      )
      .finally(() => setBusy(false));
  };
  return (
    <>
      {found === null ? null : broken.length ? (
        <span class="st fail" role="alert">
          <Icon name="fail" />
          {count(broken.length, "thing is", "things are")} broken: <Visible text={broken.slice(0, 3).join("; ")} />
        </span>
      ) : (
        <span class="st done" role="status">
          <Icon name="done" />
          <Visible text={found.says} />
        </span>
      )}
      <Button off={denied("admin")} busy={busy ? "Checking…" : ""} onClick={run} name="verify">
        Check everything
      </Button>
    </>
  );
}
