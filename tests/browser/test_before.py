"""Have I seen this before? An approval shows earlier decisions on its tool, and what differs this time."""

from playwright.async_api import expect
from tests.browser.test_told import decided, picture, seen_by_axe
from tests.browser.world import Visit

LESS = {"order_id": "4417", "cents": 39900, "notify": True, "memo": "less"}


async def test_an_approval_shows_the_decisions_before_it_and_what_differs(ana: Visit) -> None:
    page, on = ana.page, ana.world
    first = await on.waiting("refunds", "the first")
    await ana.inbox(first)
    await expect(page.locator("article[data-open=true]")).to_be_visible()
    await expect(page.locator("[data-before]")).to_have_count(0)
    await decided(on, "deny", "ask for photos first")
    await decided(on, "approve", "photos are clear", edit=LESS)
    await ana.inbox(await on.waiting("refunds", "before"))
    before = page.locator("[data-before]")
    await expect(before).to_contain_text("2 decisions on refund in 90 days: 1 edited, 1 denied")
    await expect(before.locator("[data-verdict=denied]")).to_contain_text("“ask for photos first”")
    await expect(before.locator("[data-verdict=approved] ins").first).to_contain_text("39900")
    await expect(before.locator("[data-outcome=ran]")).to_contain_text("ran once")
    await expect(before.locator("[data-argument=cents]")).to_contain_text("denied, never approved")
    await picture(page, "before")
    assert await seen_by_axe(page) == []
