"""Folded journals that are kept, so that looking at a run again costs what was added since."""

from collections import OrderedDict

from adjourn.core.belief import FoldAgain
from adjourn.core.state import State
from adjourn.driver.cold_start import size_of
from adjourn.runtime.runtime import Runtime
from adjourn.stores.run_row import RunRow
from adjourn.views.timeline import Timeline

KEPT, BYTES = 128, 32_000_000
"""So many runs are kept, and so much of their journals."""
TRIES = 5


class JournalCache:
    """The states of the runs that were looked at last."""

    def __init__(self, runtime: Runtime) -> None:
        self._rt = runtime
        self._states: OrderedDict[str, tuple[State, Timeline, int]] = OrderedDict()
        self._size = 0

    async def of(self, run: str) -> tuple[RunRow, State]:
        """A run's row, and its state at the same record. Read it before the next `await`: another
        look may go on folding."""
        row, state, _ = await self.whole(run)
        return row, state

    async def whole(self, run: str) -> tuple[RunRow, State, Timeline]:
        """The same, with the timeline."""
        store = self._rt.store
        row = await store.get(run)
        state, timeline, size = self._states.pop(row.id, None) or (State(), Timeline(), 0)
        self._size -= size
        for _ in range(TRIES):
            if state.seq < row.seq:
                loaded = await store.load(row.id, state.seq)
                # somebody else may have folded some
                tail = [(seq, record) for seq, record in loaded if seq > state.seq]
                try:
                    state.fold_all(tail)
                except FoldAgain:
                    state, timeline, size = State(), Timeline(), 0
                    continue
                size += size_of(tail)
                for seq, record in tail:
                    timeline.take(seq, record)
            if state.seq == row.seq:
                break
            row = await store.get(row.id)
        self._keep(row.id, state, timeline, size)
        return row, state, timeline

    def _keep(self, run: str, state: State, timeline: Timeline, size: int) -> None:
        if run in self._states:  # somebody else has looked at it at the same time
            self._size -= self._states.pop(run)[2]
        self._states[run] = state, timeline, size
        self._size += size
        while len(self._states) > KEPT or self._size > BYTES:
            _, (_, _, size) = self._states.popitem(last=False)
            self._size -= size
