"""Who may be at work in this process at the same time: so many runs, one suspect alone, and whoever
only stops things."""

import asyncio
from collections.abc import Callable
from heapq import heappop, heappush
from typing import NamedTuple

from adjourn.core.records import MOST_URGENT

PATIENCE = 10.0
"""Seconds that a suspect waits for the others to end. New runs wait behind it meanwhile, so it
cannot be long."""

Later = Callable[[float, Callable[[], None]], object]


def _later(seconds: float, do: Callable[[], None]) -> asyncio.TimerHandle:
    return asyncio.get_running_loop().call_later(seconds, do)


class _QueuePlace(NamedTuple):
    """The place of a run that waits."""

    number: int
    begin: Callable[[], None]


class Slots:
    """`number` runs at a time: those of the highest priority first, and of these first come, first
    served.

    A suspect (`core.quarantine`) is at work alone: it waits until the others have ended, for
    `PATIENCE` seconds, and nobody begins beside it. What only stops things (a pause, a cancel)
    never waits and takes no slot.
    """

    def __init__(self, number: int, later: Later | None = None) -> None:
        self._number, self._later = number, later or _later
        self._working: set[str] = set()
        self._alone = ""
        # those that wait, and what lets each of them in
        self._queue: dict[str, _QueuePlace] = {}
        # their places in order; also of some that do not wait any more
        self._order: list[tuple[int, int, str]] = []
        self._number_of_calls = 0
        # those that wait, and whether they have waited long enough
        self._suspects: dict[str, bool] = {}

    def call(self, run: str, begin: Callable[[], None], priority: int = 0) -> None:
        """Call `begin` when the run may be at work, perhaps at once. While it waits, it is nothing
        but a place in the queue."""
        self._number_of_calls += 1
        self._queue[run] = _QueuePlace(self._number_of_calls, begin)
        heappush(self._order, (-priority, self._number_of_calls, run))
        self._admit()

    def withdraw(self, run: str) -> None:
        """The run does not wait any more, if it did."""
        if self._queue.pop(run, None) is not None:
            self._suspects.pop(run, None)
            self._admit()

    async def enter(self, run: str) -> None:
        """Return when the run may be at work."""
        if not self._queue and not self._alone and len(self._working) < self._number:
            self._working.add(run)
            return
        await self._wait(run)

    async def alone(self, run: str) -> None:
        """Return when the run, which has a slot, may be at work without any other."""
        self._working.discard(run)
        self._suspects[run] = False
        timer = self._later(PATIENCE, lambda: self._tire(run))
        try:
            await self._wait(run, MOST_URGENT)  # it has a slot: nobody who is urgent passes by
        finally:
            if isinstance(timer, asyncio.TimerHandle):
                timer.cancel()

    def is_queued(self, run: str) -> bool:
        """Whether the run waits."""
        return run in self._queue

    @property
    def queued(self) -> list[str]:
        """The runs that wait, in the order in which they came."""
        return list(self._queue)

    @property
    def free(self) -> int:
        """How many could begin now."""
        if self._queue or self._alone:
            return 0
        return max(0, self._number - len(self._working))

    @property
    def number(self) -> int:
        """How many may be at work."""
        return self._number

    @property
    def working(self) -> int:
        """How many are at work."""
        return len(self._working)

    def wave(self, run: str) -> None:
        """Let a run that waits pass by: there is something to stop in it."""
        if (place := self._queue.pop(run, None)) is not None:
            self._suspects.pop(run, None)
            place.begin()
            self._admit()

    def clear(self, run: str) -> None:
        """The run that is alone is no suspect any more: others may begin beside it."""
        if self._alone == run:
            self._alone = ""
            self._admit()

    def leave(self, run: str) -> None:
        """The run is not at work any more."""
        self._working.discard(run)
        self.clear(run)
        self._admit()

    async def _wait(self, run: str, priority: int = 0) -> None:
        waits: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        inside = False

        def enter() -> None:
            nonlocal inside
            inside = True
            if not waits.done():  # else it has just been cancelled, and does not know it yet
                waits.set_result(None)

        try:
            self.call(run, enter, priority)
            await waits
        except BaseException:
            if inside:
                self.leave(run)
            self.withdraw(run)
            raise

    def _tire(self, run: str) -> None:
        if run in self._suspects:
            self._suspects[run] = True
            self._admit()

    def _first(self) -> str:
        """Who is next of those that wait."""
        while True:
            _, number, run = self._order[0]
            place = self._queue.get(run)
            if place is not None and place.number == number:
                return run
            heappop(self._order)

    def _admit(self) -> None:
        """Let in whoever is first, as long as there is room for it."""
        while self._queue and not self._alone:
            run = self._first()
            suspect = run in self._suspects
            if suspect and self._suspects[run]:
                others = 0
            else:
                others = len(self._working)
            if others >= (1 if suspect else self._number):
                return
            if suspect:
                del self._suspects[run]
                self._alone = run
            self._working.add(run)
            self._queue.pop(run).begin()
        if not self._queue:
            self._order.clear()
