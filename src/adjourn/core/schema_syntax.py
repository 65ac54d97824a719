"""The syntax of JSON Schema 2020-12: the types of values, and what each keyword may say in a
schema."""

import re
from collections.abc import Callable
from typing import Any, TypeGuard

# Kinds of values


def is_number(value: Any) -> TypeGuard[int | float]:
    return isinstance(value, int | float) and not isinstance(value, bool)


def is_integer(value: Any) -> bool:
    return is_number(value) and (isinstance(value, int) or value.is_integer())


def is_object(value: Any) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict)


def is_array(value: Any) -> TypeGuard[list[Any]]:
    return isinstance(value, list)


def is_text(value: Any) -> TypeGuard[str]:
    return isinstance(value, str)


TYPES: dict[str, Callable[[Any], bool]] = {
    "array": is_array,
    "boolean": lambda x: isinstance(x, bool),
    "integer": is_integer,
    "null": lambda x: x is None,
    "number": is_number,
    "object": is_object,
    "string": is_text,
}


# What a keyword may say


def _is_schema(said: Any) -> bool:
    return isinstance(said, dict | bool)


def _is_schemas(said: Any) -> bool:
    return is_array(said) and bool(said) and all(map(_is_schema, said))


def _is_table(said: Any) -> bool:
    return is_object(said) and all(map(_is_schema, said.values()))


def _is_count(said: Any) -> bool:
    return is_integer(said) and said >= 0


def _is_factor(said: Any) -> bool:
    return is_number(said) and said > 0


def _is_names(said: Any) -> bool:
    return is_array(said) and all(map(is_text, said)) and len(set(said)) == len(said)


def _is_name_table(said: Any) -> bool:
    return is_object(said) and all(map(_is_names, said.values()))


def _is_type(said: Any) -> bool:
    if is_text(said):
        return said in TYPES
    return _is_names(said) and bool(said) and all(name in TYPES for name in said)


def _is_bool(said: Any) -> bool:
    return isinstance(said, bool)


def _is_anchor(said: Any) -> bool:
    return is_text(said) and re.fullmatch(r"[A-Za-z_][-A-Za-z0-9._]*", said) is not None


_A_SCHEMA = (_is_schema, "a schema: an object, true or false")
_SCHEMAS = (_is_schemas, "a list of schemas, at least one")
_TABLE = (_is_table, "an object whose values are schemas")
_COUNT = (_is_count, "an integer of at least 0")
_NUMBER = (is_number, "a number")
_TEXT = (is_text, "a string")

SAYS: dict[str, tuple[Callable[[Any], bool], str]] = {
    "type": (_is_type, f"one or several of {', '.join(TYPES)}"),
    "enum": (is_array, "a list"),
    "multipleOf": (_is_factor, "a number greater than 0"),
    "uniqueItems": (_is_bool, "true or false"),
    "required": (_is_names, "a list of strings without duplicates"),
    "$anchor": (_is_anchor, "a name that begins with a letter or '_'"),
    "dependentRequired": (_is_name_table, "an object whose values are lists of strings"),
    **dict.fromkeys(("minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"), _NUMBER),
    **dict.fromkeys(
        ("minLength", "maxLength", "minItems", "maxItems", "minProperties", "maxProperties"), _COUNT
    ),
    **dict.fromkeys(("minContains", "maxContains"), _COUNT),
    **dict.fromkeys(
        ("properties", "patternProperties", "dependentSchemas", "$defs", "definitions"), _TABLE
    ),
    **dict.fromkeys(("additionalProperties", "propertyNames", "unevaluatedProperties"), _A_SCHEMA),
    **dict.fromkeys(
        ("items", "contains", "unevaluatedItems", "not", "if", "then", "else"), _A_SCHEMA
    ),
    **dict.fromkeys(("prefixItems", "allOf", "anyOf", "oneOf"), _SCHEMAS),
    **dict.fromkeys(("pattern", "format", "title", "description", "$ref", "$id", "$schema"), _TEXT),
}
"""By keyword: whether what it says makes sense, and what would."""
