"""Each guest: it pauses in one process, a person approves it in the console, another process finishes it, and its words reach
the console as they come."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
from tests.server.world import Client

from adjourn.server import serving

FRAMEWORKS = ["pydantic_ai", "openai_agents", "langgraph", "agent_framework"]
LIMIT = 120.0


class Rig:
    """The other processes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def answer(self) -> Any:
        assert self.process.stdout is not None
        async with asyncio.timeout(LIMIT):
            return json.loads(await self.process.stdout.readline())

    def ask(self, *command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")


@pytest.fixture
async def rig() -> AsyncGenerator[Rig]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.guests.console_rig", stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE
    )
    try:
        rig = Rig(process)
        assert await rig.answer() == "ready"
        yield rig
    finally:
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()


async def test_pause_here_approve_in_the_console_and_finish_elsewhere_with_words_as_they_come(
    rig: Rig, tmp_path: Path
) -> None:
    for framework in FRAMEWORKS:
        folder = tmp_path / framework
        folder.mkdir()
        os.mkfifo(folder / "heard")
        await the_way_of_one(rig, framework, folder)


async def the_way_of_one(rig: Rig, framework: str, folder: Path) -> None:
    rig.ask(framework, "begin", str(folder))
    began = await rig.answer()
    assert isinstance(began, dict) and began["paused"], (framework, began)
    async with (
        serving(f"sqlite:///{folder}/adjourn.db", port=0, token=True) as server,
        Client(server, server.token) as client,
    ):
        [item] = (await client.get("inbox")).json()["items"]
        assert item["call"]["arguments"] == {"order": "A1", "cents": 500}
        async with client.events("runs/run-1/events") as events:
            decided = await client.decide(item, "approve")
            assert decided.status_code == 200, decided.text
            assert (await client.decide(item, "approve")).status_code == 409
            rig.ask(framework, "finish", str(folder))
            heard = await events.until(lambda event: event.kind == "live" and "All " in event.data.get("text", ""))
            (folder / "heard").write_bytes(b"heard")
            assert not any(event.kind == "end" for event in heard)
            await events.until(lambda event: event.kind == "end")
    ended = await rig.answer()
    assert isinstance(ended, dict) and ended["output"] == "All is well.", (framework, ended)
    [line] = (folder / "ledger").read_text().splitlines()
    assert line == f"{ended['pid']} A1 500" and ended["pid"] != began["pid"]
