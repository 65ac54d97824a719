/** Who wanted what, and what became of it: every command, also those that were refused, newest first, in words. */
import { useEffect, useRef, useState } from "preact/hooks";
import { denied } from "../api";
import { Top } from "../frame";
import { isRun } from "../ids";
import { useKeys } from "../keys";
import { listen } from "../live";
import { useLoaded } from "../loading";
import { query, setQuery } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { Button, Icon, refused, say } from "../ui";
import { Visible } from "../visible";
import { count, exactTime, many } from "../words";
import type { AuditEntry } from "../generated/types";
import { wear } from "../late_style";
import style from "./audit.late.css";
import { Chain } from "./audit_chain";
import { copyLine, Line } from "./audit_line";
import { exported, filtered, FIELDS, read, save, wanted, type Field, type Wanted } from "./audit_query";

const VERBS: [string, string][] = [
  ["", "Every verb"], ["approve", "Approved"], ["deny", "Denied"], ["value", "Answered"], ["expire", "Expired"], ["escalate", "Escalated"], ["veto", "Vetoed"], ["start", "Started"], ["say", "Wrote to"],
  ["pause", "Paused"], ["resume", "Resumed"], ["cancel", "Cancelled"], ["halt", "Halted"], ["unhalt", "Halt lifted"],
  ["fork", "Forked"], ["again", "Ran again"], ["import", "Imported"], ["erase", "Erased"],
];
const ONLY = [
  ["", "Everything"],
  ["refused", "Refused"],
  ["security", "Security"],
] as const;

wear(style);

export function AuditPage() {
  const w = wanted();
  const [rows, setRows] = useState<AuditEntry[]>([]);
  const [after, setAfter] = useState<string | null>(null);
  const [newer, setNewer] = useState(false);
  const reading = useRef(false);
  const deps = FIELDS.map((name) => w[name]);
  const { data, error, again } = useLoaded((s) => read(w, null, 100, s), deps);
  const open = query.value.get("line") ?? "";
  useEffect(() => {
    if (!data) return;
    setRows(data.items);
    setAfter(data.after);
    setNewer(false);
  }, [data]);
  useEffect(() => listen({ changed: () => setNewer(true), whole: () => setNewer(true) }), []);
  const older = async (): Promise<void> => {
    if (!after || reading.current) return;
    reading.current = true;
    try {
      const page = await read(w, after, 200);
      setRows((old) => [...old, ...page.items]);
      setAfter(page.after);
    } catch (e) {
      refused("Not read", e);
    } finally {
      reading.current = false;
    }
  };
  const shown = rows.find((r) => r.cursor === open);
  useKeys({
    j: () => step(1),
    k: () => step(-1),
    y: () => shown && copyLine(shown),
  });
  return (
    <main class="plain-page">
      <Top title="Audit" />
      <div class="row head">
        <h1 class="grow">Audit</h1>
        <Search value={w.q} />
        <Export w={w} />
      </div>
      <Chain newer={newer} />
      <Filters w={w} rows={rows} />
      <div class="row filters au-only">
        <div class="seg" role="radiogroup" aria-label="Which lines">
          {ONLY.filter(([word]) => word !== "security" || !denied("admin")).map(([word, name]) => (
            <button
              key={word}
              type="button"
              role="radio"
              aria-checked={w.only === word}
              class={w.only === word ? "on" : ""}
              onClick={() => setQuery({ only: word || null, line: null })}
            >
              {name}
            </button>
          ))}
        </div>
        <span class="grow" />
        {newer ? (
          <button type="button" class="newer-runs sm t3" onClick={again}>
            newer lines, show
          </button>
        ) : null}
        <span class="sm t3 num" data-count>
          {many(rows.length) + (after ? "+" : "")} {rows.length === 1 ? "line" : "lines"}
        </span>
      </div>
      {error && !data ? (
        <Failure error={error} again={again} />
      ) : !data ? (
        <Skeleton rows={6} row={(n) => <div class="skel-line" key={n} />} />
      ) : !rows.length ? (
        <Nothing w={w} />
      ) : (
        <div class="card audit">
          {byDay(rows).map(([day, lines]) => (
            <section key={day} aria-label={day}>
              <h2 class="au-day">{day}</h2>
              <ul>
                {lines.map((e) => (
                  <Line key={e.cursor} entry={e} open={e.cursor === open} />
                ))}
              </ul>
            </section>
          ))}
          {after ? (
            <div class="au-older">
              <Button onClick={() => void older()} name="older">
                Show older lines
              </Button>
            </div>
          ) : null}
        </div>
      )}
    </main>
  );
}

/** To the next line, or the one before. */
function step(by: number): void {
  const all = [...document.querySelectorAll<HTMLElement>(".au-row")];
  const at = all.indexOf(document.activeElement as HTMLElement);
  all[Math.min(all.length - 1, Math.max(0, at + by))]?.focus();
}

function byDay(rows: AuditEntry[]): [string, AuditEntry[]][] {
  const days: [string, AuditEntry[]][] = [];
  const today = exactTime(Date.now() / 1000).slice(0, 10);
  let last = "";
  for (const row of rows) {
    const date = exactTime(row.at).slice(0, 10);
    if (date !== last) {
      const words = new Date(row.at * 1000).toLocaleDateString("en-GB", { weekday: "long", day: "numeric", month: "long", year: "numeric" });
      days.push([date === today ? `Today, ${words}` : words, []]);
      last = date;
    }
    days.at(-1)?.[1].push(row);
  }
  return days;
}

