"""The fleet of a store, gathered for people to see: who works, what waits, and what nobody fits."""

from collections.abc import Sequence

from msgspec.structs import replace

from adjourn.core.status import Status
from adjourn.driver.process_identity import Life, life_of
from adjourn.errors import UnknownRun
from adjourn.stores.fleet import Misfit, Queue
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.run_row import RunRow
from adjourn.stores.tenant_store import whole_store
from adjourn.views.fleet_view import FleetView, UnfitRun, UnfitView, fleet_view, limit_views

LOOKED_AT = 200
"""So many runs that workers have refused are looked at."""


async def fleet_of(store: Store) -> FleetView:
    """See `Runtime.fleet`."""
    cards, leases = await store.roster(), await store.workers()
    queues, unfit = await store.queues(), await _unfit(store)
    gone = [worker for worker in (*leases, *(card.id for card in cards)) if _is_gone(worker)]
    view = fleet_view(cards, leases, queues, unfit, store.now(), gone)
    return replace(view, limits=limit_views(await store.tickets()))


async def unfit_of(store: Store) -> Sequence[UnfitView]:
    """What no worker fits; of a tenant, what of its own runs."""
    whole = whole_store(store)
    if whole is store:
        return (await fleet_of(store)).unfit
    ready: dict[str, list[RunRow]] = {}
    for row in await store.runs(Filter(status=Status.READY.value, limit=LOOKED_AT)):
        ready.setdefault(row.program, []).append(row)
    queues: list[Queue] = []
    for program, rows in ready.items():
        free = [row.updated_at for row in rows if not row.worker]
        queues.append(Queue(program, len(free), min(free, default=0.0), len(rows) - len(free)))
    cards = await whole.roster()  # who works says nothing of any run
    gone = [card.id for card in cards if _is_gone(card.id)]
    return fleet_view(cards, {}, queues, await _unfit(store), store.now(), gone).unfit


async def noted(store: Store, run: str) -> Misfit | None:
    """The last note of a worker about a run, if the run has not moved since."""
    found = await store.misfits(runs=(run,))
    return found[0] if found else None


async def _unfit(store: Store) -> list[UnfitRun]:
    found: list[UnfitRun] = []
    for note in (await store.misfits())[:LOOKED_AT]:
        if note.queued:
            continue
        try:
            row = await store.get(note.run)
        except UnknownRun:
            continue
        if row.status == Status.READY and not row.worker:
            found.append(UnfitRun(row.program, row.updated_at, note))
    return found


def _is_gone(worker: str) -> bool:
    return life_of(worker) is Life.DEAD
