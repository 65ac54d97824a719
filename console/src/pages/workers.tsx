/** Is anything stuck because no worker advances it? What fits no worker; who is alive, with how many slots; what is ready. */
import { useEffect } from "preact/hooks";
import { get, now } from "../api";
import { here } from "../command";
import { Top } from "../frame";
import type { FleetView, LimitView, QueueView, UnfitView, WorkerView } from "../generated/types";
import { wear } from "../late_style";
import { looking, tick } from "../live";
import { useLoaded } from "../loading";
import { Link, to } from "../router";
import { Empty, Failure, Skeleton } from "../states";
import { Command, CopyText, Icon, sentence, TableHead, Time } from "../ui";
import { Visible } from "../visible";
import { count, duration, many, rough } from "../words";
import style from "./workers.late.css";

wear(style);

const EVERY = 5000;
const SQUARES = 10;
const LATE = 60;
const STATES: Record<WorkerView["state"], readonly [tone: string, glyph: string, word: string]> = {
  working: ["run", "run", "Working"],
  idle: ["idle", "ready", "Idle"],
  draining: ["pause", "pausing", "Draining"],
  not_answering: ["fail", "fail", "Not answering"],
};

export function WorkersPage() {
  const { data, error, again } = useLoaded((s) => get<FleetView>("/workers", {}, s), []);
  useEffect(() => {
    const timer = setInterval(() => looking.value && again(), EVERY);
    return () => clearInterval(timer);
  }, []);
  return (
    <main class="plain-page workers">
      <Top title="Workers" />
      <div class="row head">
        <h1 class="grow">Workers</h1>
        <span class="sm t2 wk-same">
          the same in a terminal: <CopyText text={here("adjourn workers")} label="Copy the command adjourn workers"><code>adjourn workers</code></CopyText>
        </span>
      </div>
      {error && !data ? (
        <Failure error={error} again={again} />
      ) : !data ? (
        <Skeleton rows={4} row={(n) => <div class="skel-line" key={n} />} />
      ) : (
        <Fleet fleet={data} />
      )}
    </main>
  );
}

function Fleet({ fleet }: { fleet: FleetView }) {
  return (
    <>
      <Figures fleet={fleet} />
      {fleet.unfit.length ? <Unfit unfit={fleet.unfit} /> : null}
      {fleet.workers.length ? (
        <Workers workers={fleet.workers} />
      ) : (
        <Empty icon="run" title="No worker has said that it is there">
          <p>Runs are advanced by workers. Start one, with the file of your agent:</p>
          <Command text={here("adjourn worker app.py:agent")} />
        </Empty>
      )}
      {fleet.queues.length ? <Queues fleet={fleet} /> : null}
      {fleet.limits.length ? <Limits limits={fleet.limits} /> : null}
    </>
  );
}

function Figures({ fleet }: { fleet: FleetView }) {
  tick.value;
  const silent = fleet.workers.length - fleet.alive;
  const waits = fleet.oldest_at ? now() - fleet.oldest_at : 0;
  const share = fleet.slots ? Math.round((100 * fleet.running) / fleet.slots) : 0;
  return (
    <dl class="card wk-figures">
      <div>
        <dt>Alive</dt>
        <dd>{silent ? `${many(fleet.alive)} of ${many(fleet.workers.length)}` : many(fleet.alive)}</dd>
        <dd class="sm t2">{silent ? `${many(silent)} not answering` : "all answer"}</dd>
      </div>
      <div>
        <dt>Slots in use</dt>
        <dd>
          {many(fleet.running)} of {many(fleet.slots)}
        </dd>
        <dd class="sm t2">{share} %</dd>
      </div>
      <div>
        <dt>Ready</dt>
        <dd>{many(fleet.ready)}</dd>
        <dd class="sm t2">{fleet.ready ? "wait for a worker" : "nothing waits"}</dd>
      </div>
      <div>
        <dt>Oldest ready run</dt>
        <dd class={waits > LATE ? "wk-late" : ""}>{fleet.oldest_at ? rough(waits) : "–"}</dd>
        <dd class="sm t2">{fleet.oldest_at ? "since it could be taken" : "none"}</dd>
      </div>
    </dl>
  );
}

function Unfit({ unfit }: { unfit: UnfitView[] }) {
  const runs = unfit.reduce((sum, u) => sum + u.runs, 0);
  return (
    <section class="card wk-unfit" aria-labelledby="wk-unfit">
      <h2 id="wk-unfit">
        <Icon name="wait" /> {count(runs, "run fits", "runs fit")} no worker <span class="t2">they wait, nothing is lost</span>
      </h2>
      <ul>
        {unfit.map((u) => (
          <li key={u.agent + u.why}>
            <Agent name={u.agent} />
            <span class="t2">
              {count(u.runs, "run")}, oldest <Time at={u.oldest_at} />
            </span>
            <span class="grow">
              <Visible text={sentence(u.why)} />
            </span>
            {u.run_id ? <Link to={to("runs", u.run_id)}>See the oldest run, and what can be done</Link> : <span>Start a worker that has it.</span>}
          </li>
        ))}
      </ul>
    </section>
  );
}

function Agent({ name, version = "" }: { name: string; version?: string | undefined }) {
  return (
    <Link to={`/runs?q=${encodeURIComponent(`agent:${name}`)}`} class="wk-agent">
      <Visible text={name} />
      {version ? <span class="tag">version {version}</span> : null}
    </Link>
  );
}

