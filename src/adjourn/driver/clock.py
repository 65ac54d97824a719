"""Waiting, with time as something that can be replaced."""

import asyncio
from typing import Protocol


class Clock(Protocol):
    """What the loop waits by. The time itself is the store's."""

    async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
        """Return when `bell` is set, or after `seconds` (None: never by itself)."""
        ...


class SystemClock:
    """Real time."""

    async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
        """See `Clock.wait`."""
        if seconds is None:
            await bell.wait()
            return
        if bell.is_set():
            return
        # A timer on the loop costs a tenth of `wait_for`, which makes a task.
        timer = asyncio.get_running_loop().call_later(max(0.0, seconds), bell.set)
        try:
            await bell.wait()
        finally:
            timer.cancel()
