"""The reference of the views is made from their structs: `python -m tests.docs.test_views` writes it again."""

import inspect
from pathlib import Path
from typing import Any

import msgspec

from adjourn.views.api_answers import ANSWERS, schemas

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "views.md"
PREFIX = "#/components/schemas/"
HEAD = """# Views

What people and programs see of runs. The API answers with these structs, `--json` of the command line prints them, Python gives them
(`run.state()`, `rt.runs()`, `run.audit()`), the stream of changes carries them, and the console's types are made of them. So a
field has one name everywhere. Every field is always there: a missing string is empty, a missing number or object is null. Times are
seconds since 1970, durations seconds.

This page is made from the structs.
"""


def page() -> str:
    """The whole page."""
    found = schemas()
    order = [*(struct.__name__ for struct in ANSWERS), *(name for name in found)]
    parts = [HEAD, *(_section(name, found[name]) for name in dict.fromkeys(order))]
    return "\n".join(parts)


def _section(name: str, schema: dict[str, Any]) -> str:
    text = inspect.cleandoc(schema.get("description", ""))
    if "enum" in schema:
        listed = ", ".join(f"`{value}`" if value else "an empty string" for value in schema["enum"])
        return f"## {name}\n\n{text}\n\nOne of {listed}.\n"
    rows = [f"| `{field}` | {_type(kind)} |" for field, kind in schema["properties"].items()]
    return "\n".join([f"## {name}", "", text, "", "| field | type |", "|---|---|", *rows, ""])


def _type(schema: dict[str, Any]) -> str:
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(PREFIX)
        return f"[{name}](#{name.lower()})"
    if "anyOf" in schema:
        return " or ".join(_type(one) for one in schema["anyOf"])
    if "enum" in schema:
        return "one of " + ", ".join(f"`{value}`" for value in schema["enum"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if schema.get("type") == "object" and schema.get("additionalProperties"):
        return f"object of {_type(schema['additionalProperties'])}"
    return str(schema.get("type", "any JSON value"))


def test_the_reference_says_what_the_structs_are() -> None:
    assert PAGE.read_text("utf-8") == page(), "write it again: python -m tests.docs.test_views"


def test_every_view_says_what_it_is_and_has_no_default() -> None:
    for struct in ANSWERS:
        assert struct.__doc__, struct
        assert [field.name for field in msgspec.structs.fields(struct) if not field.required] == [], struct


if __name__ == "__main__":
    PAGE.write_text(page(), "utf-8")
