"""Server-sent events: a run's records by number, so that a client that returns gets each once; and
the stream about everything."""

import asyncio
import logging
import time
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable
from contextlib import suppress
from typing import Any

import msgspec
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from adjourn.core.codec import encode
from adjourn.driver.live_feed import Published, TextArrived
from adjourn.driver.watch import Recorded
from adjourn.errors import AdjournError
from adjourn.runtime.runtime import Runtime
from adjourn.server.change_feed import Change, ChangeFeed
from adjourn.server.record_stream import Tapes, event_of

log = logging.getLogger("adjourn.server")

PING = 15.0
HEADERS = {
    "Cache-Control": "no-store",
    "X-Accel-Buffering": "no",
    "Content-Type": "text/event-stream; charset=utf-8",
}


def _event(kind: str, data: Any, id: str = "") -> bytes:
    head = f"id: {id}\n" if id else ""
    return f"{head}event: {kind}\ndata: ".encode() + encode(data) + b"\n\n"


async def run_events(
    rt: Runtime, tapes: Tapes, run: str, after: int, *, follow: bool = True
) -> AsyncGenerator[bytes]:
    """Records with their number as id, live text without one; then `end`. Without `follow`, the
    records that there are.

    Nothing is read ahead of the client, so one that is slow holds up nobody, and costs nothing but
    its own text.
    """
    if not follow:
        for seq, record in await rt.store.load(run, after):
            yield event_of(seq, record)
        return
    with tapes.of(rt.store, run, after) as tape:
        async for event in rt.watch(run, after, load=tape.load):
            if isinstance(event, Recorded):
                yield tape.event(event.seq, event.record)
            elif isinstance(event, TextArrived | Published):
                yield _event("live", msgspec.to_builtins(event))
    yield _event("end", {})


async def hub_events(hub: ChangeFeed, changes: AsyncIterator[Change]) -> AsyncIterator[bytes]:
    """`inbox`: everything that is open, and the halts; then `changed`, again and again."""
    async for change in changes:
        yield _event(change.kind, change.data, hub.id(change.n))


class EventStream(Response):
    """A response that lasts: until its events end, the client has gone or may no longer look, or
    the server closes."""

    media_type = "text/event-stream"

    def __init__(
        self,
        events: AsyncIterator[bytes],
        closing: asyncio.Event,
        left: Callable[[], None],
        may: Callable[[], Awaitable[bool]],
    ) -> None:
        self.status_code, self.background, self.body = 200, None, b""
        self._events, self._closing, self._left, self._may = events, closing, left, may
        self.init_headers(HEADERS)
        del self.headers["content-length"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send what comes; a comment now and then, so that a dead connection is noticed."""
        tasks: set[asyncio.Future[Any]] = {
            asyncio.ensure_future(_gone(receive)),
            asyncio.ensure_future(self._closing.wait()),
        }
        try:
            await send({"type": "http.response.start", "status": 200, "headers": self.raw_headers})
            if scope["method"] != "HEAD":
                await self._send_all(send, tasks)
            await send({"type": "http.response.body", "body": b"", "more_body": False})
        except OSError:  # the client has gone
            pass
        finally:
            self._left()
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _send_all(self, send: Send, ends: set[asyncio.Future[Any]]) -> None:
        await send({"type": "http.response.body", "body": b"retry: 1000\n\n", "more_body": True})
        event: asyncio.Future[bytes] = asyncio.ensure_future(_next(self._events))
        asked = time.monotonic()
        try:
            while True:
                await asyncio.wait(
                    {event, *ends}, timeout=PING, return_when=asyncio.FIRST_COMPLETED
                )
                if any(end.done() for end in ends):
                    return
                if time.monotonic() - asked >= PING:
                    asked = time.monotonic()
                    if not await self._may():  # somebody was removed, or has logged out
                        return
                piece = b": still here\n\n"
                if event.done():
                    try:
                        piece = event.result()
                    except AdjournError as e:  # it comes again, from where it was
                        log.warning("a stream ended early: %s", e)
                        return
                    if not piece:
                        return
                    event = asyncio.ensure_future(_next(self._events))
                await send({"type": "http.response.body", "body": piece, "more_body": True})
        finally:
            event.cancel()
            with suppress(asyncio.CancelledError, Exception):
                await event
            await self._events.aclose()  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType]


async def _next(events: AsyncIterator[bytes]) -> bytes:
    return await anext(events, b"")


async def _gone(receive: Receive) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
