"""A small HTTP server for whoever supervises a worker: is it there, and is it fit to work?"""

import asyncio
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import urlsplit

from adjourn.errors import AdjournError
from adjourn.runtime.health import HealthCheck

if TYPE_CHECKING:
    from adjourn.runtime.runtime import Runtime

HEAD = 8192
"""Bytes that a request's head may have."""
PATIENCE = 5.0
"""Seconds that a client has to send it, and to take the answer."""
TEXT = "text/plain; charset=utf-8"


class Answer(NamedTuple):
    """What a probe is told."""

    status: HTTPStatus
    body: str
    kind: str = TEXT


Page = Callable[[], Awaitable[Answer]]
OK = Answer(HTTPStatus.OK, "ok\n")


async def alive() -> Answer:
    """The process answers: that is all."""
    return OK


def readiness(check: HealthCheck) -> Page:
    """Whether the process is fit to work. What is wrong is not said: anybody may ask."""

    async def ready() -> Answer:
        if (await check.health()).is_ready:
            return OK
        return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "not ready\n")

    return ready


def numbers(runtime: "Runtime") -> Page:
    """What Prometheus reads."""

    async def read() -> Answer:
        from adjourn.runtime.prometheus import KIND, metrics_of

        try:
            async with asyncio.timeout(PATIENCE):
                text = await metrics_of(runtime.store, runtime.worker.advancer.meter)
                return Answer(HTTPStatus.OK, text, KIND)
        except (AdjournError, TimeoutError):
            return Answer(HTTPStatus.SERVICE_UNAVAILABLE, "not ready\n")

    return read


class HealthServer:
    """Serves some pages on one port, each request on a connection of its own.

    Args:
        pages: what answers, by path.
        host: the address to listen on.
        port: its port; 0 for any that is free.
    """

    def __init__(self, pages: dict[str, Page], host: str, port: int) -> None:
        self._pages, self._host, self.port = pages, host, port
        self._server: asyncio.Server | None = None

    async def open(self) -> None:
        """Begin to listen; `port` is then the one that it is. Raises `OSError`."""
        self._server = await asyncio.start_server(self._serve, self._host, self.port, limit=HEAD)
        self.port = self._server.sockets[0].getsockname()[1]

    def close(self) -> None:
        """Listen no more."""
        if self._server is not None:
            self._server.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(PATIENCE):
                head = await reader.readuntil(b"\r\n\r\n")
            answer = await self._answer(head)
            async with asyncio.timeout(PATIENCE):
                writer.write(_written(answer, with_body=not head.startswith(b"HEAD ")))
                await writer.drain()
        except (OSError, TimeoutError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass  # whoever asked so is told nothing
        finally:
            writer.close()

    async def _answer(self, head: bytes) -> Answer:
        method, _, rest = head.partition(b"\r\n")[0].decode("latin-1").partition(" ")
        path = urlsplit(rest.partition(" ")[0]).path
        page = self._pages.get(path)
        if page is None:
            return Answer(HTTPStatus.NOT_FOUND, "not found\n")
        if method not in ("GET", "HEAD"):
            return Answer(HTTPStatus.METHOD_NOT_ALLOWED, "method not allowed\n")
        return await page()


def _written(answer: Answer, *, with_body: bool) -> bytes:
    body = answer.body.encode()
    lines = (
        f"HTTP/1.1 {answer.status.value} {answer.status.phrase}",
        f"Content-Type: {answer.kind}",
        f"Content-Length: {len(body)}",
        "Cache-Control: no-store",
        "Connection: close",
    )
    head = "\r\n".join(lines).encode() + b"\r\n\r\n"
    if with_body:
        return head + body
    return head
