"""Time that only moves when a test says so."""

import asyncio
from datetime import timedelta

from adjourn.core.duration import seconds


class FakeClock:
    """A clock for stores (`now=clock.now`) and for the loop. `advance` moves it and wakes what has
    become due.

    Args:
        start: the first time, in seconds since 1970.
    """

    def __init__(self, start: float = 1_800_000_000.0) -> None:
        self._now, self._set_by = start, 0.0
        self._waiting: list[tuple[float, asyncio.Event]] = []

    def now(self) -> float:
        """The time, in seconds since 1970."""
        return self._now + self._set_by

    def steady(self) -> float:
        """What passes by `advance` and `skip`, and does not change when the clock is `set`."""
        return self._now

    def set(self, by: float | timedelta) -> None:
        """Set the clock forward or back, as when a wrong clock is corrected: no time has passed.

        Args:
            by: seconds, or a `timedelta`.
        """
        if isinstance(by, timedelta):
            self._set_by += by.total_seconds()
        else:
            self._set_by += by

    def advance(self, duration: float | timedelta) -> None:
        """Move the time and wake what has become due, without running anything yet.

        Args:
            duration: seconds, or a `timedelta`.
        """
        self._now += seconds(duration, "duration")
        waiting, self._waiting = self._waiting, []
        for at, bell in waiting:
            if at <= self._now:
                bell.set()
            else:
                self._waiting.append((at, bell))

    async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
        """Return when `bell` is set, or when the time has been moved far enough.

        Args:
            bell: the event.
            seconds: how far; None: wait for the bell alone.
        """
        if seconds is not None and seconds <= 0:
            return
        if seconds is not None:
            self._waiting.append((self._now + seconds, bell))
        await bell.wait()
        self._waiting = [waiting for waiting in self._waiting if waiting[1] is not bell]
