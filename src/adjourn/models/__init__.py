"""Models: messages in, deltas and one reply out. What somebody needs who writes a `Model` of their
own."""

from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from adjourn.models.background_model import BackgroundModel, ResponseEnd, background
    from adjourn.models.prices import Price

__all__ = [
    "AssistantMessage",
    "BackgroundModel",
    "Delta",
    "Message",
    "Model",
    "ModelRequest",
    "Opaque",
    "Price",
    "Reply",
    "ResponseEnd",
    "Text",
    "TextDelta",
    "Thinking",
    "ThinkingDelta",
    "ToolCall",
    "ToolResult",
    "ToolSpec",
    "Usage",
    "UserMessage",
    "background",
    # their names in programs that were written before
    "Assistant",
    "Result",
    "User",
]


def __getattr__(name: str) -> Any:
    """Prices and background mode are loaded by those who use them."""
    if name in ("BackgroundModel", "ResponseEnd", "background"):
        from adjourn.models import background_model

        return getattr(background_model, name)
    if name == "Price":
        from adjourn.models.prices import Price

        return Price
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
