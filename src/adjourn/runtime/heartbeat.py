"""The heartbeat of a worker, in a thread of its own: user code that holds the event loop does not
stop it."""

import asyncio
import logging
import threading
import time
from collections.abc import Callable

from adjourn.driver.fence import Fence
from adjourn.errors import StoreError
from adjourn.stores.protocol import Pulse, Store

log = logging.getLogger("adjourn.worker")

BEATS = 3
"""Beats within a lease: two may fail before anybody takes the worker for dead."""

LOOK = 0.2
"""Seconds between two looks whether the bodies that were left at work have ended."""
LAST = 0.5
"""Seconds that closing waits for the last beat: a store that hangs must not hold up the end of a
process."""


class Heartbeat:
    """Keeps one worker's runs its own, while it has any. `fence` says how long they are, should the
    beats fail.

    `late` is called in the worker's event loop after a beat that came too late: somebody may have
    taken runs.
    """

    def __init__(self, store: Store, worker: str, ttl: float, late: Callable[[], None]) -> None:
        self.fence = Fence(store.now, ttl)
        self._store, self._worker, self._ttl, self._late = store, worker, ttl, late
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._wanted, self._over, self._idle = False, False, False
        self._left: Callable[[], bool] = lambda: False

    def need(self, runs: bool) -> None:
        """Whether there are runs to keep. A worker without any does not beat: it costs nothing.
        Taking one is a beat."""
        self._wanted = runs
        if runs and self._thread is None:
            self._loop = asyncio.get_running_loop()
            self._ring, self._said = threading.Event(), threading.Event()
            self._thread = threading.Thread(target=self._run, name="adjourn-heartbeat", daemon=True)
            self._thread.start()
        elif runs and self._idle:
            self._ring.set()

    async def close(self, left: Callable[[], bool] = lambda: False) -> None:
        """Beat no more; whatever still names the worker can be taken at once. Waits for a beat
        under way, not for long.

        While bodies are `left` at work, others who see this process wait for them: the last word is
        said when they have ended.
        """
        self._over, self._left = True, left
        if self._thread is not None:
            self._ring.set()
            await asyncio.get_running_loop().run_in_executor(None, self._said.wait, LAST)

    def _run(self) -> None:
        pulse = self._store.pulse()
        try:
            while not self._is_over():
                # before `_wanted` is read: whoever sets that afterwards sees it, and rings
                self._idle = True
                self._idle = not self._wanted
                if self._ring.wait(None if self._idle else self._ttl / BEATS):
                    self._ring.clear()
                elif self._wanted:
                    self._beat(pulse)
            self._end(pulse)
        except StoreError as e:
            log.warning("worker %s could not announce that it is stopping: %s", self._worker, e)
        finally:
            self._said.set()
            pulse.close()

    def _end(self, pulse: Pulse) -> None:
        if self._left():
            pulse.end(self._worker, left=True)
            self._said.set()
            while self._left():
                time.sleep(LOOK)
        pulse.end(self._worker)

    def _is_over(self) -> bool:
        """A runtime that was left without being closed must not look alive for ever: its loop is
        gone."""
        return self._over or self._loop is None or self._loop.is_closed()

    def _beat(self, pulse: Pulse) -> None:
        mark = self.fence.mark()
        try:
            late = pulse.beat(self._worker, self._ttl)
        except StoreError as e:
            log.warning("worker %s missed a heartbeat: %s", self._worker, e)
            return
        self.fence.keep(mark, late=late)
        if late and self._loop is not None:
            try:
                self._loop.call_soon_threadsafe(self._late)
            except RuntimeError:  # the loop is closed: there are no runs to look at
                self._over = True
