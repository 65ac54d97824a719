"""Servers with an address."""

import asyncio
import json
import os
import socket
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.mcp.conftest import npm_server
from tests.mcp.life import agent
from tests.mcp.test_mcp_tools import results

from adjourn import Completed, Runtime
from adjourn.mcp import mcp_tools
from adjourn.stores.memory import MemoryStore

LIMIT = 60.0
FRESH = {"resultType": "complete", "ttlMs": 0, "cacheScope": "private"}


def free_port() -> int:
    """A port that no other process of these tests takes, and that the system gives to no connection: it is below those."""
    for port in range(20_000 + os.getpid() % 10_000, 32_000):
        with socket.socket() as one:
            try:
                one.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise AssertionError("no port is free")


@asynccontextmanager
async def everything(port: int) -> AsyncGenerator[None]:
    """npm's server of everything, over HTTP."""
    process = await asyncio.create_subprocess_exec(
        *npm_server("server-everything"), "streamableHttp",
        env={**os.environ, "PORT": str(port)}, stderr=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.DEVNULL,
    )  # fmt: skip
    try:
        assert process.stderr is not None
        async with asyncio.timeout(LIMIT):
            while b"listening on port" not in (line := await process.stderr.readline()):
                assert line, "it ended"
        yield
    finally:
        process.kill()
        await process.communicate()


async def test_a_question_over_http_outlives_its_server(tmp_path: Path) -> None:
    port, tool, database = free_port(), "trigger-elicitation-request", f"sqlite:///{tmp_path}/runs.db"

    def tools() -> Any:
        return mcp_tools(f"http://127.0.0.1:{port}/mcp", name="everything", effects={tool: "unsafe"})

    async with everything(port), tools() as one, Runtime(database, [caller := agent(one, tool)]) as rt:
        run = await rt.start(caller, "go")
        await run.wait()
        [asked] = await rt.inbox()
        assert asked.kind == "question"
    async with everything(port), tools() as two, Runtime(database, [agent(two, tool)]) as rt:
        [asked] = await rt.inbox()
        await rt.answer(asked, {"name": "Ana"}, by="ana")
        run = await rt.get(run.run_id)
        assert isinstance(await run.wait(), Completed)
        assert "Name: Ana" in await results(run)


class Breaking:
    """A server of 2026-07-28 that hangs up when a tool is called."""

    def __init__(self) -> None:
        self.calls: list[dict[str, Any]] = []
        self.keys: list[str] = []

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            while await self._one(reader, writer):
                pass
        except asyncio.IncompleteReadError:
            pass  # the client has gone
        finally:
            writer.close()

    async def _one(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> bool:
        head = (await reader.readuntil(b"\r\n\r\n")).decode()
        headers = dict(line.lower().split(": ", 1) for line in head.splitlines()[1:] if line)
        request = json.loads(await reader.readexactly(int(headers["content-length"])))
        self.keys.append(headers.get("authorization", ""))
        if request["method"] == "tools/call":
            self.calls.append(request["params"])
            return False
        result: dict[str, Any] = {**FRESH, "supportedVersions": ["2026-07-28"], "capabilities": {"tools": {}}}
        if request["method"] == "tools/list":
            result = {**FRESH, "tools": [{"name": "pay", "inputSchema": {"type": "object"}}]}
        body = json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result})
        said = f"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n{body}"
        writer.write(said.encode())
        await writer.drain()
        return True


async def test_a_connection_that_breaks_inside_a_call_leaves_it_in_doubt_and_it_is_sent_once() -> None:
    breaking = Breaking()
    server = await asyncio.start_server(breaking.serve, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    async with (
        mcp_tools(
            f"http://127.0.0.1:{port}/mcp", effects={"pay": "unsafe"}, headers={"Authorization": "Bearer k-1"}
        ) as tools,
        Runtime(MemoryStore(), [caller := agent(tools, "pay")]) as rt,
    ):
        run = await rt.start(caller, "go")
        await run.wait()
        [doubt] = await rt.inbox()
        assert doubt.kind == "in_doubt"
    server.close()
    await server.wait_closed()
    assert len(breaking.calls) == 1
    assert {*breaking.keys} == {"bearer k-1"}
