"""Retention: while a runtime is open, it prunes what is older than `retain=` says, a little at a
time."""

import asyncio
import logging
from collections.abc import Mapping

from adjourn.errors import AdjournError
from adjourn.runtime.pruner import Folder, PruneReport, PruneVerbs, Span, folder_of, retained
from adjourn.stores.erasure import Pruning

log = logging.getLogger("adjourn.retention")

EVERY, SOON, MOST = 60.0, 1.0, 200
"""Seconds between two looks; between two batches, while there is more; and about so many runs in a
batch."""
BY = "retention"
"""Who prunes, says the audit, where nobody but `retain=` asked for it."""


class Retention:
    """The task that prunes. Any number of processes may have one."""

    def __init__(
        self, runtime: PruneVerbs, retain: Span | Mapping[str, Span] | None, archive: Folder | None
    ) -> None:
        self._runtime, self._spans = runtime, retained(retain)
        self._archive = folder_of(archive)
        self._bell = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        self._warned = ""

    def start(self) -> None:
        """Prune from now on, if there is anything that is not kept for ever."""
        if not self._spans:
            return
        self._task = asyncio.get_running_loop().create_task(self._run(), name="adjourn-retention")

    async def once(self) -> PruneReport:
        """One batch for each status; what was pruned."""
        runs = 0
        for status, length in self._spans.items():
            rt = self._runtime
            wanted = Pruning(0, rt.store.now() - length, BY)
            done = await rt._prune_old(status, wanted, self._archive, most=MOST)  # pyright: ignore[reportPrivateUsage]
            runs += done.runs
        return PruneReport(runs=runs)

    async def _run(self) -> None:
        while True:
            self._bell.clear()
            wait = EVERY
            try:
                if (await self.once()).runs >= MOST:
                    wait = SOON
                self._warned = ""
            except AdjournError as e:
                if str(e) != self._warned:  # once, not every minute
                    log.warning("nothing was pruned: %s", e)
                self._warned = str(e)
            await self._runtime.clock.wait(self._bell, wait)

    async def close(self) -> None:
        """Prune no more."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
