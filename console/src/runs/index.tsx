/** Runs: what needs a person first. Everything that filters is in the address. */
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { denied } from "../api";
import { here } from "../command";
import { openRuns, Top } from "../frame";
import { useKeys } from "../keys";
import { halts } from "../live";
import { useLoaded } from "../loading";
import { row } from "../rows";
import { href, query, restoreScroll, setQuery } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { Button, Command, Icon, Tabs, type Tab } from "../ui";
import { Visible } from "../visible";
import { many } from "../words";
import { later } from "../later";
import { asking, chosen, MOST } from "./chosen";
import { List } from "./list";
import { feedsOf, TABS, type TabId, type Wanted } from "./groups";
import { EmptyRow } from "./row";
import { StartDialog } from "./start";
import { Rows } from "./virtual";

const BulkBar = later(async () => (await import("./bulk")).BulkBar, true);

const SavedFilters = later(async () => (await import("./saved")).SavedFilters, true);

const TIMES: [string, string][] = [
  ["", "All time"],
  ["1d", "Last 24 hours"],
  ["7d", "Last 7 days"],
  ["30d", "Last 30 days"],
];

function wanted(): Wanted {
  const q = query.value;
  const tab = (q.get("tab") ?? "all") as TabId;
  return { tab: TABS.some((t) => t.id === tab) ? tab : "all", q: q.get("q") ?? "", time: q.get("time") ?? "" };
}

export function RunsPage() {
  const w = wanted();
  const list = useMemo(() => new List(w), [w.tab, w.q, w.time]);
  const [starting, setStarting] = useState(false);
  useEffect(() => () => list.end(), [list]);
  useEffect(() => list.regroup(), [halts.value, list]);
  const counts = useCounts(list, w);
  useKeys({ ".": () => list.showNewer() });
  const sections = list.sections.value;
  const empty = sections !== null && !list.ids.length && list.whole;
  const ready = sections !== null;
  useEffect(() => {
    if (ready) restoreScroll();
  }, [ready]);
  return (
    <main>
      <Top title="Runs" />
      <div class="row head">
        <h1 class="grow">Runs</h1>
        <span id="beside-the-title" />
        <Search value={w.q} />
        <label class="b pick">
          <span class="hide">Time</span>
          <select aria-label="Time" value={w.time} onChange={(e) => setQuery({ time: e.currentTarget.value })}>
            {TIMES.map(([id, word]) => (
              <option key={id} value={id}>
                {word}
              </option>
            ))}
          </select>
          <Icon name="chev" />
        </label>
        <Button
          look="p"
          off={denied("control")}
          onClick={() => setStarting(true)}
          name="start"
        >
          Start a run…
        </Button>
      </div>
      <div id="above-the-runs" />
      <div class="row filters">
        <Tabs
          label="Which runs"
          on={w.tab}
          go={(t) => setQuery({ tab: t.id === "all" ? null : t.id })}
          tabs={TABS.map((t): Tab => ({
            id: t.id,
            word: t.word,
            n: counts[t.id] ?? null,
            to: href(`/runs${t.id === "all" ? "" : `?tab=${t.id}`}`),
          }))}
        />
        <span class="grow" />
        {w.tab === "failed" && !empty ? <ResumeFailed list={list} /> : null}
        <Newer list={list} />
      </div>
      <SavedFilters w={w} />
      {list.error.value && !sections ? (
        <Failure error={list.error.value} again={() => void list.begin()} />
      ) : !sections ? (
        <Skeleton rows={8} row={(n) => <EmptyRow n={n} key={n} />} />
      ) : empty ? (
        <Nothing w={w} />
      ) : (
        <Rows list={list} />
      )}
      {chosen.ids.value.size ? <BulkBar list={list} /> : null}
      {starting ? <StartDialog close={() => setStarting(false)} /> : null}
    </main>
  );
}

/** After an outage: all that the search means are looked at, and then tried again. */
function ResumeFailed({ list }: { list: List }) {
  const [busy, setBusy] = useState("");
  const loaded = list.ids.length;
  if (!loaded) return null;
  const open = async (): Promise<void> => {
    setBusy("Reading them…");
    await list.readOn(MOST);
    setBusy("");
    chosen.choose(list.ids.slice(0, MOST));
    asking.value = "resume";
  };
  return (
    <Button
      name="resume-failed"
      icon="play"
      off={denied("control")}
      busy={busy}
      onClick={() => void open()}
    >
      {list.whole && loaded <= MOST ? `Resume all ${many(loaded)}…` : "Resume all…"}
    </Button>
  );
}

function Newer({ list }: { list: List }) {
  const n = list.newer.value.length;
  if (!n) return null;
  return (
    <button type="button" class="newer-runs sm t3" onClick={() => list.showNewer()} data-newer={n}>
      {many(n)} newer <kbd aria-hidden="true">.</kbd> show
    </button>
  );
}

