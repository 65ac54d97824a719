"""For everybody: axe finds nothing to complain about on any page, in light and dark; a keyboard alone is enough."""

from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.conftest import missing
from tests.browser.world import World, visit

from adjourn.core.records import Decided

AXE = Path(__file__).parents[2] / "console/node_modules/axe-core/axe.min.js"


async def complaints(page: Page, part: str = "html") -> list[str]:
    """What axe says of a part of the page, one line for each rule and element."""
    await page.evaluate(AXE.read_text("utf-8"))
    found = await page.evaluate("(part) => axe.run(part, { resultTypes: ['violations'] })", part)
    return [f"{v['id']}: {node['html'][:160]}" for v in found["violations"] for node in v["nodes"]]


async def complaints_in_both(page: Page, part: str = "html") -> list[str]:
    """The same in both themes, of what is open now."""
    found: list[str] = []
    for scheme in ("light", "dark"):
        await page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        await page.wait_for_timeout(200)  # colours move, as axe would see
        found += [f"{scheme}: {said}" for said in await complaints(page, part)]
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_axe_finds_nothing(browser: Browser, on: World, scheme: Any) -> None:
    if not AXE.exists():
        missing("axe-core is not installed: run `npm ci` in console")
    run = await on.waiting("refunds", "for everybody")
    flow = await on.waiting("review", "a picture")
    asks = await on.waiting("asker", "a form")
    async with visit(browser, on, color_scheme=scheme, reduced_motion="reduce") as ana:
        page = ana.page
        found: dict[str, list[str]] = {}
        tabs = [f"/runs/{run}/{tab}" for tab in ("", "conversation", "children", "journal", "checkpoint")]
        others = [f"/runs/{flow}/picture", f"/compare?left={run}&right={asks}", "/inbox?show=decided"]
        for at in (*await ana.menu(), *tabs, *others):
            await ana.go(at)
            await expect(page.locator("main[aria-busy]")).to_have_count(0)
            await page.wait_for_timeout(300)
            found[at] = await complaints(page)
        for item in (run, asks):
            await ana.inbox(item)
            await expect(page.locator("article")).to_be_visible()
            found[f"inbox of {item}"] = await complaints(page)
        await ana.inbox(run)
        await page.locator("[data-verb=edit]").click()
        found["edit"] = await complaints(page)
        assert {at: what for at, what in found.items() if what} == {}


async def test_a_keyboard_alone_approves(browser: Browser, on: World) -> None:
    run = await on.waiting("refunds", "by keyboard")
    async with visit(browser, on) as ana:
        page = ana.page
        await page.keyboard.press("g")
        await page.keyboard.press("i")
        await page.wait_for_url("**/inbox**")
        article = page.locator(f"article[data-ref^='{run}']")
        for _ in range(20):
            await page.wait_for_timeout(800)  # keys are dead for a moment after an item appears
            if await article.count():
                break
            await page.keyboard.press("j")
        await expect(article).to_be_visible()
        await page.wait_for_timeout(800)
        await page.keyboard.press("n")
        await expect(page.get_by_label("Note for the record")).to_be_focused()
        await page.keyboard.type("read it")
        passed: list[str] = []
        while "approve" not in passed and len(passed) < 10:
            await page.keyboard.press("Tab")
            passed.append(await page.evaluate("document.activeElement.dataset.verb ?? ''"))
        assert [verb for verb in passed if verb] == ["deny", "edit", "approve"], "in the order in which they are seen"
        await page.keyboard.press("Enter")
        await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    assert (decided.verdict, decided.note) == ("approve", "read it")
