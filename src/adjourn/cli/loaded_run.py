"""A run that a command shows: its journal, and the view that is made of it."""

from collections.abc import Sequence
from dataclasses import dataclass

from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.errors import KeyMissing
from adjourn.runtime.pruner import holds_of
from adjourn.runtime.runtime import Runtime
from adjourn.stores.protocol import Halt, Store
from adjourn.stores.run_row import RunRow
from adjourn.views.halt_scope import open_run
from adjourn.views.run_view import RunView, run_view
from adjourn.views.timeline import Numbered


@dataclass(frozen=True, slots=True)
class LoadedRun:
    """A run's row, its records, what they mean, and how it is shown."""

    row: RunRow
    records: list[Numbered]
    state: State
    view: RunView

    def held_by(self, halts: Sequence[Halt]) -> list[Halt]:
        """The halts that stop what it does or waits for.

        Args:
            halts: those that are on.
        """
        if self.row.status in ENDED:
            return []
        works = open_run(self.row, self.state, self.view.status).works
        return [halt for halt in halts if any(halt.scope in work.touched_by for work in works)]


async def records_of(store: Store, run_id: str, *, unread: bool) -> list[Numbered]:
    """The journal of a run.

    Args:
        store: where it is.
        run_id: the id of the run.
        unread: that of a run whose key is missing is empty, as in a list.
    """
    try:
        return await store.load(run_id)
    except KeyMissing:
        if not unread:
            raise
        return []


async def load_run(
    rt: Runtime, run_id: str, halts: Sequence[Halt], *, unread: bool = False
) -> LoadedRun:
    """Read a run and its journal.

    Args:
        rt: the runtime to read from.
        run_id: the id of the run.
        halts: the halts that are on.
        unread: one whose key is missing is shown as such, as in a list.
    """
    store = rt.store
    row, records = await store.get(run_id), await records_of(store, run_id, unread=unread)
    if row.status == Status.READY:
        notes = await store.misfits(runs=(run_id,))
    else:
        notes = []
    state, holds = State().fold_all(records), holds_of(row, await rt.holds())
    view = run_view(row, state, halts, store.now(), misfit=notes[0] if notes else None, holds=holds)
    return LoadedRun(row, records, state, view)


async def status_of(rt: Runtime, run_id: str) -> tuple[str, Halt | None]:
    """The status that people see, and the halt that holds the run up, if one does."""
    row, halts = await rt.store.get(run_id), await rt.halts()
    status = row.shown(rt.store.now(), [halt.scope for halt in halts])
    return status, next((halt for halt in halts if halt.scope in row.blocked), None)
