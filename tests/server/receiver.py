"""Somebody who is told of events: a real HTTP server on loopback that answers as it was told to."""

import asyncio
import json
from dataclasses import dataclass
from typing import Any, Self

from standardwebhooks.webhooks import Webhook
from tests.server.world import LIMIT

HERE = ("127.0.0.0/8",)


@dataclass
class Told:
    """One request that arrived."""

    head: str
    headers: dict[str, str]
    body: bytes

    @property
    def message(self) -> dict[str, Any]:
        return json.loads(self.body)

    def verified(self, secret: str) -> dict[str, Any]:
        """What it says, if the reference implementation finds it well signed."""
        return Webhook(secret).verify(self.body, self.headers)


class Receiver:
    """`answers` are used up one after the other: a status, or a status with headers; then it is always 204."""

    def __init__(self, *answers: int | str) -> None:
        self.answers = list(answers)
        self.told: list[Told] = []
        self.waits = asyncio.Event()
        self.waits.set()
        self._arrived = asyncio.Condition()

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/hook?a=b"
        return self

    async def __aexit__(self, *_: object) -> None:
        self.waits.set()
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            head, *lines = (await reader.readuntil(b"\r\n\r\n")).decode().splitlines()
            headers = {k.lower(): v for k, _, v in (line.partition(": ") for line in lines if line)}
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            async with self._arrived:
                self.told.append(Told(head, headers, body))
                self._arrived.notify_all()
            answer = self.answers.pop(0) if self.answers else 204
            await self.waits.wait()
            status, _, more = str(answer).partition(" ")
            writer.write(
                f"HTTP/1.1 {status} X\r\n{more}{chr(13) + chr(10) if more else ''}Content-Length: 0\r\n\r\n".encode()
            )
            await writer.drain()
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    async def until(self, count: int) -> list[Told]:
        """What arrived, once it is so many."""
        async with asyncio.timeout(LIMIT), self._arrived:
            await self._arrived.wait_for(lambda: len(self.told) >= count)
        return self.told

    @property
    def topics(self) -> list[str]:
        return [t.message["type"] for t in self.told]
