"""A step that has failed, as a body notes it before it waits, and as it fails again when the body
runs again."""

import sys
from collections.abc import Sequence
from typing import Any, cast

from adjourn.core.codec import encode, plain, text_of
from adjourn.errors import Misused, NotJSON

LONGEST = 4_000
"""Bytes that are noted of an error beside its text."""


def noted(error: Exception, hidden: Sequence[str], *, quiet: bool) -> dict[str, Any]:
    """An error as it is recorded: its class, and what it says.

    Args:
        error: what the step raised.
        hidden: secrets that it must not say.
        quiet: it says nothing.
    """
    from adjourn.bodies.sealed_arguments import without

    kind = type(error)
    note: dict[str, Any] = {"module": kind.__module__, "name": kind.__qualname__, "args": []}
    whole: object = error
    if isinstance(whole, ExceptionGroup):
        group = cast("ExceptionGroup[Exception]", whole)
        note["group"] = [noted(one, hidden, quiet=quiet) for one in group.exceptions]
        note["message"] = "" if quiet else without(group.message, hidden)[:LONGEST]
    if quiet:
        return note
    text = without(text_of(error), hidden)  # before it is cut: half of a secret would stay
    args, has = without([_arguments(error), _attributes(error)], hidden)
    if len(encode([args, has])) > LONGEST:
        args, has = [text[:LONGEST]], {}
    return {**note, "args": args, "has": has}


def _arguments(error: Exception) -> Any:
    try:
        return plain(list(error.args), "args")
    except NotJSON:
        return [text_of(error)]


def _attributes(error: Exception) -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in vars(error).items():
        try:
            found[name] = plain(value, name)
        except NotJSON:
            continue
    return found


def failed_again(key: str, note: dict[str, Any]) -> Exception:
    """The error of a step that has failed before: of the same class, so that the body goes the same
    way again. Raises `Misused` if this process has no such class.

    Args:
        key: the step's.
        note: as `noted` made it.
    """
    kind: Any = sys.modules.get(note["module"])
    for name in note["name"].split("."):
        kind = getattr(kind, name, None)
    args: list[Any] = note["args"]
    try:
        if not (isinstance(kind, type) and issubclass(kind, Exception)):
            raise TypeError
        if "group" in note:
            return kind(note["message"], [failed_again(key, one) for one in note["group"]])
        # without __init__: it may want more than what is known, or do something
        error = kind.__new__(kind, *args)
    except (TypeError, ValueError, KeyError):
        raise Misused(
            f"step {key!r} has failed with {note['module']}.{note['name']}, "
            f"which this program does not have, or cannot recreate",
            consequence="nothing was done again",
            advice="restore the body that recorded it, and resume",
        ) from None
    error.args = tuple(args)
    vars(error).update(note.get("has", {}))
    return error
