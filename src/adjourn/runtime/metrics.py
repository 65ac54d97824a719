"""What a store has to do and who does it, as numbers that Prometheus reads (text format 0.0.4)."""

from collections import Counter
from collections.abc import Iterable, Mapping

from adjourn.runtime.fleet_report import fleet_of
from adjourn.stores.protocol import Filter, Store
from adjourn.views.fleet_view import FleetView

KIND = "text/plain; version=0.0.4; charset=utf-8"
MOST = 1000
"""So many open interrupts and letters are counted: a number that is as large means "or more"."""
Labels = tuple[tuple[str, str], ...]
Samples = Mapping[Labels, float]


async def metrics_of(store: Store) -> str:
    """All numbers of a store, as of now. They are the same whichever process is asked."""
    fleet = await fleet_of(store)
    parts = [*_of_fleet(fleet), *await _of_people(store)]
    halts = await store.halt("")
    parts.append(_gauge("adjourn_halts", "Halts that are on.", {(): len(halts)}))
    letters: Counter[Labels] = Counter({(("state", "due"),): 0, (("state", "dead"),): 0})
    for letter in await store.letters(limit=MOST):
        letters[("state", letter.state),] += 1
    parts.append(_gauge("adjourn_outbox_letters", "Notifications that have not arrived.", letters))
    return "".join(parts)


def _of_fleet(fleet: FleetView) -> Iterable[str]:
    states: Counter[Labels] = Counter()
    for state in ("working", "idle", "draining", "not_answering"):
        states[("state", state),] = 0
    for worker in fleet.workers:
        states[("state", worker.state),] += 1
    yield _gauge("adjourn_workers", "Workers, by state.", states)
    yield _gauge("adjourn_worker_slots", "Slots of workers that answer.", {(): fleet.slots})
    yield _gauge("adjourn_worker_slots_used", "Slots with a run.", {(): fleet.running})
    ready: dict[Labels, float] = {}
    working: dict[Labels, float] = {}
    oldest: dict[Labels, float] = {}
    for queue in fleet.queues:
        label = (("agent", queue.agent),)
        ready[label], working[label] = queue.ready, queue.working
        if queue.ready:
            oldest[label] = max(0.0, fleet.now - queue.oldest_at)
    yield _gauge("adjourn_runs_ready", "Runs that a worker could take now.", ready)
    yield _gauge("adjourn_runs_working", "Runs that a worker has.", working)
    yield _gauge("adjourn_ready_oldest_seconds", "How long the oldest ready run waits.", oldest)
    unfit: Counter[Labels] = Counter()
    for misfit in fleet.unfit:
        unfit[("agent", misfit.agent),] += misfit.runs
    yield _gauge("adjourn_runs_unfit", "Runs that no worker fits.", unfit)


async def _of_people(store: Store) -> Iterable[str]:
    opened: Counter[Labels] = Counter()
    oldest: dict[Labels, float] = {}
    now = store.now()
    for interrupt in await store.inbox(Filter(brief=True, limit=MOST)):
        label = (("kind", interrupt.kind),)
        opened[label] += 1
        waits = max(0.0, now - interrupt.opened_at)
        oldest[label] = max(oldest.get(label, 0.0), waits)
    return (
        _gauge("adjourn_interrupts_open", "What waits for a person, by kind.", opened),
        _gauge("adjourn_interrupt_oldest_seconds", "How long the oldest of them waits.", oldest),
    )


def _gauge(name: str, what: str, samples: Samples) -> str:
    lines = [f"# HELP {name} {what}", f"# TYPE {name} gauge"]
    for labels, value in sorted(samples.items()):
        lines.append(f"{name}{_labels(labels)} {value:.12g}")
    return "\n".join(lines) + "\n"


def _labels(labels: Labels) -> str:
    if not labels:
        return ""
    pairs: list[str] = []
    for name, value in labels:
        text = value.replace("\\", "\\\\").replace("\n", "\\n").replace('"', '\\"')
        pairs.append(f'{name}="{text}"')
    return "{" + ",".join(pairs) + "}"
