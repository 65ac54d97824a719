"""Forms: each feature of a schema has its control, all of them by keyboard and on a phone; what is wrong stands beside its field."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect
from tests.browser.test_access import AXE, complaints
from tests.browser.world import World, eventually, visit

from adjourn.core.records import Decided

GUIDE = Path(__file__).parents[2] / "docs/guides/inbox.md"
CONTROLS = {
    "`title`": ("who", "label:has-text('Visitor')"),
    "`description`": ("who", ".about:has-text('As on the passport.')"),
    "`examples`": ("who", "input[placeholder='Ana Berg']"),
    "`type: string` with `maxLength` up to 200": ("who", "input[type=text]"),
    "`type: string`": ("notes", "textarea"),
    "`format: date`": ("day", "input[type=date]"),
    "`format: time`": ("hour", "input[type=time]"),
    "`format: date-time`": ("leaves", "input[type=datetime-local]"),
    "`format: email`": ("mail", "input[type=email]"),
    "`format: uri`": ("site", "input[type=url]"),
    "`type: integer`": ("people", "input[inputmode=numeric]"),
    "`type: number`": ("cost", "input[inputmode=decimal]"),
    "`enum`, up to five": ("gate", "[role=radiogroup] input[type=radio]"),
    "`enum`, more": ("floor", "select"),
    "`const`": ("kind", "[role=radiogroup] input[type=radio]"),
    "`type: boolean`": ("badge", "[role=radiogroup] input[type=radio]"),
    "`default`": ("parking", "[role=switch][aria-checked=true]"),
    "`type: array`": ("cars", "button:has-text('Add…')"),
    "`type: object`": ("host", "select"),
    "`null` as well": ("nick", "select"),
    "anything else": ("extra", "select"),
}


def test_the_guide_lists_every_control_that_is_tested_here() -> None:
    section = GUIDE.read_text("utf-8").partition("## Forms")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| (.+?) \| .+ \|$", section, re.MULTILINE)
    assert rows[1:] == [*CONTROLS], "the table of docs/guides/inbox.md"


async def opened(browser_page: Page) -> None:
    await expect(browser_page.locator("[data-field=who] input")).to_be_visible()


async def test_every_feature_of_a_schema_has_its_control(browser: Browser, on: World) -> None:
    run = await on.waiting("visitor", "controls")
    async with visit(browser, on) as ana:
        await ana.inbox(run)
        await opened(ana.page)
        for feature, (field, control) in CONTROLS.items():
            found = ana.page.locator(f"[data-field={field}]").locator(control)
            assert await found.count(), f"{feature}: {control} in {field}"


async def test_a_form_is_filled_in_by_keyboard_alone_and_what_is_empty_is_left_out(browser: Browser, on: World) -> None:
    run = await on.waiting("visitor", "by keyboard")
    async with visit(browser, on) as ana:
        page, keys = ana.page, ana.page.keyboard
        await ana.inbox(run)
        await opened(page)
        await page.get_by_label("Visitor").focus()
        await keys.type("Ana Berg")
        await keys.press("Tab")
        await expect(page.get_by_label("Day of the visit")).to_be_focused()
        await keys.type("01312031")
        await page.get_by_label("How many").focus()
        await keys.type("3")
        await page.get_by_role("radio", name="north").focus()
        await keys.press("ArrowDown")
        await expect(page.get_by_role("radio", name="south")).to_be_checked()
        await page.locator("[data-field=badge] input").first.focus()
        await keys.press("Space")
        await page.get_by_role("button", name="Add to Cars").focus()
        await keys.press("Enter")
        await keys.press("Enter")
        for number, name in enumerate(("AB 1", "CD 2")):
            await page.locator("[data-field=cars] .item input").nth(number).focus()
            await keys.type(name)
        await page.get_by_role("button", name="Move Cars 2 up").focus()
        await keys.press("Enter")
        await expect(page.locator("[data-field=cars]").first).to_contain_text("2 of at most 3")
        button = page.locator("[data-verb=answer]")

        async def pressed() -> bool:
            """A key does nothing for a moment after an item appears."""
            if await button.count():
                await button.press("Enter")
            return bool(await on.records(run, Decided))

        await eventually(pressed)
        await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    sent = {"who": "Ana Berg", "day": "2031-01-31", "people": 3, "gate": "south", "badge": True}
    assert decided.value.items() >= sent.items()
    assert decided.value["cars"] == ["CD 2", "AB 1"]
    assert not {"hour", "leaves", "mail", "site", "cost", "floor", "notes", "extra", "nick"} & decided.value.keys()


@pytest.mark.parametrize("scheme", ["light", "dark"])
async def test_what_is_wrong_stands_beside_its_field_also_on_a_phone(browser: Browser, on: World, scheme: Any) -> None:
    run = await on.waiting("visitor", f"wrong {scheme}")
    async with visit(browser, on, color_scheme=scheme, reduced_motion="reduce") as ana:
        page = ana.page
        await page.set_viewport_size({"width": 390, "height": 844})
        await ana.inbox(run)
        await opened(page)
        for label, text, says in (
            ("E-mail", "banana", "An e-mail address such as ana@example.com."),
            ("Web page", "banana", "An address such as https://example.com."),
            ("How many", "13", "At most 12."),
            ("Cost", "0.3", "A multiple of 0.5."),
        ):
            await page.get_by_label(label, exact=True).fill(text)
            await expect(page.get_by_role("alert").filter(has_text=says)).to_be_visible()
            await expect(page.get_by_label(label, exact=True)).to_have_attribute("aria-invalid", "true")
            await page.get_by_label(label, exact=True).fill("")
        await page.get_by_label("Leaves at").fill("2031-01-31T14:30")
        await expect(page.locator("[data-field=leaves]")).to_contain_text("sent as 2031-01-31T14:30:00")
        assert await page.evaluate("document.documentElement.scrollWidth") <= 390
        if AXE.exists():
            assert await complaints(page) == []
    assert await on.records(run, Decided) == []
