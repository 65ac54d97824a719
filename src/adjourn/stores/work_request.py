"""A piece of work for a thread of a store, and who waits for it."""

import asyncio
from collections.abc import Callable, Sequence
from contextvars import Context
from typing import Any


class StoreAnswer(asyncio.Future[Any]):
    """What a thread of a store will say. The task that awaits it goes on in the turn of the event
    loop in which the loop hears of it, not in the next one: with many runs, that is a call of the
    loop less for each commit."""

    __slots__ = ("_task",)

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        super().__init__(loop=loop)
        self._task: tuple[Callable[[Any], object], Context] | None = None

    def add_done_callback(
        self, fn: Callable[[Any], object], /, *, context: Context | None = None
    ) -> None:
        """A task that begins to wait brings its context; all others are told as of any future."""
        if context is not None and self._task is None and not self.done():
            self._task = fn, context
        else:
            super().add_done_callback(fn, context=context)

    def remove_done_callback(self, fn: Callable[[Any], object], /) -> int:
        """See `asyncio.Future`."""
        self._as_others()
        return super().remove_done_callback(fn)

    def cancel(self, msg: Any | None = None) -> bool:
        """Whoever waits gives up: told as of any future."""
        self._as_others()
        return super().cancel(msg)

    def _as_others(self) -> None:
        if self._task is not None:
            (fn, context), self._task = self._task, None
            super().add_done_callback(fn, context=context)

    def tell(self, result: Any, error: BaseException | None) -> None:
        """What came of it, unless nobody waits any more. Only from a callback of the loop: there no
        task is at work that this would interrupt."""
        if self.done():
            return
        waiting, self._task = self._task, None
        if error is None:
            self.set_result(result)
        else:
            self.set_exception(error)
        if waiting is not None:
            fn, context = waiting
            context.run(fn, self)


class WorkRequest:
    """What is to be done, and what came of it."""

    __slots__ = ("error", "future", "loop", "result", "work")

    def __init__(self, work: Any, loop: asyncio.AbstractEventLoop) -> None:
        self.work, self.loop = work, loop
        self.future = StoreAnswer(loop)
        self.result: Any = None
        self.error: BaseException | None = None


def settle(batch: Sequence[WorkRequest]) -> None:
    """Wake all who wait in one loop with one call."""
    loops: dict[asyncio.AbstractEventLoop, list[WorkRequest]] = {}
    for request in batch:
        loops.setdefault(request.loop, []).append(request)
    for loop, requests in loops.items():
        try:
            loop.call_soon_threadsafe(_answer, requests)
        except RuntimeError:  # the loop is closed: nobody waits any more
            continue


def _answer(requests: Sequence[WorkRequest]) -> None:
    for number, request in enumerate(requests, 1):
        try:
            request.future.tell(request.result, request.error)
        except BaseException:  # of a task that ends the loop: the others hear their answers, too
            request.loop.call_soon(_answer, requests[number:])
            raise
