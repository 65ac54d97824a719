"""The runs that this process advances for an engine, each as a task of its own: an engine that
loses its connection, or stops waiting, cuts off nothing."""

import asyncio
import logging

import msgspec

from adjourn.core.status import ENDED
from adjourn.errors import UnknownRun
from adjourn.runtime.advance_result import Advanced, Busy, Rested, Unfit
from adjourn.runtime.runtime import Runtime

log = logging.getLogger("adjourn.engines")

SLICE = 300.0
"""Seconds after which a run is handed back, so that it may continue on another worker."""
SOON, LATE = 0.2, 5.0
"""Seconds after which a run that another worker has, or that does not fit here, is tried again: at
least, and at most."""


class RunProgress(msgspec.Struct, frozen=True):
    """How an advance ended; all that an engine is told of a run.

    Attributes:
        is_over: the run has ended, or is not there any more.
        more: advance it again now.
        wake_in: seconds after which it goes on by itself; 0: only if it is woken.
        seq: its last record that is known; the same again: nothing has happened.
    """

    is_over: bool = False
    more: bool = False
    wake_in: float = 0.0
    seq: int = 0


class NotNow(Exception):
    """Another worker has the run, or it does not fit this one. It is no acknowledgement: the engine
    must ask again, here or elsewhere.

    Args:
        why: the reason.
        after: seconds to wait before that.
    """

    def __init__(self, why: str, after: float) -> None:
        super().__init__(why)
        self.after = after


class RunTasks:
    """Advances the runs of one runtime, one task for each.

    Args:
        runtime: an open `Runtime(work=False)` with its programs.
    """

    def __init__(self, runtime: Runtime) -> None:
        self._runtime = runtime
        self._tasks: dict[str, asyncio.Task[Advanced]] = {}

    async def advance(
        self, run: str, within: float | None = None, until: asyncio.Event | None = None
    ) -> RunProgress:
        """Advance a run until it rests, or wait for whoever in this process does so already.

        If it takes longer than `within` seconds, or this is cancelled, the run goes on, and the
        next call waits for it. Raises `NotNow`, and what `Runtime.advance` raises.

        Args:
            run: its id.
            within: seconds after which this returns, with `more`; None: as long as it takes.
            until: this returns, with `more`, when it is set.
        """
        task = self._tasks.get(run)
        if task is None:
            task = self._begin(run)
        await _either(task, until, within)
        if not task.done():
            return RunProgress(more=True)
        if task.cancelled():
            raise NotNow("this worker is stopping", SOON)
        try:
            return self._progress(task.result())
        except UnknownRun as unknown:
            log.warning("a wake for an unknown run: %s", unknown)
            return RunProgress(is_over=True)

    async def ended(self) -> None:
        """Return when nothing is being advanced."""
        while self._tasks:
            await asyncio.wait({*self._tasks.values()})

    def _begin(self, run: str) -> asyncio.Task[Advanced]:
        work = self._runtime.advance(run, at_most=SLICE)
        task = asyncio.get_running_loop().create_task(work, name=f"adjourn-engine:{run}")
        self._tasks[run] = task
        task.add_done_callback(lambda done: self._ended(run, done))
        return task

    def _ended(self, run: str, task: asyncio.Task[Advanced]) -> None:
        self._tasks.pop(run, None)
        if not task.cancelled():
            task.exception()  # somebody may have stopped waiting for it

    def _progress(self, found: Advanced) -> RunProgress:
        if isinstance(found, Unfit):
            raise NotNow(found.why, LATE)
        now = self._runtime.store.now()
        if isinstance(found, Busy):
            left = found.until - now
            raise NotNow(f"worker {found.worker} has it", min(max(left, SOON), LATE))
        assert isinstance(found, Rested)
        wake_in = 0.0
        if found.wake_at:
            wake_in = max(found.wake_at - now, SOON)
        return RunProgress(
            is_over=found.status in _ENDED, more=found.more, wake_in=wake_in, seq=found.seq
        )


async def _either(
    task: asyncio.Task[Advanced], until: asyncio.Event | None, within: float | None
) -> None:
    """Wait for one of them, for so many seconds at most."""
    if until is None:
        await asyncio.wait({task}, timeout=within)
        return
    told = asyncio.ensure_future(until.wait())
    try:
        await asyncio.wait({task, told}, timeout=within, return_when=asyncio.FIRST_COMPLETED)
    finally:
        told.cancel()


_ENDED = frozenset(status.value for status in ENDED)
