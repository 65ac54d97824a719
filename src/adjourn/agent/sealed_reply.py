"""Secrets in a model's reply: sealed before it is recorded."""

from collections.abc import Mapping

import msgspec

from adjourn.agent.tool import Tool
from adjourn.bodies.sealed_arguments import sealed_arguments, without
from adjourn.core.messages import FilePart, Opaque, Reply, ReplyPart, Text, Thinking, ToolCall


def sealed_reply(tools: Mapping[str, Tool], reply: Reply) -> Reply:
    """The reply with the secrets among its arguments sealed, and taken out of everything else in
    it."""
    taken: list[str] = []
    sealed: list[ReplyPart] = []
    for part in reply.parts:
        if isinstance(part, ToolCall) and part.tool in tools and tools[part.tool].secrets:
            args, found = sealed_arguments(part.args, tools[part.tool].secrets)
            part = msgspec.structs.replace(part, args=args)
            taken += found
        sealed.append(part)
    if not taken:
        return msgspec.structs.replace(reply, parts=tuple(sealed))
    parts = tuple(_without(part, taken) for part in sealed)
    return msgspec.structs.replace(reply, parts=parts, details=without(reply.details, taken))


def _without(part: ReplyPart, taken: list[str]) -> ReplyPart:
    details = without(part.details, taken)
    if isinstance(part, Text | Thinking):
        return msgspec.structs.replace(part, text=without(part.text, taken), details=details)
    if isinstance(part, Opaque | FilePart):
        return msgspec.structs.replace(part, details=details)
    return msgspec.structs.replace(part, args=without(part.args, taken), details=details)
