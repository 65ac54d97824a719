"""A commit that fails is made again: what happened has happened, and the bodies beside it go on."""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Sequence
from typing import ParamSpec, TypeVar

import msgspec

from adjourn.core.records import Fact, Move
from adjourn.driver.clock import Clock
from adjourn.driver.journal_log import log_records
from adjourn.driver.metrics import UNREAD
from adjourn.errors import LeaseLost, StoreError
from adjourn.stores.protocol import Committed, Journals, Lease

T = TypeVar("T")
P = ParamSpec("P")
log = logging.getLogger("adjourn.driver")

FIRST, LONGEST = 0.05, 1.0
"""Seconds before a failed commit is made again: at first, and at most."""


class PendingFact(msgspec.Struct):
    """A fact that waits for its commit, and who waits for that."""

    fact: Fact
    durable: asyncio.Future[None] | None = None


def settle(own: Sequence[PendingFact], error: BaseException | None) -> None:
    """Tell whoever waits for these facts that they are in the journal; or why they are not."""
    for posted in own:
        if posted.durable is None or posted.durable.done():
            continue
        if error is None:
            posted.durable.set_result(None)
        else:
            posted.durable.set_exception(
                error if isinstance(error, Exception) else LeaseLost("the worker stopped")
            )


class Landing:
    """Where a drive's records go. A store that fails is asked again for `grace` seconds."""

    meter = UNREAD

    def __init__(
        self, store: Journals, lease: Lease, clock: Clock, grace: float, program: str
    ) -> None:
        self._store, self._lease, self._clock, self._grace = store, lease, clock, grace
        self._program = program

    async def commit(self, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int) -> Committed:
        """See `Store.commit`. Raises `StoreError` only when the store has failed for `grace`
        seconds.

        An error leaves open whether the records have landed. The store finds them in the
        transaction that would append them
        again: to look first and commit then would not do, because a commit that got lost may still
            arrive in between.
        """
        began = self._clock.steady()
        try:
            done = await self._store.commit(self._lease, facts, moves, seen=seen)
        except StoreError as e:
            done = await self._again(e, self._store.commit, self._lease, facts, moves, seen=seen)
        for ref in done.files:
            ref.release()
        landed = moves if done.clean else ()
        self.meter.committed(self._program, self._clock.steady() - began, facts, landed)
        log_records(self._lease.run, self._program, (*facts, *landed))
        return done

    async def renew(self, ttl: float) -> None:
        """See `Store.renew`. Raises `StoreError` only when the store has failed for `grace`
        seconds."""
        try:
            await self._store.renew(self._lease, ttl)
        except StoreError as e:
            await self._again(e, self._store.renew, self._lease, ttl)

    async def _again(
        self,
        error: StoreError,
        ask: Callable[P, Awaitable[T]],
        *args: P.args,
        **named: P.kwargs,
    ) -> T:
        """Ask a store that has failed with this error until it answers."""
        began, tries = None, 0
        while True:
            now = self._clock.steady()
            began = now if began is None else began
            if now >= began + self._grace:
                raise error
            log.warning("run %s: the store failed; trying again: %s", self._lease.run, error)
            await self._clock.wait(asyncio.Event(), min(LONGEST, FIRST * 2**tries))
            tries += 1
            try:
                return await ask(*args, **named)
            except StoreError as e:
                error = e
