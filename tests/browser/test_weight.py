"""The first view of every page, with nothing in the browser's cache, is little work for its main thread."""

import json
from typing import Any
from urllib.parse import quote

import pytest
from playwright.async_api import Browser, expect
from tests.browser.test_many import CATEGORIES
from tests.browser.world import LIMIT, Visit, World, visit

MS = LIMIT * 1000
WORK = 300
"""Milliseconds of the main thread, its own time: scripts, styles, layout and paint, from the address to the whole page."""
TRIES = 4
"""The least counts: what else the machine does can only add."""
PAGES = {
    "/runs": "[data-run]",
    "/runs/RUN": "[role=treegrid] [role=row]",
    "/runs/RUN/conversation": "[data-author=model]",
    "/runs/FLOW/picture": "[data-box]",
    "/inbox": ".il",
    "/inbox?show=decided": ".il.decided",
    "/inbox/REF": "[data-verb=approve]",
    "/audit": ".au-row",
    "/numbers": ".nb-tops",
    "/compare?left=RUN&right=OTHER": "[data-side]",
    "/workers": ".wk-figures",
    "/settings": "[aria-labelledby=set-people]",
}
"""What is there once a page is whole; the menu may have no page that is not measured."""


async def work_of(browser: Browser, visitor: Visit, address: str, there: str) -> float:
    """Milliseconds that the main thread of a page worked until its content was there and nothing else came."""
    page = visitor.page
    await page.goto("about:blank")
    await browser.start_tracing(page=page, categories=CATEGORIES)
    try:
        await page.goto(visitor.world.url + address)
        await expect(page.locator(there).first).to_be_visible(timeout=MS)
        await page.evaluate("() => new Promise((done) => requestIdleCallback(done, { timeout: 500 }))")
    finally:
        traced = await browser.stop_tracing()
    events: list[dict[str, Any]] = json.loads(traced)["traceEvents"]
    names = [e for e in events if e["name"] == "thread_name" and e["args"]["name"] == "CrRendererMain"]
    main = {(e["pid"], e["tid"]) for e in names}
    tasks = [
        e["tdur"] for e in events if e["name"].endswith("RunTask") and (e["pid"], e["tid"]) in main and "tdur" in e
    ]
    assert tasks, "no task was traced"
    return sum(tasks) / 1000


async def cold(browser: Browser, visitor: Visit, address: str, there: str) -> float:
    """The same in a browser of its own, which is logged in and has nothing in its cache."""
    context = await browser.new_context(viewport={"width": 1440, "height": 1000})
    cookies: Any = await visitor.page.context.cookies()
    await context.add_cookies(cookies)
    try:
        return await work_of(browser, Visit(await context.new_page(), visitor.world), address, there)
    finally:
        await context.close()


@pytest.mark.parametrize("address", PAGES)
async def test_a_cold_page_takes_little_of_the_main_thread(browser: Browser, on: World, address: str) -> None:
    run, other, flow = [await on.waiting(program) for program in ("refunds", "refunds", "review")]
    [item] = await on.rt.inbox(run=run)
    if "decided" in address:
        [done] = await on.rt.inbox(run=other)
        await on.rt.deny(done.ref, by="ben")
    at = address.replace("RUN", run).replace("OTHER", other).replace("FLOW", flow)
    at = at.replace("REF", quote(item.ref, safe=""))
    took: list[float] = []
    async with visit(browser, on) as visitor:
        while len(took) < TRIES and min(took, default=WORK) >= WORK:
            took.append(await cold(browser, visitor, at, PAGES[address]))
    assert min(took) < WORK, took


async def test_every_page_of_the_menu_is_measured(ana: Visit) -> None:
    assert {*await ana.menu()} <= PAGES.keys()
