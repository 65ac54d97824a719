"""Five tasks that people come with, walked in the demo by its buttons and words alone. Clicks are counted: a task that needs
more of them than it did is harder. `make pictures` keeps what is on the page where it matters."""

import re
import shutil
import tempfile
import time
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, expect
from tests.browser.test_pictures import opened, picture

from adjourn import Agent, Policy, Runtime, ask, tool
from adjourn.core.records import Decided
from adjourn.demo.stage import Stage, stage
from adjourn.stores.sqlite.store import SQLiteStore
from adjourn.testing import ScriptedModel, call

WEEK = 7 * 86_400
LATE = 30_000


class Person:
    """Somebody at a page. `clicks` are counted; what is typed is not."""

    def __init__(self, page: Page) -> None:
        self.page = page
        self.clicks = 0

    async def click(self, what: Locator) -> None:
        self.clicks += 1
        await what.click()

    async def press(self, name: str | re.Pattern[str]) -> None:
        await self.click(self.page.get_by_role("button", name=name).locator("visible=true").first)


@tool(effect="unsafe", describe="refund {cents} of order {order_id}")
async def refund(order_id: str, cents: int) -> str:
    """Pay money back to the customer’s card."""
    return "paid"


async def last_week(database: Path) -> None:
    """A refund that was approved a week ago, in the database of the demo."""
    agent = Agent(
        "support-desk",
        model=ScriptedModel([call("refund", order_id="3051", cents=21900)], "Paid back."),
        tools=[refund],
        policy=Policy([ask("refund", reason="large refund")], default="allow"),
    )
    store = SQLiteStore(str(database), now=lambda: time.time() - WEEK)
    async with Runtime(store, [agent]) as rt:
        run = await rt.start(agent, "Order 3051 came twice", run_id="OLD-1", by="shop")
        await run.wait()
        [item] = await rt.inbox(run="OLD-1")
        await rt.approve(item.id, by="ben", note="paid twice, seen in the ledger")
        await run.wait()
    await store.close()


@pytest.fixture(scope="module")
async def demo() -> AsyncIterator[Stage]:
    place = Path(tempfile.mkdtemp(prefix="adjourn-"))
    await last_week(place / "demo.db")
    async with stage(place, 0, name="ana") as on:
        yield on
    shutil.rmtree(place)


@asynccontextmanager
async def person(browser: Browser, demo: Stage, **options: Any) -> AsyncGenerator[Person]:
    """Somebody who begins at the list of runs."""
    page = await opened(browser, demo, "/runs", **options)
    try:
        yield Person(page)
    finally:
        await page.context.close()


def nav(page: Page, name: str) -> Locator:
    return page.get_by_role("link", name=re.compile(f"^{name}")).locator("visible=true").first


async def test_approve_less_than_was_asked_for(browser: Browser, demo: Stage) -> None:
    async with person(browser, demo) as ana:
        page = ana.page
        await expect(page.locator("[data-run=DEMO-1]")).to_contain_text("refund needs approval", timeout=LATE)
        await ana.click(nav(page, "Inbox"))
        await ana.click(page.get_by_role("link", name=re.compile("refund")).first)
        await ana.press("Edit")
        await page.get_by_label("cents", exact=True).fill("39900")
        await expect(page.locator("[data-field=cents]")).to_contain_text("was 48250")
        await page.get_by_label("Note for the record (optional)").fill("shipping is not refunded")
        await picture(page, "task-less")
        await ana.press("Approve the edited action")
        await expect(page.locator(".toast")).to_contain_text("refund ran once", timeout=LATE)
        assert ana.clicks == 4
        await page.get_by_role("tab", name="Decided").click()
        line = page.locator("a[href*='DEMO-1']").first
        await expect(line).to_contain_text("Approved")
        await expect(line.locator("ins")).to_contain_text("39900")
        await expect(line).to_contain_text("“shipping is not refunded”")
    assert [entry.args["cents"] for entry in demo.ledger if entry.tool == "refund"] == [39900]


