"""Where an answer is a secret: its JSON Schema says `writeOnly` there."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any, cast

from adjourn.core.schema_document import Schema, SchemaDocument, subschemas

MARK = "writeOnly"
"""The keyword of JSON Schema for what is given and never shown."""
NAME = "x-secret"
"""For what a secret is: the name under which it is sealed."""
SHOWN = "•••"
"""In the place of a secret."""

_LOOKS_SEALED = re.compile(r"••• [0-9a-f]{8} \[")

Change = Callable[[Any, str], Any]
"""From a secret and the name under which it is sealed to what takes its place. A secret that fits
its schema is a string."""


def has_secrets(schema: Any) -> bool:
    """Whether an answer of this schema may hold a secret."""
    return any(part.get(MARK) is True for part in _parts(schema))


def unsealable(schema: Any) -> Schema | None:
    """A secret of this schema that is no string, if there is one: only strings are sealed."""
    for part in _parts(schema):
        if part.get(MARK) is True and part.get("type") != "string":
            return part
    return None


def marked_properties(schema: Any) -> dict[str, str]:
    """The properties of an object that are secrets and can be sealed, each with the name under which
    it is: strings without a default."""
    found: dict[str, str] = {}
    for key, part in cast("dict[str, Any]", schema.get("properties") or {}).items():
        if isinstance(part, dict):
            known = cast("dict[str, Any]", part)
            if known.get(MARK) is True and known.get("type") == "string" and "default" not in known:
                found[key] = str(known.get(NAME, ""))
    return found


def at_secrets(schema: Any, value: Any, change: Change) -> Any:
    """The value, with every secret in it changed. A place that any branch of the schema marks is
    one."""
    return _changed(SchemaDocument(schema), [schema], value, change)


def without_secrets(schema: Any, value: Any) -> Any:
    """The value as people may read it."""
    return at_secrets(schema, value, lambda text, name: SHOWN)


def _parts(schema: Any) -> list[Schema]:
    """This schema and all inside of it."""
    found: list[Schema] = []
    waiting = [schema]
    while waiting:
        part = waiting.pop()
        if isinstance(part, dict):
            known = cast("dict[str, Any]", part)
            found.append(known)
            waiting += subschemas(known)
    return found


def _changed(document: SchemaDocument, schemas: Sequence[Any], value: Any, change: Change) -> Any:
    if value is None or not schemas:
        return value
    parts: list[Schema] = []
    for schema in schemas:
        parts += [part for part, _ in document.related(schema)]
    for part in parts:
        if part.get(MARK) is True:
            return change(value, str(part.get(NAME, "")))
    if isinstance(value, list):
        changed: list[Any] = []
        for place, item in enumerate(cast("list[Any]", value)):
            changed.append(_changed(document, _items(parts, place), item, change))
        return changed
    if not isinstance(value, dict):
        return value
    found: dict[str, Any] = {}
    for key, item in cast("dict[str, Any]", value).items():
        found[key] = _changed(document, _properties(parts, key), item, change)
    return found


def _items(parts: Sequence[Schema], place: int) -> list[Any]:
    found: list[Any] = []
    for part in parts:
        found += [part[key] for key in ("items", "contains", "unevaluatedItems") if key in part]
        first: object = part.get("prefixItems")
        if isinstance(first, list):
            found += cast("list[Any]", first)[place : place + 1]
    return found


def _properties(parts: Sequence[Schema], key: str) -> list[Any]:
    """The schemas that may hold for a property: also those of patterns, whether they match or
    not."""
    found: list[Any] = []
    for part in parts:
        found += [
            part[name] for name in ("additionalProperties", "unevaluatedProperties") if name in part
        ]
        declared = part.get("properties")
        if isinstance(declared, Mapping) and key in declared:
            found.append(cast("Mapping[str, Any]", declared)[key])
        patterns = part.get("patternProperties")
        if isinstance(patterns, Mapping):
            found += cast("Mapping[str, Any]", patterns).values()
    return found


def looks_sealed(value: Any) -> bool:
    """Whether it is a string that begins as a sealed value does."""
    return isinstance(value, str) and _LOOKS_SEALED.match(value) is not None


def has_sealed(value: Any) -> bool:
    """Whether there is such a string anywhere in this JSON."""
    if isinstance(value, dict):
        return any(map(has_sealed, cast("dict[str, Any]", value).values()))
    if isinstance(value, list):
        return any(map(has_sealed, cast("list[Any]", value)))
    return looks_sealed(value)
