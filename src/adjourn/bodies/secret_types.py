"""Types whose values hide themselves, found anywhere in an annotation.

What is passed to a tool is shown to people and recorded; a value that prints as asterisks can be
neither. (pydantic writes `**********` into JSON, so the tool would get that.)
"""

import typing
from collections.abc import Callable
from contextvars import ContextVar
from typing import Annotated, Any, cast

import msgspec

marked: ContextVar[bool | None] = ContextVar("adjourn_secrets_are_marked", default=None)
"""Whether a JSON Schema that is made here says what is a secret: that of an answer does. That of a tool
of ours does not, since a model is not told. None: another framework makes it; the mark tells that
the tool has a secret, which nobody would seal."""


class Secret(msgspec.Struct, frozen=True):
    """Marks a tool's parameter, its result, or an answer as a secret: `Annotated[str, Secret()]`.
    It is sealed before it is recorded, shown as `•••` with a digest, and opened for the body alone.

    Args:
        name: for what it is: a value that was sealed under another name is not opened.
        keys: the key ring; else that of `ADJOURN_SECRET_KEYS`.
    """

    name: str = ""
    keys: Any = None

    def ring(self) -> Any:
        """The keys; raises `InvalidDefinition` if there are none."""
        if self.keys is not None:
            return self.keys
        from adjourn.stores.secret_keys import ring_from_environment

        return ring_from_environment()

    def __get_pydantic_json_schema__(
        self, core: Any, handler: Callable[[Any], dict[str, Any]]
    ) -> dict[str, Any]:
        """The schema of what is marked."""
        from adjourn.core.secret_places import MARK, NAME

        made = handler(core)
        if marked.get() is False:
            return made
        if marked.get() and self.keys is not None:
            raise ValueError(
                "the process that takes the answer has only the keys of ADJOURN_SECRET_KEYS"
            )
        return made | {MARK: True} | ({NAME: self.name} if self.name else {})


def secret_mark(hint: Any) -> Secret | None:
    """The mark of a parameter that is a secret itself."""
    if typing.get_origin(hint) is not Annotated:
        return None
    for mark in typing.get_args(hint)[1:]:
        if isinstance(mark, Secret):
            return mark
    return None


def secret_in(hint: Any) -> str | None:
    """Where a secret is inside of this type (`""` for the type itself, `.field` inside of a class);
    None if there is none."""
    return _search(hint, set())


def _search(hint: Any, seen: set[Any]) -> str | None:
    if isinstance(hint, Secret):
        return ""
    origin = typing.get_origin(hint)
    kind = origin if isinstance(origin, type) else hint
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
        found: dict[str, Any] = {}
        for name, field in cast("dict[str, Any]", model).items():
            found[name] = field.annotation
            if field.metadata:
                found[name] = Annotated[field.annotation, *field.metadata]
        return found
    if not any(
        hasattr(kind, mark) for mark in ("__dataclass_fields__", "__required_keys__", "_fields")
    ):
        return {}
    try:
        return typing.get_type_hints(kind, include_extras=True)
    except Exception:  # a name that is not defined yet
        return dict(getattr(kind, "__annotations__", {}))
