"""Each guest: it pauses in one process, a person approves it in the console, another process finishes it, and its words reach
the console as they come."""

import asyncio
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Page, expect
from tests.browser.conftest import launched
from tests.server.world import Client, eventually

from adjourn.server import serving

FRAMEWORKS = ["pydantic_ai", "openai_agents", "langgraph", "agent_framework"]
LIMIT = 60.0


class Rig:
    """The other processes."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    async def answer(self, folder: Path | str) -> Any:
        """What came of it in this folder; what an attempt before this one asked for may still come, and is left."""
        assert self.process.stdout is not None
        async with asyncio.timeout(LIMIT):
            while True:
                where, answer = json.loads(await self.process.stdout.readline())
                if where == str(folder):
                    return answer

    def ask(self, *command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(json.dumps(command).encode() + b"\n")


@pytest.fixture(scope="module")
async def rig() -> AsyncGenerator[Rig]:
    process = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.guests.console_rig",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, start_new_session=True,
    )  # fmt: skip
    try:
        rig = Rig(process)
        assert await rig.answer("") == "ready"
        yield rig
    finally:
        os.killpg(process.pid, signal.SIGKILL)  # with a fork that waits to be heard
        await process.wait()


@pytest.fixture
async def page() -> AsyncGenerator[Page]:
    async with launched() as chromium:
        page = await chromium.new_page()
        page.set_default_timeout(LIMIT * 1000)
        yield page


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_pause_here_approve_in_the_console_and_finish_elsewhere_with_words_as_they_come(
    rig: Rig, page: Page, tmp_path: Path, framework: str
) -> None:
    expect.set_options(timeout=LIMIT * 1000)
    folder = tmp_path
    os.mkfifo(folder / "heard")
    rig.ask(framework, "begin", str(folder))
    began = await rig.answer(folder)
    assert isinstance(began, dict) and began["paused"], (framework, began)
    async with (
        serving(f"sqlite:///{folder}/adjourn.db", port=0, token=True) as server,
        Client(server, server.token) as client,
    ):
        [item] = (await client.get("inbox")).json()["items"]
        assert item["call"]["arguments"] == {"order": "A1", "cents": 500}
        await page.goto(f"{server.url}/inbox/{quote(item['ref'], safe='')}#token={server.token}")
        article = page.locator("article[data-open=true]")
        await expect(article).to_contain_text("refund")
        await article.locator("[data-verb=approve]").click()

        async def is_decided() -> bool:
            return (await client.get("inbox")).json()["items"] == []

        await eventually(is_decided)
        assert (await client.decide(item, "approve")).status_code == 409
        await page.goto(f"{server.url}/runs/run-1")
        await page.locator("[data-connection=live]").first.wait_for(state="attached")
        rig.ask(framework, "finish", str(folder))
        await expect(page.locator("[data-live=root] p")).to_have_text("All")  # as it comes
        (folder / "heard").write_bytes(b"heard")
        await expect(page.locator("main.run-page")).to_have_attribute("data-status", "completed")
        await expect(page.get_by_text("All is well.").first).to_be_visible()
    ended = await rig.answer(folder)
    assert isinstance(ended, dict) and ended["output"] == "All is well.", (framework, ended)
    [line] = (folder / "ledger").read_text().splitlines()
    assert line == f"{ended['pid']} A1 500" and ended["pid"] != began["pid"]
