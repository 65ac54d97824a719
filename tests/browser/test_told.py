"""What happened is told: who decided what, what they changed, and what came of it."""

import os
import re
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.test_access import complaints
from tests.browser.world import Process, Visit, World, eventually, visit


async def seen_by_axe(page: Page) -> list[str]:
    """What axe says of the page once nothing moves any more. What moves with the scrolling, or for ever, never ends."""
    await page.evaluate(
        """Promise.allSettled(document.getAnimations()
            .filter((one) => one.timeline === document.timeline && Number.isFinite(one.effect.getComputedTiming().endTime))
            .map((one) => one.finished)).then(() => true)"""
    )
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
    await expect(page.locator("[data-callout=done] [data-people]")).to_contain_text("refund denied by ben")
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
    ended = page.locator("[data-callout=done]")
    await expect(ended.locator("[data-people]")).to_contain_text("refund approved by ana")
    await expect(ended.locator("ins")).to_contain_text("39900")
    await picture(page, "told-edited")
    assert await seen_by_axe(page) == []
    await ana.go("/inbox?show=decided")
    line = page.locator(f"a[href*='{run}']").first
    await expect(line.locator("ins")).to_contain_text("39900")
    await expect(line.locator(".what")).to_contain_text("cents 39900")
    await expect(line.locator("[data-outcome=ran]")).to_contain_text("ran once")
    await picture(page, "told-decided")
    assert await seen_by_axe(page) == []


async def test_decisions_are_searched_and_each_says_whose_run_it_was(ana: Visit) -> None:
    page = ana.page
    wanted = await decided(ana.world, "deny", "no photo of the glass")
    other = await decided(ana.world, "approve", "seen in the ledger")
    await ana.go("/inbox?show=decided")
    line, rest = page.locator(f"a[href*='{wanted}']"), page.locator(f"a[href*='{other}']")
    await expect(line).to_contain_text("by ben “no photo of the glass”")
    await expect(line).to_contain_text(f"refunds {wanted[:9]}")
    await expect(rest.first).to_be_visible()
    await page.get_by_role("searchbox", name="Search the decisions").fill("photo of the glass")
    await expect(rest).to_have_count(0)
    await expect(line).to_have_count(1)
    await page.reload()
    await expect(line).to_have_count(1)
    await page.get_by_role("searchbox", name="Search the decisions").fill("no such words")
    await expect(page.locator(".inbox")).to_contain_text("No decision has “no such words”")


