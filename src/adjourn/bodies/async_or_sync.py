"""The verbs of a context in both kinds of body: awaited in an async one; in a sync one, which has a
thread, they wait themselves."""

import asyncio
import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from adjourn.driver.process_identity import end_if_forked
from adjourn.driver.program import StepHandle
from adjourn.errors import LeaseLost, Misused

Verb = TypeVar("Verb", bound=Callable[..., Coroutine[Any, Any, Any]])


def in_both_kinds(here: str = "") -> Callable[[Verb], Verb]:
    """Let a coroutine method of a context be called without `await` in a sync body: it then gives
    its result.

    To a type checker it stays what it is in an async body. The context has `_desk`, whose loop the
    verb runs on.

    Args:
        here: the method that does it in the body's own thread, if it may not be done on the loop.
    """

    def make(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def either(self: Any, *args: Any, **named: Any) -> Any:
            if not in_thread(self._desk):
                return verb(self, *args, **named)
            if here:
                return getattr(self, here)(*args, **named)
            return on_loop(self._desk, verb(self, *args, **named))

        return cast(Verb, either)

    return make


def in_thread(desk: StepHandle) -> bool:
    """Whether this is a thread without an event loop: that of a sync body. Raises `Misused` in a
    loop of the body's own."""
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        return True
    if running is not desk.loop:
        raise Misused(
            "this is not the run's event loop",
            advice="make the tool `async def`, or call ctx.sync outside asyncio.run",
        )
    return False


def on_loop(desk: StepHandle, work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on the driver's loop and wait for it in this thread. Raises what it
    raises."""
    end_if_forked(desk.process)
    carried = _carried(work)
    try:
        value, error = asyncio.run_coroutine_threadsafe(carried, desk.loop).result()
    except RuntimeError:  # the loop is closed, and so is the run's worker
        carried.close()
        work.close()
        desk.lost = LeaseLost("the run was handed back, and its worker is closed")
        raise desk.lost from None
    if error is not None:
        raise error
    return value


async def _carried(work: Coroutine[Any, Any, Any]) -> tuple[Any, BaseException | None]:
    """The result, or what was raised, as a value: asyncio lets some errors end the loop that all
    runs share."""
    try:
        return await work, None
    except BaseException as e:
        return None, e


async def awaited(value: Awaitable[Any]) -> Any:
    """The result of anything that can be awaited, as a coroutine."""
    return await value


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine, also where it is an object whose `__call__` is async."""
    if inspect.iscoroutinefunction(function):
        return True
    called = getattr(function, "__call__", None)  # noqa: B004
    return inspect.iscoroutinefunction(called)
