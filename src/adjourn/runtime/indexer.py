"""The indexer: it brings the index of runs up to date, every few seconds and before a search. Any
number of processes may have one."""

import asyncio
import logging
from collections.abc import Callable

from adjourn.driver.clock import Clock
from adjourn.errors import AdjournError, KeyMissing, UnknownRun
from adjourn.stores.protocol import Store
from adjourn.stores.run_entry import extended
from adjourn.stores.run_index import RunEntry
from adjourn.stores.tenant_store import whole_store

log = logging.getLogger("adjourn.index")

EVERY = 5.0
"""Seconds between two looks."""
AT_ONCE = 20
"""Entries that are written together."""
SHARE = 20
"""While runs go on in its process, it takes at most one part in so many of the time: to make the
entry of a short run costs as much as the run."""
IDLE_SHARE = 2
"""The same while none does: whoever looks at a list does not wait behind it."""
LONGEST = 60.0
"""Seconds that it waits for that at most."""
BEFORE_SEARCH = 100
"""Runs that a search brings up to date before it looks; the rest is left to the next look."""

UNREAD = 1_000
"""Runs whose key is not here that one look passes over."""


async def bring_up_to_date(store: Store, most: int = BEFORE_SEARCH) -> int:
    """Make the entries of up to `most` runs that came to rest since theirs was made, the newest
    first; how many that were. Those whose key is not here are left to a process that has it.

    Args:
        store: where the runs are.
        most: at most so many.
    """
    done, store, unread = 0, whole_store(store), set[str]()
    index = store.run_index()
    while done < most and len(unread) < UNREAD:
        found = await index.stale(min(AT_ONCE, most - done) + len(unread))
        stale = [(row, entry) for row, entry in found if row.id not in unread]
        if not stale:  # fewer than asked for may be all of a page, not all of them
            break
        made: list[RunEntry] = []
        for row, entry in stale:
            try:
                records = await store.load(row.id, entry.seq if entry else 0)
            except UnknownRun:  # it was pruned in between
                done += 1
            except KeyMissing:
                unread.add(row.id)
            else:
                made.append(extended(row, entry, records))
        await index.put(made)
        done += len(made)
    return done


class Indexer:
    """Brings the index up to date while it runs; slowly while the process `is_busy`."""

    def __init__(
        self,
        store: Store,
        clock: Clock,
        every: float = EVERY,
        is_busy: Callable[[], bool] = lambda: False,
    ) -> None:
        self._store, self._clock, self._every, self._is_busy = store, clock, every, is_busy
        self._task: asyncio.Task[None] | None = None
        self._warned = ""

    def start(self) -> None:
        """Look from now on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="adjourn-index")

    async def _run(self) -> None:
        while True:
            await self._clock.wait(asyncio.Event(), self._every)
            try:
                while await self._do_some():
                    pass  # each part awaits the store: others have their turn
                self._warned = ""
            except AdjournError as e:
                if str(e) != self._warned:  # once, not at every look
                    log.warning("the index of runs is not up to date: %s", e)
                self._warned = str(e)

    async def _do_some(self) -> int:
        """Make some entries; how many that were."""
        began = self._clock.steady()
        done = await bring_up_to_date(self._store, AT_ONCE)
        if done:
            share = SHARE if self._is_busy() else IDLE_SHARE
            pause = share * (self._clock.steady() - began)
            await self._clock.wait(asyncio.Event(), min(pause, LONGEST))
        return done

    async def close(self) -> None:
        """End; what is not done yet is left to others, or to the next search."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
