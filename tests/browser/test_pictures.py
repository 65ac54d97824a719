"""The pictures of the documentation, made from the demo: `make pictures` keeps them. They are checks as well: at every
width nothing scrolls sideways, in both themes."""

import os
import shutil
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.world import eventually

from adjourn.demo.stage import Stage, stage

KEEP = os.environ.get("ADJOURN_PICTURES")
IMAGES = Path(__file__).parents[2] / "docs" / "images"
WIDTHS = (1440, 1024, 640, 390, 320)


@pytest.fixture(scope="module")
async def demo() -> AsyncIterator[Stage]:
    place = Path(tempfile.mkdtemp(prefix="adjourn-"))
    async with stage(place, 0, name="ana") as on:
        yield on
    shutil.rmtree(place)


async def opened(browser: Browser, demo: Stage, at: str, width: int = 1440, height: int = 900, **options: Any) -> Page:
    context = await browser.new_context(viewport={"width": width, "height": height}, reduced_motion="reduce", **options)
    context.set_default_timeout(30_000)
    page = await context.new_page()
    assert demo.server is not None
    await page.goto(demo.server.link)
    await page.locator("[data-connection=live]").first.wait_for(state="attached")
    await page.goto(url_of(demo) + at)
    await page.locator("[data-connection=live]").first.wait_for(state="attached")
    return page


def url_of(demo: Stage) -> str:
    assert demo.server is not None
    return demo.server.url


async def picture(page: Page, name: str) -> None:
    await fits(page)
    shot = await page.screenshot(path=IMAGES / f"{name}.png" if KEEP else None)
    assert len(shot) > 10_000, "there is something on it"


async def fits(page: Page) -> None:
    """Nothing makes the page scroll sideways."""
    over = await page.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")
    assert over <= 0, f"{page.url} is {over} px too wide"


async def item(demo: Stage) -> str:
    from urllib.parse import quote

    runtime = demo.runtime
    while not (found := await runtime.inbox(run="DEMO-1")):
        pass
    return f"/inbox/{quote(found[0].id, safe='')}"


async def test_the_list_of_runs(browser: Browser, demo: Stage) -> None:
    page = await opened(browser, demo, "/runs", height=980)
    await expect(page.locator("[data-run=DEMO-1]")).to_contain_text("refund needs approval")
    await expect(page.get_by_text("Four things to try")).to_be_visible()
    await picture(page, "runs")
    await page.context.close()


async def test_an_item_of_the_inbox(browser: Browser, demo: Stage) -> None:
    page = await opened(browser, demo, await item(demo), height=960)
    await expect(page.locator("article h2")).to_have_text("refund")
    await expect(page.locator("article")).to_contain_text("U+202E")
    await picture(page, "inbox")
    await page.context.close()


async def test_a_run_that_works(browser: Browser, demo: Stage) -> None:
    page = await opened(browser, demo, "/runs/DEMO-2")
    await expect(page.locator("[data-live=root]")).to_contain_text("supplier")
    await picture(page, "run")
    await page.context.close()


async def test_a_run_in_the_dark(browser: Browser, demo: Stage) -> None:
    page = await opened(browser, demo, "/runs/DEMO-3", color_scheme="dark")
    await expect(page.locator("[data-step]").filter(has_text="wait_healthy").first).to_be_visible()
    await picture(page, "run-dark")
    await page.locator("[data-verb=cancel]").click()
    await expect(page.get_by_role("dialog")).to_contain_text("3 things are undone")
    await picture(page, "cancel-dark")
    await page.context.close()


async def test_the_inbox_on_a_phone(browser: Browser, demo: Stage) -> None:
    page = await opened(
        browser, demo, await item(demo), 390, 844, is_mobile=True, has_touch=True, device_scale_factor=2
    )
    approve = page.locator("[data-verb=approve]")
    await expect(approve).to_be_in_viewport()
    box = await approve.bounding_box()
    assert box is not None and box["height"] >= 44, "a thumb can hit it"
    await picture(page, "phone-inbox")
    await page.context.close()


async def test_a_flows_picture(browser: Browser, demo: Stage) -> None:
    page = await opened(browser, demo, "/runs/DEMO-5/picture")
    await expect(page.locator("[data-box]").filter(has_text="editor_reads")).to_be_visible()
    await picture(page, "flow")
    await page.context.close()


async def test_a_decision_that_no_worker_believed_is_told_as_one(browser: Browser, tmp_path: Path) -> None:
    """The night clerk wrote an approval into the store under another name: it stands in the list, and says so."""
    async with stage(tmp_path, 0, name="ben") as own:
        await own.start_forger()

        async def disowned() -> bool:
            return any(item.disowned for item in await own.runtime.inbox(run="DEMO-6"))

        await eventually(disowned)
        page = await opened(browser, own, "/inbox?show=decided")
        line = page.locator("a[href*='DEMO-6']")
        await expect(line).to_contain_text("Approved")
        why = "did not count: not signed by a person whom the worker trusts"
        await expect(line.locator("[data-disowned]")).to_have_text(why)
        # what came of the call came of another decision
        [item] = await own.runtime.inbox(run="DEMO-6")
        await own.runtime.approve(item.ref, by="ben", note="seen in the books")
        handle = await own.runtime.get("DEMO-6")
        await eventually(handle.status, lambda status: status == "completed")
        await page.reload()
        believed = line.filter(has_text="seen in the books")
        await expect(believed.locator("[data-outcome=ran]")).to_have_count(1)
        await expect(page.locator("[data-outcome]")).to_have_count(1)
        await expect(page.locator("[data-disowned]")).to_have_count(1)
        await page.context.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_no_page_scrolls_sideways_at_any_width(browser: Browser, demo: Stage, scheme: Any) -> None:
    page = await opened(browser, demo, "/runs", color_scheme=scheme)
    menu = await page.locator("nav.side [data-place]").evaluate_all("all => all.map((a) => a.pathname)")
    assert len(menu) >= 6
    for at in (
        *menu,
        await item(demo),
        "/inbox?show=decided",
        "/runs/DEMO-3",
        "/runs/DEMO-2/conversation",
        "/runs/DEMO-3/journal",
        "/runs/DEMO-5/picture",
        "/compare?left=DEMO-1&right=DEMO-3",
    ):
        await page.goto(url_of(demo) + at)
        await page.locator("[data-connection=live]").first.wait_for(state="attached")
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 800})
            await page.wait_for_timeout(60)
            await fits(page)
    await page.context.close()


async def test_on_a_phone_the_card_leaves_room_for_the_runs(browser: Browser, demo: Stage) -> None:
    page = await opened(browser, demo, "/runs", 390, 844)
    card = page.get_by_role("region", name="Things to try")
    await expect(card.get_by_role("listitem")).to_have_count(1)
    await expect(page.locator("[data-run]").first).to_be_in_viewport()
    await card.get_by_role("button", name="show all 4").click()
    await expect(card.get_by_role("listitem")).to_have_count(4)
    await page.context.close()


async def test_the_card_of_the_demo_shows_its_tasks_and_comes_again(browser: Browser, demo: Stage) -> None:
    page = await opened(browser, demo, "/runs")
    card = page.get_by_role("region", name="Things to try")
    await expect(card.get_by_role("listitem")).to_have_count(4)
    await expect(page.get_by_text("demo · scripted model")).to_be_visible()
    await page.get_by_role("link", name="Inbox").first.click()
    await expect(card).to_have_count(0)
    await page.get_by_role("link", name="Runs").first.click()
    await expect(card.get_by_text("Kill the worker")).to_be_visible()
