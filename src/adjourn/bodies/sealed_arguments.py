"""Secrets among arguments: sealed before a call is recorded, opened for its body, and taken out of
what the body says."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import wraps
from typing import Any, cast

import msgspec

from adjourn.bodies.secret_types import Secret
from adjourn.bodies.signature import ArgumentError
from adjourn.bodies.tool_context import current_context
from adjourn.core.codec import encode, text_of
from adjourn.core.files import File, FileRef, described
from adjourn.core.records import Fact
from adjourn.core.secret_places import has_secrets, looks_sealed
from adjourn.errors import AdjournError, InDoubt, Invalid, InvalidDefinition, ToolFailed
from adjourn.stores.secret_keys import SEALED, ring_from_environment

HIDDEN = "•••"
_SAYS = ("value", "error", "why", "payload", "changes", "emits")
"""The fields of a fact in which a body says something."""
SHORTEST = 4
"""Shorter values are not looked for in what a body says: they would be found everywhere."""
_TEXTS = ("text/", "application/json")
"""How the types of files begin that stay what they are without a part of their text."""


def sealed_schema(schema: dict[str, Any], secrets: Mapping[str, Secret]) -> dict[str, Any]:
    """A schema of arguments in which secrets must be sealed: an edit in clear does not fit."""
    properties = dict(schema.get("properties", {}))
    for name in secrets:
        properties[name] = {**properties[name], "pattern": SEALED}
    return {**schema, "properties": properties}


def only_sealed(schema: dict[str, Any], secrets: Mapping[str, Secret]) -> dict[str, Any]:
    """A schema of arguments as they are recorded: of a secret it says only that it is sealed. What
    else it says holds for the opened one."""
    properties = dict(schema["properties"])
    for name in secrets:
        properties[name] = {"type": "string", "pattern": SEALED}
    return {**schema, "properties": properties}


def check_marks(tool: str, schema: dict[str, Any], secrets: Mapping[str, Secret]) -> None:
    """Raise `InvalidDefinition` for a given schema that marks what is not sealed.

    Args:
        tool: the tool's name.
        schema: of its arguments.
        secrets: what is sealed: properties that are strings.
    """
    if has_secrets({**schema, "properties": _others(schema, secrets)}):
        raise InvalidDefinition(
            f"tool {tool!r}: its schema marks a secret (writeOnly) that cannot be sealed",
            advice="mark properties of the arguments themselves that are strings and have no default",
        )
    for name, mark in secrets.items():
        try:
            mark.ring()
        except InvalidDefinition as error:
            raise InvalidDefinition(
                f"tool {tool!r}: {name!r} is a Secret: {error.what}", advice=error.advice
            ) from None


def _others(schema: dict[str, Any], secrets: Mapping[str, Secret]) -> dict[str, Any]:
    return {
        name: part for name, part in schema.get("properties", {}).items() if name not in secrets
    }


def unseal(value: str, name: str = "") -> str:
    """What was sealed with `seal(value, name)`, with the keys of `ADJOURN_SECRET_KEYS`. In the body
    of a tool or a chunk it is taken out of what the body says: of its result, its errors and its
    questions. Raises `Invalid` for what was not sealed, sealed for something else, or with a key
    that is not here.

    Args:
        value: the sealed value.
        name: for what it is.
    """
    opened = ring_from_environment().open(value, name)
    context = current_context()
    if context is not None:
        context.hidden.append(opened)
    return opened


def sealed_arguments(args: Any, secrets: Mapping[str, Secret]) -> tuple[Any, list[str]]:
    """Arguments as they are recorded, and what was sealed of them. What cannot be taken apart is
    not recorded at all."""
    if not isinstance(args, dict):
        return f"{HIDDEN} arguments that are no JSON object", [str(args)]
    found = dict(cast("dict[str, Any]", args))
    taken: list[str] = []
    for name, mark in secrets.items():
        value = found.get(name)
        if value is None or is_sealed(value, mark):
            continue
        if isinstance(value, str):
            text = value
        else:
            text = encode(value).decode()
        taken.append(text)
        found[name] = mark.ring().seal(text, mark.name)
    return found, taken


def is_sealed(value: Any, mark: Secret) -> bool:
    """Whether it is a value that was sealed for this, with a key that is here."""
    if not looks_sealed(value):
        return False
    try:
        mark.ring().open(value, mark.name)
    except Invalid:
        return False
    return True


def opened_arguments(args: Mapping[str, Any], secrets: Mapping[str, Secret]) -> dict[str, Any]:
    """Arguments for a body; raises `ArgumentError` for a secret that cannot be opened."""
    found = dict(args)
    for name, mark in secrets.items():
        if found.get(name) is None:
            continue
        try:
            found[name] = mark.ring().open(found[name], mark.name)
        except Invalid as error:
            raise ArgumentError(f"{name}: {error.what}") from None
    return found


def without(value: Any, hidden: Sequence[str]) -> Any:
    """JSON without these strings, wherever they stand in it, also in the files that it carries."""
    if isinstance(value, FileRef):
        return _file_without(value, hidden)
    if isinstance(value, str):
        for secret in hidden:
            if len(secret) >= SHORTEST:
                value = value.replace(secret, HIDDEN)
        return value
    if isinstance(value, list | tuple):
        return [without(part, hidden) for part in cast("Sequence[Any]", value)]
    if isinstance(value, dict):
        parts = cast("dict[Any, Any]", value)
        return {without(key, hidden): without(part, hidden) for key, part in parts.items()}
    return value


def _file_without(ref: FileRef, hidden: Sequence[str]) -> Any:
    """A file without these strings. One that has them among its bytes and is no text is left out:
    it would not be that file any more."""
    if ref.data is None:  # the store has it
        return without(dict(ref), hidden)
    data, name = ref.data, without(ref.get("name", ""), hidden)
    for secret in hidden:
        if len(secret) >= SHORTEST:
            data = data.replace(secret.encode(errors="surrogatepass"), HIDDEN.encode())
    if data == ref.data and name == ref.get("name", ""):
        return ref
    if data != ref.data and not ref["type"].startswith(_TEXTS):
        return f"{HIDDEN} a file that contains a secret was left out: {without(described(ref), hidden)}"
    return File(data, ref["type"], name).ref


def shielded(function: Callable[..., Any], hidden: Sequence[str]) -> Callable[..., Any]:
    """The function, whose errors and results do not say these strings."""
    if inspect.iscoroutinefunction(function):

        @wraps(function)
        async def shielded_async(*args: Any, **named: Any) -> Any:
            try:
                return _clean(await function(*args, **named), hidden)
            except Exception as error:
                raise unsaying(error, hidden) from None

        return shielded_async

    @wraps(function)
    def shielded_sync(*args: Any, **named: Any) -> Any:
        try:
            return _clean(function(*args, **named), hidden)
        except Exception as error:
            raise unsaying(error, hidden) from None

    return shielded_sync


def _clean(value: Any, hidden: Sequence[str]) -> Any:
    if isinstance(value, str | list | tuple | dict):
        return without(value, hidden)
    return value


def unsaying(error: Exception, hidden: Sequence[str]) -> Exception:
    """The error as it is, or one of the same consequence that does not say a secret. Neither has
    the frames of the body, where its variables are."""
    text = text_of(error)
    clean = without(text, hidden)
    if clean == text and isinstance(error, AdjournError | TimeoutError):
        return error
    if isinstance(error, InDoubt):
        return InDoubt(clean)
    if isinstance(error, ToolFailed):
        return ToolFailed(clean)
    return ToolFailed(f"{type(error).__name__}: {clean}")


def fact_without(fact: Fact, hidden: Sequence[str]) -> Fact:
    """What a body has come to, which does not say these strings."""
    said = {name: getattr(fact, name) for name in _SAYS if hasattr(fact, name)}
    return msgspec.structs.replace(
        fact, **{name: without(part, hidden) for name, part in said.items()}
    )
