"""Waiting, with time as something that can be replaced."""

import asyncio
import time
from collections.abc import Callable
from typing import Protocol


class Clock(Protocol):
    """What the loop waits by. The time itself is the store's."""

    def steady(self) -> float:
        """Seconds since some moment. Nobody can set it: how long something took, or is to take, is told by it."""
        ...

    async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
        """Return when `bell` is set, or after `seconds` (None: never by itself)."""
        ...


class DriveTime:
    """The store's time, as one drive sees it: while it holds its run for a wait, the time only passes, and nobody sets it.

    A wait that was recorded (a back-off, the time that a cut-off call is given to settle) is neither over at once because
    the clock was set forward, nor an hour longer because it was set back.
    """

    def __init__(self, now: Callable[[], float], clock: Clock) -> None:
        self._now, self._clock = now, clock
        self._began: tuple[float, float] | None = None

    def now(self) -> float:
        """Seconds since 1970."""
        if self._began is None:
            return self._now()
        was, began = self._began
        return was + self._clock.steady() - began

    def hold(self, held: bool) -> None:
        """Whether the run is held for a wait."""
        if held != (self._began is not None):
            self._began = (self._now(), self._clock.steady()) if held else None


class Alarm(asyncio.Event):
    """A bell whose timer stays on between waits: a loop that is rung all the time need not make one for each wait.

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

    def steady(self) -> float:
        """See `Clock.steady`."""
        return time.monotonic()

    async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
        """See `Clock.wait`."""
        if seconds is None:
            await bell.wait()
            return
        if bell.is_set():
            return
        if isinstance(bell, Alarm):
            bell.arm(max(0.0, seconds))
            await bell.wait()
            return
        # A timer on the loop costs a tenth of `wait_for`, which makes a task.
        timer = asyncio.get_running_loop().call_later(max(0.0, seconds), bell.set)
        try:
            await bell.wait()
        finally:
            timer.cancel()
