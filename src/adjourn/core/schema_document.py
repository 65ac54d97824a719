"""A JSON Schema as a document: what it refers to, which arguments it knows, which defaults it
gives.

References lead inside of the document only. Everything here is bounded, because a schema may come
from a record.
"""

import copy
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, cast

from adjourn.core.codec import is_equal
from adjourn.core.pattern import InvalidPattern, anywhere

Schema = Mapping[str, Any]

MAX_PARTS = 50_000
"""So many parts of a value are looked at while defaults are filled in."""
MAX_DEPTH = 60

_SINGLE = (
    "additionalProperties",
    "contains",
    "else",
    "if",
    "items",
    "not",
    "propertyNames",
    "then",
    "unevaluatedItems",
    "unevaluatedProperties",
)
_LISTS = ("allOf", "anyOf", "oneOf", "prefixItems")
_TABLES = ("$defs", "definitions", "dependentSchemas", "patternProperties", "properties")
_SHAPES = (
    "$ref",
    "allOf",
    "anyOf",
    "oneOf",
    "properties",
    "patternProperties",
    "additionalProperties",
    "enum",
    "const",
)
"""Keywords that say which properties an object has. A schema with none of them says nothing, so
anything goes."""
_KINDS: dict[type, str] = {str: "string", list: "array", dict: "object"}
_ENCODED = r"%([0-9A-Fa-f]{2})"


class UnknownReference(ValueError):
    """A reference that leads out of the document, or to nothing in it."""


class EndlessDefaults(ValueError):
    """Defaults that call for more defaults, without an end."""


class Unchecked(Exception):
    """The value could not be checked: the schema is wrong, or leads too far."""


class TooMuchWork(Unchecked):
    """More steps than were given."""


def subschemas(schema: Schema) -> Iterator[Any]:
    """The schemas that stand directly inside of this one."""
    for key in _SINGLE:
        if key in schema:
            yield schema[key]
    for key in _LISTS:
        yield from _list(schema.get(key))
    for key in _TABLES:
        yield from _table(schema.get(key)).values()


class SchemaDocument:
    """A schema with everything in it that can be referred to."""

    def __init__(self, root: Any) -> None:
        self.root = root
        self._named: dict[str, Any] | None = None

    def resolve(self, reference: Any) -> Any:
        """The schema that a `$ref` means; raises `UnknownReference`."""
        if reference == "#":
            return self.root
        if isinstance(reference, str) and reference.startswith("#/"):
            return self._pointed_at(reference)
        if self._named is None:
            self._named = dict(_names(self.root))
        if not isinstance(reference, str) or reference not in self._named:
            raise UnknownReference(
                f"{reference!r:.80} is not in the schema; other documents are not followed"
            )
        return self._named[reference]

    def same_value(self, schema: Any) -> list[Schema]:
        """This schema and those that hold for the same value whatever it is: behind `$ref` and
        `allOf`."""
        return [part for part, _ in self._reach(schema, ("allOf",))]

    def related(self, schema: Any) -> list[tuple[Schema, bool]]:
        """This schema and those that may hold for the same value; False for one that only adds to
        another."""
        return self._reach(schema, ("allOf", "anyOf", "oneOf", "then", "else", "dependentSchemas"))

    def admits(
        self, schema: Any, kinds: Sequence[str], values: Sequence[Any] = (), depth: int = MAX_DEPTH
    ) -> bool:
        """Whether a value of these types, or one of these values, may fit, by what `type`, `enum`
        and `const` say; see `may_be`."""
        if not isinstance(schema, dict) or not depth:
            return schema is not False
        found = cast("dict[str, Any]", schema)
        if "type" in found and not any(_admits(found, kind) for kind in kinds):
            return False
        listed = _list(found.get("enum")) + ([found["const"]] if "const" in found else [])
        if listed and not any(_is_one(one, kinds, values) for one in listed):
            return False
        for part in (*_list(found.get("allOf")), self._target(found) if "$ref" in found else True):
            if not self.admits(part, kinds, values, depth - 1):
                return False
        for choices in filter(None, (_list(found.get("anyOf")), _list(found.get("oneOf")))):
            if not any(self.admits(part, kinds, values, depth - 1) for part in choices):
                return False
        return True

    def _reach(self, schema: Any, keys: tuple[str, ...]) -> list[tuple[Schema, bool]]:
        found: dict[int, tuple[Schema, bool]] = {}
        waiting: list[tuple[Any, bool]] = [(schema, True)]
        while waiting:
            part, whole = waiting.pop()
            if not isinstance(part, dict) or id(cast("Any", part)) in found:
                continue
            inner = cast("dict[str, Any]", part)
            found[id(inner)] = (inner, whole)
            if "$ref" in inner:
                waiting.append((self._target(inner), whole))
            for key in keys:
                whole_too = whole and key in ("anyOf", "oneOf")
                for below in _parts_at(inner, key):
                    waiting.append((below, whole_too))
        return list(found.values())

    def _target(self, schema: Schema) -> Any:
        try:
            return self.resolve(schema["$ref"])
        except UnknownReference:
            return None

    def _pointed_at(self, pointer: str) -> Any:
        found: Any = self.root
        for step in pointer.removeprefix("#/").split("/"):
            name = (
                re.sub(_ENCODED, lambda code: chr(int(code[1], 16)), step)
                .replace("~1", "/")
                .replace("~0", "~")
            )
            if isinstance(found, dict) and name in found:
                found = cast("dict[str, Any]", found)[name]
            elif (
                isinstance(found, list)
                and name.isdecimal()
                and int(name) < len(cast("list[Any]", found))
            ):
                found = cast("list[Any]", found)[int(name)]
            else:
                raise UnknownReference(f"{pointer!r:.80} does not exist in the schema")
        return found


