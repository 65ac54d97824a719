"""On a phone: what decides covers little of what is decided on, and a wide flow stays readable."""

from typing import Any

from playwright.async_api import Route, expect
from tests.browser.world import Visit

BRANCHES = 6


async def test_what_decides_takes_a_sixth_of_a_phone_and_the_scope_stands_below_the_arguments(ana: Visit) -> None:
    run = await ana.world.waiting("refunds")
    page = ana.page
    for width in (390, 320):
        await page.set_viewport_size({"width": width, "height": 844})
        await ana.inbox(run)
        acts = page.locator(".decide > .acts")
        await expect(page.locator("[data-verb=approve]")).to_be_in_viewport()
        box = await acts.bounding_box()
        assert box is not None and box["height"] <= 844 / 6 and box["y"] + box["height"] <= 845, (width, box)
        tops = await page.evaluate(
            "() => [[...document.querySelectorAll('.fr')].at(-1), document.querySelector('.seg.scope')]"
            ".map((e) => e.getBoundingClientRect().top)"
        )
        assert tops[0] < tops[1], "what is decided on comes first"
        assert await page.evaluate("document.documentElement.scrollWidth") <= width
        await page.evaluate("scrollTo(0, document.documentElement.scrollHeight)")
        scope = await page.locator(".seg.scope").bounding_box()
        box = await acts.bounding_box()
        assert scope is not None and box is not None and scope["y"] + scope["height"] <= box["y"] + 1


CUT = """() => [...document.querySelectorAll('input[placeholder]')].filter((e) => e.checkVisibility() && e.placeholder).map((e) => {
    const brush = document.createElement('canvas').getContext('2d'), look = getComputedStyle(e);
    brush.font = look.font;
    const room = e.clientWidth - parseFloat(look.paddingLeft) - parseFloat(look.paddingRight);
    return [e.placeholder, Math.ceil(brush.measureText(e.placeholder).width) - room];
})"""


async def test_what_stands_in_an_empty_field_is_read_to_its_end(ana: Visit) -> None:
    run = await ana.world.waiting("refunds")
    page = ana.page
    await page.set_viewport_size({"width": 390, "height": 844})
    found: list[str] = []
    for at in (*await ana.menu(), f"/runs/{run}", "item", "/inbox?show=decided"):
        await (ana.inbox(run) if at == "item" else ana.go(at))
        await expect(page.locator("main[aria-busy]")).to_have_count(0)
        if at == "item":
            await expect(page.get_by_label("Comment", exact=True)).to_be_visible()
        read = await page.evaluate(CUT)
        found += [words for words, _ in read]
        assert [f"{at}: {words}" for words, over in read if over > 0] == []
    assert "For others to read" in found


async def test_a_flow_of_many_branches_is_moved_sideways_and_stays_readable(ana: Visit) -> None:
    run = await ana.world.waiting("review", "a text for many")

    def widened(graph: Any) -> Any:
        [batch] = [item for chain in graph["chains"] for item in chain["items"] if item.get("branches")]
        for n in range(BRANCHES - len(batch["branches"])):
            batch["branches"][f"more{n}"] = [{"is": "chunk", "name": f"reader_{n}"}]
        return graph

    async def wide(route: Route) -> None:
        answer = await route.fetch()
        found = await answer.json()
        widened(found["graph"])
        await route.fulfill(response=answer, json=found)

    page = ana.page
    await page.route(f"**/api/v1/runs/{run}", wide)
    await page.set_viewport_size({"width": 390, "height": 844})
    await ana.go(f"/runs/{run}/picture")
    waits = page.locator("[data-box$=editor]")
    await expect(page.locator("[data-box]")).to_have_count(BRANCHES + 2)
    await expect(waits).to_be_in_viewport()
    letters = await waits.locator("text").first.evaluate(
        "e => parseFloat(getComputedStyle(e).fontSize) * e.getScreenCTM().a"
    )
    assert letters >= 10, letters
    assert await page.evaluate("document.documentElement.scrollWidth") <= 390, "the picture moves, the page does not"
