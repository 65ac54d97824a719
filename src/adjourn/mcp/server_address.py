"""Where a server is: an address, or a command that starts it."""

import os
import shlex
import sys
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import urlsplit

import msgspec

from adjourn.driver.worker_mark import MARK
from adjourn.errors import InvalidDefinition

Server = str | Sequence[str]
"""A URL, a command line, or a command as a list."""

CONNECT_WITHIN = 30.0
"""Seconds for a connection over HTTP to be made."""
SILENT_FOR = 300.0
"""Seconds for which a server may send nothing while it works."""


class Address(msgspec.Struct, frozen=True):
    """A server. `url` for HTTP, else `command`, with what is added to its environment."""

    url: str = ""
    command: tuple[str, ...] = ()
    env: Mapping[str, str] = {}
    headers: Mapping[str, str] = {}

    @property
    def label(self) -> str:
        """What it is called where nobody has named it; without anything that may be a secret."""
        if self.url:
            return urlsplit(self.url).hostname or "server"
        return os.path.basename(self.command[0])

    @asynccontextmanager
    async def streams(self) -> AsyncGenerator[Any]:
        """The connection, as the SDK takes it."""
        if not self.url:
            from mcp.client.stdio import StdioServerParameters, stdio_client

            inside = {name: os.environ[name] for name in (MARK,) if name in os.environ}
            started = StdioServerParameters(
                command=self.command[0], args=list(self.command[1:]), env={**self.env, **inside}
            )
            # what sys.stderr was when the SDK was imported may be closed by now
            async with stdio_client(started, errlog=sys.__stderr__ or sys.stderr) as streams:
                yield streams
            return
        import httpx2
        from mcp.client.streamable_http import streamable_http_client

        wait = httpx2.Timeout(CONNECT_WITHIN, read=SILENT_FOR)
        async with (
            httpx2.AsyncClient(headers=dict(self.headers), timeout=wait) as client,
            streamable_http_client(self.url, http_client=client) as streams,
        ):
            yield streams


def address(server: Server, env: Mapping[str, str], headers: Mapping[str, str]) -> Address:
    """What was given, as an address. Raises `InvalidDefinition`."""
    if isinstance(server, str) and urlsplit(server).scheme in ("http", "https"):
        if env:
            raise InvalidDefinition(
                "mcp_tools: env= is for a server that is started here", advice="use headers="
            )
        return Address(url=server, headers=dict(headers))
    if isinstance(server, str):
        command = tuple(shlex.split(server))
    else:
        command = tuple(server)
    if not command or not all(isinstance(part, str) and part for part in command[:1]):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(
            f"mcp_tools: the server must be a URL or a command, got {server!r:.80}"
        )
    if headers:
        raise InvalidDefinition("mcp_tools: headers= is for a server with a URL", advice="use env=")
    return Address(command=command, env=dict(env))
