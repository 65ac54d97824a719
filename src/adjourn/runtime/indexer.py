"""The indexer: it brings the index of runs up to date, every few seconds and before a search. Any
number of processes may have one."""

import asyncio
import logging

from adjourn.driver.clock import Clock
from adjourn.errors import AdjournError, UnknownRun
from adjourn.stores.protocol import Store
from adjourn.stores.run_entry import extended
from adjourn.stores.run_index import RunEntry

log = logging.getLogger("adjourn.index")

EVERY = 5.0
"""Seconds between two looks."""
AT_ONCE = 20
"""Entries that are written together."""
BEFORE_SEARCH = 100
"""Runs that a search brings up to date before it looks; the rest is left to the next look."""


async def bring_up_to_date(store: Store, most: int = BEFORE_SEARCH) -> int:
    """Make the entries of up to `most` runs that came to rest since theirs was made, the newest
    first; how many that were.

    Args:
        store: where the runs are.
        most: at most so many.
    """
    done = 0
    index = store.run_index()
    while done < most:
        stale = await index.stale(min(AT_ONCE, most - done))
        made: list[RunEntry] = []
        for row, entry in stale:
            try:
                records = await store.load(row.id, entry.seq if entry else 0)
            except UnknownRun:  # it was pruned in between
                continue
            made.append(extended(row, entry, records))
        await index.put(made)
        done += len(stale)
        if len(stale) < AT_ONCE:
            break
    return done


class Indexer:
    """Brings the index up to date while it runs."""

    def __init__(self, store: Store, clock: Clock, every: float = EVERY) -> None:
        self._store, self._clock, self._every = store, clock, every
        self._bell = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._warned = ""

    def start(self) -> None:
        """Look from now on."""
        if self._task is None:
            self._task = asyncio.get_running_loop().create_task(self._run(), name="adjourn-index")

    async def _run(self) -> None:
        while True:
            self._bell.clear()
            await self._clock.wait(self._bell, self._every)
            try:
                done = AT_ONCE
                while done == AT_ONCE:  # each part awaits the store: others have their turn
                    done = await bring_up_to_date(self._store, AT_ONCE)
                self._warned = ""
            except AdjournError as e:
                if str(e) != self._warned:  # once, not at every look
                    log.warning("the index of runs is not up to date: %s", e)
                self._warned = str(e)

    async def close(self) -> None:
        """End; what is not done yet is left to others, or to the next search."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
