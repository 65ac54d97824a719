"""One stream for all tabs of a browser: each is live, whatever the number of connections that a browser has."""

import asyncio
import re
import time

from playwright.async_api import Browser, Page, Route, expect
from tests.again import in_time
from tests.browser.world import LIMIT, Visit, World, visit

from adjourn.core.records import Decided

TABS, WINDOWS = 10, 5
SLACK = 3
"""Sixteen pages that draw at once, each asked over a wire of its own, on two cores."""


async def live(page: Page) -> None:
    await page.locator("[data-connection=live]").first.wait_for(timeout=LIMIT * 1000, state="attached")


async def open_all(ana: Visit, addresses: list[str]) -> list[Page]:
    """The first ten as tabs, the others as windows of their own."""
    pages: list[Page] = []
    for number, address in enumerate(addresses):
        if number < TABS:
            page = await ana.page.context.new_page()
            await page.goto(ana.world.url + address)
        else:
            async with ana.page.expect_popup() as opened:
                await ana.page.evaluate(
                    "(url) => void window.open(url, '_blank', 'popup,width=900,height=700')", ana.world.url + address
                )
            page = await opened.value
        pages.append(page)
    return pages


def page_count(items: int) -> str:
    """Where every page says how many items wait for a person."""
    return f"nav.side [data-place=inbox] .n:text-is('{items}')"


async def test_ten_tabs_and_five_windows_are_all_live_and_see_an_approval_within_a_second(
    browser: Browser, own: World
) -> None:
    runs = [await own.waiting("refunds", f"order {number}") for number in range(TABS + WINDOWS)]
    decided = runs[0]
    async with visit(browser, own) as ana:
        pages = await open_all(ana, [f"/runs/{run}" for run in (*runs[:7], *[decided] * 3, *[decided] * 5)])
        await asyncio.gather(*map(live, pages))
        await expect(pages[-1].locator("[data-connection]").first).to_have_text(
            f"Live, shared by {TABS + WINDOWS + 1} tabs"
        )
        watching = [page for page in pages if page.url.endswith(decided)]
        assert len(watching) == 9
        for page in watching:
            await expect(page.locator(".facts-row .pill")).to_have_text("Waiting")
        for page in (*pages, ana.page):
            await expect(page.locator(page_count(TABS + WINDOWS))).to_be_visible()
        [interrupt] = await own.rt.inbox(run=decided)
        began = time.monotonic()
        await own.rt.approve(interrupt.id, by="ben", digest=interrupt.digest)
        await own.status(decided, "completed")
        recorded = time.monotonic()
        await asyncio.gather(
            *(
                page.locator(".facts-row .pill[data-status=completed]").wait_for(timeout=LIMIT * 1000)
                for page in watching
            )
        )
        left = page_count(TABS + WINDOWS - 1)
        await asyncio.gather(*(page.locator(left).wait_for(timeout=LIMIT * 1000) for page in (*pages, ana.page)))
        seen = time.monotonic()
        in_time(seen - recorded, 1, slack=SLACK)
        assert recorded >= began
        # the pages that show another run, and the list, still get answers: no connection is used up
        for page in (pages[3], ana.page):
            began = time.monotonic()
            assert await page.evaluate("fetch('/api/v1/runs?limit=1').then((r) => r.status)") == 200
            in_time(time.monotonic() - began, 1, slack=SLACK)


async def test_one_run_after_another_in_one_tab_shows_each_at_once(ana: Visit) -> None:
    runs = [await ana.world.waiting("refunds", f"walk {number}") for number in range(7)]
    for run in runs:
        began = time.monotonic()
        await ana.page.goto(f"{ana.world.url}/runs/{run}")
        await expect(ana.page.get_by_role("heading", level=1)).to_contain_text("walk")
        await live(ana.page)
        in_time(time.monotonic() - began, 5)
    for _ in range(5):
        await ana.page.go_back()
        await live(ana.page)
        await expect(ana.page.get_by_role("heading", level=1)).to_contain_text("walk")


