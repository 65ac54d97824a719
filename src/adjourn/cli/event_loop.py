"""The event loop of the processes that are Adjourn's own: uvloop where it is installed
(`adjourn[fast]`), else asyncio's.

A program that uses the library has its own loop; nobody changes that.
"""

import asyncio
import gc
from collections.abc import Callable, Coroutine
from importlib.util import find_spec
from typing import Any, TypeVar

T = TypeVar("T")


def name() -> str:
    """Which one `run` uses."""
    if find_spec("uvloop"):
        return "uvloop"
    return "asyncio"


def run(main: Coroutine[Any, Any, T]) -> T:
    """Run a process that lasts. What is loaded by now stays, so the collector of garbage does not
    look at it again and again."""
    gc.collect()
    gc.freeze()
    with asyncio.Runner(loop_factory=_factory()) as runner:
        return runner.run(main)


def _factory() -> Callable[[], asyncio.AbstractEventLoop] | None:
    if name() != "uvloop":
        return None
    import uvloop  # pyright: ignore[reportMissingTypeStubs]

    return uvloop.new_event_loop
