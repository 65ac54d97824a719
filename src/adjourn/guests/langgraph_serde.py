"""What a graph's state is made of, as JSON: only types that are known beforehand, so that reading
it runs no code."""

import base64
import enum
from collections.abc import Callable, Iterable
from dataclasses import fields, is_dataclass
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, cast
from uuid import UUID

import msgspec
from langchain_core import messages as lc
from langchain_core.documents import Document
from langgraph.checkpoint.serde.types import _DeltaSnapshot  # pyright: ignore[reportPrivateUsage]
from langgraph.types import Command, Interrupt, Overwrite, Send
from pydantic import BaseModel

from adjourn.errors import Invalid, InvalidDefinition

MESSAGES: dict[str, type[lc.BaseMessage]] = {
    kind.__name__: kind
    for kind in (
        lc.AIMessage,
        lc.AIMessageChunk,
        lc.ChatMessage,
        lc.FunctionMessage,
        lc.HumanMessage,
        lc.RemoveMessage,
        lc.SystemMessage,
        lc.ToolMessage,
    )
}
TIMES: dict[str, type[Any]] = {"datetime": datetime, "date": date, "time": time}


class RecordedError(Exception):
    """An error of a node, as it was when it was written down."""


class JsonSerde:
    """Values of a graph as JSON and back, for LangGraph's `serde=`. `allow`: classes of your own
    that a state may hold: pydantic models, dataclasses and enums. Anything else is refused when it
    is written, and unknown names when they are read."""

    def __init__(self, allow: Iterable[type[Any]] = ()) -> None:
        self._known: dict[str, type[Any]] = {}
        for kind in allow:
            if not (is_dataclass(kind) or issubclass(kind, BaseModel | enum.Enum)):
                raise InvalidDefinition(
                    f"allow= must be pydantic models, dataclasses and enums, got {kind!r:.80}"
                )
            self._known[_name(kind)] = kind

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        """See `SerializerProtocol`."""
        return "json", msgspec.json.encode(self.plain(obj))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """See `SerializerProtocol`."""
        kind, body = data
        if kind != "json":
            raise Invalid(f"a graph's state is JSON here, not {kind!r:.40}")
        return self.value(msgspec.json.decode(body))

    def plain(self, value: Any) -> Any:
        """A value as JSON. Raises `Invalid` for a type that is not known."""
        if value is None or isinstance(value, bool) or type(value) in (int, str):
            return value
        if isinstance(value, float):
            return _float(value)
        if isinstance(value, enum.Enum):
            return {"$enum": [self._named(value), value.name]}
        if isinstance(value, str):
            return str(value)
        if isinstance(value, lc.BaseMessage):
            return self.message(value)
        if type(value) is list:
            return self.items(cast("list[Any]", value))
        if isinstance(value, dict):
            return self._dict(cast("dict[Any, Any]", value))
        for kind, (tag, write) in _WRITE.items():
            if isinstance(value, kind):
                return {tag: write(self, value)}
        if isinstance(value, BaseModel):
            return {"$model": [self._named(value), self.plain(dict(value))]}
        if is_dataclass(value) and not isinstance(value, type):
            return {"$data": [self._named(value), self.plain(_fields(value))]}
        raise Invalid(
            f"a graph's state holds a {_name(cast('type[Any]', type(value)))}", advice=f"{_ADVICE}"
        )

    def message(self, message: lc.BaseMessage) -> Any:
        """A message as JSON."""
        kind = type(message).__name__
        if MESSAGES.get(kind) is not type(message):
            raise Invalid(
                f"a graph's state holds a message of type {_name(type(message))}",
                advice=f"{_ADVICE}",
            )
        dumped = message.model_dump(exclude_defaults=True)
        dumped.pop("type", None)
        return {"$message": [kind, self.plain(dumped)]}

    def items(self, values: list[Any]) -> Any:
        """A list as JSON."""
        return list(map(self.plain, values))

    def _dict(self, given: dict[Any, Any]) -> Any:
        if all(isinstance(key, str) and not key.startswith("$") for key in given):
            return {key: self.plain(value) for key, value in given.items()}
        return {"$dict": [[self.plain(key), self.plain(value)] for key, value in given.items()]}

    def _named(self, value: Any) -> str:
        name = _name(cast("type[Any]", type(value)))
        if self._known.get(name) is not type(value):
            raise Invalid(f"a graph's state holds a {name}", advice=f"{_ADVICE}")
        return name

    def _kind(self, name: str) -> type[Any]:
        if name not in self._known:
            raise Invalid(
                f"a graph's state holds a {name!r:.200}, which is not allowed here",
                advice=f"{_ADVICE}",
            )
        return self._known[name]

    def value(self, plain: Any) -> Any:
        """What `plain` was made of. Raises `Invalid` for anything that it cannot have been made
        of."""
        if isinstance(plain, list):
            return list(map(self.value, cast("list[Any]", plain)))
        if not isinstance(plain, dict):
            return plain
        given = cast("dict[str, Any]", plain)
        if len(given) != 1 or not next(iter(given), "").startswith("$"):
            return {key: self.value(one) for key, one in given.items()}
        [(tag, body)] = given.items()
        read = _READ.get(tag)
        if read is None:
            raise Invalid(f"a graph's state holds {tag!r:.40}, which is unknown")
        return read(self, body)

    # What `value` reads, by its tag.

    def read_message(self, body: Any) -> lc.BaseMessage:
        """A message."""
        name, fields = body
        if name not in MESSAGES:
            raise Invalid(f"a graph's state holds a message of the unknown kind {name!r:.80}")
        return MESSAGES[name](**self.value(fields))

    def read_enum(self, body: Any) -> Any:
        """A member of an enum that is allowed."""
        name, member = body
        return cast("type[enum.Enum]", self._kind(name))[member]

    def read_model(self, body: Any) -> Any:
        """A pydantic model that is allowed."""
        name, given = body
        return cast("type[BaseModel]", self._kind(name)).model_construct(**self.value(given))

    def read_data(self, body: Any) -> Any:
        """A dataclass that is allowed."""
        name, given = body
        kind = self._kind(name)
        found = object.__new__(kind)
        for key, value in self.value(given).items():
            object.__setattr__(found, key, value)
        return found


