"""What waits for people, kept by changes."""

from collections.abc import Iterable
from heapq import heappop, heappush

from adjourn.core.interrupt import Interrupt


class OpenInterrupts:
    """The references of all open interrupts, and when their time is over.

    It keeps texts, numbers and tuples of them: Python's collector goes through every list, set and
    dictionary that there is, and one for each of 100,000 runs would stop the event loop for a tenth
    of a second, again and again.
    """

    def __init__(self) -> None:
        self.refs: dict[str, float] = {}
        self._of_run: dict[str, tuple[str, ...]] = {}
        self._ends: list[tuple[float, str, str]] = []

    def add(self, found: Iterable[Interrupt]) -> list[str]:
        """Add those that are not there yet; which."""
        opened: list[str] = []
        for interrupt in found:
            ref, ends = interrupt.ref, interrupt.expires_at or 0.0
            if ref not in self.refs:
                opened.append(ref)
                self._of_run[interrupt.run_id] = (*self._of_run.get(interrupt.run_id, ()), ref)
            if ends and self.refs.get(ref) != ends:
                heappush(self._ends, (ends, interrupt.run_id, ref))
            self.refs[ref] = ends
        return opened

    def replace(
        self, runs: Iterable[str], found: Iterable[Interrupt], now: float
    ) -> tuple[list[str], list[str]]:
        """These runs have these open interrupts now, and no others: what was opened, and what was
        closed or is over."""
        found = list(found)
        there = {interrupt.ref for interrupt in found}
        closed: list[str] = []
        for run in runs:
            for ref in sorted(set(self._of_run.get(run, ())) - there):
                closed.append(ref)
                self._drop(run, ref)
        opened = self.add(found)
        while self._ends and self._ends[0][0] <= now:
            ends, run, ref = heappop(self._ends)
            if self.refs.get(ref) == ends:
                closed.append(ref)
                self._drop(run, ref)
        return opened, closed

    def _drop(self, run: str, ref: str) -> None:
        del self.refs[ref]
        left = tuple(other for other in self._of_run[run] if other != ref)
        if left:
            self._of_run[run] = left
        else:
            del self._of_run[run]
