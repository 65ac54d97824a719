"""Folded journals that are kept, so that looking at a run again costs what was added since."""

from collections import OrderedDict

from adjourn.core.belief import FoldAgain
from adjourn.core.state import State
from adjourn.runtime.runtime import Runtime
from adjourn.runtime.timeline import Timeline
from adjourn.stores.store import RunRow

KEPT = 128
TRIES = 5


class Folds:
    """The states of the runs that were looked at last."""

    def __init__(self, runtime: Runtime) -> None:
        self._rt = runtime
        self._states: OrderedDict[str, tuple[State, Timeline]] = OrderedDict()

    async def of(self, run: str) -> tuple[RunRow, State]:
        """A run's row, and its state at the same record. Read it before the next `await`: another look may go on folding."""
        row, state, _ = await self.whole(run)
        return row, state

    async def whole(self, run: str) -> tuple[RunRow, State, Timeline]:
        """The same, with the timeline."""
        store = self._rt.store
        row = await store.get(run)
        state, timeline = self._states.pop(row.id, None) or (State(), Timeline())
        for _ in range(TRIES):
            if state.seq < row.seq:
                loaded = await store.load(row.id, state.seq)
                tail = [
                    (seq, record) for seq, record in loaded if seq > state.seq
                ]  # somebody else may have folded some
                try:
                    state.fold_all(tail)
                except FoldAgain:
                    state, timeline = State(), Timeline()
                    continue
                for seq, record in tail:
                    timeline.take(seq, record)
            if state.seq == row.seq:
                break
            row = await store.get(row.id)
        self._states[row.id] = state, timeline
        while len(self._states) > KEPT:
            self._states.popitem(last=False)
        return row, state, timeline
