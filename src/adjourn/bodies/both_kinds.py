"""The verbs of a context in both kinds of body: awaited in an async one; in a sync one, which has a thread, they wait themselves."""

import asyncio
import functools
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

Verb = TypeVar("Verb", bound=Callable[..., Coroutine[Any, Any, Any]])


def in_both_kinds(here: str = "") -> Callable[[Verb], Verb]:
    """Let a coroutine method of a context be called without `await` in a sync body: it then gives its result.

    To a type checker it stays what it is in an async body. The context has `_desk`, whose loop the verb runs on.

    Args:
        here: the method that does it in the body's own thread, if it may not be done on the loop.
    """

    def make(verb: Verb) -> Verb:
        @functools.wraps(verb)
        def either(self: Any, *args: Any, **named: Any) -> Any:
            if not in_thread():
                return verb(self, *args, **named)
            if here:
                return getattr(self, here)(*args, **named)
            return on_loop(self._desk.loop, verb(self, *args, **named))

        return cast(Verb, either)

    return make


def in_thread() -> bool:
    """Whether this is a thread without an event loop: that of a sync body."""
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return True
    return False


def on_loop(loop: asyncio.AbstractEventLoop, work: Coroutine[Any, Any, Any]) -> Any:
    """Run a coroutine on the driver's loop and wait for it in this thread. Raises what it raises."""
    return asyncio.run_coroutine_threadsafe(work, loop).result()


async def awaited(value: Awaitable[Any]) -> Any:
    """The result of anything that can be awaited, as a coroutine."""
    return await value
