"""What a schema asks of values: each rule is said beside its field, at once or in the server's words, and the guide has every rule."""

import re

from playwright.async_api import Browser, Locator, expect
from tests.browser.cast import RULED
from tests.browser.test_forms import CONTROLS, GUIDE
from tests.browser.world import World, visit

from adjourn.core.records import Decided
from adjourn.core.schema_evaluator import CHECKS

AT_ONCE = {
    "type": ("7", "This must be a list or a group."),
    "minimum": ("4", "At least 5."),
    "maximum": ("10", "At most 9."),
    "exclusiveMinimum": ("0", "More than 0."),
    "exclusiveMaximum": ("10", "Less than 10."),
    "multipleOf": ("7", "A multiple of 5."),
    "minLength": ("ab", "At least 3 characters."),
    "maxLength": ("abcd", "At most 3 characters."),
    "pattern": ("x", "It must match ^[A-Z]{2}[0-9]+$"),
    "format": ("banana", "An IPv6 address such as 2001:db8::1."),
    "minItems": ("[1]", "At least 2 in this list."),
    "maxItems": ("[1, 2]", "At most 1 in this list."),
    "prefixItems": ('["a"]', "[0]: This must be an integer."),
    "allOf": ("4", "At least 5."),
    "required": ("{}", "a: This is needed."),
    "additionalProperties": ('{"a": "b"}', "a: This must be an integer."),
}
BY_THE_SERVER = {
    "uniqueItems": ("[1, 1]", "has non-unique elements"),
    "contains": ("[1]", "does not contain the right number of items"),
    "unevaluatedItems": ("[1, 2]", "nevaluated items are not allowed"),
    "minProperties": ("{}", "does not have enough properties: at least 1"),
    "maxProperties": ('{"a": 1, "b": 2}', "has too many properties: at most 1"),
    "propertyNames": ('{"ab": 1}', "is too long: at most 1"),
    "patternProperties": ('{"n1": "x"}', "is not of type"),
    "dependentRequired": ('{"a": 1}', "is required with"),
    "dependentSchemas": ('{"a": 1}', "is a required property"),
    "unevaluatedProperties": ('{"a": 1}', "nevaluated properties are not allowed"),
    "not": ('"x"', "should not be valid under"),
    "if": ('"ab"', "is too long: at most 1"),
}


def test_every_rule_that_the_server_checks_is_in_the_guide_and_tested() -> None:
    section = GUIDE.read_text("utf-8").partition("## Forms")[2].partition("\n## ")[0]
    told = [re.findall(r"`([A-Za-z]+)`", line) for line in section.splitlines() if line.startswith("- said ")]
    assert [sorted(words) for words in told] == [sorted(AT_ONCE), sorted(BY_THE_SERVER)]
    assert RULED.keys() == AT_ONCE.keys() | BY_THE_SERVER.keys()
    controls = {"$ref", "enum", "const", "items", "properties", "anyOf", "oneOf"}  # those choose a control
    assert CHECKS.keys() == RULED.keys() | controls
    assert all(any(word in row for row in CONTROLS) for word in ("$ref", "enum", "const", "array", "object", "anyOf"))


async def write(field: Locator, text: str) -> None:
    """A value into a field that may be left out."""
    await expect(field).to_be_visible()
    mode = field.get_by_label(re.compile("a value or none"))
    if await mode.count():
        await mode.select_option("value")
    await field.locator("input, textarea").fill(text)


async def leave_out(field: Locator) -> None:
    mode = field.get_by_label(re.compile("a value or none"))
    await (mode.select_option("absent") if await mode.count() else field.locator("input, textarea").fill(""))


async def test_what_breaks_a_rule_is_said_beside_its_field(browser: Browser, on: World) -> None:
    run = await on.waiting("ruled", "rules")
    async with visit(browser, on) as ana:
        page = ana.page
        await ana.inbox(run)
        for rule, (text, says) in AT_ONCE.items():
            field = page.locator(f"[data-field={rule}]")
            await write(field, text)
            await expect(field.get_by_role("alert")).to_have_text(says)
            await leave_out(field)
            await expect(field.get_by_role("alert")).to_have_count(0)
        for rule, (text, says) in BY_THE_SERVER.items():
            field = page.locator(f"[data-field={rule}]")
            await write(field, text)
            await expect(field.get_by_role("alert")).to_have_count(0)
            await page.keyboard.press("Control+Enter")
            await expect(field.get_by_role("alert")).to_contain_text(says)
            await leave_out(field)
        assert await on.records(run, Decided) == []
        await page.locator("[data-field=minimum] input").fill("5")
        await page.keyboard.press("Control+Enter")
        await on.status(run, "completed")
    [decided] = await on.records(run, Decided)
    assert decided.value == {"minimum": 5}