def _names(root: Any) -> Iterator[tuple[str, Any]]:
    """What `$id` and `$anchor` name."""
    waiting, seen = [root], set[int]()
    while waiting:
        schema = waiting.pop()
        if not isinstance(schema, dict) or id(cast("Any", schema)) in seen:
            continue
        found = cast("dict[str, Any]", schema)
        seen.add(id(found))
        if isinstance(name := found.get("$id"), str):
            yield name, found
        if isinstance(name := found.get("$anchor"), str):
            yield f"#{name}", found
        waiting += subschemas(found)


def _parts_at(schema: Schema, key: str) -> list[Any]:
    if key in ("then", "else"):
        if key in schema:
            return [schema[key]]
        return []
    if key == "dependentSchemas":
        return list(_table(schema.get(key)).values())
    return _list(schema.get(key))


def _list(value: Any) -> list[Any]:
    if isinstance(value, list):
        return cast("list[Any]", value)
    return []


def _table(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {}


def _is_one(listed: Any, kinds: Sequence[str], values: Sequence[Any]) -> bool:
    """Whether a value that a schema lists is one of these values, or of one of these types."""
    if values:
        return any(is_equal(listed, value) for value in values)
    return not set(kinds).isdisjoint(kinds_of(listed))


def _admits(schema: Schema, kind: str) -> bool:
    """Whether its `type` does not rule this kind out."""
    given: Any = schema.get("type", kind)
    return kind == given or kind in _list(given)


# Arguments


def possible(schema: Any, path: str) -> bool:
    """Whether a value of this schema may have something at this dotted path, as far as the schema
    says so.

    A property that is not declared is possible only where `additionalProperties` is given, or no
    property is declared.
    """
    return bool(_schemas_at(SchemaDocument(schema), path))


def may_be(schema: Any, path: str, kinds: Sequence[str], values: Sequence[Any] = ()) -> bool:
    """Whether what is at this dotted path may be of one of these JSON types, and one of these
    values if there are any. Only types and lists of values are asked.

    Args:
        schema: of the whole.
        path: to the part.
        kinds: names of types, as a schema has them.
        values: plain data; empty: any value of these types.
    """
    document = SchemaDocument(schema)
    return any(document.admits(one, kinds, values) for one in _schemas_at(document, path))


def _schemas_at(document: SchemaDocument, path: str) -> list[Any]:
    """What a document says of a value at this dotted path; True: nothing."""
    schemas: list[Any] = [document.root]
    for name in path.split("."):
        if any(one is True for one in schemas):
            return [True]
        related = list(chain.from_iterable(map(document.related, schemas)))
        if any(whole and _is_open(part) for part, whole in related):
            return [True]
        schemas = list[Any]()
        for part, _ in related:
            schemas += declared(part, name)
    return schemas


def kinds_of(value: Any) -> tuple[str, ...]:
    """The JSON types that plain data has: a whole number has two."""
    if isinstance(value, bool):
        return ("boolean",)
    if isinstance(value, int | float):
        return ("integer", "number") if value == int(value) else ("number",)
    return (_KINDS.get(cast("type[Any]", type(value)), "null"),)


def _is_open(schema: Schema) -> bool:
    """Whether it is an object's, and says nothing about its properties."""
    return _admits(schema, "object") and schema.keys().isdisjoint(_SHAPES)


def declared(schema: Schema, name: str) -> list[Any]:
    """What this schema itself says of the property `name`; nothing if it says that there is
    none."""
    properties = _table(schema.get("properties"))
    found = [properties[name]] if name in properties else []
    for pattern, part in _table(schema.get("patternProperties")).items():
        if _fits(pattern, name):
            found.append(part)
    if not found and "additionalProperties" in schema:
        found.append(schema["additionalProperties"])
    return [part for part in found if part is not False]


def _fits(pattern: str, name: str) -> bool:
    try:
        return anywhere(pattern).fits(name)
    except (InvalidPattern, ValueError):
        return True


def names_of(schema: Any) -> list[str]:
    """The declared arguments, dotted inside of objects, for people who mistyped one."""
    document, found = SchemaDocument(schema), dict[str, Any]()
    level: list[tuple[str, Any]] = [("", schema)]
    for _ in range(3):
        below: list[tuple[str, Any]] = []
        for prefix, one in level[:200]:
            for part, _ in document.related(one):
                for name, inner in _table(part.get("properties")).items():
                    found[f"{prefix}{name}"] = inner
                    below.append((f"{prefix}{name}.", inner))
        level = below
    return list(found)


# Defaults


def filled(schema: Any, value: Any, document: SchemaDocument | None = None) -> Any:
    """`value` with the defaults that its schema gives, at every depth that needs no choice between
    schemas.

    `document`: what the schema is part of, if it is not a whole one. Raises `EndlessDefaults`.
    """
    if document is None and not _has_defaults(schema):
        return value
    return _Filler(document or SchemaDocument(schema)).fill(schema, value, 0)


def _has_defaults(schema: Any) -> bool:
    waiting, seen = [schema], 0
    while waiting and seen <= MAX_PARTS:
        part, seen = waiting.pop(), seen + 1
        if isinstance(part, dict):
            if "default" in part:
                return True
            waiting += subschemas(cast("dict[str, Any]", part))
    return bool(waiting)


class _Filler:
    def __init__(self, document: SchemaDocument) -> None:
        self._document = document
        self._left = MAX_PARTS

    def fill(self, schema: Any, value: Any, depth: int) -> Any:
        self._left -= 1
        if self._left < 0 or depth > MAX_DEPTH:
            raise EndlessDefaults(
                "the defaults of the schema are endless, or the value is too large for them"
            )
        if not isinstance(schema, dict):
            return value
        if isinstance(value, dict):
            return self._object(self._parts(schema, "object"), cast("dict[str, Any]", value), depth)
        if isinstance(value, list):
            return self._list(self._parts(schema, "array"), cast("list[Any]", value), depth)
        return value

    def _object(self, parts: list[Schema], value: dict[str, Any], depth: int) -> dict[str, Any]:
        out = dict(value)
        for part in parts:
            for name, inner in _table(part.get("properties")).items():
                defaults = self._defaults(inner) if name not in out else []
                if defaults:
                    out[name] = copy.deepcopy(defaults[0])
        return {name: self._field(parts, name, item, depth) for name, item in out.items()}

    def _field(self, parts: list[Schema], name: str, item: Any, depth: int) -> Any:
        for part in parts:
            for inner in declared(part, name):
                item = self.fill(inner, item, depth + 1)
        return item

    def _list(self, parts: list[Schema], value: list[Any], depth: int) -> list[Any]:
        out = list(value)
        for part in parts:
            first, rest = _list(part.get("prefixItems")), part.get("items")
            for place, item in enumerate(out):
                out[place] = self.fill(
                    first[place] if place < len(first) else rest, item, depth + 1
                )
        return out

    def _defaults(self, schema: Any) -> list[Any]:
        found: list[Any] = []
        for part in self._document.same_value(schema):
            if "default" in part:
                found.append(part["default"])
        return found

    def _parts(self, schema: Any, kind: str) -> list[Schema]:
        """What holds for a value of this kind: of `anyOf` and `oneOf` the branch that alone can be
        one."""
        parts = self._document.same_value(schema)
        for part in tuple(parts):
            for key in ("anyOf", "oneOf"):
                branches = [branch for branch in _list(part.get(key)) if self._may_be(branch, kind)]
                if len(branches) == 1:
                    parts += self._document.same_value(branches[0])
        return parts

    def _may_be(self, schema: Any, kind: str) -> bool:
        return schema is not False and all(
            _admits(part, kind) for part in self._document.same_value(schema)
        )
