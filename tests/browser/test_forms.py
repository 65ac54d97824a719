"""Forms: each feature of a schema has its control, all of them by keyboard and on a phone; what is wrong stands beside its field.

What a schema asks of values is in `test_form_rules.py`.
"""

import asyncio
import re
from base64 import b64encode
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, FileChooser, Page, expect
from tests.browser.cast import MORE
from tests.browser.test_access import AXE, complaints
from tests.browser.world import LIMIT, World, eventually, visit

from adjourn.core.records import Decided
from adjourn.parts import Image

PNG = b"\x89PNG\r\n\x1a\n" + bytes(46)

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
    "`format: duration`": ("stay", "input[inputmode=numeric] + select:has-text('hours')"),
    "`format: email`": ("mail", "input[type=email]"),
    "`format: uri`": ("site", "input[type=url]"),
    "`format: uuid`, `ipv4`, `ipv6` or `hostname`": ("printer", "input[type=text]"),
    "`type: integer`": ("people", "input[inputmode=numeric]"),
    "`type: number`": ("cost", "input[inputmode=decimal]"),
    "`enum`, up to five": ("gate", "[role=radiogroup] input[type=radio]"),
    "`enum`, more": ("floor", "select"),
    "`const`": ("kind", "[role=radiogroup] input[type=radio]"),
    "`type: boolean`": ("badge", "[role=radiogroup] input[type=radio]"),
    "`type: boolean`, optional": ("dogs", "[role=radiogroup] label:has-text('left out') input:checked"),
    "`default`": ("parking", "[role=radiogroup] label:has-text('yes') input:checked"),
    "`type: array`": ("cars", "button:has-text('Add…')"),
    "`type: array` of `type: object`": ("badges", "button:has-text('Add…')"),
    "`type: object`": ("host.name", "input[type=text]"),
    "`type: object`, optional": ("host", "[role=switch][aria-checked=true]"),
    "`null` as well": ("nick", "select"),
    "`$ref`, `$defs`": ("badges[0].on", "label:has-text('Name on it')"),
    "`oneOf` or `anyOf`, each with `const`": ("meal", "[role=radiogroup] label:has-text('Without meat')"),
    "`type: array` of `enum`, `uniqueItems`": ("days", "input[type=checkbox]"),
    "`oneOf` or `anyOf`, each with `title`": ("pay", "[role=radiogroup] label:has-text('By invoice')"),
    "`contentEncoding: base64`": ("plan", "input[type=file]"),
    "`format: file`": ("photo", "input[type=file][accept='image/*']"),
    "`format: password` or `writeOnly`": ("code", "input[type=password]"),
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
        await ana.page.locator("[data-field=host]").get_by_role("switch").click()
        await ana.page.get_by_role("button", name="Add to Badges").click()
        for feature, (field, control) in CONTROLS.items():
            found = ana.page.locator(f"[data-field='{field}']").locator(control)
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
        lines = page.locator("[data-field=cars] .item input")
        for number, name in enumerate(("AB 1", "CD 2", "EF 3")):
            await expect(lines.nth(number)).to_be_focused()
            await keys.type(name)
            await keys.press("Enter")  # the next line; after the third of at most three there is none
        await expect(lines).to_have_count(3)
        await page.get_by_role("button", name="Remove Cars 1").press("Enter")
        await expect(page.get_by_role("button", name="Add to Cars")).to_be_focused()
        await page.get_by_role("button", name="Move Cars 2 up").press("Enter")
        await expect(page.get_by_role("button", name="Move Cars 1 up")).to_be_focused()
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
    assert decided.value["cars"] == ["EF 3", "CD 2"]
    assert not {"hour", "leaves", "mail", "site", "cost", "floor", "notes", "extra", "nick"} & decided.value.keys()


FOCUSED = "document.activeElement.closest('[data-field]')?.dataset.field ?? ''"


async def test_tab_reaches_every_control_in_the_order_in_which_it_is_read(browser: Browser, on: World) -> None:
    run = await on.waiting("visitor", "tab by tab")
    async with visit(browser, on) as ana:
        page, keys = ana.page, ana.page.keyboard
        await ana.inbox(run)
        await opened(page)
        wanted = await page.locator("article [data-field]").evaluate_all("all => all.map(one => one.dataset.field)")
        await page.get_by_label("Visitor").focus()
        reached = list[str]()
        for _ in range(4 * len(wanted)):
            field = await page.evaluate(FOCUSED)
            if field and field not in reached:
                reached.append(field)
            await keys.press("Tab")
        assert reached == wanted


BY_KEYS: dict[str, tuple[tuple[str, ...], Any]] = {
    "who": (("Ana Berg",), "Ana Berg"),
    "day": (("01312031",), "2031-01-31"),
    "hour": (("0930AM",), "09:30"),
    "leaves": (("01312031", "<Tab>", "0230PM"), "2031-01-31T14:30:00+00:00"),
    "mail": (("ana@example.com",), "ana@example.com"),
    "site": (("https://example.com",), "https://example.com"),
    "people": (("3",), 3),
    "cost": (("12.5",), 12.5),
    "gate": (("<ArrowDown>",), "south"),
    "floor": (("3",), 3),
    "badge": (("<Space>",), True),
    "parking": (("<ArrowDown>",), False),
    "kind": (("<Space>",), "visit"),
    "notes": (("By the", "<Enter>", "back door"), "By the\nback door"),
    "cars": (("<Enter>", "AB 1", "<Enter>", "CD 2"), ["AB 1", "CD 2"]),
    "host": (("<Space>",), {"name": "Kari"}),
    "host.name": (("Kari",), None),
    "extra": (("a", "<Tab>", "7"), 7),
    "nick": (("n",), None),
    "stay": (("3", "<Tab>", "h"), "PT3H"),
    "badges": (("<Enter>", "Ana B", "<Tab>", "<ArrowUp>"), [{"on": "Ana B", "metal": False}]),
    "printer": (("p1.example.com",), "p1.example.com"),
    "dogs": (("<ArrowDown>",), True),
}
"""What is typed into each control of a form once Tab has reached it, and what is sent. The others are in the test after this one."""


