"""Tens of thousands of runs stay fast: few rows in the page, and no task that a person would feel."""

import json
from typing import Any

from playwright.async_api import Browser, Page, expect
from tests.browser.many import multiply
from tests.browser.world import World, visit

RUNS, PENDING = 20_000, 5_000
ROWS = 200
TASK = 100_000
"""Microseconds of the page's main thread in one task: its own time, which does not grow when the machine is busy."""
CATEGORIES = ["toplevel", "devtools.timeline"]

SCROLL = """async ([pane, rows]) => {
  const box = (pane && document.querySelector(pane)) || document.scrollingElement;
  let most = 0, moved = 0;
  for (let n = 0; n < 800 && moved < 40000; n++) {
    const before = box.scrollTop;
    box.scrollTop += 900;
    moved += box.scrollTop - before;
    await new Promise((done) => requestAnimationFrame(() => setTimeout(done, 16)));
    most = Math.max(most, document.querySelectorAll(rows).length);
  }
  return { most, moved };
}"""


async def scroll(browser: Browser, page: Page, pane: str, rows: str) -> dict[str, Any]:
    """Scroll far down, a step each frame, as a wheel does; the most rows that were there, and the longest task."""
    await browser.start_tracing(page=page, categories=CATEGORIES)
    seen = await page.evaluate(SCROLL, [pane, rows])
    events = json.loads(await browser.stop_tracing())["traceEvents"]
    main = {
        (e["pid"], e["tid"]) for e in events if e["name"] == "thread_name" and e["args"]["name"] == "CrRendererMain"
    }
    tasks = [
        e["tdur"] for e in events if e["name"].endswith("RunTask") and (e["pid"], e["tid"]) in main and "tdur" in e
    ]
    assert tasks, "no task was traced"
    return {**seen, "task": max(tasks)}


def fast(seen: dict[str, Any]) -> None:
    assert seen["moved"] > 20_000, "it did not scroll"
    assert 0 < seen["most"] <= ROWS
    assert seen["task"] <= TASK


async def test_20000_runs_and_5000_pending_stay_fast(browser: Browser, own: World) -> None:
    waits = await own.waiting("refunds", "A refund")
    done = await own.waiting("asker", "A question")
    [interrupt] = await own.rt.inbox(run=done)
    await own.rt.answer(interrupt.id, {"keep": True, "count": 1}, by="ben")
    await own.status(done, "completed")
    multiply(own.folder / "runs.db", done, RUNS - PENDING)
    multiply(own.folder / "runs.db", waits, PENDING)
    async with visit(browser, own, at="/runs") as ana:
        page = ana.page
        await expect(page.locator("[data-run]").first).to_be_visible()
        live = await own.start("writer", "It writes while somebody scrolls")
        fast(await scroll(browser, page, "", "[data-run]"))
        await ana.go("/inbox")
        await expect(page.locator(".il-col li").first).to_be_visible()
        await own.waiting("asker", "A question while somebody scrolls")
        fast(await scroll(browser, page, ".il-col .scroll", ".il-col li"))
        own.tell()
        await own.status(live, "completed")
