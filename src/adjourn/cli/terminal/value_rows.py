"""A JSON value as rows a person can check: one leaf a row, typed, whole."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any, cast

from rich.cells import cell_len
from rich.text import Text

from adjourn.cli.terminal.console import wrap
from adjourn.cli.terminal.format import DIM, count, exact
from adjourn.core.files import file_fields
from adjourn.views.visible import hidden, visible

_TYPES = {
    "string": "text",
    "integer": "int",
    "number": "number",
    "boolean": "bool",
    "array": "list",
    "object": "group",
    "null": "null",
}


NAME = 24
"""Columns of a name; a longer one has a line of its own."""
LONG = 10_000
"""Characters of a line that no terminal has: it goes into a pipe, where nothing stands out."""


@dataclass(frozen=True, slots=True)
class ValueRow:
    """One leaf: where it stands, its type's word, and its value."""

    name: str
    type: str
    value: Any


def fields(value: Any, schema: Any = None, name: str = "", root: Any = None) -> Iterator[ValueRow]:
    """The leaves of a value, with the types of its JSON Schema, or else those of the values
    themselves."""
    root = schema if root is None else root
    here = _resolved(schema, root)
    if isinstance(value, Mapping) and value:
        properties = here.get("properties")
        if isinstance(properties, dict):
            known: dict[str, Any] = cast("dict[str, Any]", properties)
        else:
            known = {}
        for key, item in cast("Mapping[str, Any]", value).items():
            label = visible(key) if key else '""'
            yield from fields(item, known.get(key), f"{name}.{label}" if name else label, root)
    elif isinstance(value, list) and value:
        for place, item in enumerate(cast("list[Any]", value)):
            yield from fields(item, here.get("items"), f"{name}[{place}]", root)
    else:
        yield ValueRow(name, type_word(value, here), value)


def type_word(value: Any, schema: Mapping[str, Any]) -> str:
    """What a value is: `text`, `int`, `choice`, …"""
    if "enum" in schema or "const" in schema:
        return "choice"
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int):
        if schema.get("type") == "number":
            return "number"
        return "int"
    if isinstance(value, float):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, list):
        return "list"
    return "group"


def schema_word(schema: Any) -> str:
    """What a schema asks for, in a word where one will do."""
    if not isinstance(schema, dict) or not schema:
        return "any JSON value"
    known = cast("dict[str, Any]", schema)
    if file_fields(known) == [""]:
        return "a file: write its path"
    if "enum" in known:
        return "one of " + ", ".join(map(exact, known["enum"]))
    if set(known) <= {"type", "title", "description"} and known.get("type") in _TYPES:
        return _TYPES[known["type"]]
    return "JSON that fits " + exact(known)


def _resolved(schema: Any, root: Any) -> dict[str, Any]:
    """A schema with a reference inside its own document followed, and with the one branch that is
    not null."""
    for _ in range(8):
        if not isinstance(schema, dict):
            return {}
        known = cast("dict[str, Any]", schema)
        branches = [b for b in known.get("anyOf", ()) if b != {"type": "null"}]
        reference = known.get("$ref")
        if (
            isinstance(reference, str)
            and reference.startswith("#/$defs/")
            and isinstance(root, dict)
        ):
            schema = (
                cast("dict[str, Any]", root)
                .get("$defs", {})
                .get(reference.removeprefix("#/$defs/"))
            )
        elif len(branches) == 1:
            schema = branches[0]
        else:
            return known
    return {}


def rows(found: list[ValueRow], width: int) -> Iterator[Text]:
    """The fields in columns; long values wrap in theirs, and nothing is cut."""
    names = min(NAME, max(map(_size, found), default=0))
    for field in found:
        text = exact(field.value)
        pieces: list[str] = []
        for line in _broken(text):
            pieces += wrap(line, max(20, width - names - 12))
        kinds = [field.type]
        if isinstance(field.value, str) and len(pieces) > 1:
            kinds.append(f"{len(field.value):,} ch")
        if _size(field) > names:
            yield Text(f"  {field.name}", style="bold")
        for place, piece in enumerate(pieces):
            if place == 0 and _size(field) <= names:
                name = field.name
            else:
                name = ""
            kind = kinds[place] if place < len(kinds) else ""
            if type(field.value) is int and abs(field.value) >= 1000:
                aid = f" ({field.value:,})"
            else:
                aid = ""
            yield Text.assemble(
                "  ",
                (name + " " * (names - cell_len(name)), "bold"),
                "  ",
                (f"{kind:<7}", DIM),
                " ",
                marked(piece),
                (aid, DIM),
            )
        if unseen := hidden(field.value) if isinstance(field.value, str) else 0:
            verb = "characters that cannot normally be seen"
            yield Text(
                f"  ! {field.name or 'it'} has {count(unseen, verb.replace('ters', 'ter', 1), verb)}",
                style="red",
            )


def _size(field: ValueRow) -> int:
    """The columns of a field's name, counted as far as they matter."""
    return cell_len(field.name[: NAME + 1])


def marked(text: str) -> Text:
    """A visible text, with what is shown by its name standing out."""
    found = Text(text)
    if "⟨" in text and len(text) < LONG:
        found.highlight_regex(r"⟨U\+[^⟩]*⟩", "red")
    return found


_FEED = "⟨U+000A LINE FEED⟩"


def _broken(text: str) -> list[str]:
    """A new row after every line feed that is shown, so that long texts can be read."""
    parts = text.split(_FEED)
    return [part + _FEED for part in parts[:-1]] + parts[-1:]