async def test_find_the_refund_of_last_week(browser: Browser, demo: Stage) -> None:
    async with person(browser, demo) as ana:
        page = ana.page
        await ana.click(nav(page, "Audit"))
        await page.get_by_role("searchbox").fill("order 3051")
        await expect(page.locator("[data-count]")).to_have_text("2 lines")
        found = page.locator(".au-row").filter(has_text="ben approved refund 21900 of order 3051")
        await expect(found).to_have_count(1)
        await expect(found).to_contain_text("“paid twice, seen in the ledger”")
        await ana.click(found)
        line = page.locator(".au.open")
        await expect(line).to_contain_text("Open the run")
        await picture(page, "task-find")
        assert ana.clicks == 2


async def test_undo_a_deployment(browser: Browser, demo: Stage) -> None:
    async with person(browser, demo) as ana:
        page = ana.page
        await expect(page.locator("[data-run=DEMO-3]")).to_contain_text("wait_healthy", timeout=LATE)
        await ana.click(page.locator("[data-run=DEMO-3] a").first)
        await ana.press(re.compile("^Cancel…"))
        dialog = page.get_by_role("dialog")
        await expect(dialog).to_contain_text("3 things are undone")
        await expect(dialog).to_contain_text("announce")
        await picture(page, "task-undo")
        await ana.click(dialog.get_by_role("button", name="Cancel and undo 3"))
        await expect(page.locator("main[data-status=cancelled]")).to_be_visible(timeout=LATE)
        await expect(page.locator("main")).to_contain_text("3 undone, 1 not undone")
        assert ana.clicks == 3
    undone = [entry.tool for entry in demo.ledger if entry.tool.startswith(("delete", "revoke"))]
    assert len(undone) == 3


async def test_answer_a_form_on_a_phone(browser: Browser, demo: Stage) -> None:
    phone = {"is_mobile": True, "has_touch": True, "device_scale_factor": 2}
    async with person(browser, demo, width=390, height=844, **phone) as kari:
        page = kari.page
        await kari.click(nav(page, "Inbox"))
        await kari.click(page.get_by_role("link", name=re.compile("What is new in November")).first)
        await expect(page.get_by_role("heading", name=re.compile("Send “What is new in November”"))).to_be_visible()
        await kari.click(page.locator("[data-field=send]").get_by_text("yes", exact=True))
        await page.get_by_label("Another subject").fill("November")
        await expect(page.locator("article")).to_contain_text("kept on this device until you answer")
        await picture(page, "task-phone")
        await kari.press("Answer")
        await expect(page.locator(".toast")).to_contain_text("Answered.")
        assert kari.clicks == 4
    [answer] = [record for _, record in await demo.runtime.store.load("DEMO-5") if isinstance(record, Decided)]
    assert (answer.by, answer.value) == ("ana", {"send": True, "subject": "November"})


async def test_stop_everything(browser: Browser, demo: Stage) -> None:
    async with person(browser, demo) as ana:
        page = ana.page
        await ana.press("Halt…")
        dialog = page.get_by_role("dialog")
        await ana.click(dialog.get_by_text("Everything", exact=True))
        await dialog.get_by_label(re.compile("^Reason")).fill("the refunds look wrong")
        await expect(dialog).to_contain_text(re.compile(r"This holds \d+ runs? now"))
        await picture(page, "task-stop")
        await ana.click(dialog.get_by_role("button", name="Halt everything"))
        strip = page.locator("[data-halt='*']")
        await expect(strip).to_contain_text("Halted: everything.")
        await expect(strip).to_contain_text("the refunds look wrong")
        assert ana.clicks == 3
        await ana.press("Unhalt everything…")
        await dialog.get_by_label(re.compile("^Reason")).fill("looked at")
        await page.get_by_role("button", name="Unhalt everything", exact=True).click()
        await expect(strip).to_have_count(0)
    assert list(await demo.runtime.halts()) == []
