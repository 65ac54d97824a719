"""A graph's state between two replies, kept in the thread of a saver; the journal says which
checkpoints count.

The graph runs on a saver that lives in this process, as without one of its own. What it saved in
one turn goes into the thread in one transaction, and the reply's `details` name it: so the journal
is never behind its own state. What a worker wrote that died before its reply was recorded is in the
thread, and nobody's state is read from it. A worker that is not alone any more writes nothing.
"""

from collections.abc import Iterable
from typing import Any
from uuid import uuid4

import msgspec

from adjourn.core.messages import ModelRequest
from adjourn.errors import ModelError
from adjourn.guests.langgraph_saver import (
    DELTAS,
    AdjournSaver,
    KeptCheckpoint,
    KeptWrite,
    checkpoint_row,
    key,
    value_key,
)
from adjourn.guests.langgraph_state import THREAD, GraphState
from adjourn.stores.guest_threads import ThreadChange, ThreadRow

Named = tuple[str, str]
"""Namespace and id of a checkpoint."""


def thread_of(request: ModelRequest) -> str:
    """The id of the thread in which a run's graph keeps its state: the run's."""
    if not request.run:
        return f"conversation-{uuid4()}"
    if request.path:
        return f"{request.run}/{request.path}"
    return request.run


class KeptState(GraphState):
    """See `GraphState`. `thread`: where its state is, of the saver's threads."""

    def __init__(self, saver: AdjournSaver) -> None:
        super().__init__(serde=saver.json)
        self._saver = saver
        self.thread, self._version = "", 0
        self._listed: dict[Named, str] = {}
        self._runs: dict[str, None] = {}
        self._written: dict[Named, list[str]] = {}
        self._loaded = True

    def get_next_version(self, current: Any, channel: None = None) -> Any:
        """See `AdjournSaver.get_next_version`."""
        return self._saver.get_next_version(current)

    def add(self, news: dict[str, Any]) -> None:
        """See `GraphState.add`. The rows themselves are read by `load`."""
        for ns, id in news["checkpoints"]:
            self._listed[ns, id] = news["thread"]
        self._runs[news["run"]] = None
        for ns, id, task, number in news["writes"]:
            self._written.setdefault((ns, id), []).append(key("w", ns, id, task, str(number)))
        self.thread, self._loaded = news["thread"], False

    async def load(self) -> None:
        """See `GraphState.load`: the last checkpoint of each namespace, and what it is put together
        of."""
        if self._loaded:
            return
        self._version = await self._saver.threads.version(key(self.thread))
        latest = dict(sorted(self._listed))
        for ns, id in latest.items():
            wanted: str | None = id
            lacking: set[str] | None = None
            while wanted is not None and (ns, wanted) in self._listed:
                kept = await self._load_one(ns, wanted)
                if kept is None:
                    break
                if lacking is None:
                    lacking = set(self._saver.json.value(kept.metadata).get(DELTAS) or ())
                lacking -= kept.values.keys()
                wanted = kept.parent if lacking else None
        self.news()  # it is known from now on
        self._loaded = True

    async def _load_one(self, ns: str, id: str) -> KeptCheckpoint | None:
        thread = self._listed[ns, id]
        where, threads = key(thread), self._saver.threads
        found = await threads.named(where, [key("c", ns, id)])
        if not found and not ns:
            raise ModelError(
                f"checkpoint {id} of thread {thread!r:.80} is no longer in the saver's store",
                transient=False,
            )
        if not found:
            return None  # a subgraph that has ended, and was pruned
        kept = msgspec.json.decode(found[0].body, type=KeptCheckpoint)
        names = {value_key(ns, name, version): name for name, version in kept.values.items()}
        for row in await threads.named(where, list(names)):
            name = names[row.key]
            self.blobs[THREAD, ns, name, kept.values[name]] = ("json", row.body)
        for row in await threads.named(where, self._written.get((ns, id), [])):
            write = msgspec.json.decode(row.body, type=KeptWrite)
            value = ("json", msgspec.json.encode(write.value))
            place = write.task, write.number
            self.writes[THREAD, ns, id][place] = write.task, write.channel, value, write.path
        told = ("json", msgspec.json.encode(kept.metadata))
        body = ("json", msgspec.json.encode(kept.checkpoint))
        self.storage[THREAD][ns][id] = body, told, kept.parent
        return kept

    async def save(self, request: ModelRequest) -> dict[str, Any]:
        """See `GraphState.save`: one transaction of the saver's store."""
        if not self.thread or (request.run and self.thread != thread_of(request)):
            self.thread = thread_of(request)
            self._version = await self._saver.threads.version(key(self.thread))
            self.forget()  # another run's state, or none: all of it belongs into this thread
        news = self.news()
        also = tuple(run for run in self._runs if run not in ("", request.run))
        rows = list(self._rows(news))
        change = ThreadChange(put=rows, at=self._version, run=request.run, also=also)
        self._version = await self._saver.threads.change(key(self.thread), change)
        if not self._version:
            raise ModelError(
                f"another process has written thread {self.thread!r:.80} while the graph ran",
                transient=True,
            )
        return {
            "thread": self.thread,
            "run": request.run,
            "checkpoint_id": max(self.storage[THREAD][""], default=""),
            "checkpoints": [[ns, id] for ns, id, *_ in news.get("checkpoints", ())],
            "writes": [one[:4] for one in news.get("writes", ())],
        }

    def _rows(self, news: dict[str, Any]) -> Iterable[ThreadRow]:
        for ns, id, checkpoint, metadata, parent in news.get("checkpoints", ()):
            values: dict[str, Any] = {}
            for name, version in checkpoint[0]["channel_versions"].items():
                if self.blobs.get((THREAD, ns, name, version), ("empty",))[0] != "empty":
                    values[name] = version
            yield checkpoint_row(ns, id, KeptCheckpoint(checkpoint[0], metadata[0], parent, values))
        for ns, id, task, number, channel, value, path in news.get("writes", ()):
            write = KeptWrite(task, number, channel, path, value[0])
            yield ThreadRow(key("w", ns, id, task, str(number)), msgspec.json.encode(write))
        for ns, channel, version, value in news.get("blobs", ()):
            if value is not None:
                body = msgspec.json.encode(value[0])
                yield ThreadRow(value_key(ns, channel, version), body)
