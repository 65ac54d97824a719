"""JSON Schema: how answers and edits are checked by a process that has no program, only the record."""

from typing import Any

from adjourn.errors import InvalidAnswer, InvalidDefinition


def check(schema: dict[str, Any] | bool | None, value: Any, what: str) -> None:
    """Raise `InvalidAnswer`, naming the place, if `value` does not fit. References to other documents are not followed."""
    if schema is None or schema is True:
        return
    from jsonschema import Draft202012Validator  # heavy: loaded with the first schema
    from referencing import Registry

    validator = Draft202012Validator(schema, registry=Registry())  # pyright: ignore[reportUnknownVariableType, reportArgumentType]
    try:
        found = next(iter(validator.iter_errors(value)), None)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType, reportUnknownArgumentType]
    except Exception as e:
        raise InvalidAnswer(
            f"{what} cannot be checked against its schema ({type(e).__name__}: {e}); nothing was recorded"
        ) from None
    if found is not None:
        where = "".join(f"[{p!r}]" for p in found.absolute_path)  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        raise InvalidAnswer(f"{what}{where}: {found.message[:300]}; nothing was recorded, the question stays open")  # pyright: ignore[reportUnknownMemberType]


def check_schema(schema: dict[str, Any], what: str) -> None:
    """Raise `InvalidDefinition` if this is not a JSON Schema."""
    from jsonschema import Draft202012Validator, SchemaError

    try:
        Draft202012Validator.check_schema(schema)  # pyright: ignore[reportUnknownMemberType]
    except SchemaError as e:
        raise InvalidDefinition(f"{what} is not a valid JSON Schema: {e.message}") from None  # pyright: ignore[reportUnknownMemberType]


def filled(schema: Any, value: Any) -> Any:
    """`value` with the defaults of its schema's properties, at every depth that needs no choice between schemas."""
    if not isinstance(schema, dict) or not isinstance(value, dict):
        return value
    out: dict[str, Any] = dict(value)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    for name, part in schema.get("properties", {}).items():  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
        if name in out:
            out[name] = filled(part, out[name])
        elif isinstance(part, dict) and "default" in part:
            out[name] = part["default"]
    return out