function Search({ value }: { value: string }) {
  const box = useRef<HTMLInputElement>(null);
  const timer = useRef(0);
  useEffect(() => {
    if (box.current && box.current.value !== value && document.activeElement !== box.current) box.current.value = value;
  }, [value]);
  return (
    <div role="search" class="search">
      <label class="field">
        <Icon name="search" />
        <span class="hide">Search runs</span>
        <input
          ref={box}
          type="search"
          defaultValue={value}
          placeholder="Words, tool:, status:, cost:>1"
          autocomplete="off"
          spellcheck={false}
          maxLength={200}
          onInput={(e) => {
            const text = e.currentTarget.value;
            clearTimeout(timer.current);
            timer.current = window.setTimeout(() => setQuery({ q: text.trim() }), 250);
          }}
        />
        <kbd aria-hidden="true">/</kbd>
      </label>
    </div>
  );
}

/** How many there are in each tab, as far as was read: `120+` where there is more. */
function useCounts(list: List, w: Wanted): Partial<Record<TabId, string>> {
  const [all, setAll] = useState<Partial<Record<TabId, string>>>({});
  const sections = list.sections.value;
  useEffect(() => {
    if (!sections) return;
    const found: Partial<Record<TabId, string>> = {};
    const of = (ids: string[], whole: boolean): string => many(ids.length) + (whole ? "" : "+");
    const part = (id: string) => sections.filter((s) => s.id === id);
    const working = ["working", "finishing", "held"].flatMap(part);
    const done = (name: string): boolean => part(name).every((s) => !s.feed || s.feed.done);
    if (w.tab === "all" || w.tab === "needs")
      found.needs = of(
        part("needs").flatMap((s) => s.ids),
        done("needs"),
      );
    if (w.tab === "all" || w.tab === "working")
      found.working = of(
        working.flatMap((s) => s.ids),
        done("working"),
      );
    const having = (name: string, status: string): string[] =>
      part(name)
        .flatMap((s) => s.ids)
        .filter((id) => row(id)?.peek().status === status);
    if (w.tab === "all") {
      if (done("needs")) found.failed = of(having("needs", "failed"), true);
      if (done("rest")) found.paused = of(having("rest", "paused"), true);
      found.all = of(
        sections.flatMap((s) => s.ids),
        sections.every((s) => !s.feed || s.feed.done),
      );
      if (!w.q && !w.time && done("needs") && done("working"))
        openRuns.value = [...part("needs"), ...working].reduce((n, s) => n + s.ids.length, 0);
    } else if (w.tab === "paused" || w.tab === "failed")
      found[w.tab] = of(
        sections.flatMap((s) => s.ids),
        sections.every((s) => !s.feed || s.feed.done),
      );
    setAll((old) => ({ ...old, ...found }));
  }, [sections]);
  return all;
}

function Nothing({ w }: { w: Wanted }) {
  const filtered = w.q !== "" || w.time !== "" || w.tab !== "all";
  if (!filtered) {
    return (
      <Empty icon="runs" title="No runs yet">
        <p>Start one from your code, or in the folder of your agent from a terminal. It appears here at once.</p>
        <Command text={here('adjourn start app.py:agent "refund order 123"')} />
      </Empty>
    );
  }
  return <NoMatch w={w} />;
}

function NoMatch({ w }: { w: Wanted }) {
  const tab = TABS.find((t) => t.id === w.tab);
  const outside = useLoaded(
    async (s) => (w.time ? (await Promise.all(feedsOf({ ...w, time: "" }).map((f) => f.feed.next(s)))).flat().length : 0),
    [w.tab, w.q, w.time],
  );
  const time = TIMES.find(([id]) => id === w.time)?.[1];
  return (
    <Empty icon="search" title="No run matches">
      <p>
        {w.tab === "all" ? "" : `In “${tab?.word}”`}
        {w.tab !== "all" && w.q ? ", " : ""}
        {w.q ? (
          <span class="mono">
            <Visible text={w.q} />
          </span>
        ) : null}
        {w.time ? ` in the ${time?.toLowerCase()}` : ""}.{" "}
        {outside.data ? `There ${outside.data === 1 ? "is 1 older one" : `are ${many(outside.data)} older ones`}.` : ""}
      </p>
      <div class="row center">
        {w.time ? (
          <Button look="p" onClick={() => setQuery({ time: null })}>
            Look in all time
          </Button>
        ) : null}
        <Button look={w.time ? "" : "p"} onClick={() => setQuery({ q: null, time: null, tab: null })}>
          Clear filters
        </Button>
      </div>
    </Empty>
  );
}
