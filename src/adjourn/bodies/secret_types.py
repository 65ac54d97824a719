"""Types whose values hide themselves, found anywhere in an annotation.

What is passed to a tool is shown to people and recorded; a value that prints as asterisks can be
neither. (pydantic writes `**********` into JSON, so the tool would get that.)
"""

import typing
from typing import Any, cast


def secret_in(hint: Any) -> str | None:
    """Where a secret is inside of this type (`""` for the type itself, `.field` inside of a class);
    None if there is none."""
    return _search(hint, set())


def _search(hint: Any, seen: set[Any]) -> str | None:
    origin = typing.get_origin(hint)
    if isinstance(origin, type):
        kind = origin
    else:
        kind = hint
    if isinstance(kind, type) and hasattr(kind, "get_secret_value"):
        return ""
    inside = [*typing.get_args(hint), *_behind(hint)]
    for part in inside:
        if not isinstance(part, str | int) and (found := _search(part, seen)) is not None:
            return found
    if not isinstance(kind, type) or kind in seen:
        return None
    seen.add(kind)
    for name, part in _fields(kind).items():
        if (found := _search(part, seen)) is not None:
            return f".{name}{found}"
    return None


def _behind(hint: Any) -> list[Any]:
    """What a name stands for: `NewType`, `type X = …`, the bound of a type variable."""
    found: list[Any] = []
    for name in ("__supertype__", "__value__", "__bound__"):
        part = getattr(hint, name, None)
        if part is not None:
            found.append(part)
    return found


def _fields(kind: Any) -> dict[str, Any]:
    """The fields of a model, a dataclass, a TypedDict or a NamedTuple, with their types."""
    model: Any = getattr(kind, "model_fields", None)
    if isinstance(model, dict):
        return {name: field.annotation for name, field in cast("dict[str, Any]", model).items()}
    if not any(
        hasattr(kind, mark) for mark in ("__dataclass_fields__", "__required_keys__", "_fields")
    ):
        return {}
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except Exception:  # a name that is not defined yet
        return dict(getattr(kind, "__annotations__", {}))
