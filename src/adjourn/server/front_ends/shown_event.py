"""What a person at a front end sees of a run, whatever the front end speaks: events, and the messages
that they add up to."""

from collections.abc import Iterator
from typing import Any, Literal

import msgspec

from adjourn.core.interrupt import Interrupt
from adjourn.core.usage import Usage

MessageRole = Literal["user", "assistant", "reasoning", "tool"]


class Spoken(msgspec.Struct, frozen=True):
    """A person said something to the agent."""

    id: str
    text: str


class TextOpened(msgspec.Struct, frozen=True):
    """A message of the agent begins; `thinking`: it is reasoning."""

    id: str
    thinking: bool = False


class TextAdded(msgspec.Struct, frozen=True):
    """More of it."""

    id: str
    text: str
    thinking: bool = False


class TextClosed(msgspec.Struct, frozen=True):
    """It is complete."""

    id: str
    thinking: bool = False


class TextDropped(msgspec.Struct, frozen=True):
    """It does not count: the model failed and is asked again."""

    id: str
    thinking: bool = False


class CallShown(msgspec.Struct, frozen=True):
    """A call that the agent asks for, in the message `message`."""

    id: str
    message: str
    tool: str
    args: Any


class CallAnswered(msgspec.Struct, frozen=True):
    """The one result of a call, in the message `message`. `error`: why there is none; `denied`: a
    person refused it."""

    id: str
    message: str
    value: Any = None
    error: str = ""
    denied: bool = False


class ItemShown(msgspec.Struct, frozen=True):
    """What a tool's body published."""

    call: str
    item: Any


class PositionReached(msgspec.Struct, frozen=True):
    """Everything of the records up to this number was said."""

    seq: int


class RunRested(msgspec.Struct, frozen=True):
    """The run has ended or waits for people. `interrupts`: what for; `usage`: of what was said here,
    by model."""

    status: str
    seq: int
    output: Any = None
    interrupts: tuple[Interrupt, ...] = ()
    usage: dict[str, Usage] = {}


Shown = (
    Spoken
    | TextOpened
    | TextAdded
    | TextClosed
    | TextDropped
    | CallShown
    | CallAnswered
    | ItemShown
    | PositionReached
)


class ShownMessage(msgspec.Struct):
    """A message as a front end keeps it. `call`: of a result, the call that it is of."""

    id: str
    role: MessageRole
    text: str = ""
    calls: list[CallShown] = []
    call: str = ""
    error: str = ""
    value: Any = None


class ShownMessages:
    """What events add up to."""

    def __init__(self) -> None:
        self._by_id: dict[str, ShownMessage] = {}

    def __iter__(self) -> Iterator[ShownMessage]:
        return iter(self._by_id.values())

    def add(self, event: Shown) -> None:
        """Take in one event."""
        match event:
            case Spoken():
                self._by_id[event.id] = ShownMessage(event.id, "user", event.text)
            case TextOpened():
                role: MessageRole = "reasoning" if event.thinking else "assistant"
                self._by_id[event.id] = ShownMessage(event.id, role)
            case TextAdded():
                self._by_id[event.id].text += event.text
            case TextDropped():
                self._by_id.pop(event.id, None)
            case CallShown():
                new = ShownMessage(event.message, "assistant")
                self._by_id.setdefault(event.message, new).calls.append(event)
            case CallAnswered():
                self._by_id[event.message] = ShownMessage(
                    event.message, "tool", call=event.id, error=event.error, value=event.value
                )
            case _:
                pass
