"""Saved filters: named, kept in the browser, shared by their address."""

from playwright.async_api import Browser, expect
from tests.browser.test_access import AXE, complaints
from tests.browser.world import World, visit


async def test_a_filter_is_saved_used_and_removed(browser: Browser, own: World) -> None:
    waits, failed = await own.waiting("asker", "A question"), await own.waiting("failing", "It breaks")
    async with visit(browser, own, at="/runs") as ana:
        page = ana.page
        await expect(page.locator(f"[data-run='{waits}']")).to_be_visible()
        await expect(page.get_by_role("group", name="Saved filters")).to_have_count(0)
        await ana.go("/runs?tab=failed&q=agent%3Afailing")
        await page.locator("[data-verb=save-filter]").click()
        await page.get_by_label("Name of the filter").fill("Broken")
        await page.keyboard.press("Enter")
        await ana.go("/runs")
        await page.locator("[data-saved=Broken]").get_by_role("link").click()
        await page.wait_for_url("**tab=failed&q=agent%3Afailing")
        await expect(page.locator(f"[data-run='{failed}']")).to_be_visible()
        await expect(page.locator(f"[data-run='{waits}']")).to_have_count(0)
        if AXE.exists():
            assert await complaints(page) == []
        await page.get_by_role("button", name="Remove the saved filter Broken").click()
        await ana.go("/runs")
        await expect(page.locator(f"[data-run='{waits}']")).to_be_visible()
        await expect(page.locator("[data-saved]")).to_have_count(0)
