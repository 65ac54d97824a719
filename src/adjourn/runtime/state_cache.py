"""Folded states kept after a park: an answer then costs the tail of the journal, not all of it."""

from collections import OrderedDict
from collections.abc import Iterator, Mapping

import msgspec

from adjourn.core.state import State

BYTES = 52_000_000
"""How much is kept, by the journals that were folded."""
RECORD = 500
"""What a record costs beside its text: the objects that it becomes."""


class Folded(msgspec.Struct, frozen=True, gc=False):
    """A state, and the size of the journal that it was folded from."""

    state: State
    size: int = 0
    erasures: int = -1
    """How many runs of the store had been erased when the turns before it were read; -1 if nobody
    knows."""

    @property
    def weight(self) -> int:
        """About what it takes to keep it."""
        return self.size + self.state.seq * RECORD


class StateCache(Mapping[str, tuple[int, bytes]]):
    """The states that were put away last, as many as fit. Whoever takes one has it alone.

    As a mapping: the last record that is known of each run, and the hash of its chain there. Any
    thread may look there.
    """

    def __init__(self, limit: int = BYTES) -> None:
        self._limit, self.size = limit, 0
        self._states: OrderedDict[str, tuple[Folded, int]] = OrderedDict()

    def take(self, run: str) -> Folded | None:
        """The state of a run, if it is here; it no longer is afterwards."""
        found = self._states.pop(run, None)
        if found is None:
            return None
        self.size -= found[1]
        return found[0]

    def look(self, run: str) -> State | None:
        """The state of a run, if it is here. It stays, and is another's: it is only to be looked
        at, before anybody is waited for."""
        found = self._states.get(run)
        if found:
            return found[0].state
        return None

    def keep(self, run: str, folded: Folded) -> None:
        """Put a state away; the oldest make room."""
        self.take(run)
        weight = folded.weight
        self._states[run] = (folded, weight)
        self.size += weight
        while self.size > self._limit:
            _, (_, weight) = self._states.popitem(last=False)
            self.size -= weight

    def __getitem__(self, run: str) -> tuple[int, bytes]:
        state = self._states[run][0].state
        return state.seq, state.head

    def __iter__(self) -> Iterator[str]:
        return iter(self._states)

    def clear(self) -> None:
        """Let go of all of them."""
        self._states.clear()
        self.size = 0

    def __len__(self) -> int:
        return len(self._states)
