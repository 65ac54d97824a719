"""What scripted models say about what they read, and what tests look for in a conversation."""

from collections.abc import Sequence

from adjourn.core.messages import AssistantMessage, Message, ToolCall, ToolResult


def results(messages: Sequence[Message]) -> list[object]:
    """What the calls gave, in order."""
    return [m.content for m in messages if isinstance(m, ToolResult)]


def last(messages: Sequence[Message]) -> str:
    """The last result, as text."""
    return str(results(messages)[-1])


def calls(message: Message) -> list[ToolCall]:
    """The calls of a reply."""
    return [p for p in message.parts if isinstance(p, ToolCall)] if isinstance(message, AssistantMessage) else []
