"""The React examples, built as a user builds them, in Chromium: text streams, a call is asked about, approved, and the run finishes."""

import asyncio
import json
import re
import shutil
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from starlette.staticfiles import StaticFiles
from tests.browser.conftest import launched
from tests.front_ends.world import HERE, modules, needed, place

EXAMPLES = HERE.parents[1] / "examples"
NAMED = ("react-ag-ui", "react-ai-sdk")
LIMIT = 30_000.0


@pytest.fixture(scope="module")
async def browser() -> AsyncIterator[Browser]:
    async with launched() as chromium:
        yield chromium


def built(name: str, folder: Path) -> Path:
    """An example as files that a browser can load."""
    shutil.copytree(EXAMPLES / name, made := folder / name, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (folder / "node_modules").symlink_to(modules())
    vite = modules() / "vite" / "bin" / "vite.js"
    done = subprocess.run(
        [needed("node"), str(vite), "build"], cwd=made, capture_output=True, text=True, timeout=120, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return made / "dist"


def beside(files: Path) -> Any:
    """The example at /example/, everything else as it is."""
    static = StaticFiles(directory=files, html=True)

    def wrap(app: Any) -> Any:
        async def both(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] == "http" and scope["path"].startswith("/example/"):
                below = {**scope, "path": scope["path"].removeprefix("/example"), "root_path": ""}
                return await static(below, receive, send)
            return await app(scope, receive, send)

        return both

    return wrap


async def opened(browser: Browser, url: str, key: str) -> Page:
    page = await browser.new_page()
    page.set_default_timeout(LIMIT)
    await page.goto(f"{url}/example/")
    await page.get_by_label("Key").fill(key)
    await page.get_by_label("Thread").fill("order-A1")
    await page.get_by_role("button", name="Open").click()
    return page


@pytest.mark.parametrize("name", NAMED)
async def test_text_streams_a_call_is_asked_about_approved_and_the_run_finishes(
    browser: Browser, tmp_path: Path, name: str
) -> None:
    expect.set_options(timeout=LIMIT)
    files, gate = built(name, tmp_path), asyncio.Event()
    async with place(tmp_path, gate=gate, wrap=beside(files)) as at:
        page = await opened(browser, at.up.url, at.up.token)
        await page.get_by_label("Message").fill("refund both")
        await page.get_by_role("button", name="Send").click()
        await expect(page.locator("output")).to_have_text("waiting")
        await expect(page.get_by_text("Let me look.")).to_be_visible()
        assert await page.locator("pre").all_inner_texts() != [] and at.ledger == []
        await expect(page.get_by_role("button", name="Approve")).to_have_count(2)
        await page.get_by_role("button", name="Approve").first.click()
        await page.locator("button:enabled", has_text="Deny").last.click()
        await expect(page.locator("li").last).to_contain_text(re.compile("All $"))  # as it arrives
        gate.set()
        await expect(page.locator("li").last).to_contain_text("All is settled.")
        await expect(page.locator("output")).to_have_text("ready")
        assert at.ledger == ["A1 500"]
        await page.close()
        # another page of the same person has all of it
        page = await opened(browser, at.up.url, at.up.token)
        if name == "react-ag-ui":
            await page.get_by_role("button", name="Reconnect").click()
        await expect(page.get_by_text("All is settled.")).to_be_visible()
        assert await page.locator("li[data-role=user]").all_inner_texts() == ["refund both"]
        await page.close()


@pytest.mark.parametrize("name", NAMED)
def test_an_example_names_the_versions_that_were_tested(name: str) -> None:
    tested = json.loads((HERE / "package.json").read_text("utf-8"))["dependencies"]
    package = json.loads((EXAMPLES / name / "package.json").read_text("utf-8"))
    named = {**package["dependencies"], **package["devDependencies"]}
    assert named.items() <= tested.items()
