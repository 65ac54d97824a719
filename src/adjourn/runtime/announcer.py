"""Says of a worker, again and again, that it is there: for people who look at the fleet. Nobody
takes a run because of it, nor leaves one alone."""

import asyncio
import logging
from collections.abc import Callable

from adjourn.driver.clock import Clock
from adjourn.errors import StoreError
from adjourn.stores.fleet import WorkerCard
from adjourn.stores.protocol import Store

log = logging.getLogger("adjourn.worker")

EVERY = 5.0
"""Seconds between two cards."""
FORGOTTEN = 86_400.0
"""Seconds after which the card of a worker that does not answer is removed."""
LAST = 0.5
"""Seconds that closing waits for the card to be removed."""


class Announcer:
    """Puts the card of one worker into its store, every few seconds and when something changes."""

    def __init__(self, store: Store, clock: Clock, card: Callable[[], WorkerCard]) -> None:
        self._store, self._clock, self._card = store, clock, card
        self._bell, self._over = asyncio.Event(), False
        self._task: asyncio.Task[None] | None = None

    def start(self) -> None:
        """Begin, in the running event loop."""
        self._task = asyncio.get_running_loop().create_task(self._run(), name="adjourn-announcer")

    def hurry(self) -> None:
        """Something has changed that people should see now."""
        self._bell.set()

    async def close(self, worker: str) -> None:
        """Stop, and remove the worker's card. A store that hangs is not waited for."""
        self._over = True
        self._bell.set()
        try:
            async with asyncio.timeout(LAST):
                if self._task is not None:
                    await self._task  # a card that is being written lands before it is removed
                await self._store.roster(drop=[worker])
        except (StoreError, TimeoutError) as e:
            log.info("the card of worker %s could not be removed: %s", worker, e)

    async def _run(self) -> None:
        while not self._over:
            self._bell.clear()
            try:
                await self._say()
            except StoreError as e:
                log.info("a worker's card could not be written; trying again later: %s", e)
            if not self._over:
                await self._clock.wait(self._bell, EVERY)

    async def _say(self) -> None:
        known = await self._store.roster(self._card())
        now = self._store.now()
        old = [card.id for card in known if card.seen_at < now - FORGOTTEN]
        if old:
            await self._store.roster(drop=old)