_ADVICE = "name its class in allow=[…], or keep it out of the state"


def _name(kind: type[Any]) -> str:
    return f"{kind.__module__}:{kind.__qualname__}"


def _send(serde: JsonSerde, value: Any) -> Any:
    return [value.node, serde.plain(value.arg)]


def _interrupt(serde: JsonSerde, value: Any) -> Any:
    schema: Any = value.response_schema
    if not isinstance(schema, dict):
        schema = None
    return [serde.plain(value.value), value.id, serde.plain(schema)]


def _command(serde: JsonSerde, value: Any) -> Any:
    return serde.plain(_fields(value))


def _fields(value: Any) -> dict[str, Any]:
    """What a dataclass holds, by name."""
    return {field.name: getattr(value, field.name) for field in fields(value)}


def _elements(serde: JsonSerde, value: Any) -> list[Any]:
    return list(map(serde.plain, value))


def _sorted_elements(serde: JsonSerde, value: Any) -> list[Any]:
    """A set in an order that is always the same."""
    return sorted(_elements(serde, value), key=msgspec.json.encode)


_WRITE: dict[type[Any], tuple[str, Callable[[JsonSerde, Any], Any]]] = {
    _DeltaSnapshot: ("$snapshot", lambda serde, value: serde.plain(value.value)),
    tuple: ("$tuple", _elements),
    set: ("$set", _sorted_elements),
    frozenset: ("$frozenset", _sorted_elements),
    list: ("$list", _elements),
    bytes: ("$bytes", lambda serde, value: base64.b64encode(value).decode()),
    datetime: ("$datetime", lambda serde, value: value.isoformat()),
    date: ("$date", lambda serde, value: value.isoformat()),
    time: ("$time", lambda serde, value: value.isoformat()),
    timedelta: ("$timedelta", lambda serde, value: [value.days, value.seconds, value.microseconds]),
    UUID: ("$uuid", lambda serde, value: str(value)),
    Decimal: ("$decimal", lambda serde, value: str(value)),
    Document: (
        "$document",
        lambda serde, value: serde.plain([value.id, value.page_content, value.metadata]),
    ),
    Send: ("$send", _send),
    Interrupt: ("$interrupt", _interrupt),
    Command: ("$command", _command),
    Overwrite: ("$overwrite", lambda serde, value: serde.plain(value.value)),
    BaseException: ("$error", lambda serde, value: repr(value)[:2000]),
}
"""Types that a graph itself puts into its state, and plain Python ones."""


def _document(serde: JsonSerde, body: Any) -> Any:
    id, text, metadata = serde.value(body)
    return Document(id=id, page_content=text, metadata=metadata)


_READ: dict[str, Callable[[JsonSerde, Any], Any]] = {
    "$float": lambda serde, body: float(body),
    "$dict": lambda serde, body: {
        _key(serde.value(key)): serde.value(value) for key, value in body
    },
    "$message": JsonSerde.read_message,
    "$enum": JsonSerde.read_enum,
    "$model": JsonSerde.read_model,
    "$data": JsonSerde.read_data,
    "$tuple": lambda serde, body: tuple(serde.value(body)),
    "$set": lambda serde, body: set(serde.value(body)),
    "$frozenset": lambda serde, body: frozenset(serde.value(body)),
    "$list": lambda serde, body: serde.value(body),
    "$bytes": lambda serde, body: base64.b64decode(body),
    "$datetime": lambda serde, body: datetime.fromisoformat(body),
    "$date": lambda serde, body: date.fromisoformat(body),
    "$time": lambda serde, body: time.fromisoformat(body),
    "$timedelta": lambda serde, body: timedelta(*body),
    "$uuid": lambda serde, body: UUID(body),
    "$decimal": lambda serde, body: Decimal(body),
    "$document": _document,
    "$send": lambda serde, body: Send(body[0], serde.value(body[1])),
    "$interrupt": lambda serde, body: Interrupt(
        serde.value(body[0]), body[1], response_schema=serde.value(body[2])
    ),
    "$command": lambda serde, body: Command(**serde.value(body)),
    "$overwrite": lambda serde, body: Overwrite(serde.value(body)),
    "$snapshot": lambda serde, body: _DeltaSnapshot(serde.value(body)),
    "$error": lambda serde, body: RecordedError(body),
}


def _key(key: Any) -> Any:
    if isinstance(key, list):
        return tuple(cast("list[Any]", key))
    return key


def _float(value: float) -> Any:
    """A number, or what JSON has none for: infinity and what is no number."""
    if value - value == 0:
        return value
    return {"$float": repr(value)}
