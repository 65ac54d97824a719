"""Server-sent events: a run's records by number, so that a client that returns gets each once; and the inbox."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import msgspec
from starlette.responses import StreamingResponse

from adjourn.core.codec import encode
from adjourn.driver.events import Recorded
from adjourn.driver.feed import Published, TextArrived
from adjourn.runtime.runtime import Runtime
from adjourn.stores.store import Filter

PING = 15.0
BEHIND = 1000
"""Live items kept for a client that does not read; older ones are dropped, records never are."""


def sse(events: AsyncIterator[bytes]) -> StreamingResponse:
    """A stream as a response."""
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    return StreamingResponse(events, media_type="text/event-stream", headers=headers)


def _event(kind: str, data: Any, id: str = "") -> bytes:
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {kind}\ndata: ".encode() + encode(data) + b"\n\n"


async def run_events(rt: Runtime, run: str, after: int) -> AsyncIterator[bytes]:
    """Records with their seq as id, live text without one. A slow client does not slow the run."""
    yield b"retry: 1000\n\n"
    queue: asyncio.Queue[Any] = asyncio.Queue()

    async def pump() -> None:
        async for event in rt.watch(run, after):
            if isinstance(event, TextArrived | Published) and queue.qsize() > BEHIND:
                continue
            queue.put_nowait(event)
        queue.put_nowait(None)

    task = asyncio.get_running_loop().create_task(pump(), name="adjourn-sse")
    try:
        while True:
            try:
                event = await asyncio.wait_for(queue.get(), PING)
            except TimeoutError:
                yield b": still here\n\n"
                continue
            if event is None:
                yield _event("end", {})
                return
            if isinstance(event, Recorded):
                yield _event("record", {"seq": event.seq, "record": msgspec.to_builtins(event.record)}, str(event.seq))
            elif isinstance(event, TextArrived | Published):
                yield _event("live", msgspec.to_builtins(event))
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def inbox_events(rt: Runtime) -> AsyncIterator[bytes]:
    """First what is open, then what changes: `opened` and `closed`, and `changed` for runs and halts."""
    yield b"retry: 1000\n\n"
    bell = asyncio.Event()
    end = rt.store.subscribe("", bell.set)
    known: set[str] | None = None
    try:
        while True:
            bell.clear()
            now = {i.id: i for i in await rt.store.inbox(Filter(limit=1000))}
            halts = [{"scope": h.scope, "by": h.by, "reason": h.reason, "at": h.at} for h in await rt.halts()]
            if known is None:
                yield _event("inbox", {"open": list(now), "halts": halts})
            else:
                opened, closed = [i for i in now if i not in known], [i for i in known if i not in now]
                yield _event("changed", {"opened": opened, "closed": closed, "halts": halts})
            known = set(now)
            try:
                await asyncio.wait_for(bell.wait(), PING)
                await asyncio.sleep(0.1)  # let a burst become one event
            except TimeoutError:
                yield b": still here\n\n"
    finally:
        end()
