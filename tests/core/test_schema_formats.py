"""Formats of strings: one table of cases for the server and the page; unknown formats, and values that are no strings, fit."""

import json
from pathlib import Path
from typing import Any

import pytest

from adjourn import InvalidAnswer
from adjourn.core.schema import check
from adjourn.core.schema_formats import FORMATS
from adjourn.driver.schema_check import check_value

CASES: dict[str, dict[str, list[str]]] = json.loads(
    (Path(__file__).parents[2] / "console/test/format_cases.json").read_text("utf-8")
)
FIT = [(name, text) for name, cases in CASES.items() for text in cases["fit"]]
NOT = [(name, text) for name, cases in CASES.items() for text in cases["not"]]


@pytest.mark.parametrize(("name", "text"), FIT)
async def test_what_has_the_format_fits(name: str, text: str) -> None:
    await check_value({"type": "string", "format": name}, text, "answer")


@pytest.mark.parametrize(("name", "text"), NOT)
async def test_what_has_not_is_refused_in_words(name: str, text: str) -> None:
    schema: dict[str, Any] = {"properties": {"at": {"type": "string", "format": name}}}
    with pytest.raises(InvalidAnswer, match=r"answer\['at'\]: .* is not an? .* such as ") as refused:
        await check_value(schema, {"at": text}, "answer")
    assert refused.value.facts["reason"].endswith(FORMATS[name][1])


async def test_unknown_formats_and_other_types_are_not_checked() -> None:
    for schema, value in (({"format": "colour"}, "banana"), ({"format": "date"}, 7), ({"format": "date"}, None)):
        await check_value(schema, value, "answer")


async def test_ipv6_and_strings_without_end() -> None:
    await check_value({"format": "ipv6"}, "2001:db8::1", "answer")
    for name in FORMATS:
        with pytest.raises(InvalidAnswer):
            await check_value({"format": name}, "a@" * 100_000, "answer")
    with pytest.raises(InvalidAnswer):
        await check_value({"format": "ipv6"}, "fe80::1%eth0", "answer")


def test_what_was_recorded_without_a_check_of_formats_stays_valid() -> None:
    check({"type": "string", "format": "date"}, "banana", "arguments")
