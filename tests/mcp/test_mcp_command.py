"""`adjourn mcp`, as a process: on stdin and stdout, and over HTTP."""

import asyncio
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.mcp.test_mcp_tools import found_by, results

from adjourn import Agent, Completed, Runtime
from adjourn.mcp import mcp_tools
from adjourn.mcp.session import Unreachable
from adjourn.stores.memory import MemoryStore
from adjourn.testing import ScriptedModel, call

LIMIT = 60.0
SOURCE = """
from adjourn import Agent, ask_human
from adjourn.testing import ScriptedModel, call

clerk = Agent("clerk", model=ScriptedModel([call("ask_human", question="Which colour?")], "thank you"), tools=[ask_human])
"""


@pytest.fixture
def command(tmp_path: Path) -> list[str]:
    (tmp_path / "app.py").write_text(SOURCE)
    return [
        sys.executable,
        "-m",
        "adjourn",
        "mcp",
        f"{tmp_path}/app.py:clerk",
        "--db",
        f"{tmp_path}/served.db",
        "--by",
        "ana",
    ]


def boss(tools: Any) -> Agent[Any]:
    return Agent("boss", model=ScriptedModel([call("clerk", input="go")], "done"), tools=[tools])


async def test_an_agent_asks_another_over_stdio_and_cannot_answer_for_a_person(command: list[str]) -> None:
    async with (
        mcp_tools(command, effects={"clerk": "idempotent"}, name="desk") as tools,
        Runtime(MemoryStore(), [one := boss(tools)]) as rt,
    ):
        run = await rt.start(one, "go")
        await run.wait()
        [asked] = await rt.inbox()
        assert asked.kind == "question" and asked.payload["question"] == "Which colour?"
        await rt.answer(asked, {"answer": "blue"}, by="ben")
        assert isinstance(await run.wait(), Completed)
        # the server was started by a worker: what is decided there is not decided by a person
        assert "a run cannot " in await results(run)


@pytest.mark.parametrize("secret", ["short", "", " , "])
async def test_a_secret_that_is_none_is_told_and_nothing_is_served(command: list[str], secret: str) -> None:
    server = await asyncio.create_subprocess_exec(
        *command,
        stdin=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "ADJOURN_SECRET": secret},
    )
    _, said = await server.communicate()
    assert server.returncode == 2
    assert b"ADJOURN_SECRET" in said and b"openssl rand -hex 32" in said and b"Traceback" not in said


async def test_an_agent_asks_another_over_http_and_a_persons_answer_goes_all_the_way(command: list[str]) -> None:
    environment = {**os.environ, "ADJOURN_MCP_TOKEN": "t-1"}
    server = await asyncio.create_subprocess_exec(
        *command, "--http", "0", stderr=asyncio.subprocess.PIPE, env=environment
    )
    try:
        address = await address_of(server)
        async with mcp_tools(address, name="desk") as stranger:
            with pytest.raises(Unreachable):
                await found_by(stranger)
        async with (
            mcp_tools(
                address, effects={"clerk": "unsafe"}, name="desk", headers={"Authorization": "Bearer t-1"}
            ) as tools,
            Runtime(MemoryStore(), [one := boss(tools)]) as rt,
        ):
            run = await rt.start(one, "go")
            await run.wait()
            [asked] = await rt.inbox()
            assert asked.kind == "question" and "again" not in asked.payload
            await rt.answer(asked, {"answer": "blue"}, by="ben")
            assert isinstance(await run.wait(), Completed)
            assert "thank you" in await results(run)
    finally:
        server.terminate()
        await server.communicate()


async def address_of(server: asyncio.subprocess.Process) -> str:
    """Where it says that it serves."""
    assert server.stderr is not None
    async with asyncio.timeout(LIMIT):
        while True:
            line = await server.stderr.readline()
            assert line, "it ended"
            if found := re.search(rb"Serving (http\S+)", line):
                return found[1].decode()
