"""Waiting, with time as something that can be replaced."""

import asyncio
import math
import time
from typing import Protocol


class Clock(Protocol):
    """What the loop waits by. The time itself is the store's: see `StoreTime`."""

    def steady(self) -> float:
        """Seconds since some moment. Nobody can set it: how long something took, or is to take, is
        told by it."""
        ...

    async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
        """Return when `bell` is set, or after `seconds` (None: never by itself). Then it is set, too:
        clear it before the next wait, or give a new one."""
        ...


class StoreTime:
    """The store's time, as one process knows it: from the transactions that the store has answered,
    and otherwise it passes.

    It is asked of nobody: it is an offset to a clock that nobody can set, and each answer says
    within which bounds that is. All drives of a worker share it, so what they do has one order.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self.offset: float | None = None

    def heard(self, now: float, asked: float = -math.inf) -> None:
        """The store said that it was `now` at some moment since `asked`, by the steady clock.

        As long as that may be so, nothing changes: how long an answer took is no reason to go back.
        """
        earliest, latest = now - self._clock.steady(), now - asked
        known = earliest if self.offset is None else self.offset
        self.offset = min(max(known, earliest), latest)


class DriveTime:
    """The store's time, as one drive sees it: while it holds its run for a wait, the time only
    passes, and nobody sets it.

    A wait that was recorded (a back-off, the time that a cut-off call is given to settle) is
    neither over at once because the clock was set forward, nor an hour longer because it was set
    back.
    """

    def __init__(self, store: StoreTime, clock: Clock) -> None:
        self._store, self._clock = store, clock
        self._kept: float | None = None

    def now(self) -> float:
        """Seconds since 1970."""
        offset = self._store.offset if self._kept is None else self._kept
        assert offset is not None  # its lease has said it
        return self._clock.steady() + offset

    def heard(self, now: float, asked: float = -math.inf) -> None:
        """See `StoreTime.heard`."""
        self._store.heard(now, asked)

    def hold(self, held: bool) -> None:
        """Whether the run is held for a wait."""
        if held != (self._kept is not None):
            if held:
                self._kept = self._store.offset
            else:
                self._kept = None


class TimedEvent(asyncio.Event):
    """A bell whose timer stays on between waits: a loop that is rung all the time need not make one
    for each wait.

    The timer may ring for a wait that is over; `disarm` when there will be no other.
    """

    def __init__(self) -> None:
        super().__init__()
        self._timer: asyncio.TimerHandle | None = None

    def arm(self, seconds: float) -> None:
        """Ring after `seconds` at the latest."""
        loop = asyncio.get_running_loop()
        now = loop.time()
        if self._timer is None or not now < self._timer.when() <= now + seconds:
            self.disarm()
            self._timer = loop.call_at(now + seconds, self.set)

    def disarm(self) -> None:
        """Ring no more by itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


class SystemClock:
    """Real time."""

    steady = staticmethod(time.monotonic)
    """See `Clock.steady`."""

    async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
        """See `Clock.wait`."""
        if seconds is None:
            await bell.wait()
            return
        if bell.is_set():
            return
        if isinstance(bell, TimedEvent):
            bell.arm(max(0.0, seconds))
            await bell.wait()
            return
        # A timer on the loop costs a tenth of `wait_for`, which makes a task.
        timer = asyncio.get_running_loop().call_later(max(0.0, seconds), bell.set)
        try:
            await bell.wait()
        finally:
            timer.cancel()
