"""Summaries: when one is due, what its model is asked, and what stands in the place of what it
covers. All of it pure."""

from collections.abc import Sequence

from adjourn.core.codec import encode
from adjourn.core.files import described, parts_of, parts_text
from adjourn.core.messages import (
    AssistantMessage,
    FilePart,
    Message,
    Text,
    ToolCall,
    ToolResult,
    UserMessage,
)
from adjourn.core.record_parts import Summary
from adjourn.core.thread import Thread

RESULT = 2000
"""So many characters of a tool's result are shown to whoever summarises."""


def covered(thread: Thread, after: int, keep: int) -> int:
    """How many messages the next summary is to cover; 0 while none is due.

    It is due when more than `after` messages are not covered by the one before. The last `keep`
    stay as they are, and a reply stays with the results of its calls. Only the transcript counts,
    which does not change while a model is at work.
    """
    old = thread.summary.covers if thread.summary else 0
    if len(thread.transcript) - old <= after:
        return 0
    cut = len(thread.transcript) - keep
    while cut > old and isinstance(thread.transcript[cut], ToolResult):
        cut -= 1
    return cut if cut > old else 0


def question(thread: Thread, covers: int) -> UserMessage:
    """What the summarising model reads: the summary before, and what came since."""
    old, said = thread.summary, thread.transcript.need()
    lines = [f"The summary so far:\n{old.text}\n\nWhat came since:"] if old else []
    lines += map(_told, said[old.covers if old else 0 : covers])
    return UserMessage("\n".join(lines))


def _told(message: Message) -> str:
    if isinstance(message, UserMessage):
        return f"User: {message.text}"
    if isinstance(message, ToolResult):
        if isinstance(message.content, str):
            content = message.content
        elif message.files:
            content = parts_text(parts_of(message.content))
        else:
            content = encode(message.content).decode()
        if len(content) > RESULT:
            cut = f"{content[:RESULT]} … ({len(content)} characters)"
        else:
            cut = content
        return f"Result of {message.tool}: {cut}"
    return "\n".join(_spoken(message)) or "Assistant: (nothing)"


def _spoken(message: AssistantMessage) -> list[str]:
    found: list[str] = []
    for part in message.parts:
        if isinstance(part, Text) and part.text:
            found.append(f"Assistant: {part.text}")
        elif isinstance(part, FilePart):
            found.append(f"Assistant: {described(part.file)}")
        elif isinstance(part, ToolCall):
            found.append(f"Assistant calls {part.tool}: {encode(part.args).decode()}")
    return found


def shortened(
    messages: Sequence[Message], summary: Summary | None, instruction: Sequence[Message]
) -> Sequence[Message]:
    """A conversation with the summary in the place of what it covers. What a person last wanted
    stays in their own words."""
    if summary is None:
        return messages
    wanted = set(map(id, instruction))
    kept = [message for message in messages[: summary.covers] if id(message) in wanted]
    return (
        UserMessage(f"Summary of the conversation so far:\n{summary.text}"),
        *kept,
        *messages[summary.covers :],
    )
