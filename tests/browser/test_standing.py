"""A decision that stands, made in the inbox: what it says is what is recorded, and the run's page shows it."""

from playwright.async_api import expect
from tests.browser.test_inbox import AWAKE, opened
from tests.browser.world import Visit, eventually

from adjourn.core.decision import Decision
from adjourn.core.records import Decided
from adjourn.core.standing_decision import Standing


async def test_what_is_chosen_is_recorded_and_the_runs_page_lists_it(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "refunds")
    await page.wait_for_timeout(AWAKE)
    await page.keyboard.press("3")
    box = page.locator("[data-standing]")
    await expect(box).to_contain_text("later calls of refund in this run, in your name")
    await box.get_by_label("arguments that fit").check()
    await expect(box.get_by_label("Conditions")).to_have_value(
        'order_id="4417"\ncents=48250\nnotify=true\nmemo="pay \u202e0001\u202c now"'
    )
    await box.get_by_label("Conditions").fill("order_id=44*\ncents<=50000")
    await box.get_by_label("For how long").select_option("28800")
    await box.get_by_label("At most so many calls").fill("10")
    await page.locator("[data-verb=approve]").click()
    await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    says = {"where": ["order_id=44*", "cents<=50000"], "lasts": 28800, "times": 10}
    assert decided.value == {"stands": says}
    await ana.go(f"/runs/{run}")
    listed = page.locator("[data-standing-list]")
    await expect(listed).to_contain_text(
        "approved by ana: order_id=44* and cents<=50000, for 8 h, 10 times, in this run"
    )
    await expect(listed).to_contain_text("1 of 10 used")
    await expect(listed.locator("[data-standing-state]")).to_have_attribute("data-standing-state", "ended")


async def test_conditions_that_do_not_fit_this_call_are_refused_and_nothing_is_recorded(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await opened(ana, "refunds")
    await page.get_by_role("radio", name="Later calls too").click()
    box = page.locator("[data-standing]")
    await box.get_by_label("arguments that fit").check()
    await box.get_by_label("Conditions").fill("cents<=1")
    await page.locator("[data-verb=approve]").click()
    await expect(page.locator(".refused")).to_contain_text("does not match this call")
    assert await on.records(run, Decided) == []


async def test_decided_tells_a_use_and_a_revocation_as_such_and_leaves_comments_out(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("series")
    [first] = await on.rt.inbox(run=run)
    await on.rt.comment(first.ref, "whose is it?", by="ana")
    await on.rt.answer(first.ref, Decision.approve("go on", stands=Standing(where=("cents=200",))), by="ana")
    await eventually(lambda: on.rt.inbox(run=run), lambda items: bool(items) and items[0].ref != first.ref)
    await on.rt.revoke(first.ref, by="ana", note="enough")
    await ana.go("/inbox?show=decided")
    lines = page.get_by_role("list", name="Decided").locator("li")
    await expect(lines.nth(0)).to_contain_text("Revoked")
    await expect(lines.nth(0)).to_contain_text("the standing decision, by ana “enough”")
    await expect(lines.nth(1)).to_contain_text("by a standing decision of ana")
    await expect(lines.nth(2)).to_contain_text("by ana “go on”")
    await expect(lines.filter(has_text="whose is it?")).to_have_count(0)
    await page.get_by_role("button", name="Revoked", exact=True).click()
    await expect(lines).to_have_count(1)
