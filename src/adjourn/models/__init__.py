"""Models: messages in, deltas and one reply out. What somebody needs who writes a `Model` of their
own."""

from adjourn.core.messages import (
    Assistant,
    AssistantMessage,
    Delta,
    Message,
    ModelRequest,
    Opaque,
    Reply,
    Result,
    Text,
    TextDelta,
    Thinking,
    ThinkingDelta,
    ToolCall,
    ToolResult,
    ToolSpec,
    User,
    UserMessage,
)
from adjourn.core.usage import Usage
from adjourn.models.model import Model

__all__ = [
    "AssistantMessage",
    "Delta",
    "Message",
    "Model",
    "ModelRequest",
    "Opaque",
    "Reply",
    "Text",
    "TextDelta",
    "Thinking",
    "ThinkingDelta",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "UserMessage",
    # their names in programs that were written before
    "Assistant",
    "Result",
    "User",
]
