"""A piece of work for a thread of a store, and who waits for it."""

import asyncio
from collections.abc import Iterable
from typing import Any


class WorkRequest:
    """What is to be done, and what came of it."""

    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.work, self.loop = work, loop
        self.future: asyncio.Future[Any] = loop.create_future()
        self.result: Any = None
        self.error: BaseException | None = None


def settle(batch: Iterable[WorkRequest]) -> None:
    """Wake all who wait in one loop with one call."""
    loops: dict[asyncio.AbstractEventLoop, list[WorkRequest]] = {}
    for request in batch:
        loops.setdefault(request.loop, []).append(request)
    for loop, requests in loops.items():
        try:
            loop.call_soon_threadsafe(_answer, requests)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _answer(requests: list[WorkRequest]) -> None:
    for request in requests:
        if request.future.done():
            continue
        if request.error is not None:
            request.future.set_exception(request.error)
        else:
            request.future.set_result(request.result)
