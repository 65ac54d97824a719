"""A browser keeps the pages it leaves: whichever page is shown, "Live" is said of the present only."""

from playwright.async_api import Browser, Page, expect
from tests.browser.world import LIMIT, Visit, World, visit

KEPT = "kept"


async def present(visit: Visit, items: int, reason: str) -> None:
    """The page says "Live", and at that moment it shows what is so: the halt, what waits, and the way out."""
    page = visit.page
    live = page.locator("[data-connection=live]").first
    await live.wait_for(timeout=LIMIT * 1000, state="attached")
    await expect(page.locator("[data-halt='*']")).to_contain_text(reason)
    await expect(page.get_by_role("button", name="Unhalt everything…")).to_be_visible()
    await expect(page.locator(f"nav.side [data-place=inbox] .n:text-is('{items}')")).to_be_visible()


async def step(page: Page, by: int, path: str) -> None:
    """Back or forward, to a page that the browser kept."""
    await page.evaluate("(by) => void setTimeout(() => history.go(by))", by)
    await page.wait_for_function("(path) => location.pathname === path && !document.hidden", arg=path)
    assert await page.evaluate("window.mark") == KEPT, "the browser did not keep the page"


async def load(page: Page, url: str) -> None:
    """A whole new page in the same tab; the one before is kept."""
    await page.evaluate("(mark) => void (window.mark = mark)", KEPT)
    await page.goto(url)


async def test_a_page_loaded_after_another_in_one_tab_shows_the_halt_before_it_says_live(
    keeping: Browser, own: World
) -> None:
    await own.waiting("refunds", "order 1")
    await own.rt.halt("*", by="ben", reason="incident 7")
    async with visit(keeping, own) as ana:
        for path in ("/runs", "/audit", "/inbox", "/runs"):
            await load(ana.page, own.url + path)
            await present(ana, 1, "incident 7")
        await ana.page.reload()
        await present(ana, 1, "incident 7")


async def test_a_page_that_comes_back_shows_what_changed_while_it_was_kept(keeping: Browser, own: World) -> None:
    run = await own.waiting("refunds", "order 1")
    await own.rt.halt("*", by="ben", reason="incident 7")
    async with visit(keeping, own, at="/runs") as ana:
        await expect(ana.page.get_by_role("grid", name="Runs")).to_contain_text("order 1")
        await load(ana.page, f"{own.url}/runs/{run}")
        await load(ana.page, f"{own.url}/workers")
        await own.rt.unhalt("*", by="ben", reason="over")
        await own.waiting("refunds", "order 2")
        await own.rt.halt("*", by="cy", reason="incident 8")
        await step(ana.page, -1, f"/runs/{run}")
        await present(ana, 2, "incident 8")
        await step(ana.page, -1, "/runs")
        await present(ana, 2, "incident 8")
        await ana.page.locator("[data-newer='1']").click()
        await expect(ana.page.get_by_role("grid", name="Runs")).to_contain_text("order 2")
        await own.rt.unhalt("*", by="ben", reason="over")
        await expect(ana.page.locator("[data-halt]")).to_have_count(0)
        await own.rt.halt("*", by="cy", reason="incident 9")
        await step(ana.page, 1, f"/runs/{run}")
        await present(ana, 2, "incident 9")
        [interrupt] = await own.rt.inbox(run=run)
        await own.rt.unhalt("*", by="ben", reason="over")
        await own.rt.approve(interrupt.id, by="ben", digest=interrupt.digest)
        await expect(ana.page.locator(".facts-row .pill")).to_have_attribute("data-status", "completed")


async def test_a_page_that_is_kept_holds_no_stream_and_counts_as_no_tab(keeping: Browser, own: World) -> None:
    async with visit(keeping, own, at="/runs") as ana:
        for path in ("/audit", "/workers", "/inbox"):
            await load(ana.page, own.url + path)
            await expect(ana.page.locator("[data-connection]").first).to_have_text("Live")
        await load(ana.page, "about:blank")
        other = await ana.page.context.new_page()
        await other.goto(f"{own.url}/runs")
        await expect(other.locator("[data-connection]").first).to_have_text("Live")
        await step(ana.page, -1, "/inbox")
        await expect(ana.page.locator("[data-connection]").first).to_have_text("Live, shared by 2 tabs")