/** The agents and flows of which workers have more than one version: a run goes on only where it fits. */
function mixedOf(workers: WorkerView[]): Set<string> {
  const seen = new Map<string, string>();
  const mixed = new Set<string>();
  for (const w of workers)
    for (const [name, version] of Object.entries(w.versions)) {
      if ((seen.get(name) ?? version) !== version) mixed.add(name);
      seen.set(name, version);
    }
  return mixed;
}

function Workers({ workers }: { workers: WorkerView[] }) {
  const mixed = mixedOf(workers);
  return (
    <section class="card wk-list" aria-labelledby="wk-list">
      <h2 id="wk-list" class="hide">
        Who is there
      </h2>
      <div class="wk-row wk-heads" aria-hidden="true">
        <span>Worker</span>
        <span>State</span>
        <span>Slots</span>
        <span>Works on</span>
        <span>Version</span>
      </div>
      {mixed.size ? (
        <p class="sm t2 wk-mixed" data-mixed>
          {count(mixed.size, "agent or flow is", "agents or flows are")} here in more than one version. A run continues at a worker that has the version it began with.
        </p>
      ) : null}
      <ul>
        {workers.map((w) => (
          <Worker key={w.id} worker={w} mixed={mixed} />
        ))}
      </ul>
    </section>
  );
}

function Worker({ worker: w, mixed }: { worker: WorkerView; mixed: Set<string> }) {
  const [tone, glyph, word] = STATES[w.state];
  return (
    <li class="wk-row" data-worker={w.id} data-state={w.state}>
      <span>
        <b class="wk-host">
          <Visible text={w.host || w.id} />
        </b>
        <span class="sm t2">process {w.pid || "unknown"}</span>
      </span>
      <span>
        <span class={`st ${tone}`}>
          <Icon name={glyph} />
          {word}
        </span>
        <span class="sm t2">
          {w.state === "draining" ? "takes nothing new, " : ""}
          {w.seen_at ? (
            <>
              {w.state === "not_answering" ? "last seen " : "seen "}
              <Time at={w.seen_at} />
            </>
          ) : (
            "part of an application"
          )}
        </span>
      </span>
      <Slots worker={w} />
      <span class="wk-programs">
        {w.programs.length ? w.programs.map((name) => <Agent key={name} name={name} version={mixed.has(name) ? w.versions[name] : ""} />) : <span class="t2">not known</span>}
      </span>
      <span class="num t2">
        {w.version || "–"}
        {w.began_at ? (
          <span class="sm">
            since <Time at={w.began_at} bare />
          </span>
        ) : null}
      </span>
    </li>
  );
}

function Slots({ worker: w }: { worker: WorkerView }) {
  if (!w.slots) return <span class="t2">not known</span>;
  const squares = Math.min(w.slots, SQUARES);
  const full = Math.ceil((squares * w.running) / w.slots);
  return (
    <span>
      <span class="wk-slots" aria-hidden="true">
        {Array.from({ length: squares }, (_, n) => (
          <i key={n} class={n < full ? "on" : ""} />
        ))}
      </span>
      <span class="sm t2">
        {many(w.running)} of {many(w.slots)} slots
      </span>
    </span>
  );
}

function Queues({ fleet }: { fleet: FleetView }) {
  tick.value;
  return (
    <section class="card wk-queues" aria-labelledby="wk-queues">
      <h2 id="wk-queues">
        Queues <span class="t2">ready to run, by agent</span>
      </h2>
      <table>
        <TableHead columns={["Agent", "Ready", "Oldest", "Working", "Workers"]} />
        <tbody>
          {fleet.queues.map((q) => (
            <Queue key={q.agent} queue={q} />
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Queue({ queue: q }: { queue: QueueView }) {
  const waits = q.ready ? now() - q.oldest_at : 0;
  return (
    <tr>
      <th scope="row">
        <Agent name={q.agent} />
      </th>
      <td>{many(q.ready)}</td>
      <td class={waits > LATE ? "wk-late" : ""}>{q.ready ? rough(waits) : "–"}</td>
      <td>{many(q.working)}</td>
      <td class={q.workers ? "" : "wk-late"}>{q.workers ? many(q.workers) : "none"}</td>
    </tr>
  );
}

function Limits({ limits }: { limits: LimitView[] }) {
  return (
    <section class="card wk-queues" aria-labelledby="wk-limits">
      <h2 id="wk-limits">
        Limits <span class="t2">of a tool, over all workers</span>
      </h2>
      <table>
        <TableHead columns={["Tool", "Limit", "Working", "Waiting"]} />
        <tbody>
          {limits.map((l) => (
            <tr key={l.tool}>
              <th scope="row">
                <Visible text={l.tool} />
              </th>
              <td>{bound(l)}</td>
              <td>{many(l.working)}</td>
              <td>{l.waiting && l.run_id ? <Link to={to("runs", l.run_id)}>{many(l.waiting)}</Link> : many(l.waiting)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function bound(l: LimitView): string {
  const parts: string[] = [];
  if (l.most) parts.push(`${many(l.most)} at once`);
  if (l.rate) parts.push(`${many(l.rate)} in ${duration(l.per)}`);
  return parts.join(", ") || "none";
}
