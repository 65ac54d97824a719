"""What a model is sent: its exact lines, their digest, and how it differs from the whole
conversation.

A request is written as lines of canonical JSON: one for each message, and a last one with its terms
(instructions, model, settings, tools). Its digest is the SHA-256 of those lines, each with its line
feed, so `sha256sum` can check it too.
"""

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

import msgspec

from adjourn.core.messages import (
    AssistantMessage,
    Message,
    ToolCall,
    ToolResult,
    UserMessage,
    calls_of,
)
from adjourn.core.record_parts import Sent

canonical = msgspec.json.Encoder(order="sorted").encode
"""The same bytes for the same request: also the fields of a message are sorted, so that nothing
depends on how it is declared."""
UNRECORDED = "(not recorded)"
"""In the place of a setting that is not written into a journal: it may hold a password, or is no
JSON."""


def line(message: Message) -> bytes:
    """A message as one line."""
    return canonical(message) + b"\n"


class Terms(msgspec.Struct, frozen=True, dict=True):
    """What a request has beside its messages, as plain JSON."""

    instructions: str = ""
    model: str = ""
    settings: dict[str, Any] | None = None
    tools: list[Any] = []

    @cached_property
    def line(self) -> bytes:
        """The last line of a request."""
        return canonical(msgspec.structs.asdict(self)) + b"\n"

    @cached_property
    def names(self) -> dict[str, str]:
        """What each part is called in a journal: the beginning of its digest."""
        return {key: _name(value) for key, value in self._given()}

    @cached_property
    def bodies(self) -> dict[str, Any]:
        """The parts by those names."""
        return {_name(value): value for _, value in self._given()}

    def _given(self) -> Iterator[tuple[str, Any]]:
        for key, value in msgspec.structs.asdict(self).items():
            if value:
                yield key, value


def _name(value: Any) -> str:
    return hashlib.sha256(canonical(value)).hexdigest()[:16]


def terms_of(names: dict[str, str], bodies: dict[str, Any]) -> Terms | None:
    """The terms that these names stand for; None if one of the parts is not there."""
    if not names or not bodies.keys() >= set(names.values()):
        return None
    return Terms(
        **{key: bodies[name] for key, name in names.items() if key in Terms.__struct_fields__}
    )


class Running(msgspec.Struct, gc=False):
    """The hash over a conversation that only grows. It takes in what came since it was last asked,
    and nothing twice. `count`: so many messages are in it."""

    hashed: Any = msgspec.field(default_factory=hashlib.sha256)
    count: int = 0

    def copy(self) -> "Running":
        """One that goes on by itself from here."""
        return Running(self.hashed.copy(), self.count)

    def digest(self, settled: Sequence[Message], request: Sequence[Message], terms: Terms) -> str:
        """The digest of a request that begins with everything that is `settled`: that part never
        changes again."""
        count = len(settled)
        for message in settled[self.count :]:
            self.hashed.update(line(message))
        self.count = count
        if len(request) > count:
            return _finished(self.hashed.copy(), request[count:], terms)
        return _finished(self.hashed.copy(), (), terms)


class Outgoing:
    """A request on its way. `instruction` gives those of its messages with which a person last said
    what is wanted. `running`: the hash over its conversation. `digest` and `sent` are what a record
    will say of it, also if it is cut off."""

    __slots__ = ("digest", "instruction", "running", "sent")

    def __init__(
        self,
        instruction: Callable[[], tuple[Message, ...]] = tuple,
        running: Running | None = None,
    ) -> None:
        self.instruction, self.running = instruction, running or Running()
        self.digest, self.sent = "", None

    digest: str
    sent: Sent | None


def request_digest(messages: Iterable[Message], terms: Terms) -> str:
    """The digest of a request."""
    return _finished(hashlib.sha256(), messages, terms)


def _finished(hashed: Any, messages: Iterable[Message], terms: Terms) -> str:
    for message in messages:
        hashed.update(line(message))
    hashed.update(terms.line)
    return hashed.hexdigest()


def difference(base: Sequence[Message], sent: Sequence[Message]) -> list[Any]:
    """How `sent` is put together: `[from, to]` is a stretch of `base`, anything else a message as
    it is."""
    lines = list(map(line, base))
    places: dict[bytes, int] = {}
    for place, written in enumerate(lines):
        places.setdefault(written, place)
    found: list[Any] = []
    until = -1  # where the last stretch ends, if the last item is one
    for message in sent:
        written = line(message)
        if 0 <= until < len(lines) and lines[until] == written:
            until += 1
            found[-1][1] = until
        elif (place := places.get(written)) is not None:
            until = place + 1
            found.append([place, until])
        else:
            until = -1
            found.append(msgspec.to_builtins(message))
    return found


def put_together(base: Sequence[Message], items: Sequence[Any]) -> list[Message]:
    """What `difference` took apart."""
    found: list[Message] = []
    for item in items:
        if isinstance(item, list):
            first, until = item  # pyright: ignore[reportUnknownVariableType]
            found.extend(base[first:until])
        else:
            found.append(msgspec.convert(item, Message))
    return found


def unpaired(messages: Sequence[Message]) -> str:
    """What is wrong with the pairs of calls and results, in words; "" if every call has its one
    result right behind it."""
    wanted: list[ToolCall] = []
    for message in messages:
        if isinstance(message, ToolResult):
            places = [call.id for call in wanted]
            if message.call_id not in places:
                return f"the result of {message.tool} ({message.call_id}) has no call before it"
            del wanted[places.index(message.call_id)]
            continue
        if wanted:
            break
        if isinstance(message, AssistantMessage) and not message.interrupted:
            wanted = calls_of(message.parts)
    if wanted:
        return f"the call {wanted[0].tool} ({wanted[0].id}) has no result after it"
    return ""


def groups(messages: Sequence[Message]) -> list[list[Message]]:
    """Messages that belong together: a reply with the results of its calls; any other by itself."""
    found: list[list[Message]] = []
    for message in messages:
        if isinstance(message, ToolResult) and found and not isinstance(found[-1][0], UserMessage):
            found[-1].append(message)
        else:
            found.append([message])
    return found


def tokens(message: Message) -> int:
    """About how many tokens it is: four bytes are one."""
    return len(canonical(message)) // 4 + 1


def recorded(
    names: dict[str, str], terms: Terms, known: dict[str, Any], messages: list[Any] | None
) -> Sent | None:
    """What a record says of its request: only what the records before it do not. `names`: of the
    request before."""
    new = {name: body for name, body in terms.bodies.items() if name not in known}
    changed = terms.names if terms.names != names else {}
    if changed or new or messages is not None:
        return Sent(messages=messages, terms=changed, bodies=new)
    return None
