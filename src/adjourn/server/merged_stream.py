"""One stream for a whole browser: what changes anywhere, and the events of the runs that its tabs
show. A browser has only six connections to a server, however many tabs are open."""

import asyncio
import logging
from collections.abc import AsyncGenerator, AsyncIterator, Mapping

from adjourn.core.codec import encode
from adjourn.errors import AdjournError, UnknownRun

log = logging.getLogger("adjourn.server")

AHEAD = 16
"""Events that are read ahead of the client; who is slow holds up nobody else."""


async def merged(
    everything: AsyncIterator[bytes], runs: Mapping[str, AsyncIterator[bytes]]
) -> AsyncGenerator[bytes]:
    """The events of `everything` as they are, and those of each run as `run`: its id, the kind of
    the event, and the data. It ends when all of them have, or when `everything` fails.

    Args:
        everything: the stream about everything.
        runs: the events of each run, by its id.
    """
    pieces: asyncio.Queue[bytes] = asyncio.Queue(AHEAD)

    async def carry_everything() -> None:
        async for piece in everything:
            await pieces.put(piece)

    async def carry(run: str, events: AsyncIterator[bytes]) -> None:
        try:
            async for piece in events:
                await pieces.put(_of_run(run, piece))
        except UnknownRun:
            await pieces.put(_of_run(run, b"event: end\ndata: {}\n\n"))
        except AdjournError as e:  # the page reads the run itself, and asks again
            log.warning("the events of run %r ended early: %s", run, e)

    main = asyncio.ensure_future(carry_everything())
    tasks = {main, *(asyncio.ensure_future(carry(run, events)) for run, events in runs.items())}
    try:
        while not (main.done() and main.exception()):
            at_work = {task for task in tasks if not task.done()}
            if not at_work and pieces.empty():
                return
            arrival = asyncio.ensure_future(pieces.get())
            try:
                await asyncio.wait({arrival, *at_work}, return_when=asyncio.FIRST_COMPLETED)
                if arrival.done():
                    yield arrival.result()
            finally:
                arrival.cancel()
        main.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _of_run(run: str, event: bytes) -> bytes:
    """An event of a run's own stream, as one of a stream that carries several."""
    kind, data = b"", b""
    for line in event.split(b"\n"):
        name, _, value = line.partition(b": ")
        if name == b"event":
            kind = value
        elif name == b"data":
            data = value
    return b'event: run\ndata: {"run_id":%b,"kind":"%b","data":%b}\n\n' % (encode(run), kind, data)
