"""The demo after thirty idle minutes, in a browser: nothing has ended or begun again, and every task can still be done."""

import re
import tempfile
from pathlib import Path

import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.world import eventually

from adjourn.core.records import Started
from adjourn.demo import programs
from adjourn.demo.programs import RUNS
from adjourn.demo.stage import Stage, stage

IDLE = 30 * 60
QUICK = 0.001
"""The worker's pace: its thirty minutes are two seconds of this machine, and what the store takes."""
SHELF = 1.5 + 2 * 0.2
"""Seconds for the first shelf: the count, and two words of the model."""


def shelves_in(seconds: float) -> int:
    """How many shelves are counted meanwhile: the worker's clock."""
    passed, shelf = 0.0, 0
    while passed < seconds:
        shelf += 1
        passed += SHELF * programs.patience(shelf)
    return shelf


async def counted(demo: Stage) -> int:
    return sum(entry.tool == "count_shelf" for entry in demo.ledger)


async def idle(page: Page, demo: Stage) -> None:
    """Thirty minutes pass, for the worker and for the page."""
    await eventually(lambda: counted(demo), lambda shelves: shelves >= shelves_in(IDLE))
    await page.clock.fast_forward(IDLE * 1000)


async def test_after_thirty_idle_minutes_every_task_of_the_card_can_be_done(
    browser: Browser, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(programs.PACE, str(QUICK))
    with tempfile.TemporaryDirectory(prefix="adjourn-") as place:
        async with stage(Path(place), 0, name="ana") as demo:
            assert demo.server is not None
            context = await browser.new_context(viewport={"width": 1440, "height": 1000}, reduced_motion="reduce")
            context.set_default_timeout(30_000)
            page = await context.new_page()
            await page.clock.install()
            await page.goto(demo.server.link)
            await page.locator("[data-connection=live]").first.wait_for(state="attached")
            await idle(page, demo)
            card = page.get_by_role("region", name="Things to try")
            await expect(card).to_contain_text("0 of 4 done")
            await expect(card).to_contain_text(f"kill -9 {demo.pids[-1]}")
            assert len(demo.pids) == 1
            await expect(page.locator("[data-connection=live]").first).to_be_attached()
            for run in RUNS:
                journal = [record for _, record in await demo.runtime.store.load(run)]
                assert sum(isinstance(record, Started) for record in journal) == 1, run
            await steer(page, demo)
            await undo(page, demo)
            await less(page, demo)
            await page.goto(f"{demo.server.url}/runs")
            await expect(card).to_contain_text("3 of 4 done")
            await context.close()


async def steer(page: Page, demo: Stage) -> None:
    assert demo.server is not None
    await page.goto(f"{demo.server.url}/runs/DEMO-2")
    await expect(page.locator("main[data-status=running]")).to_be_visible()
    await page.locator("[data-verb=pause]").click()
    await expect(page.locator("main[data-status=paused]")).to_be_visible()
    await page.locator("[data-verb=resume]").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_role("textbox").first.fill("Finish in three lines.")
    await dialog.get_by_role("button", name=re.compile("^Resume")).last.click()
    await expect(page.locator("main[data-status=completed]")).to_be_visible()


async def undo(page: Page, demo: Stage) -> None:
    assert demo.server is not None
    await page.goto(f"{demo.server.url}/runs/DEMO-3")
    await expect(page.locator("[data-step][data-status=running]")).to_contain_text("wait_healthy")
    await page.locator("[data-verb=cancel]").click()
    await page.get_by_role("button", name="Cancel and undo 3").click()
    await expect(page.locator("main[data-status=cancelled]")).to_be_visible()


async def less(page: Page, demo: Stage) -> None:
    assert demo.server is not None
    await page.goto(f"{demo.server.url}/runs")
    await page.get_by_role("button", name="Open the inbox").click()
    await page.locator("[data-verb=edit]").click()
    await page.get_by_label("cents", exact=True).fill("39900")
    await page.get_by_role("button", name="Approve the edited action").click()
    await expect(page.locator(".toast")).to_contain_text("refund ran once")
