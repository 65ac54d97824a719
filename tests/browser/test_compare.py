"""Two runs beside each other: the page shows where they part."""

import re
from typing import Any

from playwright.async_api import Browser, expect
from tests.browser.test_access import AXE, complaints
from tests.browser.world import World, visit


async def test_a_repetition_is_compared_with_what_it_repeats(browser: Browser, own: World) -> None:
    old = await own.waiting("refunds", "order 1")
    new = await own.waiting("refunds", "order 2")
    [item] = await own.rt.inbox(run=old)
    await own.rt.approve(item.ref, by="ana")
    await own.status(old, "completed")
    async with visit(browser, own, at=f"/compare?left={old}&right={new}") as ana:
        page = ana.page
        await expect(page.locator(f"[data-side='{old}']")).to_contain_text("order 1")
        changed = page.locator("[data-differs*=status]")
        await expect(changed.first).to_contain_text("refund")
        await expect(page.locator(".cp-pair .alone").first).to_be_visible()
        if AXE.exists():
            assert await complaints(page) == []
        few = await page.locator(".cp-pair").count()
        await page.get_by_role("checkbox", name="Only what differs").uncheck()
        await expect(page.locator(".cp-pair")).not_to_have_count(few)
        await page.locator("[data-verb=swap]").click()
        await page.wait_for_url(f"**left={new}&right={old}")
        await page.set_viewport_size({"width": 375, "height": 800})
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")


async def test_of_a_step_that_differs_only_what_differs_in_it_is_marked(browser: Browser, own: World) -> None:
    old, new = await own.waiting("refunds", "order 1"), await own.waiting("refunds", "order 2")
    for run, cents in ((old, 48250), (new, 39900)):
        [item] = await own.rt.inbox(run=run)
        assert item.call is not None
        await own.rt.approve(item.ref, by="ana", edit={**item.call.arguments, "cents": cents})
        await own.status(run, "completed")
    async with visit(browser, own, at=f"/compare?left={old}&right={new}") as ana:
        page = ana.page
        pair = page.locator("[data-differs*=arguments]")
        await expect(pair.locator("[data-argument=cents] mark")).to_have_text(["48250", "39900"])
        await expect(pair.locator("[data-argument=order_id] mark")).to_have_count(0)
        await expect(page.locator("[data-summary]")).to_contain_text(re.compile(r"^\d steps differ$"))
        said = page.locator(".cp-pair").filter(has_text="Model").locator("mark").first
        await expect(said).to_have_text("48250")


async def test_on_a_phone_the_two_stand_below_each_other_and_each_says_whose_it_is(
    browser: Browser, own: World
) -> None:
    old = await own.waiting("refunds", "order 1")
    fork = await (await own.rt.get(old)).fork(by="ben")
    await own.status(fork.id, "waiting")
    [item] = await own.rt.inbox(run=old)
    await own.rt.deny(item.ref, by="ana")
    await own.status(old, "completed")
    async with visit(browser, own, at=f"/compare?left={old}&right={fork.id}") as ana:
        page = ana.page
        await page.set_viewport_size({"width": 390, "height": 844})
        pair = page.locator("[data-differs*=status]").first
        first, second = pair.locator("> div").first, pair.locator("> div").last
        await expect(first.get_by_text("Origin", exact=True)).to_be_visible()
        await expect(second.get_by_text("Fork", exact=True)).to_be_visible()
        both = "([a, b]) => [a, b].map((e) => e.getBoundingClientRect().toJSON())"
        boxes: Any = await page.evaluate(both, [await first.element_handle(), await second.element_handle()])
        assert boxes[1]["y"] >= boxes[0]["y"] + boxes[0]["height"] - 1 and boxes[0]["width"] > 350
        assert await page.evaluate("document.documentElement.scrollWidth <= innerWidth")
        assert await complaints(page) == []
