"""The JSON Schema of a function's parameters, made by pydantic, with what a plain schema does not
say.

*Drawn*: a parameter with a `default_factory` (an id, the time) has a new value whenever arguments
are validated. It is drawn once and recorded, and is part of the arguments from then on, so an edit
must give it. *Sets* have no order, so the JSON that is shown gives them one. Importing this module
loads pydantic.
"""

from typing import Any, cast

from pydantic import BaseModel
from pydantic.json_schema import GenerateJsonSchema

from adjourn.bodies.plain_arguments import ArgumentSchema
from adjourn.bodies.secret_types import marked
from adjourn.core.action_digest import canonical
from adjourn.core.schema_document import SchemaDocument, declared

_DRAWN, _SET = "x-adjourn-drawn", "x-adjourn-set"


def argument_schema(model: type[BaseModel]) -> ArgumentSchema:
    """The schemas of a model whose fields are a function's parameters."""
    generator = _Generator(by_alias=True)
    before = marked.set(False)
    try:
        whole = generator.generate(cast("Any", model.__pydantic_core_schema__))
    finally:
        marked.reset(before)
    sets = SchemaDocument(whole) if generator.has_sets else None
    return ArgumentSchema(_cleaned(whole, complete=False), _cleaned(whole, complete=True), sets)


class _Generator(GenerateJsonSchema):
    has_sets = False

    def default_schema(self, schema: Any) -> Any:
        found = super().default_schema(schema)
        if "default_factory" in schema:
            return {**found, _DRAWN: True}
        return found

    def set_schema(self, schema: Any) -> Any:
        self.has_sets = True
        return {**super().set_schema(schema), _SET: True}

    def frozenset_schema(self, schema: Any) -> Any:
        self.has_sets = True
        return {**super().frozenset_schema(schema), _SET: True}


def _cleaned(schema: Any, *, complete: bool) -> Any:
    """Without marks and generated titles (they repeat the names); `complete`: what is drawn is
    required."""
    if isinstance(schema, list):
        return [_cleaned(part, complete=complete) for part in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    found = cast("dict[str, Any]", schema)
    out: dict[str, Any] = {}
    for key, value in found.items():
        if key in ("properties", "$defs") and isinstance(value, dict):
            table = cast("dict[str, Any]", value)
            out[key] = {name: _cleaned(part, complete=complete) for name, part in table.items()}
        elif key not in (_DRAWN, _SET) and (key != "title" or not isinstance(value, str)):
            out[key] = _cleaned(value, complete=complete)
    properties = cast("dict[str, Any]", found.get("properties", {}))
    drawn: list[str] = []
    for name, part in properties.items():
        if isinstance(part, dict) and _DRAWN in part:
            drawn.append(name)
    if complete and drawn:
        out["required"] = [*out.get("required", []), *drawn]
    return out


def in_order(document: SchemaDocument, schema: Any, value: Any) -> Any:
    """`value` with its sets in one order, the same in every process."""
    if not isinstance(value, dict | list):
        return value
    parts = [part for part, _ in document.related(schema)]
    if isinstance(value, dict):
        named = cast("dict[str, Any]", value)
        return {name: _field_in_order(document, parts, name, item) for name, item in named.items()}
    items = cast("list[Any]", value)
    for part in parts:
        if "items" in part:
            items = [in_order(document, part["items"], item) for item in items]
    arrays = [part for part in parts if part.get("type") == "array"]
    if arrays and all(_SET in part for part in arrays):
        return sorted(items, key=canonical)
    return items


def _field_in_order(document: SchemaDocument, parts: list[Any], name: str, item: Any) -> Any:
    for part in parts:
        for inner in declared(part, name):
            item = in_order(document, inner, item)
    return item
