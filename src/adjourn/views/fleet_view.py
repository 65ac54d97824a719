"""The fleet as people look at it: who works, what waits, and what no worker can advance."""

from collections.abc import Collection, Mapping, Sequence
from typing import Literal

import msgspec

from adjourn.core.ids import WorkerId
from adjourn.stores.fleet import Misfit, Queue, WorkerCard
from adjourn.stores.tickets import ToolTickets
from adjourn.views.filled_view import filled

WorkerState = Literal["working", "idle", "draining", "not_answering"]
MISSED = 3.0
"""A worker of which so many cards are missing does not answer."""

DIGITS = 4
"""Of a version as people see it: enough to tell those of one program apart."""


class WorkerView(msgspec.Struct, frozen=True, kw_only=True):
    """One worker. `programs`: what it advances; `slots`: how many runs at the same time, of which
    `running` are taken. `versions`: of each program what tells its definition from another; one
    that two workers have in two versions is being upgraded. Of a worker that never said who it is
    only its place is known."""

    id: str
    host: str
    pid: int
    state: WorkerState
    slots: int
    running: int
    programs: tuple[str, ...]
    versions: dict[str, str]
    version: str
    began_at: float
    seen_at: float


class QueueView(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one agent or flow that are ready and those that are being worked on. `oldest_at`:
    since when the oldest is ready; 0 if none is. `workers`: how many that answer advance it."""

    agent: str
    ready: int
    oldest_at: float
    working: int
    workers: int


class UnfitView(msgspec.Struct, frozen=True, kw_only=True):
    """Runs of one agent or flow that no worker advances, and why; `run_id` is the oldest of
    them."""

    agent: str
    runs: int
    oldest_at: float
    run_id: str
    why: str


class LimitView(msgspec.Struct, frozen=True, kw_only=True):
    """A tool with a limit across all workers: `most` calls at the same time, `rate` calls in `per`
    seconds; 0: no bound. `working` and `waiting`: calls that have begun, and that may not yet.
    `oldest_at`: since when the oldest of those waits; 0 if none does, and `run_id` is its run."""

    tool: str
    most: int
    rate: int
    per: float
    working: int
    waiting: int
    oldest_at: float
    run_id: str


class FleetView(msgspec.Struct, frozen=True, kw_only=True):
    """All of it. `alive`, `slots` and `running` count the workers that answer. `oldest_at`: since
    when the oldest run is ready; 0 if none is."""

    workers: tuple[WorkerView, ...]
    queues: tuple[QueueView, ...]
    unfit: tuple[UnfitView, ...]
    alive: int
    slots: int
    running: int
    ready: int
    oldest_at: float
    now: float
    limits: tuple[LimitView, ...]


class UnfitRun(msgspec.Struct, frozen=True):
    """A run that a worker refused, and what it said."""

    program: str
    since: float
    note: Misfit


def fleet_view(
    cards: Sequence[WorkerCard],
    leases: Mapping[str, float],
    queues: Sequence[Queue],
    unfit: Sequence[UnfitRun],
    now: float,
    gone: Collection[str] = (),
) -> FleetView:
    """The fleet as of `now`.

    Args:
        cards: what workers say of themselves.
        leases: those that may have runs, and until when each was heard of.
        queues: what is ready and what is taken, by program.
        unfit: runs that a worker has refused.
        now: the store's time.
        gone: workers whose process is known to have ended.
    """
    workers = [_of_card(card, now, gone) for card in cards]
    known = {card.id for card in cards}
    for worker, until in leases.items():
        if worker not in known:
            workers.append(_of_lease(worker, until, now, gone))
    alive = [worker for worker in workers if worker.state != "not_answering"]
    waiting = [queue.oldest_at for queue in queues if queue.ready]
    return FleetView(
        workers=tuple(workers),
        queues=tuple(_of_queue(queue, alive) for queue in queues),
        unfit=(*_missing(queues, alive, unfit), *_refused(unfit)),
        alive=len(alive),
        slots=sum(worker.slots for worker in alive),
        running=sum(worker.running for worker in alive),
        ready=sum(queue.ready for queue in queues),
        oldest_at=min(waiting, default=0.0),
        now=now,
        limits=(),
    )


def limit_views(tools: Mapping[str, ToolTickets]) -> tuple[LimitView, ...]:
    """The tools with a limit that are called, in the order of their names.

    Args:
        tools: their tickets.
    """
    found: list[LimitView] = []
    for tool, tickets in sorted(tools.items()):
        oldest_at, run_id = 0.0, ""
        if tickets.waiting:
            oldest_at, run_id = tickets.waiting[0].at, tickets.waiting[0].run
        view = filled(
            LimitView,
            tickets.limit,
            tool=tool,
            working=len(tickets.held),
            waiting=len(tickets.waiting),
            oldest_at=oldest_at,
            run_id=run_id,
        )
        found.append(view)
    return tuple(found)


def _of_card(card: WorkerCard, now: float, gone: Collection[str]) -> WorkerView:
    state: WorkerState = "idle"
    if card.running:
        state = "working"
    if card.draining:
        state = "draining"
    if card.id in gone or card.seen_at + MISSED * card.every < now:
        state = "not_answering"
    versions = {name: version[:DIGITS] for name, version in card.programs.items()}
    programs = tuple(sorted(card.programs))
    return filled(WorkerView, card, state=state, programs=programs, versions=versions)


def _of_lease(worker: str, until: float, now: float, gone: Collection[str]) -> WorkerView:
    """A worker that never said who it is, for example one inside of an application."""
    name = WorkerId.parse(worker)
    state: WorkerState = "working"
    if worker in gone or until <= now:
        state = "not_answering"
    return WorkerView(
        id=worker,
        host=name.host,
        pid=name.process or 0,
        state=state,
        slots=0,
        running=0,
        programs=(),
        versions={},
        version="",
        began_at=0.0,
        seen_at=0.0,
    )


def _of_queue(queue: Queue, alive: Sequence[WorkerView]) -> QueueView:
    workers = sum(queue.program in worker.programs for worker in alive)
    return filled(QueueView, queue, agent=queue.program, workers=workers)


def _missing(
    queues: Sequence[Queue], alive: Sequence[WorkerView], unfit: Sequence[UnfitRun]
) -> list[UnfitView]:
    """Programs with runs that are ready, of which no worker that answers says that it has them."""
    refused = {run.program for run in unfit}
    found: list[UnfitView] = []
    for queue in queues:
        served = any(queue.program in worker.programs for worker in alive)
        if queue.ready and not queue.working and not served and queue.program not in refused:
            found.append(
                UnfitView(
                    agent=queue.program,
                    runs=queue.ready,
                    oldest_at=queue.oldest_at,
                    run_id="",
                    why="no worker has this agent or flow",
                )
            )
    return found


def _refused(unfit: Sequence[UnfitRun]) -> list[UnfitView]:
    """What workers have refused, together where they say the same of the same program."""
    alike: dict[tuple[str, str], list[UnfitRun]] = {}
    for run in unfit:
        alike.setdefault((run.program, run.note.why), []).append(run)
    found: list[UnfitView] = []
    for (program, why), runs in sorted(alike.items()):
        oldest = min(runs, key=lambda run: run.since)
        found.append(
            UnfitView(
                agent=program,
                runs=len(runs),
                oldest_at=oldest.since,
                run_id=oldest.note.run,
                why=why,
            )
        )
    return found
