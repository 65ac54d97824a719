"""Where an answer is a secret."""

from typing import Any

import pytest

from adjourn.core.secret_places import at_secrets, has_secrets, unsealable, without_secrets

PIN = {"type": "string", "writeOnly": True}
PLACES: list[tuple[dict[str, Any], Any, Any]] = [
    (PIN, "x", "•••"),
    ({"type": "string"}, "x", "x"),
    ({"type": "string", "format": "password"}, "x", "x"),
    ({"properties": {"pin": PIN, "user": {"type": "string"}}}, {"pin": "x", "user": "x"}, {"pin": "•••", "user": "x"}),
    ({"properties": {"pin": {"anyOf": [PIN, {"type": "null"}]}}}, {"pin": "x"}, {"pin": "•••"}),
    ({"properties": {"pin": {"anyOf": [PIN, {"type": "null"}]}}}, {"pin": None}, {"pin": None}),
    ({"$ref": "#/$defs/pin", "$defs": {"pin": PIN}}, "x", "•••"),
    ({"items": PIN}, ["x", "y"], ["•••", "•••"]),
    ({"prefixItems": [{"type": "string"}, PIN]}, ["x", "y", "z"], ["x", "•••", "z"]),
    ({"additionalProperties": PIN}, {"a": "x"}, {"a": "•••"}),
    ({"patternProperties": {"^p": PIN}}, {"pin": "x"}, {"pin": "•••"}),
    ({"if": {}, "then": {"properties": {"pin": PIN}}}, {"pin": "x"}, {"pin": "•••"}),
    ({"properties": {"a": {"properties": {"pin": PIN}}}}, {"a": {"pin": "x"}}, {"a": {"pin": "•••"}}),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(PLACES)))
def test_a_secret_is_found_wherever_a_schema_marks_it(case: int) -> None:
    schema, value, shown = PLACES[case]
    assert without_secrets(schema, value) == shown
    assert has_secrets(schema) is ("writeOnly" in repr(schema))


def test_a_secret_says_the_name_under_which_it_is_sealed() -> None:
    assert at_secrets({**PIN, "x-secret": "pin"}, "x", lambda text, name: f"{name}:{text}") == "pin:x"


def test_a_schema_that_leads_to_itself_ends() -> None:
    tree = {"properties": {"pin": PIN, "next": {"$ref": "#"}}}
    assert without_secrets(tree, {"next": {"next": {"pin": "x"}}}) == {"next": {"next": {"pin": "•••"}}}


@pytest.mark.parametrize("schema", [{"type": "integer", "writeOnly": True}, {"writeOnly": True}])
def test_only_a_string_can_be_sealed(schema: dict[str, Any]) -> None:
    assert unsealable({"properties": {"a": schema}}) == schema
    assert unsealable(PIN) is None and unsealable(True) is None
