"""A commit that fails is made again: what happened has happened, and the bodies beside it go on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, TypeVar

from adjourn.core.records import Fact, Move
from adjourn.driver.clock import Clock
from adjourn.errors import StoreError
from adjourn.stores.protocol import Committed, Journals, Lease

T = TypeVar("T")
P = ParamSpec("P")
log = logging.getLogger("adjourn.driver")

FIRST, LONGEST = 0.05, 1.0
"""Seconds before a failed commit is made again: at first, and at most."""


class Landing:
    """Where a drive's records go. A store that fails is asked again for `grace` seconds."""

    def __init__(self, store: Journals, lease: Lease, clock: Clock, grace: float) -> None:
        self._store, self._lease, self._clock, self._grace = store, lease, clock, grace

    async def commit(self, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int) -> Committed:
        """See `Store.commit`. Raises `StoreError` only when the store has failed for `grace`
        seconds.

        An error leaves open whether the records have landed. The store finds them in the
        transaction that would append them
        again: to look first and commit then would not do, because a commit that got lost may still
            arrive in between.
        """
        return await self._again(self._store.commit, self._lease, facts, moves, seen=seen)

    async def renew(self, ttl: float) -> None:
        """See `Store.renew`. Raises `StoreError` only when the store has failed for `grace`
        seconds."""
        await self._again(self._store.renew, self._lease, ttl)

    async def _again(self, ask: Callable[P, Awaitable[T]], *args: P.args, **named: P.kwargs) -> T:
        began, tries = None, 0
        while True:
            try:
                return await ask(*args, **named)
            except StoreError as e:
                now = self._clock.steady()
                began = now if began is None else began
                if now >= began + self._grace:
                    raise
                log.warning("run %s: the store failed and is asked again: %s", self._lease.run, e)
            await self._clock.wait(asyncio.Event(), min(LONGEST, FIRST * 2**tries))
            tries += 1
