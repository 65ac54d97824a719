"""Parameters that are plain texts, numbers and truths: described and read without pydantic, which
takes longer to load than all else.

Whatever is not that plain, in the signature or in the arguments, goes pydantic's way; for what is,
both say the same.
"""

import inspect
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

from adjourn.core.schema_document import SchemaDocument

NOTHING: dict[str, Any] = {"type": "object", "properties": {}, "additionalProperties": False}
WORDS: dict[Any, str] = {str: "string", int: "integer", bool: "boolean", float: "number"}
LARGEST = 2**63
"""Whole numbers from here on are left to pydantic."""


class ArgumentSchema(NamedTuple):
    """`told`: to a model. `complete`: with what is drawn among the required, for edits. `sets`:
    with marks, if it has any."""

    told: dict[str, Any]
    complete: dict[str, Any]
    sets: SchemaDocument | None


class PlainArguments(NamedTuple):
    """The types of the parameters in their order, and the defaults of those that may be left
    out."""

    types: dict[str, type]
    defaults: dict[str, Any]

    @classmethod
    def of(
        cls, parameters: Mapping[str, inspect.Parameter], hints: Mapping[str, Any]
    ) -> "PlainArguments | None":
        """The parameters of a function, if all of them are plain."""
        types, defaults = dict[str, type](), dict[str, Any]()
        for name, parameter in parameters.items():
            hint = hints.get(name, parameter.annotation)
            if not isinstance(hint, type) or hint not in WORDS:
                return None
            types[name] = hint
            if parameter.default is not parameter.empty:
                if not _is_exactly(parameter.default, hint):
                    return None
                defaults[name] = parameter.default
        return cls(types, defaults)

    def schema(self, described: Mapping[str, str]) -> ArgumentSchema:
        """As pydantic would make it, to the byte."""
        properties: dict[str, Any] = {}
        for name, kind in self.types.items():
            if name in self.defaults:
                default = {"default": self.defaults[name]}
            else:
                default = {}
            if name in described:
                description = {"description": described[name]}
            else:
                description = {}
            properties[name] = {**default, **description, "type": WORDS[kind]}
        required = [name for name in self.types if name not in self.defaults]
        found: dict[str, Any] = {"additionalProperties": False, "properties": properties}
        if required:
            found |= {"required": required}
        else:
            found |= {}
        found |= {"type": "object"}
        return ArgumentSchema(found, found, None)

    def read(self, args: Mapping[str, Any]) -> dict[str, Any] | None:
        """All arguments, in order. None if one is missing, unknown, or not exactly of its type."""
        if not args.keys() <= self.types.keys():
            return None
        found: dict[str, Any] = {}
        for name, kind in self.types.items():
            found[name] = args[name] if name in args else self.defaults.get(name)
            if not _is_exactly(found[name], kind):
                return None
        return found


def _is_exactly(value: Any, kind: type) -> bool:
    if type(value) is not kind:
        return False
    if kind is str:
        return value.isascii() or _is_text(value)
    if kind is int:
        return -LARGEST <= value < LARGEST
    return kind is bool or math.isfinite(value)


def _is_text(value: str) -> bool:
    try:
        value.encode()
    except UnicodeEncodeError:  # half of a pair
        return False
    return True