async def test_text_that_several_tabs_watch_is_written_once_in_each(browser: Browser, own: World) -> None:
    run = await own.start("writer", "write")
    async with visit(browser, own) as ana:
        pages = await open_all(ana, [f"/runs/{run}"] * 4)
        for page in pages:
            shown = page.locator("[data-live=root] .prose")
            await expect(shown).to_contain_text("word12 ")
        for page in pages:
            words = (await page.locator("[data-live=root] .prose").inner_text()).strip(" …\n").split()
            numbers = [int(word.removeprefix("word")) for word in words[:-1]]
            assert numbers == list(range(numbers[0], numbers[0] + len(numbers))), "no word twice, none left out"
            assert numbers[0] == 0
        own.tell()


class Held:
    """Requests that get no answer before `go_on`."""

    def __init__(self, method: str) -> None:
        self.method = method
        self.go_on = asyncio.Event()

    async def __call__(self, route: Route) -> None:
        if route.request.method == self.method:
            await self.go_on.wait()
        await route.continue_()


async def test_a_request_that_waits_for_long_says_so(ana: Visit) -> None:
    page, held = ana.page, Held("GET")
    await page.route(re.compile(r"/api/v1/audit"), held)
    await page.get_by_role("link", name="Audit").first.click()
    await expect(page.locator("[data-slow]")).to_contain_text(re.compile(r"Still asking the server, \d+ s\."))
    held.go_on.set()
    await expect(page.locator("[data-slow]")).to_have_count(0)


async def test_a_decision_that_waits_for_long_says_that_it_counts_once_and_does(ana: Visit) -> None:
    page, on, held = ana.page, ana.world, Held("POST")
    run = await on.waiting("refunds", "slow line")
    await ana.inbox(run)
    await page.route(re.compile(r"/api/v1/interrupts/"), held)
    await ana.button("Approve once")
    slow = page.locator("[data-slow]")
    await expect(slow).to_contain_text(re.compile(r"Sending… \d+ s\. The server has not answered yet\."))
    await expect(slow).to_contain_text("Do not do it again: the same request counts once.")
    assert await on.records(run, Decided) == []
    held.go_on.set()
    await on.status(run, "completed")
    await expect(slow).to_have_count(0)
    assert len(await on.records(run, Decided)) == 1


HIDING = """
let hidden = START;
Object.defineProperty(document, 'hidden', { get: () => hidden });
Object.defineProperty(document, 'visibilityState', { get: () => hidden ? 'hidden' : 'visible' });
window.hide = (on) => { hidden = on; document.dispatchEvent(new Event('visibilitychange')); };
"""
"""A browser that is driven shows every tab: here a page says by itself whether it is looked at."""


async def test_a_tab_that_was_never_looked_at_opens_nothing_and_a_hidden_one_rests(
    browser: Browser, own: World
) -> None:
    async with visit(browser, own) as ana:
        first = ana.page.locator("[data-connection]").first
        await expect(first).to_have_text("Live")
        hidden = await ana.page.context.new_page()
        await hidden.add_init_script(HIDING.replace("START", "true"))
        await hidden.goto(f"{own.url}/runs")
        shown = hidden.locator("[data-connection]").first
        await expect(shown).to_have_text("Connecting…")
        other = await ana.page.context.new_page()
        await other.goto(f"{own.url}/runs")
        await expect(first).to_have_text("Live, shared by 2 tabs")  # the hidden one is not among them
        await expect(shown).to_have_text("Connecting…")
        await hidden.evaluate("hide(false)")
        await expect(shown).to_have_text("Live, shared by 3 tabs")
        await hidden.clock.install()
        await hidden.evaluate("hide(true)")
        await hidden.clock.fast_forward(31_000)
        await expect(shown).to_have_text("Resting: this tab is hidden")
        await expect(first).to_have_text("Live, shared by 2 tabs")
        await own.waiting("refunds", "while it was hidden")
        await hidden.evaluate("hide(false)")
        await expect(shown).to_have_text("Live, shared by 3 tabs")
        await expect(hidden.locator(page_count(1))).to_be_visible()
        await expect(first).to_have_text("Live, shared by 3 tabs")


async def test_live_is_said_only_while_it_is_live(browser: Browser, own: World) -> None:
    async with visit(browser, own, own.key_of("bea", "admin")) as ana:
        shown = ana.page.locator("[data-connection]").first
        await expect(shown).to_have_text("Live")
        await own.server.kill()
        await expect(shown).to_have_attribute("data-connection", "broken")
        await expect(shown).not_to_contain_text("Live")
        await own.restart_server()
        await expect(shown).to_have_attribute("data-connection", re.compile("back|live"))
