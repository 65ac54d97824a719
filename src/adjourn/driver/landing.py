"""A commit that fails is made again: what happened has happened, and the bodies beside it go on."""

import asyncio
import logging
from collections.abc import Sequence

from adjourn.core.records import Cancelled, Completed, Fact, Move, Parked, dump
from adjourn.driver.clock import Clock
from adjourn.errors import StoreError
from adjourn.stores.store import Committed, Lease, Store

log = logging.getLogger("adjourn.driver")

FIRST, LONGEST = 0.05, 1.0
"""Seconds before a failed commit is made again: at first, and at most."""


class Landing:
    """Where a drive's records go. A store that fails is asked again for `grace` seconds."""

    def __init__(self, store: Store, lease: Lease, clock: Clock, grace: float) -> None:
        self._store, self._lease, self._clock, self._grace = store, lease, clock, grace

    async def commit(self, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int, ttl: float) -> Committed:
        """See `Store.commit`. Raises `StoreError` only when the store has failed for `grace` seconds.

        An error leaves open whether the records have landed, so the journal is read before they are committed again.
        """
        began, tries = 0.0, 0
        while True:
            try:
                if tries and (found := await self._landed(facts, moves, seen, ttl)):
                    return found
                return await self._store.commit(self._lease, facts, moves, seen=seen, ttl=ttl)
            except StoreError as e:
                now = self._store.now()
                began = began or now
                if now >= began + self._grace:
                    raise
                log.warning("run %s: a commit failed and is made again: %s", self._lease.run, e)
            await self._clock.wait(asyncio.Event(), min(LONGEST, FIRST * 2**tries))
            tries += 1

    async def _landed(self, facts: Sequence[Fact], moves: Sequence[Move], seen: int, ttl: float) -> Committed | None:
        """What the commit would have given, if its records are in the journal; None if they are not."""
        lines = [dump(record) for record in (*facts, *moves)]
        if not lines:
            return None
        tail = await self._store.load(self._lease.run, seen)
        written = [dump(record) for _, record in tail]
        if lines[0] not in written:
            return None
        first = written.index(lines[0])
        clean = written[first : first + len(lines)] == lines
        last = tail[first + len(lines if clean else facts) - 1][0]
        halts = self._lease.halts
        if not any(isinstance(move, Parked | Completed | Cancelled) for move in moves):
            fresh = await self._store.commit(self._lease, [], [], seen=last, ttl=ttl)
            halts = fresh.halts
        return Committed(tail[:first], last, clean and not first, halts)
