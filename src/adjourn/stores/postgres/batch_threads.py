"""The threads of a store: each does one piece of work at a time; commits that wait are done
together."""

import asyncio
import os
import queue
import threading
from collections import deque
from collections.abc import Callable
from typing import Any

from adjourn.errors import StoreError
from adjourn.stores.work_request import WorkRequest, settle

Work = Callable[[], Any]
Together = Callable[[list[WorkRequest]], list[tuple[WorkRequest, Work]]]
BATCH = 256
"""So many commits are done together at most."""


class Crew:
    """Up to `size` threads, started when there is something to do. At most `lanes` of them do
    commits.

    `together(batch)` does several commits: it fills in each request's result or error, and gives
    back those to be done alone.
    """

    def __init__(self, size: int, lanes: int = 0, together: Together = lambda batch: []) -> None:
        self._size, self._most, self._together = size, lanes, together
        self._queue: queue.SimpleQueue[Callable[[], None] | None] = queue.SimpleQueue()
        self._waiting: deque[WorkRequest] = deque()
        self._lock = threading.Lock()
        self._quiet = threading.Condition(self._lock)
        self._lanes = 0
        self._idle = 0
        self._threads: list[threading.Thread] = []
        self._pending = 0
        self._closed = False
        self._pid = os.getpid()

    async def ask(self, work: Work) -> Any:
        """Let a thread do it. Cancelling the caller does not stop it: a transaction is never cut in
        half."""
        request = self._request(work)
        self._put(lambda: self._alone(request, work))
        return await request.future

    async def ask_together(self, rule: Any) -> Any:
        """Let a thread do it, with whatever waits at the same time."""
        request = self._request(rule)
        with self._lock:
            self._waiting.append(request)
            more = self._lanes < self._most
            self._lanes += more
        if more:
            self._put(self._lane)
        return await request.future

    def _request(self, work: Any) -> WorkRequest:
        if self._closed:
            raise StoreError("the store is closed", advice="open a new one")
        if os.getpid() != self._pid:
            raise StoreError(
                f"this store was opened in process {self._pid}, before a fork",
                advice="open it again in this one",
            )
        return WorkRequest(work, asyncio.get_running_loop())

    def _put(self, job: Callable[[], None]) -> None:
        with self._lock:
            self._pending += 1
            if self._idle < self._pending and len(self._threads) < self._size:
                thread = threading.Thread(
                    target=self._run, name=f"adjourn-postgres-{len(self._threads)}", daemon=True
                )
                self._threads.append(thread)
                thread.start()
        self._queue.put(job)

    def _run(self) -> None:
        while True:
            with self._lock:
                self._idle += 1
                if not self._pending and self._idle == len(self._threads):
                    self._quiet.notify_all()
            job = self._queue.get()
            with self._lock:
                self._idle -= 1
                self._pending -= job is not None
            if job is None:
                return
            job()
            del job  # whatever it brought is not held until the next one comes

    def _alone(self, request: WorkRequest, work: Work) -> None:
        try:
            request.result = work()
        except BaseException as e:
            request.error = e
        settle([request])

    def _lane(self) -> None:
        while True:
            with self._lock:
                batch: list[WorkRequest] = []
                while self._waiting and len(batch) < BATCH:
                    batch.append(self._waiting.popleft())
                if not batch:
                    self._lanes -= 1
                    return
            rest = self._together(batch)
            apart = {id(request) for request, _ in rest}
            settle([request for request in batch if id(request) not in apart])
            for request, work in rest:
                self._put(lambda request=request, work=work: self._alone(request, work))

    async def close(self) -> None:
        """Finish what was accepted, then end the threads."""
        if not self._closed:
            self._closed = True
            await asyncio.get_running_loop().run_in_executor(None, self._end)

    def _end(self) -> None:
        with self._lock:
            while self._pending or self._waiting or self._idle < len(self._threads):
                self._quiet.wait()
        for _ in self._threads:
            self._queue.put(None)
        for thread in self._threads:
            thread.join()
