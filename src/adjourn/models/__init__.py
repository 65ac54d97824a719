"""Models: messages in, deltas and one reply out. What somebody needs who writes a `Model` of their own."""

from adjourn.core.messages import (
    Assistant,
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
    ToolSpec,
    Usage,
    User,
)
from adjourn.models.model import Model

__all__ = [
    "Assistant", "Delta", "Message", "Model", "ModelRequest", "Opaque", "Reply", "Result", "Text", "TextDelta", "Thinking", "ThinkingDelta",
    "ToolCall", "ToolSpec", "Usage", "User",
]  # fmt: skip
