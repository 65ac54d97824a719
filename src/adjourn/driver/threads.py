"""Work in a thread of its own: a stuck one must not block the others, nor the end of the
process."""

import asyncio
import contextvars
import logging
import os
import threading
from collections.abc import Callable
from typing import Any

from adjourn.core.codec import text_of
from adjourn.driver.process_identity import end_if_forked

log = logging.getLogger("adjourn.tool")


class Flight:
    """A function at work in a daemon thread, until it has ended, whoever waits for it. It cannot be
    stopped.

    `on_end` is called in that thread when it has.
    """

    def __init__(self, work: Callable[[], Any]) -> None:
        self._work = work
        self.on_end: Callable[[], None] | None = None
        self._inside = contextvars.copy_context()
        self._lock = threading.Lock()
        self._waiters: list[tuple[asyncio.AbstractEventLoop, asyncio.Future[None]]] = []
        self._ended = False
        self._value: Any = None
        self._error: BaseException | None = None

    def start(self) -> "Flight":
        """Begin; returns itself."""
        threading.Thread(target=self._run, name="adjourn-tool", daemon=True).start()
        return self

    @property
    def ended(self) -> bool:
        """Whether the function has returned or raised."""
        return self._ended

    def _run(self) -> None:
        process = os.getpid()
        try:
            self._value = self._inside.run(self._work)
        except BaseException as e:
            if isinstance(e, StopIteration):
                self._error = Raised(e)
            else:
                self._error = e
        end_if_forked(process)
        with self._lock:
            self._ended = True
            waiters, self._waiters = self._waiters, []
        if self.on_end is not None:
            self.on_end()
        for loop, waiter in waiters:
            try:
                loop.call_soon_threadsafe(_wake, waiter)
            except RuntimeError:  # the loop is closed: nobody waits
                log.warning(
                    "a tool ended after its run was handed back; its result is lost, the call is in doubt"
                )

    async def wait(self, read: Callable[[], None] | None = None) -> Any:
        """The function's result, or what it raised. A waiter that is cancelled leaves it at work;
        else `read` is called."""
        loop = asyncio.get_running_loop()
        waiter: asyncio.Future[None] = loop.create_future()
        with self._lock:
            if not self._ended:
                self._waiters.append((loop, waiter))
            else:
                waiter.set_result(None)
        await waiter
        if read is not None:
            read()
        if self._error is not None:
            raise self._error
        return self._value


def _wake(waiter: asyncio.Future[None]) -> None:
    if not waiter.done():
        waiter.set_result(None)


async def in_thread(work: Callable[[], Any]) -> Any:
    """Run `work` in a new daemon thread. If the waiter is cancelled, the thread goes on by
    itself."""
    return await Flight(work).start().wait()


class Raised(RuntimeError):
    """StopIteration cannot travel through a future."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {text_of(error)}")
