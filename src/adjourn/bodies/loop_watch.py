"""Who holds the event loop: an async body that does not await stops everything else in its process,
and is named."""

import logging
import time
import types
from collections.abc import Awaitable, Callable, Generator
from typing import Any, TypeVar, cast

T = TypeVar("T")

log = logging.getLogger("adjourn.tool")

BLOCKED = 0.5
"""Seconds without an await from which on it is said."""


def watched(
    body: Awaitable[T], name: str, steady: Callable[[], float] = time.monotonic
) -> Awaitable[T]:
    """Await `body`, and log it if it holds the event loop for longer than `BLOCKED` at a time.

    Args:
        body: a coroutine; any other awaitable cannot hold the loop, and is given back as it is.
        name: the tool or the chunk, for the log.
        steady: a clock that nobody sets.
    """
    if not isinstance(body, types.CoroutineType):
        return body
    return cast("Awaitable[T]", _watching(cast("Any", body), name, steady))


@types.coroutine
def _watching(body: Any, name: str, steady: Callable[[], float]) -> Generator[Any, Any, Any]:
    """What `yield from body` does, with a look at the clock around each piece that runs without a
    pause."""
    value: Any = None
    error: BaseException | None = None
    while True:
        began = steady()
        try:
            if error is None:
                waits = body.send(value)
            else:
                waits = body.throw(error)
        except StopIteration as done:
            return done.value
        finally:
            held = steady() - began
            if held > BLOCKED:
                _say(name, held)
        value = error = None
        try:
            value = yield waits
        except GeneratorExit:
            body.close()
            raise
        except BaseException as e:
            error = e


def _say(name: str, held: float) -> None:
    text = (
        "%s blocked the event loop for %.1f s: all runs of this process were blocked; make it a "
        "plain `def`, or await"
    )
    log.warning(text, name, held, extra={"tool": name, "seconds": round(held, 3)})
