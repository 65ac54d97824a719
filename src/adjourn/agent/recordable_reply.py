"""A model's reply as a journal can hold it."""

import logging
from collections.abc import Iterable
from typing import Any

import msgspec

from adjourn.core.codec import encode, legible, plain
from adjourn.core.messages import FilePart, Opaque, Reply, ReplyPart, Text, Thinking, ToolCall
from adjourn.core.usage import Usage
from adjourn.errors import ModelError, NotJSON

log = logging.getLogger("adjourn.agent")

_COUNTED = tuple(map(type, msgspec.structs.astuple(Usage())))
MOST_USED = 10**12
"""No call uses more than that, whatever a provider says: sums of it fit every store."""


def recordable(reply: Reply, model: str) -> Reply:
    """A model's reply as JSON can hold it: arguments that are no JSON stay as text, which no tool
    accepts; strings of another class become strings.

    Raises `ModelError`, which names the model and the part, for whatever cannot be recorded.
    """
    try:
        parts: list[ReplyPart] = []
        for number, part in enumerate(reply.parts):
            parts.append(_recordable(part, f"parts[{number}]"))
        return Reply(
            _once(parts),
            _usage(reply.usage),
            _string(reply.model, "model") or model,
            _details(reply, "details"),
        )
    except NotJSON as error:
        raise ModelError(
            f"{model} gave a reply that cannot be recorded: {error}", kind="unrecordable"
        ) from error


def _once(parts: Iterable[ReplyPart]) -> tuple[ReplyPart, ...]:
    """Without the calls that a provider sent twice: the same id, the same tool, the same
    arguments."""
    kept: list[ReplyPart] = []
    seen: set[tuple[str, str, bytes]] = set()
    for part in parts:
        if isinstance(part, ToolCall) and part.id:
            key = (part.id, part.tool, encode(part.args))
            if key in seen:
                log.warning(
                    "a reply contains the call %r of %s twice with the same arguments: counted as one call",
                    part.id,
                    part.tool,
                )
                continue
            seen.add(key)
        kept.append(part)
    return tuple(kept)


def _recordable(part: Any, place: str) -> ReplyPart:
    if type(part) is Text and not part.details and type(part.text) is str and part.text.isascii():
        return part  # as nearly always; nobody can change it
    if not isinstance(part, Text | Thinking | ToolCall | Opaque | FilePart):
        raise NotJSON(place, f"a value of type {type(part).__name__}")
    details = _details(part, f"{place}.details")
    if isinstance(part, Text | Thinking):
        text = _string(part.text, f"{place}.text")
        return msgspec.structs.replace(part, text=text, details=details)
    if isinstance(part, FilePart):
        return FilePart(file=plain(part.file, f"{place}.file"), details=details)
    if isinstance(part, Opaque):
        return msgspec.structs.replace(part, details=details)
    try:
        args = plain(part.args, "arguments")
    except NotJSON:
        args = repr(part.args)
    return ToolCall(
        id=_string(part.id, f"{place}.id"),
        tool=_string(part.tool, f"{place}.tool"),
        args=args,
        details=details,
    )


def _details(owner: Any, place: str) -> dict[str, Any] | None:
    if not owner.details:
        return None
    details = plain(owner.details, place)
    if not isinstance(details, dict):
        raise NotJSON(place, f"a value of type {type(owner.details).__name__}")
    return details  # pyright: ignore[reportUnknownVariableType]


def _string(value: Any, place: str) -> str:
    if not isinstance(value, str):
        raise NotJSON(place, f"a value of type {type(value).__name__}")
    if type(value) is not str:
        value = str.__str__(value)  # a subclass may say something else of itself
    return legible(value)


def _usage(usage: Any) -> Usage:
    if not isinstance(usage, Usage):
        raise NotJSON("usage", f"a value of type {type(usage).__name__}")
    kinds = tuple(map(type, msgspec.structs.astuple(usage)))
    if type(usage) is Usage and kinds == _COUNTED and _is_counted(usage):
        return usage  # as nearly always
    try:
        counted = plain(msgspec.structs.asdict(usage), "usage")
        return _bounded(msgspec.convert(counted, Usage))
    except msgspec.ValidationError as error:
        raise NotJSON("usage", str(error)) from None


def _is_counted(usage: Usage) -> bool:
    return (
        0 <= usage.input_tokens <= MOST_USED
        and 0 <= usage.output_tokens <= MOST_USED
        and 0 <= usage.cache_read_tokens <= MOST_USED
        and 0 <= usage.requests <= MOST_USED
        and 0 <= usage.cost <= MOST_USED
    )


def _bounded(usage: Usage) -> Usage:
    """What can be added up and stored: nothing is used less than not at all, or a limit would grow
    by it."""
    return Usage(
        min(max(usage.requests, 0), MOST_USED),
        min(max(usage.input_tokens, 0), MOST_USED),
        min(max(usage.output_tokens, 0), MOST_USED),
        min(max(usage.cache_read_tokens, 0), MOST_USED),
        min(max(usage.cost, 0.0), float(MOST_USED)),
        usage.estimated,
    )
