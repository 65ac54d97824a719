"""The page of numbers: what it says is what the runs did, and it is for everybody."""

import time
from typing import Any

import pytest
from playwright.async_api import Browser, expect
from tests.browser.cast import deployer, failing
from tests.browser.test_access import AXE, complaints
from tests.browser.world import World, visit

from adjourn import Runtime
from adjourn.stores.sqlite.store import SQLiteStore

DAY = 86_400


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_its_numbers_its_tables_and_its_keys(browser: Browser, own: World, scheme: Any) -> None:
    await own.waiting("refunds", "order 0")
    run = await own.waiting("refunds", "order 1")
    [item] = await own.rt.inbox(run=run)
    await own.rt.approve(item.ref, by="ana")
    await own.status(run, "completed")
    async with visit(browser, own, at="/numbers", color_scheme=scheme, reduced_motion="reduce") as ana:
        page = ana.page
        tops = page.locator(".nb-tops")
        await expect(tops).to_contain_text("1 completed, 1 open")
        await expect(page.get_by_role("radio", name="24 h")).to_be_checked()  # the first day, by the hour
        await expect(tops).to_contain_text("half of 1 answer; 0 expired, 1 open")
        chart = page.locator("[data-chart=Runs]")
        await chart.locator(".plot").focus()
        await page.keyboard.press("ArrowRight")
        await expect(chart.get_by_role("status")).to_contain_text("completed 0")
        await chart.get_by_role("button", name="table").click()
        await expect(chart.get_by_role("row").last).to_contain_text("1")
        if AXE.exists():
            assert await complaints(page) == []
        await page.locator("[data-table=work]").get_by_role("link").first.click()
        await expect(page.get_by_role("searchbox").first).to_have_value("agent:refunds since:24h")
        for width in (375, 1440):
            await ana.go("/numbers?span=24h")
            await page.set_viewport_size({"width": width, "height": 900})
            await expect(page.get_by_role("radio", name="24 h")).to_have_attribute("aria-checked", "true")
            assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        await page.get_by_role("radio", name="14 d").click()
        await expect(page.locator("[data-chart=Runs]")).to_contain_text("started, by the day")
        await page.wait_for_url("**span=14d")


async def test_on_the_first_day_it_shows_what_there_is_and_says_what_is_missing(browser: Browser, own: World) -> None:
    await own.waiting("refunds", "order 0")
    async with visit(browser, own, at="/numbers") as ana:
        page = ana.page
        waits = page.locator("[data-chart='How long people let agents wait']")
        await expect(waits.locator("[data-none]")).to_contain_text("No answers yet. 1 question waits")
        await expect(waits.locator("svg")).to_have_count(0)
        await expect(page.locator(".nb-tops")).to_contain_text("1 open")
        # not the hours before the first run
        await expect(page.locator("[data-chart=Runs] .slot")).to_have_count(6)
        await expect(page.locator("[data-chart=Runs] .nb-sum")).to_have_text("1")
        for word in ("0.0 %", "$0.00", "0 ms"):
            await expect(page.locator("main")).not_to_contain_text(word)
        for width in (390, 320):
            await page.set_viewport_size({"width": width, "height": 800})
            for table in await page.locator(".nb-scroll").all():
                assert await table.evaluate("e => e.scrollWidth <= e.clientWidth"), width
        await waits.get_by_role("link", name="Open the inbox").click()
        await page.wait_for_url("**/inbox**")


async def test_beside_each_figure_stands_the_same_of_as_much_time_before(browser: Browser, own: World) -> None:
    then = SQLiteStore(str(own.folder / "runs.db"), now=lambda: time.time() - 20 * DAY)
    async with Runtime(then, work=False) as rt:
        for program in (deployer, failing):
            await (await rt.start(program, "long ago")).cancel(by="shop")
    await then.close()
    await own.waiting("refunds", "order 0")
    async with visit(browser, own, at="/numbers?span=14d") as ana:
        before = ana.page.locator(".nb-tops [data-before]")
        await expect(before.first).to_have_text("2 in the 14 d before")
        words = await before.all_inner_texts()
        assert words[1:] == [f"{what} in the 14 d before" for what in ("0 %", "$0", "0", "no answer")]
        await ana.page.get_by_role("radio", name="24 h").click()
        await expect(ana.page.locator(".nb-tops")).to_contain_text("1 open")
        await expect(before).to_have_count(0)  # nothing began on the day before
