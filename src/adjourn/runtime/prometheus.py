"""What a store has to do, who does it, and what this process has counted: as text that Prometheus
reads (text format 0.0.4)."""

from collections import Counter
from collections.abc import Iterable, Mapping

from adjourn.driver.metrics import Histogram, Meter
from adjourn.errors import UnknownRun
from adjourn.runtime.fleet_report import fleet_of
from adjourn.stores.fleet import Census
from adjourn.stores.protocol import Filter, Store
from adjourn.views.fleet_view import FleetView

KIND = "text/plain; version=0.0.4; charset=utf-8"
Labels = tuple[tuple[str, str], ...]
Samples = Mapping[Labels, float]
MOST = 1000
"""So many open interrupts and letters are counted: a number that is as large means "or more"."""


async def metrics_of(store: Store, meter: Meter) -> str:
    """All numbers, as of now. Gauges are the store's, and the same whichever process is asked;
    counters and histograms are this process's.

    Args:
        store: the store.
        meter: what this process has counted.
    """
    fleet, census = await fleet_of(store), await store.census()
    parts = [*_of_runs(census), *_of_fleet(fleet), *await _of_people(store, meter)]
    halts = await store.halt("")
    parts.append(gauge("adjourn_halts", "Active halts.", {(): len(halts)}))
    letters: Counter[Labels] = Counter({(("state", "due"),): 0, (("state", "dead"),): 0})
    for letter in await store.letters(limit=MOST):
        letters[("state", letter.state),] += 1
    parts.append(gauge("adjourn_outbox_letters", "Notifications that have not arrived.", letters))
    return "".join((*parts, *_durations(meter), *_counts(meter)))


def _of_runs(census: Census) -> Iterable[str]:
    runs: dict[Labels, float] = {}
    for count in census.runs:
        runs[("agent", count.program), ("status", count.status)] = count.runs
    yield gauge("adjourn_runs", "Runs that have not ended, by agent and status.", runs)
    yield gauge("adjourn_store_bytes", "Size of the store; 0 if unknown.", {(): census.size})


def _durations(meter: Meter) -> Iterable[str]:
    steps = {(("kind", kind),): found for kind, found in meter.steps.items()}
    yield histogram("adjourn_step_duration_seconds", "How long steps took.", steps)
    yield histogram("adjourn_commit_seconds", "How long commits took.", {(): meter.commits})
    started = "How long runs that were ready waited for this worker."
    yield histogram("adjourn_ready_to_start_seconds", started, {(): meter.starts})
    waits = {(("outcome", outcome),): found for outcome, found in meter.waits.items()}
    waited = "How long interrupts had been open when a person decided."
    yield histogram("adjourn_interrupt_wait_seconds", waited, waits)


def _counts(meter: Meter) -> Iterable[str]:
    taken = "Runs taken from a worker that had died or fallen silent."
    yield counter("adjourn_lease_takeovers_total", taken, {(): meter.takeovers})
    doubts = "Calls that became in doubt: it is unknown whether they happened."
    yield counter("adjourn_calls_in_doubt_total", doubts, {(): meter.doubts})
    undone = {(("outcome", outcome),): meter.undone[outcome] for outcome in ("undone", "residue")}
    yield counter("adjourn_undo_total", "Calls of cancelled runs: undone, and not undone.", undone)
    opened = {(("kind", kind),): number for kind, number in meter.opened.items()}
    yield counter("adjourn_interrupts_opened_total", "Interrupts opened for people.", opened)
    expired = "Interrupts that expired before a person decided."
    yield counter("adjourn_interrupts_expired_total", expired, {(): meter.expired})
    ended: dict[Labels, float] = {}
    for (agent, status), number in meter.ended.items():
        ended[("agent", agent), ("status", status)] = number
    yield counter("adjourn_runs_ended_total", "Runs that ended, by agent and status.", ended)
    tokens: dict[Labels, float] = {}
    for (agent, kind), number in meter.tokens.items():
        tokens[("agent", agent), ("kind", kind)] = number
    yield counter("adjourn_tokens_total", "Tokens of model calls.", tokens)
    cost = {(("agent", agent),): much for agent, much in meter.cost.items()}
    yield counter("adjourn_cost_usd_total", "Cost of model calls, as far as known.", cost)


