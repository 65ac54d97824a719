"""Assign, snooze and comment in the inbox: by mouse and by keyboard, seen by others, and nothing of the decision moves."""

from typing import Any

from playwright.async_api import Browser, expect
from tests.browser.test_inbox import AWAKE, opened
from tests.browser.world import Visit, World, eventually, visit

HOLD = "() => { window.requestAnimationFrame = () => 0; }"


async def notes(on: World, run: str, verb: str) -> list[dict[str, Any]]:
    """The lines of a run's audit that say this."""
    return [line.entry for line in await on.rt.store.audit(run) if line.entry["verb"] == verb]


async def test_an_item_is_given_to_somebody_who_finds_it_among_theirs(browser: Browser, ana: Visit) -> None:
    on, page = ana.world, ana.page
    key = on.key_of("nora", "approver")
    run = await opened(ana, "refunds")
    other = await on.waiting("refunds")
    await page.get_by_label("Assigned to").select_option("nora")
    await expect(page.locator(f"[data-ref^='{run}'] [data-assigned]")).to_have_text("→ nora")
    [line] = await eventually(lambda: notes(on, run, "assign"), lambda found: bool(found))
    assert (line["by"], line["to"]) == ("ana", "nora")
    async with visit(browser, on, key, "/inbox?mine=true") as nora:
        rows = nora.page.locator(".il-at")
        await expect(rows.and_(nora.page.locator(f"[data-ref^='{run}']"))).to_have_count(1)
        await expect(rows.and_(nora.page.locator(f"[data-ref^='{other}']"))).to_have_count(1)
    await page.goto(f"{on.url}/inbox?mine=true")
    await expect(page.locator(f".il-at[data-ref^='{other}']")).to_have_count(1)
    await expect(page.locator(f".il-at[data-ref^='{run}']")).to_have_count(0)


async def test_a_snoozed_item_leaves_the_list_and_is_found_under_snoozed(ana: Visit) -> None:
    on, page = ana.world, ana.page
    run = await opened(ana, "asker")
    await page.wait_for_timeout(AWAKE)
    await page.keyboard.press("h")
    await expect(page.get_by_label("Snooze")).to_be_focused()
    await page.get_by_label("Snooze").select_option(label="1 hour")
    await expect(page.locator(f".il-at[data-ref^='{run}']")).to_have_count(0)
    await page.get_by_role("link", name="Show", exact=True).click()
    row = page.locator(f".il-at[data-ref^='{run}']")
    await row.get_by_role("link").click()
    await page.get_by_label("Snooze").select_option(label="show it again now")
    await expect(row).to_have_count(0)
    await page.goto(f"{on.url}/inbox")
    await expect(page.locator(f".il-at[data-ref^='{run}']")).to_have_count(1)


async def test_a_comment_is_seen_by_who_looks_at_the_same_item(browser: Browser, ana: Visit) -> None:
    on, page = ana.world, ana.page
    key = on.key_of("omar", "approver")
    run = await opened(ana, "refunds")
    async with visit(browser, on, key, "/inbox") as omar:
        await omar.inbox(run)
        await expect(omar.page.locator("article[data-open=true]")).to_be_visible()
        await page.get_by_label("Comment", exact=True).fill("are there photos?")
        await page.keyboard.press("Enter")
        await expect(omar.page.locator("[data-note=comment]")).to_contain_text("are there photos?")
        await expect(page.get_by_label("Comment", exact=True)).to_have_value("")
        await expect(page.locator("[data-note=comment]")).to_contain_text("ana")


async def test_a_note_for_the_record_has_the_focus_before_the_next_frame(ana: Visit) -> None:
    page = ana.page
    await page.set_viewport_size({"width": 375, "height": 800})
    await opened(ana, "refunds")
    await page.wait_for_timeout(AWAKE)
    await page.evaluate(HOLD)
    await page.locator(".note-open").click()
    await expect(page.get_by_label("Note for the record")).to_be_focused()
