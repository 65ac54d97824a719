"""A link makes nobody somebody else: it takes the token of this start only, and whoever is logged in is asked."""

from playwright.async_api import Browser, Page, expect
from tests.browser.world import LIMIT, World, eventually, visit


async def name_of(page: Page) -> str:
    """Who the page's session is."""
    return await page.evaluate("() => fetch('/api/v1/me').then((r) => r.json()).then((me) => me.name ?? '')")


async def test_a_link_with_somebody_s_key_swaps_no_session(browser: Browser, on: World) -> None:
    """Else what its reader decides next is signed by whoever wrote the link (login CSRF)."""
    cleo, eve = on.key_of("cleo", "approver"), on.key_of("eve", "admin")
    async with visit(browser, on, key=cleo) as visitor:
        assert await name_of(visitor.page) == "cleo"
        await visitor.page.goto("about:blank")
        await visitor.page.goto(f"{on.url}/inbox#token={eve}")
        await visitor.page.get_by_role("button", name="Use the link").click()
        await visitor.page.locator("[data-connection=live]").first.wait_for(timeout=LIMIT * 1000, state="attached")
        assert await name_of(visitor.page) == "cleo"
        assert eve not in visitor.page.url


async def test_a_link_of_this_start_asks_whoever_is_logged_in(browser: Browser, on: World) -> None:
    key = on.key_of("carl", "viewer")
    async with visit(browser, on, key=key) as visitor:
        for button, then in (("Stay carl", "carl"), ("Use the link", "ana")):
            await visitor.page.goto("about:blank")
            await visitor.page.goto(on.link)
            await expect(visitor.page.get_by_text("You are logged in as carl")).to_be_visible(timeout=LIMIT * 1000)
            assert await name_of(visitor.page) == "carl", "nothing has happened yet"
            await visitor.page.get_by_role("button", name=button).click()
            await visitor.page.locator("[data-connection=live]").first.wait_for(timeout=LIMIT * 1000, state="attached")
            assert await name_of(visitor.page) == then
        await visitor.page.goto("about:blank")
        await visitor.page.goto(on.link)  # the same person again: nothing to ask
        await visitor.page.locator("[data-connection=live]").first.wait_for(timeout=LIMIT * 1000, state="attached")


async def test_without_a_session_a_wrong_link_says_so_and_asks_for_a_key(browser: Browser, on: World) -> None:
    key = on.key_of("dora", "viewer")
    context = await browser.new_context()
    page = await context.new_page()
    await page.goto(f"{on.url}/#token={key}")
    await expect(page.locator("[data-link]")).to_contain_text("an earlier start of the server", timeout=LIMIT * 1000)
    assert await name_of(page) == ""
    assert key not in page.url
    await context.close()


async def test_a_page_that_nobody_touches_says_so(browser: Browser, on: World) -> None:
    async with visit(browser, on) as visitor:
        idle: list[bool] = []
        visitor.page.on("request", lambda r: idle.append("x-idle" in r.headers) if "/api/v1/runs" in r.url else None)
        await visitor.page.clock.install()
        await visitor.page.goto(f"{on.url}/runs")
        await visitor.page.locator("[data-connection=live]").first.wait_for(timeout=LIMIT * 1000, state="attached")
        await eventually(
            lambda: visitor.page.evaluate("1"), lambda _: bool(idle)
        )  # what is asked for may come after it
        assert not any(idle)
        idle.clear()
        await visitor.page.clock.fast_forward(61_000)
        await on.start("refunds", "touched by nobody")
        async with visitor.page.expect_request(
            lambda r: "x-idle" in r.headers and "/api/v1/" in r.url, timeout=LIMIT * 1000
        ):
            pass