async def test_a_line_of_the_decided_says_what_was_answered(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("asker", "told, an answer")
    [item] = await on.rt.inbox(run=run)
    await on.rt.answer(item.id, {"keep": True, "count": 3}, by="ana")
    await on.status(run, "completed")
    await ana.go("/inbox?show=decided")
    line = page.locator(f"a[href*='{run}']")
    await expect(line.locator("[data-answer]")).to_contain_text("Keep them: yes, How many: 3")
    assert await seen_by_axe(page) == []


async def test_the_keys_of_the_decided_are_said_and_work(ana: Visit) -> None:
    page = ana.page
    older, newer = [await decided(ana.world, "deny", note) for note in ("keys, one", "keys, two")]
    await ana.go("/inbox?show=decided")
    first, second = page.locator(f"a[href*='{newer}']"), page.locator(f"a[href*='{older}']")
    await expect(second).to_be_visible()
    hint = page.locator(".keys-hint")
    await expect(hint).to_be_visible()
    await expect(hint).to_have_text(re.compile("j k move.*↵ open"))
    await expect(hint).not_to_contain_text("approve")
    await page.keyboard.press("j")
    await expect(first).to_be_focused()
    await page.keyboard.press("j")
    await expect(second).to_be_focused()
    await page.keyboard.press("k")
    await expect(first).to_be_focused()
    await page.keyboard.press("Enter")
    await expect(first).to_have_attribute("aria-current", "true")
    await expect(hint).to_have_text(re.compile("j k move.*esc back to the list"))
    await eventually(lambda: _moved(page, "j", older))
    await page.keyboard.press("Escape")
    await expect(page).to_have_url(re.compile(r"/inbox\?show=decided$"))


async def _moved(page: Page, key: str, run: str) -> bool:
    """Keys are dead for a moment after an item appears."""
    await page.keyboard.press(key)
    return run in await page.evaluate("location.href")


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


async def test_a_line_of_the_decided_follows_its_call_while_it_is_looked_at(browser: Browser, own: World) -> None:
    run = await own.waiting("patient", "lock up")
    [item] = await own.rt.inbox(run=run)
    await own.rt.approve(item.id, by="ana")
    async with visit(browser, own, at="/inbox?show=decided") as ana:
        line = ana.page.locator(f"a[href*='{run}']")
        await expect(line.locator("[data-outcome=running]")).to_be_visible(timeout=30_000)
        own.tell()
        await expect(line.locator("[data-outcome=ran]")).to_contain_text("ran once", timeout=30_000)


async def test_what_was_approved_and_failed_is_a_chip_of_its_own(ana: Visit) -> None:
    page, on = ana.page, ana.world
    other = await decided(on, "approve", "fine")
    run = await on.waiting("unlucky", "write to kari")
    [item] = await on.rt.inbox(run=run)
    await on.rt.approve(item.id, by="ana", note="go")
    await on.status(run, "completed")
    await ana.go("/inbox?show=decided")
    await expect(page.locator(f"a[href*='{other}']")).to_be_visible()
    await page.get_by_role("button", name="Failed afterwards", exact=True).click()
    line = page.locator(f"a[href*='{run}']")
    await expect(line.locator("[data-outcome=failed]")).to_contain_text("SMTP 550")
    await expect(page.locator(f"a[href*='{other}']")).to_have_count(0)
    assert await seen_by_axe(page) == []


async def test_an_edited_item_shows_the_digest_of_what_was_asked_and_of_what_was_approved(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("refunds", "told, digests")
    [item] = await on.rt.inbox(run=run)
    assert item.call is not None
    await on.rt.approve(item.id, by="ana", edit={**item.call.arguments, "cents": 39900})
    await on.status(run, "completed")
    await ana.go(f"/inbox/{quote(item.ref, safe='')}")
    digests = page.locator("[data-digests]")
    asked, approved = digests.locator("del"), digests.locator("ins")
    await expect(asked).to_have_attribute("title", item.digest)
    await expect(approved).not_to_have_attribute("title", item.digest)
    await expect(approved).to_have_attribute("title", re.compile("^[0-9a-f]{64}$"))


async def test_asked_again_the_item_and_the_timeline_say_whose_approval_had_expired(
    browser: Browser, own: World
) -> None:
    run = await own.waiting("brief_yes", "quickly")
    [first] = await own.rt.inbox(run=run)
    await own.worker.end()
    await own.rt.approve(first.id, by="ann")
    own.worker = await Process.begin(
        own.folder, "work", str(own.folder / "runs.db")
    )  # it takes longer than the approval holds
    [item] = await eventually(lambda: own.rt.inbox(run=run), lambda found: found and found[0].id != first.id)
    async with visit(browser, own, at=f"/inbox/{quote(item.ref, safe='')}") as ana:
        page = ana.page
        words = re.compile(r"the approval of \d\d:\d\d by ann had expired before the call ran")
        await expect(page.locator("[data-ref] [data-earlier]")).to_contain_text(words)
        await ana.go(f"/runs/{run}")
        await expect(page.locator("[data-told='1.0'] [data-earlier]")).to_contain_text(words)
        assert await seen_by_axe(page) == []


async def test_a_halt_that_held_the_run_stands_in_the_timeline(browser: Browser, own: World) -> None:
    run = await own.waiting("series", "held")
    [item] = await own.rt.inbox(run=run)
    await own.rt.halt("agent:series", by="ana", reason="too many")
    await own.rt.deny(item.id, by="ana")
    async with visit(browser, own, at=f"/runs/{run}") as ana:
        page = ana.page
        held = page.locator("[data-kind=hold]")
        await expect(held).to_contain_text("Held", timeout=30_000)
        await expect(held).to_contain_text("by the halt of agent series")
        await expect(held).to_have_attribute("data-status", "held")
        await own.rt.unhalt("agent:series", by="ana")
        await expect(held).to_have_attribute("data-status", "", timeout=30_000)
        assert await seen_by_axe(page) == []


async def test_after_a_cancel_the_toast_counts_what_is_in_flight(browser: Browser, own: World) -> None:
    run = await own.waiting("patient", "lock up")
    [item] = await own.rt.inbox(run=run)
    await own.rt.approve(item.id, by="ana")
    async with visit(browser, own, at=f"/runs/{run}") as ana:
        page = ana.page
        await expect(page.locator("[data-step='1.0'][data-status=running]")).to_be_visible(timeout=30_000)
        await page.locator("[data-verb=cancel]").click()
        await page.locator("[data-verb=cancel-now]").click()
        toast = page.locator(".toast").filter(has_text="Cancel recorded")
        await expect(toast).to_contain_text("1 call in flight settles first. If it happened, it is undone.")
        own.tell()
        await own.status(run, "cancelled")
