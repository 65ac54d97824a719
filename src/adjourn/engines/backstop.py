"""The sweep under an engine: what is due and stays so was forgotten by the engine, and is advanced
here without it."""

import asyncio
import logging

from adjourn.driver.clock import Clock, SystemClock
from adjourn.engines.run_tasks import NotNow, RunTasks
from adjourn.errors import AdjournError
from adjourn.runtime.runtime import Runtime
from adjourn.stores.run_row import RunRow

log = logging.getLogger("adjourn.engines")

PAGE, MOST = 100, 10_000
"""So many runs that are due are looked at, and so many if those come first that others have."""
TOGETHER = 16
"""So many of them are advanced at the same time."""
OFTEN = 10.0
"""Seconds between two looks, at most."""


class Backstop:
    """Advances the runs that have been due for `patience` seconds and that nobody has.

    Args:
        runtime: an open runtime with its programs.
        tasks: what advances its runs.
        patience: seconds for which a run is left to the engine.
        clock: what it waits by.
    """

    def __init__(
        self, runtime: Runtime, tasks: RunTasks, *, patience: float, clock: Clock | None = None
    ) -> None:
        self._runtime, self._tasks, self._patience = runtime, tasks, patience
        self._clock = clock or SystemClock()
        self._due: dict[str, tuple[int, float]] = {}  # with which record, and since when
        self._tried: dict[str, float] = {}  # when it was not to be had, or did not go on
        self._taken: set[asyncio.Task[None]] = set()

    async def run(self) -> None:
        """Do so until this is cancelled."""
        try:
            while True:
                try:
                    await self.once()
                except AdjournError as error:
                    log.warning("the sweep failed and continues: %s", error)
                await self._clock.wait(asyncio.Event(), min(self._patience / 4, OFTEN))
        finally:
            for task in self._taken:
                task.cancel()
            await asyncio.gather(*self._taken, return_exceptions=True)

    async def once(self) -> list[str]:
        """Look once, and begin with what has been due for too long: these runs. Raises
        `StoreError`."""
        programs = list(self._runtime.programs)
        if not programs:
            return []
        now, before, self._due = self._clock.steady(), self._due, {}
        late: list[str] = []
        for row in await self._listed(programs):
            seq, since = before.get(row.id, (row.seq, now))
            if seq != row.seq:
                since = now
            self._due[row.id] = row.seq, since
            if now - since >= self._patience and self._is_free(row):
                late.append(row.id)
        late.sort(key=lambda run: self._tried.get(run, 0.0))  # what never goes on hides no other
        begun = late[: max(TOGETHER - len(self._taken), 0)]
        for run in begun:
            self._due[run], self._tried[run] = (self._due[run][0], now), now
            self._begin(run)
        self._tried = {run: at for run, at in self._tried.items() if run in self._due}
        self._runtime.worker.swept()
        return begun

    async def _listed(self, programs: list[str]) -> list[RunRow]:
        """Runs that are due, the oldest first. Those that somebody has are among them, and may be
        the oldest for hours: so it looks behind them."""
        limit = PAGE
        while True:
            rows = await self._runtime.store.due(programs, limit)
            new = sum(row.id not in self._tried and self._is_free(row) for row in rows)
            if new >= PAGE or len(rows) < limit or limit >= MOST:
                return rows
            limit = min(4 * limit, MOST)

    def _is_free(self, row: RunRow) -> bool:
        """Whether nobody has it, as far as its row says."""
        return not row.worker or row.lease_until <= self._runtime.store.now()

    async def settled(self) -> None:
        """Return when what was begun has been advanced, or was not to be had."""
        while self._taken:
            await asyncio.wait(self._taken)

    def _begin(self, run: str) -> None:
        task = asyncio.get_running_loop().create_task(self._advance(run), name="adjourn-backstop")
        self._taken.add(task)
        task.add_done_callback(self._taken.discard)

    async def _advance(self, run: str) -> None:
        try:
            await self._tasks.advance(run)
            log.info(
                "run %s was due for %g s and the engine did not wake it; this worker took it",
                run,
                self._patience,
            )
        except NotNow as refused:
            log.debug("run %s: %s", run, refused)
        except AdjournError as error:
            log.warning("run %s: %s; trying again", run, error)
        except Exception:
            log.exception("run %s: the driver failed; the run is safe; trying again", run)