def _of_fleet(fleet: FleetView) -> Iterable[str]:
    states: Counter[Labels] = Counter()
    for state in ("working", "idle", "draining", "not_answering"):
        states[("state", state),] = 0
    for worker in fleet.workers:
        states[("state", worker.state),] += 1
    yield gauge("adjourn_workers", "Workers, by state.", states)
    yield gauge("adjourn_worker_slots", "Slots of workers that answer.", {(): fleet.slots})
    yield gauge("adjourn_worker_slots_used", "Slots with a run.", {(): fleet.running})
    ready: dict[Labels, float] = {}
    working: dict[Labels, float] = {}
    oldest: dict[Labels, float] = {}
    for queue in fleet.queues:
        label = (("agent", queue.agent),)
        ready[label], working[label] = queue.ready, queue.working
        if queue.ready:
            oldest[label] = max(0.0, fleet.now - queue.oldest_at)
    yield gauge("adjourn_runs_ready", "Runs that a worker could take now.", ready)
    yield gauge("adjourn_runs_working", "Runs that a worker is running.", working)
    yield gauge("adjourn_ready_oldest_seconds", "How long the oldest ready run has waited.", oldest)
    unfit: Counter[Labels] = Counter()
    for misfit in fleet.unfit:
        unfit[("agent", misfit.agent),] += misfit.runs
    yield gauge("adjourn_runs_unfit", "Runs that no worker fits.", unfit)


async def _of_people(store: Store, meter: Meter) -> Iterable[str]:
    opened: Counter[Labels] = Counter()
    oldest: dict[Labels, float] = {}
    now, found = store.now(), await store.inbox(Filter(brief=True, limit=MOST))
    meter.agents = await _agents(store, {one.run_id for one in found}, meter.agents)
    for interrupt in found:
        if interrupt.run_id not in meter.agents:
            continue
        label = (("agent", meter.agents[interrupt.run_id]), ("kind", interrupt.kind))
        opened[label] += 1
        waits = max(0.0, now - interrupt.opened_at)
        oldest[label] = max(oldest.get(label, 0.0), waits)
    return (
        gauge(
            "adjourn_interrupts_open",
            "Interrupts that wait for a person, by agent and kind.",
            opened,
        ),
        gauge(
            "adjourn_interrupt_oldest_seconds",
            "How long the oldest open interrupt has waited.",
            oldest,
        ),
    )


async def _agents(store: Store, runs: set[str], known: Mapping[str, str]) -> dict[str, str]:
    """The agents of these runs. A run's never changes: each is asked for once. One that was pruned
    meanwhile is left out."""
    found: dict[str, str] = {}
    for run in runs:
        if run in known:
            found[run] = known[run]
            continue
        try:
            found[run] = (await store.get(run)).program
        except UnknownRun:
            continue
    return found


def gauge(name: str, what: str, samples: Samples) -> str:
    """A number that goes up and down.

    Args:
        name: its name.
        what: a sentence about it.
        samples: its values, by their labels.
    """
    return _family(name, what, "gauge", samples)


def counter(name: str, what: str, samples: Samples) -> str:
    """A number that only grows while the process lives.

    Args:
        name: its name, which ends in `_total`.
        what: a sentence about it.
        samples: its values, by their labels.
    """
    return _family(name, what, "counter", samples)


def histogram(name: str, what: str, samples: Mapping[Labels, Histogram]) -> str:
    """How many values there were up to each bound.

    Args:
        name: its name.
        what: a sentence about it.
        samples: its histograms, by their labels.
    """
    lines = _head(name, what, "histogram")
    for labels, found in sorted(samples.items(), key=lambda item: item[0]):
        reached = 0
        for bound, count in zip(found.bounds, found.counts, strict=False):
            reached += count
            lines.append(f"{name}_bucket{_labels((*labels, ('le', f'{bound:g}')))} {reached}")
        lines.append(f"{name}_bucket{_labels((*labels, ('le', '+Inf')))} {found.count}")
        lines.append(f"{name}_sum{_labels(labels)} {_number(found.total)}")
        lines.append(f"{name}_count{_labels(labels)} {found.count}")
    return _text(lines)


def _family(name: str, what: str, kind: str, samples: Samples) -> str:
    lines = _head(name, what, kind)
    for labels, value in sorted(samples.items()):
        lines.append(f"{name}{_labels(labels)} {_number(value)}")
    return _text(lines)


def _head(name: str, what: str, kind: str) -> list[str]:
    return [f"# HELP {name} {what}", f"# TYPE {name} {kind}"]


def _text(lines: list[str]) -> str:
    return "\n".join(lines) + "\n"


def _number(value: float) -> str:
    """Whole numbers without a point, and nothing rounded."""
    if value == int(value):
        return str(int(value))
    return repr(float(value))


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    pairs: list[str] = []
    for name, value in labels:
        text = value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
        pairs.append(f'{name}="{text}"')
    return "{" + ",".join(pairs) + "}"
