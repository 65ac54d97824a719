"""What a guest has said and heard: read from the conversation, and kept at hand while the process
lives.

A reply of a guest has in its `details` what its framework added to its own history in that turn,
and no more. So a journal grows by what is new, and any process can put the whole together again.
One that has just spoken need not.
"""

from collections import OrderedDict
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

from pydantic_core import to_json

from adjourn.core.messages import (
    NO_FILES,
    AssistantMessage,
    Message,
    ModelRequest,
    ToolResult,
    UserMessage,
)
from adjourn.guests.guest_files import unstowed

H = TypeVar("H")

KEPT = 256
"""So many conversations of one guest are kept at hand, the latest."""


class HeardHistory(NamedTuple):
    """What came since the guest last spoke: the results of its calls, and what it was told.
    `parts`: if that has files, its texts and the references to them, in order; `files`: the bytes of
    all files of the conversation, by their SHA-256."""

    results: tuple[ToolResult, ...] = ()
    said: str = ""
    parts: tuple[Any, ...] = ()
    files: Mapping[str, bytes] = NO_FILES

    def __bool__(self) -> bool:
        return bool(self.results or self.said)


class HotHistory(Generic[H]):
    """The framework's own histories, by conversation.

    `start` makes an empty one. `add(history, details)` takes in what a recorded reply added, and
    `hear(history, heard)` what came after it; both change the history that they are given.
    """

    def __init__(
        self,
        guest: str,
        start: Callable[[], H],
        add: Callable[[H, dict[str, Any]], None],
        hear: Callable[[H, HeardHistory], None],
    ) -> None:
        self._guest, self._start, self._add, self._hear = guest, start, add, hear
        self._kept: OrderedDict[tuple[str, str], tuple[int, dict[str, Any], H]] = OrderedDict()

    def take(self, request: ModelRequest) -> tuple[H, HeardHistory]:
        """The history up to the guest's last reply, and what it has heard since. The history is the
        caller's to change."""
        kept = self._kept.pop((request.run, request.path), None)
        return self._at_hand(kept, request.messages, request.files)

    def look(
        self, run: str, path: str, messages: Sequence[Message], files: Mapping[str, bytes]
    ) -> H:
        """The history at the guest's last reply. Look, don't touch: it stays where it is."""
        return self._at_hand(self._kept.get((run, path)), messages, files)[0]

    def keep(self, request: ModelRequest, details: dict[str, Any], history: H) -> None:
        """Remember the history as it is once the reply with these details has been recorded behind
        that request."""
        if not request.run:
            return
        self._kept[request.run, request.path] = len(request.messages), details, history
        while len(self._kept) > KEPT:
            self._kept.popitem(last=False)

    def _at_hand(
        self,
        kept: tuple[int, dict[str, Any], H] | None,
        messages: Sequence[Message],
        files: Mapping[str, bytes],
    ) -> tuple[H, HeardHistory]:
        """The history that was kept, if it is that of these messages; else it is read from them."""
        if kept is not None:
            place, details, history = kept
            if place < len(messages) and self._details(messages[place]) == details:
                return history, _heard(messages[place + 1 :], files)
        return self._read(messages, files)

    def _read(
        self, messages: Sequence[Message], files: Mapping[str, bytes]
    ) -> tuple[H, HeardHistory]:
        history = self._start()
        since = 0
        for place, details in self._spoken(messages):
            self._hear(history, _heard(messages[since:place], files))
            self._add(history, unstowed(details, files) if files else details)
            since = place + 1
        return history, _heard(messages[since:], files)

    def _spoken(self, messages: Sequence[Message]) -> Iterator[tuple[int, dict[str, Any]]]:
        for place, message in enumerate(messages):
            if details := self._details(message):
                yield place, details

    def _details(self, message: Message) -> dict[str, Any] | None:
        """What a reply of this guest added; None for anything else."""
        if not isinstance(message, AssistantMessage) or message.details is None:
            return None
        if message.details.get("guest") == self._guest:
            return message.details
        return None


def as_text(value: Any) -> str:
    """An output or a result as a model or a person reads it.

    Args:
        value: what the framework gave, or what was recorded of it.
    """
    if isinstance(value, str):
        return value
    return to_json(value, fallback=str).decode()


def _heard(messages: Sequence[Message], files: Mapping[str, bytes]) -> HeardHistory:
    results = tuple(message for message in messages if isinstance(message, ToolResult))
    said = "\n\n".join(filter(None, map(_told, messages)))
    if not any(isinstance(message, UserMessage) and message.parts for message in messages):
        return HeardHistory(results, said, (), files)
    parts: list[Any] = []
    for message in messages:
        if isinstance(message, UserMessage) and message.parts:
            parts += message.parts
        elif told := _told(message):
            parts.append(told)
    return HeardHistory(results, said, tuple(parts), files)


def _told(message: Message) -> str:
    """What a message tells a guest in its next prompt."""
    if isinstance(message, UserMessage):
        return message.text
    if isinstance(message, AssistantMessage) and message.interrupted and message.text:
        return f"(You were cut off after you had said: {message.text})"
    if isinstance(message, AssistantMessage) and message.text:
        return f"(The assistant before you said: {message.text})"
    return ""
