"""One thread with one connection: all writes of a process go through it, and those that wait share
one fsync."""

import asyncio
import os
import queue
import threading
from collections.abc import Callable
from typing import Any

from adjourn.errors import StoreError
from adjourn.stores.rules.transaction import Each, StoreRule, Whole
from adjourn.stores.work_request import WorkRequest, settle

BATCH = 256


class BatchThread:
    """Runs batches in a thread of its own. `transact(batch)` fills in each request's result or
    error."""

    def __init__(
        self, name: str, transact: Callable[[list[WorkRequest]], None], done: Callable[[], None]
    ) -> None:
        self._queue: queue.SimpleQueue[WorkRequest | None] = queue.SimpleQueue()
        self._transact, self._done = transact, done
        self._closed = False
        self._pid = os.getpid()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def ask(self, work: Callable[[Any], Any] | StoreRule | Each | Whole) -> asyncio.Future[Any]:
        """Let the thread do `work`: whatever its `transact` understands. What it gives comes later.

        Cancelling the caller does not stop it: a transaction is never cut in half.
        """
        if self._closed:
            raise StoreError("the store is closed", advice="open a new one")
        if os.getpid() != self._pid:
            raise StoreError(
                f"this store was opened in process {self._pid}, before a fork",
                advice="open it again in this one",
            )
        request = WorkRequest(work, asyncio.get_running_loop())
        self._queue.put(request)
        return request.future

    async def close(self) -> None:
        """Finish what was accepted, then end the thread."""
        if not self._closed:
            self._closed = True
            self._queue.put(None)
            await asyncio.get_running_loop().run_in_executor(None, self._thread.join)

    def _run(self) -> None:
        last = False
        while not last:
            batch: list[WorkRequest] = []
            item = self._queue.get()
            while item is not None and len(batch) < BATCH - 1 and not self._queue.empty():
                batch.append(item)
                item = self._queue.get()
            if item is None:
                last = True
            else:
                batch.append(item)
            if batch:
                self._transact(batch)
                settle(batch)
            del batch, item  # whatever they brought is not held until the next ones come
        self._done()
