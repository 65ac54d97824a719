"""The audit page: newest first and in words, searched and filtered by the store, opened, exported, readable at every width."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, Route, expect
from tests.browser.test_access import AXE, complaints
from tests.browser.world import World, visit

from adjourn import AdjournError
from adjourn.views.audit_words import VOID

WIDTHS = (320, 768, 1440)


async def history(on: World) -> tuple[str, str]:
    """Two refunds: one approved with less, one denied, and somebody who came too late."""
    first, second = await on.waiting("refunds", "Order 4417 arrived broken"), await on.waiting("refunds", "Another one")
    [item] = await on.rt.inbox(run=first)
    edited = {"order_id": "4417", "cents": 39900, "notify": True, "memo": "less"}
    await on.rt.approve(item, edit=edited, note="shipping is not refunded", by="ana")
    with pytest.raises(AdjournError):
        await on.rt.deny(item, by="gus")
    [other] = await on.rt.inbox(run=second)
    await on.rt.deny(other, note="ask for photos first", by="erik")
    return first, second


async def lines(page: Page) -> list[str]:
    return await page.locator(".au-said").all_inner_texts()


async def test_every_line_is_a_sentence_newest_first(browser: Browser, own: World) -> None:
    await history(own)
    async with visit(browser, own, at="/audit") as ana:
        await expect(ana.page.locator(".au")).to_have_count(5)
        found = await lines(ana.page)
        assert found[0] == "erik denied refund 48250 of order 4417: “ask for photos first”"
        assert found[1].startswith("gus tried to deny refund 48250 of order 4417")
        assert "cents 48250 → 39900" in found[2] and "“shipping is not refunded”" in found[2]
        assert "started “Another one”" in found[3]
        await expect(ana.page.get_by_role("heading", level=2)).to_contain_text("Today")


async def test_search_and_filters_are_in_the_address_and_can_be_cleared(browser: Browser, own: World) -> None:
    first, _ = await history(own)
    async with visit(browser, own, at="/audit") as ana:
        page, rows = ana.page, ana.page.locator(".au")
        await page.get_by_label("Search the audit").fill("PHOTOS")
        await expect(rows).to_have_count(1)
        assert "q=PHOTOS" in page.url
        await page.get_by_label("Search the audit").fill("order 4471")
        await expect(page.get_by_role("heading", name="No line matches")).to_be_visible()
        await page.get_by_role("button", name="Clear filters").last.click()
        await expect(rows).to_have_count(5)
        for name, value, count in (
            ("Who", "erik", 1),
            ("Tool", "refund", 3),
            ("Run", first, 3),
            ("Agent", "refunds", 5),
        ):
            await page.get_by_label(name, exact=True).fill(value)
            await page.keyboard.press("Tab")
            await expect(rows).to_have_count(count)
            await page.get_by_role("button", name="Clear filters").click()
            await expect(rows).to_have_count(5)
        await page.get_by_label("Verb", exact=True).select_option("deny")
        await expect(rows).to_have_count(2)
        await page.get_by_role("radio", name="Refused").click()
        await expect(rows).to_have_count(1)
        await page.reload()
        await expect(rows).to_have_count(1)
        await ana.go("/audit?day=2020-02-02")
        await expect(page.get_by_role("heading", name="No line matches")).to_be_visible()


async def test_a_line_opens_with_its_arguments_its_ground_and_its_place_in_the_chain(
    browser: Browser, own: World
) -> None:
    first, _ = await history(own)
    async with visit(browser, own, at="/audit") as ana:
        page = ana.page
        await expect(page.locator(".au")).to_have_count(5)
        for number in range(3):
            await page.keyboard.press("j")
            await expect(page.locator(".au-row").nth(number)).to_be_focused()
        await page.keyboard.press("Enter")
        opened = page.locator(".au.open")
        await expect(opened).to_contain_text("What it was about")
        for text in ("order_id", '"4417"', "ask refund when cents > 100", "ana", "Order 4417 arrived broken"):
            await expect(opened).to_contain_text(text)
        await expect(opened.locator(".au-chain li")).to_have_count(3)
        [line] = [x for x in await own.rt.store.audit(first) if x.n == 2]
        await expect(opened.locator(".au-chain .here")).to_contain_text(
            f"2 {line.head.hex()[:4]} {line.head.hex()[4:8]}"
        )
        await page.reload()
        await expect(page.locator(".au.open")).to_have_count(1)
        await page.get_by_role("button", name="All by ana").click()
        await expect(page.locator(".au")).to_have_count(3)
        await expect(page.get_by_label("Who", exact=True)).to_have_value("ana")


async def test_what_matches_is_exported_as_json_lines_and_as_a_table(browser: Browser, own: World) -> None:
    await history(own)
    async with visit(browser, own, at="/audit?verb=deny") as ana:
        await expect(ana.page.locator(".au")).to_have_count(2)
        texts: dict[str, str] = {}
        for kind in ("ndjson", "csv"):
            async with ana.page.expect_download() as got:
                await ana.page.get_by_label("Export").select_option(kind)
            file = await got.value
            texts[kind] = Path(await file.path()).read_text("utf-8")
            assert file.suggested_filename.endswith(kind)
        entries: list[Any] = [json.loads(line) for line in texts["ndjson"].splitlines()]
        assert [entry["by"] for entry in entries] == ["erik", "gus"]
        table = texts["csv"].splitlines()
        await ana.go("/audit?only=security&verb=export")
        lines = ana.page.locator(".au-row")
        await expect(lines).to_have_count(2)
        await expect(lines.first).to_contain_text("ana exported 2 lines of the audit, verb deny")
        assert len(table) == 3 and table[0].startswith("at,by,verb") and "ask for photos first" in table[1]


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_it_is_readable_at_every_width_and_axe_finds_nothing(browser: Browser, own: World, scheme: Any) -> None:
    await history(own)
    async with visit(browser, own, at="/audit", color_scheme=scheme, reduced_motion="reduce") as ana:
        page = ana.page
        await page.locator(".au-row").nth(2).click()
        await expect(page.locator(".au-chain li")).to_have_count(3)
        for width in WIDTHS:
            await page.set_viewport_size({"width": width, "height": 900})
            wide = await page.evaluate("document.documentElement.scrollWidth")
            assert wide <= width, f"{wide} at {width}"
            title = page.get_by_role("heading", name="Audit", exact=True)
            assert width < 641 or await title.evaluate("e => e.scrollWidth <= e.clientWidth"), (
                f"nothing lies over it at {width}"
            )
            for row in await page.locator(".au-row").all():
                for part in (".au-said", ".au-side", "time"):
                    await expect(row.locator(part)).to_be_visible()
                    cut = await row.locator(part).evaluate(
                        "e => e.scrollWidth > e.clientWidth + 1 && e.clientWidth > 0"
                    )
                    assert not cut, (width, part)
                box = await row.bounding_box()
                assert box is not None and box["height"] >= 44
            if AXE.exists():
                assert await complaints(page) == []


async def test_the_chain_is_said_to_be_whole_by_itself_and_how_far_that_goes(browser: Browser, own: World) -> None:
    await history(own)
    async with visit(browser, own, at="/audit") as ana:
        chain = ana.page.get_by_label("The chain", exact=True)
        await expect(chain).to_contain_text("The chain is whole: 5 lines, each following from the one before it")
        await expect(chain).to_contain_text("Journals and seals have not been checked since this server started.")
        await chain.get_by_role("button", name="Check everything").click()
        await expect(chain).to_contain_text("Everything was checked")
        await expect(chain).to_contain_text("Consistent")
        await ana.page.reload()  # what was found is kept by the server, not by the page
        await expect(chain).to_contain_text("Everything was checked")
    with closing(sqlite3.connect(own.folder / "runs.db")) as db, db:
        db.execute("update audit set body = replace(body, 'photos', 'nothing') where body like '%photos%'")
    async with visit(browser, own, at="/audit") as ana:
        chain = ana.page.get_by_label("The chain", exact=True)
        await expect(chain.get_by_role("alert")).to_contain_text("it was edited, or moved here from elsewhere")


async def test_a_decision_that_no_worker_believed_does_not_look_like_one_that_counts(
    browser: Browser, own: World
) -> None:
    await history(own)

    async def forged(route: Route) -> None:
        answer = await route.fetch()
        page = await answer.json()
        page["items"][0]["told"]["void"] = VOID
        await route.fulfill(response=answer, json=page)

    async with visit(browser, own) as ana:
        await ana.page.route("**/api/v1/audit?*", forged)
        await ana.go("/audit")
        rows = ana.page.locator(".au")
        await expect(rows.first.locator("[data-void]")).to_have_text(VOID)
        await expect(ana.page.locator("[data-void]")).to_have_count(1)
        await rows.first.locator(".au-row").click()
        await expect(rows.first).to_contain_text(f"nothing: it {VOID}")
