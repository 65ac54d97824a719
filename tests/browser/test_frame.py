"""What every page shares: the door, the strip of a halt, the connection."""

from playwright.async_api import Browser, expect
from tests.browser.world import Visit, World, eventually, visit


async def test_the_token_leaves_the_address_and_a_reload_stays_in(ana: Visit) -> None:
    assert "token" not in ana.page.url
    await ana.page.reload()
    await expect(ana.page.get_by_role("heading", level=1)).to_have_text("Runs")
    assert await ana.page.locator("[data-who]").inner_text() == "ana · admin"


async def test_a_page_without_a_session_asks_for_a_key(browser: Browser, on: World) -> None:
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{on.url}/inbox")
    await expect(page.get_by_label("Key")).to_be_visible()
    await context.close()


async def test_halt_is_set_with_a_reason_shown_on_every_page_and_lifted(ana: Visit) -> None:
    page, on = ana.page, ana.world
    await ana.button("Halt…")
    dialog = page.get_by_role("dialog")
    await expect(dialog.get_by_role("radio", name="Everything")).to_be_focused()
    await dialog.get_by_label("Reason").fill("odd refunds")
    await dialog.get_by_role("button", name="Halt everything").click()
    await eventually(on.rt.halts)
    [halt] = await on.rt.halts()
    assert (halt.scope, halt.reason, halt.by) == ("*", "odd refunds", "ana")
    for at in ("/runs", "/inbox", "/audit", "/settings"):
        await ana.go(at)
        await expect(page.get_by_role("alert").filter(has_text="odd refunds")).to_be_visible()
    await page.get_by_role("button", name="Unhalt everything…").click()
    await page.get_by_label("Reason").fill("all is well")
    await page.get_by_role("button", name="Unhalt everything", exact=True).click()
    await eventually(on.rt.halts, lambda halts: not halts)
    await expect(page.get_by_text("odd refunds")).to_have_count(0)


async def test_a_viewer_sees_and_may_not(browser: Browser, on: World) -> None:
    async with visit(browser, on, on.key_of("vera", "viewer")) as vera:
        button = vera.page.get_by_role("button", name="Halt…")
        await expect(button).to_have_attribute("aria-disabled", "true")
        await button.click(force=True)
        await expect(vera.page.get_by_role("dialog")).to_have_count(0)
    assert not await on.rt.halts()
