"""A person gives the result of a call in the place of its tool, or dismisses a question."""

from playwright.async_api import expect
from tests.browser.test_told import seen_by_axe
from tests.browser.world import Visit

from adjourn.core.records import Decided


async def test_a_result_is_given_and_the_tool_does_not_run(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("refunds", "by hand")
    await ana.inbox(run)
    await page.locator("[data-verb=edit]").click()
    await page.locator("[data-verb=instead]").click()
    dialog = page.get_by_role("dialog")
    await expect(dialog).to_contain_text("The tool does not run")
    await dialog.get_by_label("The result").fill("paid by hand")
    assert await seen_by_axe(page) == []
    await dialog.locator("[data-verb=instead-now]").click()
    await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    assert (decided.verdict, decided.by, decided.value) == ("deny", "ana", {"instead": "paid by hand"})
    assert [line for line in on.ledger() if run in line] == []
    await expect(page.get_by_text("Result given, not run.").first).to_be_visible()


async def test_a_question_is_dismissed(ana: Visit) -> None:
    page, on = ana.page, ana.world
    run = await on.waiting("asker", "dismissed")
    await ana.inbox(run)
    await page.locator("[data-verb=dismiss]").click()
    await expect(page.get_by_text("Dismissed.").first).to_be_visible()
    [decided] = await on.records(run, Decided)
    assert (decided.verdict, decided.by, decided.value) == ("deny", "ana", {"dismissed": True})
