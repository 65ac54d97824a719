"""A framework's own stream, read in a task of its own."""

import asyncio
from collections.abc import AsyncIterator
from typing import TypeVar

T = TypeVar("T")


async def pumped(source: AsyncIterator[T]) -> AsyncIterator[T]:
    """The items of `source`, which is cancelled exactly once when whoever reads stops: a framework
    that is cleaning up after one cancellation leaves its work running when a second one comes, and
    a run that is cancelled may be cut twice."""
    items: asyncio.Queue[T | None] = asyncio.Queue()

    async def pump() -> None:
        try:
            async for item in source:
                items.put_nowait(item)
        finally:
            items.put_nowait(None)

    task = asyncio.get_running_loop().create_task(pump())
    try:
        while (item := await items.get()) is not None:
            yield item
        await task
    finally:
        if not task.done():
            task.cancel()
            await asyncio.wait({task})
        if task.done() and not task.cancelled():
            task.exception()  # whoever reads has it already