async def tab_to(page: Page, field: str) -> None:
    """By Tab alone, to the first control of a field that is not reached yet."""
    for _ in range(40):
        if await page.evaluate(FOCUSED) == field:
            return
        await page.keyboard.press("Tab")
    raise AssertionError(f"Tab does not reach {field}")


async def test_every_control_is_reached_and_set_by_keys_alone(browser: Browser, on: World) -> None:
    run = await on.waiting("visitor", "every control")
    async with visit(browser, on, timezone_id="UTC") as ana:
        page, keys = ana.page, ana.page.keyboard
        await ana.inbox(run)
        await opened(page)
        await page.get_by_role("heading", level=2).first.click()  # into the item, as a person begins
        for field, (typed, _) in BY_KEYS.items():
            await tab_to(page, field)
            for step in typed:
                if step.startswith("<"):
                    await keys.press(step[1:-1])
                else:
                    await keys.type(step)
        await keys.press("Control+Enter")
        await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    for field, (_, sent) in BY_KEYS.items():
        if "." in field:
            continue
        assert decided.value[field] == sent, field
    covered = {re.split(r"[.\[]", field)[0] for field, _ in CONTROLS.values()}
    assert covered == {field for field in BY_KEYS if "." not in field} | {*MORE["properties"]}


async def test_choices_files_and_secrets_are_set_by_keyboard(browser: Browser, on: World, tmp_path: Path) -> None:
    plan = tmp_path / "yard.txt"
    plan.write_text("a gate")
    run = await on.waiting("asker_of_more", "more controls")
    async with visit(browser, on) as ana:
        page, keys = ana.page, ana.page.keyboard
        choosers: asyncio.Queue[FileChooser] = asyncio.Queue()
        # In time: `expect_file_chooser` asks for it, and does not wait until the browser has heard that.
        page.on("filechooser", choosers.put_nowait)
        await ana.inbox(run)
        await page.get_by_role("radio", name="Without meat").focus()
        await keys.press("ArrowDown")
        await expect(page.get_by_role("radio", name="Fish")).to_be_checked()
        for day in ("Mon", "Wed"):
            await page.get_by_role("checkbox", name=day).focus()
            await keys.press("Space")
        await page.get_by_role("radio", name="By card").focus()
        await keys.press("Space")
        await page.get_by_label("Card", exact=True).focus()
        await keys.type("4111")
        await page.get_by_label("Plan of the yard").focus()
        await keys.press("Enter")
        await (await asyncio.wait_for(choosers.get(), LIMIT)).set_files(plan)
        await expect(page.locator("[data-field=plan]")).to_contain_text("yard.txt 6 bytes")
        photo = page.get_by_label("Photo")
        await photo.focus()
        await keys.press("Enter")
        await (await asyncio.wait_for(choosers.get(), LIMIT)).set_files(plan)
        await expect(page.locator("[data-field=photo]")).to_contain_text("yard.txt was not taken: it must be image/*.")
        await photo.set_input_files({"name": "ana.png", "mimeType": "image/png", "buffer": PNG})
        await expect(page.locator("[data-field=photo]")).to_contain_text(f"ana.png {len(PNG)} bytes")
        await page.get_by_label("Door code").focus()
        await keys.type("1234")
        await expect(page.locator(".sent")).not_to_contain_text(b64encode(PNG).decode())
        await expect(page.locator(".sent")).to_contain_text(re.compile('"code": ?"•••"'))
        await expect(page.locator(".sent")).not_to_contain_text("1234")
        await page.locator("[data-verb=answer]").click()
        await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    assert decided.value == {
        "meal": "f",
        "days": ["Mon", "Wed"],
        "pay": {"number": "4111"},
        "plan": b64encode(b"a gate").decode(),
        "photo": dict(Image(PNG, name="ana.png").ref),
        "code": "1234",
    }
    assert (await on.rt.store.blobs(run)) == {Image(PNG).digest: PNG}


async def test_what_was_typed_is_there_again_until_it_is_answered_but_no_secret(browser: Browser, on: World) -> None:
    run = await on.waiting("asker_of_more", "a draft")
    async with visit(browser, on) as ana:
        page = ana.page
        await ana.inbox(run)
        await page.get_by_role("radio", name="By card").check()
        await page.get_by_label("Card", exact=True).fill("4111")
        await page.get_by_role("checkbox", name="Tue").check()
        await page.get_by_label("Door code").fill("9876")
        await expect(page.locator("[data-draft]")).to_contain_text("kept on this device")
        await ana.go("/runs")
        await ana.inbox(run)
        await expect(page.get_by_label("Card", exact=True)).to_have_value("4111")
        await expect(page.get_by_role("checkbox", name="Tue")).to_be_checked()
        await expect(page.get_by_label("Door code")).to_have_value("")
        await page.get_by_role("radio", name="Fish").check()
        await page.get_by_label("Door code").fill("9876")
        await page.locator("[data-verb=answer]").click()
        await on.status(run, "completed")
        left = "Object.keys(localStorage).filter(one => one.startsWith('adjourn.draft.') && one.includes(RUN))"
        assert await page.evaluate(left.replace("RUN", repr(run))) == []


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