function Search({ value }: { value: string }) {
  const box = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  useEffect(() => {
    if (box.current && box.current.value !== value && document.activeElement !== box.current) box.current.value = value;
  }, [value]);
  return (
    <div role="search" class="search au-find">
      <label class="field">
        <Icon name="search" />
        <span class="hide">Search the audit</span>
        <input
          ref={box}
          type="search"
          defaultValue={value}
          placeholder="who, tool, argument, note, run id…"
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          onInput={(e) => {
            const text = e.currentTarget.value;
            clearTimeout(timer.current);
            timer.current = window.setTimeout(() => setQuery({ q: text.trim(), line: null }), 250);
          }}
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
    </div>
  );
}

const NAMES: [Field, string, (e: AuditEntry) => string][] = [
  ["by", "Who", (e) => e.by],
  ["agent", "Agent", (e) => e.agent],
  ["tool", "Tool", (e) => e.tool],
  ["run", "Run", (e) => (isRun(e.run_id) ? e.run_id : "")],
];

function Filters({ w, rows }: { w: Wanted; rows: AuditEntry[] }) {
  // On a phone the lines come first; what filters is counted, and a tap away.
  const [open, setOpen] = useState(false);
  const chosen = [...NAMES.map(([name]) => w[name]), w.verb, w.day].filter(Boolean).length;
  const set = (name: Field) => (e: { currentTarget: { value: string } }) => setQuery({ [name]: e.currentTarget.value.trim(), line: null });
  return (
    <>
    <button type="button" class="b au-more" aria-expanded={open} onClick={() => setOpen(!open)}>
      {chosen ? `${chosen} ${chosen === 1 ? "filter" : "filters"}` : "Filters"}
    </button>
    <div class={`au-filters ${open ? "open" : ""} ${filtered(w) ? "set" : ""}`} role="group" aria-label="Filters">
      {NAMES.map(([name, word, of]) => (
        <label key={name}>
          <span class="lb">{word}</span>
          <input
            type="text"
            aria-label={word}
            list={`au-${name}`}
            value={w[name]}
            placeholder="any"
            autocomplete="off"
            spellcheck={false}
            maxLength={200}
            class={w[name] ? "on" : ""}
            onChange={set(name)}
          />
          <datalist id={`au-${name}`}>
            {[...new Set(rows.map(of))].filter(Boolean).slice(0, 50).map((text) => (
              <option key={text} value={text} />
            ))}
          </datalist>
        </label>
      ))}
      <label>
        <span class="lb">Verb</span>
        <select aria-label="Verb" value={w.verb} class={w.verb ? "on" : ""} onChange={set("verb")}>
          {VERBS.map(([id, word]) => (
            <option key={id} value={id}>
              {word}
            </option>
          ))}
        </select>
      </label>
      <label>
        <span class="lb">Day</span>
        <input type="date" aria-label="Day" value={w.day} class={w.day ? "on" : ""} onChange={set("day")} />
      </label>
      {filtered(w) ? (
        <button type="button" class="link" onClick={clear}>
          Clear filters
        </button>
      ) : null}
    </div>
    </>
  );
}

const clear = (): void => setQuery({ ...Object.fromEntries(FIELDS.map((name) => [name, null])), line: null });

function Nothing({ w }: { w: Wanted }) {
  if (!filtered(w))
    return (
      <Empty icon="audit" title="Nothing yet">
        <p>Every start, decision, pause, cancel and halt is listed here with who did it and from where, also when it was refused.</p>
      </Empty>
    );
  return (
    <Empty icon="search" title="No line matches">
      <p>
        {w.q ? (
          <>
            “<Visible text={w.q} />” is in no line
          </>
        ) : (
          "Line not found"
        )}{" "}
        with these filters.
      </p>
      <div class="row center">
        <Button look="p" onClick={clear}>
          Clear filters
        </Button>
      </div>
    </Empty>
  );
}

/** The lines that match, as a file. */
function Export({ w }: { w: Wanted }) {
  const [busy, setBusy] = useState(false);
  const run = async (kind: string): Promise<void> => {
    setBusy(true);
    try {
      const file = await exported(w, kind);
      const name = `audit-${exactTime(Date.now() / 1000).slice(0, 10)}.${kind}`;
      save(name, kind === "csv" ? "text/csv" : "application/x-ndjson", file.text);
      say(`${count(file.lines, "line")} exported.${file.complete ? "" : " There are more: narrow the filters."}`);
    } catch (e) {
      refused("Not exported", e);
    } finally {
      setBusy(false);
    }
  };
  return (
    <label class="b pick au-export">
      <span class="hide">Export</span>
      <select aria-label="Export" value="" disabled={busy} onChange={(e) => { const kind = e.currentTarget.value; e.currentTarget.value = ""; void run(kind); }}>
        <option value="">{busy ? "Exporting…" : "Export…"}</option>
        <option value="ndjson">What matches, as JSON lines</option>
        <option value="csv">What matches, as CSV</option>
      </select>
      <Icon name="chev" />
    </label>
  );
}
