"""Tells whoever drives runs from outside which are due: each wake at least once, and none is
lost."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from typing import Any

from adjourn.driver.clock import Clock, SystemClock
from adjourn.errors import Misused, StoreError
from adjourn.runtime.advance_result import Busy, Unfit
from adjourn.stores.outbox import Wake
from adjourn.stores.protocol import Store

log = logging.getLogger("adjourn.wakes")

Hand = Callable[[str], Awaitable[Any]]


class WakeRelay:
    """Hands the wakes of a store to `hand(run)`, in order, one after the other, and acknowledges
    each when that has returned.

    A wake that is not acknowledged comes again after `hold` seconds, here or in another process:
    because `hand` raised, or gave `Busy` or `Unfit`, or because this process died in between. So a
    run may be handed over twice, and never not at all.

    Args:
        store: where the runs are; it must have been told to write wakes (`await
            store.waking(True)`).
        hand: tells another process that this run is due, or advances it (`rt.advance`).
        take: so many are taken at a time.
        hold: seconds for which no other process gets what was taken. Longer than `hand` takes for `take`
            runs, or some are handed over twice.
        every: seconds after which `run` looks again, should it not have been told.
        clock: what `run` waits by.
    """

    def __init__(
        self,
        store: Store,
        hand: Hand,
        *,
        take: int = 20,
        hold: float = 60.0,
        every: float = 1.0,
        clock: Clock | None = None,
    ) -> None:
        self._store, self._hand = store, hand
        self._take, self._hold, self._every = take, hold, every
        self._clock = clock or SystemClock()

    async def once(self) -> int:
        """Hand over what is due now; how many were acknowledged. Raises `StoreError`; `Misused` if
        no wakes are written."""
        if not await self._store.waking():
            raise Misused("this store writes no wakes: `await store.waking(True)` first")
        acknowledged = 0
        while taken := await self._store.wakes(take=self._take, hold=self._hold):
            for wake in taken:
                acknowledged += await self._handed_over(wake)
        return acknowledged

    async def run(self) -> None:
        """Do so until this is cancelled, as soon as there is something to hand over."""
        bell = asyncio.Event()
        end = self._store.subscribe("", bell.set)
        try:
            while True:
                bell.clear()
                try:
                    await self.once()
                except StoreError as e:
                    log.warning("wakes could not be read; trying again: %s", e)
                await self._clock.wait(bell, self._every)
        finally:
            end()

    async def _handed_over(self, wake: Wake) -> bool:
        try:
            found = await self._hand(wake.run)
        except Exception as e:
            log.warning("run %s could not be handed over; trying again: %r", wake.run, e)
            return False
        if isinstance(found, Busy | Unfit):
            return False
        await self._store.wakes([wake])
        return True
