"""What goes to a model and what comes back, in our own words, so that a journal outlives any
provider library."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from adjourn.core.usage import Usage

NO_FILES: Mapping[str, bytes] = MappingProxyType[str, bytes]({})
"""What a request has whose messages have no files."""
FOUND = "found_tool"
"""In the details of a call: what was found out about its tool, where that was not known beforehand.
It is not for providers."""


class Part(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, kw_only=True):
    """Whatever a provider needs to get back unchanged travels in `details`; nobody else looks at
    it."""

    details: dict[str, Any] | None = None


class Text(Part, frozen=True, omit_defaults=True, kw_only=True, tag="text"):
    """Text of the model.

    Attributes:
        details: what the provider wants to see again.
        text: the text.
    """

    text: str


class Thinking(Part, frozen=True, omit_defaults=True, kw_only=True, tag="thinking"):
    """Reasoning that the provider wants to see again.

    Attributes:
        details: its signature and the like.
        text: the reasoning.
    """

    text: str = ""


class ToolCall(Part, frozen=True, omit_defaults=True, kw_only=True, tag="call"):
    """A call that the model asks for.

    Attributes:
        details: what the provider wants to see again.
        id: the provider's id of the call.
        tool: the tool's name.
        args: a dict, or the raw string if it was not a JSON object.
    """

    id: str
    tool: str
    args: Any = {}


class Opaque(Part, frozen=True, omit_defaults=True, kw_only=True, tag="opaque"):
    """A part only its own provider understands (`details` holds it whole); other providers leave it
    out."""


class FilePart(Part, frozen=True, omit_defaults=True, kw_only=True, tag="file"):
    """A file that the model made: an image, audio.

    Attributes:
        details: what the provider wants to see again.
        file: the reference to it: its SHA-256 as `$file`, `type`, `size`, perhaps `name`.
    """

    file: dict[str, Any]


ReplyPart = Text | Thinking | ToolCall | Opaque | FilePart


def text_of(parts: Iterable[ReplyPart]) -> str:
    """All words of a reply, without thinking and calls."""
    return "".join(part.text for part in parts if isinstance(part, Text))


def calls_of(parts: Iterable[ReplyPart]) -> list[ToolCall]:
    """The calls that a reply asks for, in order."""
    return [part for part in parts if isinstance(part, ToolCall)]


class Reply(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One complete answer of a model.

    Attributes:
        parts: text, reasoning and calls, in order.
        usage: tokens and cost of this call.
        model: the model's name.
        details: what the provider wants to see again.
    """

    parts: tuple[ReplyPart, ...] = ()
    usage: Usage = Usage()
    model: str = ""
    details: dict[str, Any] | None = None

    @property
    def text(self) -> str:
        """All its words, without thinking and calls."""
        return text_of(self.parts)

    @property
    def calls(self) -> tuple[ToolCall, ...]:
        """The calls it asks for, in order."""
        return tuple(calls_of(self.parts))


class UserMessage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="user"):
    """What the agent was told: the input, a message, an instruction, a correction.

    Attributes:
        text: the text, in which files are described.
        parts: if it has files: its texts and the references to its files, in order.
    """

    text: str
    parts: tuple[Any, ...] = ()


class AssistantMessage(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="assistant"):
    """A reply as it stands in the conversation.

    Attributes:
        parts: text, reasoning and calls, in order.
        model: the model's name.
        details: what the provider wants to see again.
        interrupted: it was cut off, and has no calls.
    """

    parts: tuple[ReplyPart, ...] = ()
    model: str = ""
    details: dict[str, Any] | None = None
    interrupted: bool = False

    @property
    def text(self) -> str:
        """All its words."""
        return text_of(self.parts)


class ToolResult(msgspec.Struct, frozen=True, omit_defaults=True, gc=False, tag="result"):
    """The result of a call, as the model reads it. Exactly one for every call, in call order.

    Attributes:
        call_id: the call's id.
        tool: its name.
        content: the result.
        error: whether it failed, was denied or expired.
        files: the references to files in it.
    """

    call_id: str
    tool: str
    content: Any = None
    error: bool = False
    files: tuple[Any, ...] = ()


Message = UserMessage | AssistantMessage | ToolResult

# Their names in programs that were written before.
User = UserMessage
Assistant = AssistantMessage
Result = ToolResult


class ToolSpec(msgspec.Struct, frozen=True):
    """A tool as a model sees it.

    Attributes:
        name: the name to call.
        description: what it does.
        schema: a JSON Schema of its arguments.
    """

    name: str
    description: str
    schema: dict[str, Any]


class ModelRequest(msgspec.Struct, frozen=True):
    """One request to a model.

    Attributes:
        messages: a view of the conversation: read it, slice it, or copy it into a list.
        instructions: the agent's instructions.
        tools: the tools that it may call.
        settings: model settings.
        index: how many model calls of this conversation came before, failed ones included.
        run, path, session: the run that asks, the nested agent in it, and the run's session.
        files: the bytes of the files in the messages, by their SHA-256.
    """

    messages: Sequence[Message]
    instructions: str = ""
    tools: tuple[ToolSpec, ...] = ()
    settings: dict[str, Any] | None = None
    index: int = 0
    run: str = ""
    path: str = ""
    session: str = ""
    files: Mapping[str, bytes] = NO_FILES


class TextDelta(msgspec.Struct, frozen=True):
    """A piece of text as it arrives.

    Attributes:
        text: the piece.
    """

    text: str


class ThinkingDelta(msgspec.Struct, frozen=True):
    """A piece of reasoning as it arrives.

    Attributes:
        text: the piece.
    """

    text: str


Delta = TextDelta | ThinkingDelta


def messages_from(plain_messages: list[Any]) -> list[Message]:
    """Messages out of their JSON form; raises `msgspec.ValidationError`."""
    return msgspec.convert(plain_messages, list[Message])


def has_files(message: Message) -> bool:
    """Whether a message has files."""
    if isinstance(message, AssistantMessage):
        return FilePart in map(type, message.parts)
    if isinstance(message, UserMessage):
        return bool(message.parts)
    return bool(message.files)


def files_in(messages: Iterable[Message]) -> Iterator[dict[str, Any]]:
    """The references to files in messages, in order. References that a model wrote into arguments
    are none. A transcript knows where it has some."""
    known = getattr(messages, "files", None)
    if known is not None:
        yield from known()
        return
    for message in messages:
        if isinstance(message, UserMessage):
            for part in message.parts:
                if not isinstance(part, str):
                    yield part
        elif isinstance(message, ToolResult):
            yield from message.files
        else:
            for part in message.parts:
                if isinstance(part, FilePart):
                    yield part.file


def is_only_named(ref: dict[str, Any], messages: Iterable[Message]) -> bool:
    """Whether nothing but results of tools refers to this file. What a tool reads elsewhere may look
    like a reference: if no such file is there, it is text like any other.

    Args:
        ref: the reference.
        messages: the conversation.
    """
    for message in messages:
        if not isinstance(message, ToolResult) and ref in files_in((message,)):
            return False
    return True
