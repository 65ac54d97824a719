"""Work in a thread of its own: a stuck one must not block the others, nor the end of the process."""

import asyncio
import contextvars
import logging
import threading
from collections.abc import Callable
from typing import Any

log = logging.getLogger("adjourn.tool")


async def in_thread(work: Callable[[], Any]) -> Any:
    """Run `work` in a new daemon thread. If the waiter is cancelled, the thread goes on by itself."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    inside = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(Raised(error) if isinstance(error, StopIteration) else error)

    def run() -> None:
        value, error = None, None
        try:
            value = inside.run(work)
        except BaseException as e:
            error = e
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:  # the loop is closed: nobody waits
            log.warning("a tool ended after its run was handed back; its result is lost, the call is in doubt")

    threading.Thread(target=run, name="adjourn-tool", daemon=True).start()
    return await future


class Raised(RuntimeError):
    """StopIteration cannot travel through a future."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
