"""What happened is told: who decided what, what they changed, and what came of it."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.test_access import complaints
from tests.browser.world import Visit, World, visit


async def seen_by_axe(page: Page) -> list[str]:
    """What axe says of the page once nothing moves any more."""
    await page.evaluate("Promise.allSettled(document.getAnimations().map(one => one.finished)).then(() => true)")
    return await complaints(page)


async def picture(page: Page, name: str) -> None:
    """For whoever looks at the pages: where `ADJOURN_PICTURES` says."""
    if folder := os.environ.get("ADJOURN_PICTURES"):
        await page.screenshot(path=str(Path(folder) / f"{name}.png"), full_page=True)


async def decided(on: World, verb: str, note: str, **more: object) -> str:
    run = await on.waiting("refunds", f"told, {verb}")
    [item] = await on.rt.inbox(run=run)
    if verb == "deny":
        await on.rt.deny(item.id, by="ben", note=note)
    else:
        await on.rt.approve(item.id, by="ana", note=note, **more)  # pyright: ignore[reportArgumentType]
    await on.status(run, "completed")
    return run


async def test_a_denied_call_is_told_as_denied_and_as_not_run(ana: Visit) -> None:
    page = ana.page
    run = await decided(ana.world, "deny", "ask for photos first")
    await ana.go(f"/runs/{run}")
    row = page.locator("[data-step='1.0']")
    await expect(row).to_have_attribute("data-status", "denied")
    await expect(row).to_contain_text("did not run")
    await expect(row.locator("[title='can be undone']")).to_have_count(0)
    told = page.locator("[data-told='1.0']")
    await expect(told).to_contain_text("Denied by ben")
    await expect(told).to_contain_text("“ask for photos first”")
    await row.click()
    panel = page.locator("[data-panel='1.0']")
    await expect(panel.locator("[data-status=denied]")).to_be_visible()
    await expect(panel.locator("[data-decision=denied]")).to_contain_text("Denied by ben")
    await expect(panel).not_to_contain_text("Cancelled")
    await picture(page, "told-denied")
    assert await seen_by_axe(page) == []


async def test_an_edit_is_told_as_old_and_new_with_what_came_of_it(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("refunds", "told, less")
    [item] = await on.rt.inbox(run=run)
    assert item.call is not None
    less = {**item.call.arguments, "cents": 39900}
    await on.rt.approve(item.id, by="ana", note="shipping is not refunded", edit=less)
    await on.status(run, "completed")
    await ana.go(f"/runs/{run}")
    told = page.locator("[data-told='1.0']")
    await expect(told).to_contain_text("Approved by ana")
    await expect(told.locator("del")).to_contain_text("48250")
    await expect(told.locator("ins")).to_contain_text("39900")
    await expect(told.locator("[data-outcome=ran]")).to_contain_text("ran once")
    await picture(page, "told-edited")
    assert await seen_by_axe(page) == []
    await ana.go("/inbox?show=decided")
    line = page.locator(f"a[href*='{run}']").first
    await expect(line.locator("ins")).to_contain_text("39900")
    await expect(line.locator("[data-outcome=ran]")).to_contain_text("ran once")
    await picture(page, "told-decided")
    assert await seen_by_axe(page) == []


async def test_what_expired_is_in_the_decided_list_and_in_the_audit(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.start("hasty", "told, in no time")
    await on.status(run, "completed")
    await ana.go("/inbox?show=decided")
    await page.get_by_role("button", name="Expired", exact=True).click()
    line = page.locator(f"a[href*='{run}']")
    await expect(line).to_contain_text("Expired")
    await expect(line).to_contain_text("no one answered")
    await expect(line.locator("[data-outcome=not_run]")).to_contain_text("did not run")
    assert await seen_by_axe(page) == []
    await page.get_by_role("button", name="Denied", exact=True).click()
    await expect(page.get_by_role("button", name="Denied", exact=True)).to_have_attribute("aria-pressed", "true")
    await expect(line).to_have_count(0)
    await ana.go(f"/audit?verb=expire&run={run}")
    await expect(page.locator(".au-row")).to_contain_text("no one answered in time: refund 900 of order 9")


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_the_conversation_has_authors_times_the_prompt_and_the_exact_request(
    browser: Browser, on: World, scheme: Any
) -> None:
    run = await decided(on, "deny", "ask for photos first")
    async with visit(browser, on, at=f"/runs/{run}/conversation", color_scheme=scheme) as ana:
        page = ana.page
        prompt = page.locator("[data-author=system]")
        await expect(prompt).to_contain_text("System prompt")
        await expect(prompt.get_by_role("button")).to_have_text("1 tool was offered")
        started = page.locator("[data-author=person]")
        await expect(started).to_contain_text("started the run")
        await expect(started).to_contain_text("told, deny")
        replies = page.locator("[data-author=model]")
        await expect(replies).to_have_count(2)
        first = replies.first
        await expect(first).to_contain_text("scripted")
        await expect(first).to_contain_text(" in · ")
        await expect(first.locator("time")).to_have_text(re.compile(r"^\d\d:\d\d:\d\d$"))
        call = first.locator("[data-call='1.0']")
        await expect(call).to_contain_text("asked because of large refund")
        await expect(call).to_contain_text("Denied by ben")
        await expect(call).to_contain_text("the model was told:")
        assert await seen_by_axe(page) == []
        await replies.last.get_by_role("button", name="Exact request").click()
        request = page.get_by_role("dialog")
        await expect(request.locator("[data-proof='as sent']")).to_contain_text("checked against its digest")
        await expect(request).to_contain_text("Messages, 3")
        await expect(request).to_contain_text("the last 2 are new")
        assert await seen_by_axe(page) == []
        await request.get_by_role("tab", name="Answer").click()
        await expect(request).to_contain_text("Result:")
        await page.keyboard.press("Escape")
        await expect(request).to_have_count(0)
        await expect(replies.last.get_by_role("button", name="Exact request")).to_be_focused()
        await page.keyboard.press("x")
        await expect(request).to_be_visible()


async def test_the_toast_lives_until_the_outcome(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("refunds", "told, toast")
    await ana.inbox(run)
    await ana.button("Approve once")
    toast = page.locator(".toast").filter(has_text="Approved")
    await expect(toast).to_contain_text("refund ran once", timeout=30_000)
    await on.status(run, "completed")


async def test_a_pause_is_only_asked_until_it_has_stopped(browser: Browser, own: World) -> None:
    async with visit(browser, own) as ana:
        page = ana.page
        run = await own.start("deployer", "go")
        await ana.go(f"/runs/{run}")
        hold = page.locator("[data-step][data-status=running]").filter(has_text="hold")
        await expect(hold).to_be_visible(timeout=30_000)
        await page.locator("[data-verb=pause]").click()
        pause = page.locator("[data-kind=pause]")
        await expect(pause).to_have_attribute("data-status", "pausing", timeout=30_000)
        await expect(pause).to_contain_text("Pause asked")
        await expect(pause).to_contain_text("not yet")
        await picture(page, "told-pausing")
        own.tell()
        await expect(pause).to_have_attribute("data-status", "paused", timeout=30_000)
        await expect(pause.locator("b").first).to_have_text("Paused")


async def test_a_flows_steps_say_where_they_stand_in_words(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("review", "told, a flow")
    await ana.go(f"/runs/{run}")
    await expect(page.locator("[data-kind=chunk]").first).to_be_visible()
    assert "#" not in await page.get_by_role("treegrid").inner_text()
    await picture(page, "told-flow")
