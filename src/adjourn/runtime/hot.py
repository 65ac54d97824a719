"""Folded states kept after a park: an answer then costs the tail of the journal, not all of it."""

from collections import OrderedDict

from adjourn.core.state import State

RECORDS = 100_000
"""How much is kept, in records that were folded; a turn is three or four of them."""


class HotStates:
    """The states that were put away last, as many as fit. Whoever takes one has it alone."""

    def __init__(self, limit: int = RECORDS) -> None:
        self._limit, self._size = limit, 0
        self._states: OrderedDict[str, tuple[State, int]] = OrderedDict()

    def take(self, run: str) -> State | None:
        """The state of a run, if it is here; it no longer is afterwards."""
        found = self._states.pop(run, None)
        if found is None:
            return None
        self._size -= found[1]
        return found[0]

    def keep(self, run: str, state: State) -> None:
        """Put a state away; the oldest make room."""
        self.take(run)
        self._states[run] = (state, state.seq)
        self._size += state.seq
        while self._size > self._limit:
            _, (_, size) = self._states.popitem(last=False)
            self._size -= size

    def clear(self) -> None:
        """Let go of all of them."""
        self._states.clear()
        self._size = 0

    def __len__(self) -> int:
        return len(self._states)
