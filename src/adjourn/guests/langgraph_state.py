"""A graph's state between two replies, written into the journal by what is new of it.

The graph saves its state into a saver that lives in this process. What it saved in one turn is the
reply's `details`; put into an empty saver one after the other, they give the state again anywhere.
Each message is written once: values refer to it.
"""

from collections.abc import Iterable, Sequence
from typing import Any, cast

import msgspec
from langchain_core.messages import BaseMessage
from langgraph.checkpoint.memory import InMemorySaver

from adjourn.core.messages import ModelRequest
from adjourn.errors import Invalid
from adjourn.guests.langgraph_serde import JsonSerde

THREAD = "adjourn"
"""The one thread of a conversation's saver."""


class PooledSerde(JsonSerde):
    """JSON in which a message is the number of its place in a pool, and a list of messages the
    stretches of them."""

    def __init__(self, allow: Iterable[type[Any]] = ()) -> None:
        super().__init__(allow)
        self.pool: list[Any] = []
        self._places: dict[bytes, int] = {}

    def extend(self, messages: Sequence[Any]) -> None:
        """Take in messages as they are written in a journal."""
        for message in messages:
            self._places.setdefault(msgspec.json.encode(message), len(self.pool))
            self.pool.append(message)

    def message(self, message: BaseMessage) -> Any:
        return {"$at": self._place(message)}

    def items(self, values: list[Any]) -> Any:
        if not values or not all(isinstance(value, BaseMessage) for value in values):
            return super().items(values)
        stretches: list[list[int]] = []
        for place in map(self._place, values):
            if stretches and stretches[-1][1] == place:
                stretches[-1][1] = place + 1
            else:
                stretches.append([place, place + 1])
        return {"$stretches": stretches}

    def _place(self, message: BaseMessage) -> int:
        written = super().message(message)
        key = msgspec.json.encode(written)
        if key not in self._places:
            self.extend([written])
        return self._places[key]

    def value(self, plain: Any) -> Any:
        given = cast("dict[str, Any]", plain) if isinstance(plain, dict) else {}
        if len(given) == 1 and "$at" in given:
            return self._read([given["$at"]])[0]
        if len(given) == 1 and "$stretches" in given:
            places: list[int] = []
            for first, until in given["$stretches"]:
                places += range(first, until)
            return self._read(places)
        return super().value(plain)

    def _read(self, places: Iterable[int]) -> list[Any]:
        try:
            return [super(PooledSerde, self).value(self.pool[place]) for place in places]
        except IndexError:
            raise Invalid("a graph's state refers to a message that was not recorded") from None


class GraphState(InMemorySaver):
    """The saver of one conversation. `waits`: the interrupts of the graph that have not been
    answered."""

    def __init__(self, allow: Iterable[type[Any]] = (), serde: JsonSerde | None = None) -> None:
        self.pooled = PooledSerde(allow)
        super().__init__(serde=serde or self.pooled)  # pyright: ignore[reportUnknownMemberType]
        self.waits: list[dict[str, Any]] = []
        self._said = 0
        self._known: set[tuple[str, ...]] = set()

    def get_next_version(self, current: Any, channel: None = None) -> Any:
        """Plain numbers: the ones of the base class are long, and random."""
        return (current or 0) + 1

    def news(self) -> dict[str, Any]:
        """What was saved since this was last asked, as JSON."""
        found: dict[str, Any] = {"checkpoints": [], "writes": [], "blobs": []}
        for ns, checkpoints in self.storage[THREAD].items():
            for id, (checkpoint, metadata, parent) in checkpoints.items():
                if self._is_new("checkpoint", ns, id):
                    found["checkpoints"].append(
                        [ns, id, _json(checkpoint), _json(metadata), parent]
                    )
        for (_, ns, id), writes in self.writes.items():
            for (task, number), (_, channel, value, path) in writes.items():
                if self._is_new("write", ns, id, task, str(number)):
                    found["writes"].append([ns, id, task, number, channel, _json(value), path])
        for (_, ns, channel, version), value in self.blobs.items():
            if self._is_new("blob", ns, channel, str(version)):
                found["blobs"].append([ns, channel, version, _json(value)])
        found["messages"] = self.pooled.pool[self._said :]
        self._said = len(self.pooled.pool)
        return {key: value for key, value in found.items() if value}

    async def load(self) -> None:
        """Read what has to be read elsewhere, once all replies were taken in."""

    async def save(self, request: ModelRequest) -> dict[str, Any]:
        """What a reply's details say of what was saved in this turn."""
        return self.news()

    def forget(self) -> None:
        """All that is here is new."""
        self._known.clear()

    def _is_new(self, *key: str) -> bool:
        if key in self._known:
            return False
        self._known.add(key)
        return True

    def add(self, news: dict[str, Any]) -> None:
        """Take in what another process saved in one turn."""
        self.pooled.extend(news.get("messages", ()))
        for ns, id, checkpoint, metadata, parent in news.get("checkpoints", ()):
            self.storage[THREAD][ns][id] = (_typed(checkpoint), _typed(metadata), parent)
        for ns, id, task, number, channel, value, path in news.get("writes", ()):
            self.writes[THREAD, ns, id][task, number] = (task, channel, _typed(value), path)
        for ns, channel, version, value in news.get("blobs", ()):
            self.blobs[THREAD, ns, channel, version] = _typed(value)
        self.news()  # it is known from now on


def _json(typed: tuple[str, bytes]) -> Any:
    kind, body = typed
    if kind == "empty":
        return None
    return [msgspec.json.decode(body)]


def _typed(plain: Any) -> tuple[str, bytes]:
    if plain is None:
        return ("empty", b"")
    return ("json", msgspec.json.encode(plain[0]))
