"""A store that fails on purpose, once, at a chosen operation: what a worker sees of a bad disk or a
bad network."""

import asyncio
from collections.abc import Awaitable, Callable
from enum import StrEnum
from typing import Any

from adjourn.errors import AdjournError, StoreError
from adjourn.stores.protocol import Store
from adjourn.testing.wrapped_store import WrappedStore

UNTOUCHED = frozenset({"erasures", "ended", "followed", "weigh", "scrub", "signed"})
"""Operations that do not fail here: no worker needs them."""


class Fault(StrEnum):
    """What goes wrong. All but the first leave the caller not knowing whether it happened."""

    BEFORE = "before"
    """An error; nothing happened."""
    AFTER = "after"
    """An error; it happened all the same."""
    LOST = "lost"
    """It happened, and no answer ever comes."""
    LATE = "late"
    """An error; it happens later, after whatever the caller does next."""


class Faulty(WrappedStore):
    """A `Store` whose operation number `at` (from 0) fails with `fault`. `tripped` tells whether it
    came to that.

    `lost` is set once a caller waits for an answer that never comes: whoever supervises it should
    give it up.
    """

    def __init__(self, store: Store, at: int, fault: Fault) -> None:
        super().__init__(store)
        self.at, self.fault = at, fault
        self.operations: list[str] = []
        self.tripped = False
        self.lost = asyncio.Event()
        self._late: Callable[[], Awaitable[Any]] | None = None

    async def _around(self, name: str, work: Callable[[], Awaitable[Any]], *_given: Any) -> Any:
        if name in UNTOUCHED:
            return await work()
        self.operations.append(name)
        if len(self.operations) - 1 == self.at:
            return await self._fail(name, work)
        result = await work()
        await self.settle()
        return result

    async def _fail(self, name: str, work: Callable[[], Awaitable[Any]]) -> Any:
        self.tripped = True
        if self.fault is Fault.LATE:
            self._late = work
        elif self.fault is not Fault.BEFORE:
            await work()
        if self.fault is Fault.LOST:
            self.lost.set()
            await asyncio.Event().wait()
        raise StoreError(
            f"{name}: a fault ({self.fault.value}) was planted here",
            advice="reload before doing anything",
        )

    async def settle(self) -> None:
        """Let what is late happen. That it is refused by now is its own affair."""
        work, self._late = self._late, None
        if work is not None:
            try:
                await work()
            except AdjournError:
                pass
