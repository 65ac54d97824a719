"""LangGraph's checkpoints in a store of ours: rows of JSON, of types that are allowed.

A checkpoint is a row; the value of a channel is a row that all checkpoints share which have that
version of it; a pending write is a row. Reading them builds nothing but messages, plain values and
the classes that were named, and imports nothing.
"""

# LangGraph's own types are unknown in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import asyncio
import secrets
import threading
from collections.abc import (
    AsyncIterator,
    Callable,
    Collection,
    Coroutine,
    Iterable,
    Iterator,
    Sequence,
)
from functools import partial
from typing import Any, TypeVar, cast
from urllib.parse import quote, unquote

import msgspec
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    get_checkpoint_metadata,
    writes_sort_key,
)

from adjourn.errors import Invalid, InvalidDefinition, StoreError
from adjourn.guests.langgraph_serde import JsonSerde
from adjourn.runtime.pruner import Span, kept_for
from adjourn.stores.address import open_store
from adjourn.stores.guest_threads import ThreadChange, ThreadRow
from adjourn.stores.protocol import Store
from adjourn.stores.run_keys import encrypt_with
from adjourn.stores.sealed_threads import SealedThreads
from adjourn.stores.secret_keys import KeyRing

PAGE = 50
"""Checkpoints that are read at once."""
SWEEP = 60.0
"""Seconds between two looks for threads that have lived long enough."""
SWEPT = 100
"""So many threads are deleted by one look at most."""
DELTAS = "counters_since_delta_snapshot"
"""In the metadata: the channels whose value is put together of older checkpoints."""

Found = TypeVar("Found")
Doomed = Callable[[dict[str, ThreadRow]], set[str]]
"""Which checkpoints of a thread are to be deleted, of all its rows by key."""


class KeptCheckpoint(msgspec.Struct):
    """What stands in a checkpoint's row. `values`: the version of each channel that has a value."""

    checkpoint: dict[str, Any]
    metadata: dict[str, Any]
    parent: str | None
    values: dict[str, Any]


class KeptWrite(msgspec.Struct):
    """What stands in a write's row."""

    task: str
    number: int
    channel: str
    path: str
    value: Any


def key(*parts: str) -> str:
    """The key of a row, or how keys begin: printable ASCII, and parts cannot run into each other."""
    try:
        return "/".join(quote(part, safe="") for part in parts)
    except UnicodeEncodeError:
        raise Invalid(f"{parts[1:]!r:.200} cannot be a thread, namespace, channel or id") from None


def value_key(ns: str, channel: str, version: Any) -> str:
    """The key of a channel's value."""
    return key("v", ns, channel, str(version))


def checkpoint_row(ns: str, id: str, kept: KeptCheckpoint) -> ThreadRow:
    """The row of a checkpoint; it is found by the run that made it."""
    tag = str(kept.metadata.get("run_id", ""))
    return ThreadRow(key("c", ns, id), _bytes(kept), key(tag))


class Place(msgspec.Struct, frozen=True):
    """Where a configuration points: the thread as it is in the store and as it was said, the
    namespace, and a checkpoint or ""."""

    thread: str
    title: str
    ns: str
    id: str


class LoopThread:
    """An event loop in a thread of its own, for callers that have none. It begins with its first
    use, and ends with the process."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None

    def wait(self, work: Coroutine[Any, Any, Found]) -> Found:
        """What `work` gives."""
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                name = "adjourn-langgraph-saver"
                threading.Thread(target=self._loop.run_forever, name=name, daemon=True).start()
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


class AdjournSaver(BaseCheckpointSaver[str]):
    """A checkpointer for LangGraph graphs, in a store: `graph.compile(checkpointer=AdjournSaver(…))`.

    Asynchronous and synchronous alike, safe with many processes on the store. `prune`,
    `copy_thread`, `delete_thread` and `delete_for_runs` are there. A state holds messages, plain
    Python values and the classes in `allow`; anything else is refused when it is written and when
    it is read.
    """

    def __init__(
        self,
        store: Store | str,
        *,
        allow: Iterable[type[Any]] = (),
        ttl: Span | None = None,
        encrypt: KeyRing | bool | None = None,
    ) -> None:
        """Keep checkpoints in a store.

        Args:
            store: a store, or an address as `Runtime` takes it; a store that is opened here is
                closed by `aclose`.
            allow: classes that a state may hold: pydantic models, dataclasses and enums.
            ttl: threads that were not written for so long are deleted, when others are written:
                "30d", or a timedelta. A thread that belongs to a run is left to the retention of runs.
            encrypt: as that of `Runtime`: a key ring, or True for that of `ADJOURN_SECRET_KEYS`; left
                out, as `ADJOURN_ENCRYPT` says. A thread that begins then has a key of its own; that
                of an encrypted run has the run's.
        """
        self.json = JsonSerde(allow)
        super().__init__(serde=self.json)
        if not isinstance(store, str) and not hasattr(store, "guest_threads"):
            raise InvalidDefinition(
                "AdjournSaver takes a store, or an address such as 'sqlite:///adjourn.db', "
                f"got {store!r:.80}"
            )
        self._opened = isinstance(store, str)
        self.store = open_store(store) if isinstance(store, str) else store
        encrypt_with(self.store, encrypt)
        self.threads = SealedThreads(self.store)
        self._ttl = None if ttl is None else kept_for(ttl, "ttl=")
        if self._ttl is not None and self._ttl <= 0:
            raise InvalidDefinition("ttl must be greater than 0: leave it out to keep all")
        self._swept = 0.0
        self._thread = LoopThread()

    async def aclose(self) -> None:
        """Close the store, if it was opened here."""
        if self._opened:
            await self.store.close()

    async def __aenter__(self) -> "AdjournSaver":
        return self

    async def __aexit__(self, *error: object) -> None:
        await self.aclose()

    def with_allowlist(self, extra_allowlist: Collection[tuple[str, ...]]) -> "AdjournSaver":
        """See `BaseCheckpointSaver`. What may be loaded is said in `allow` alone."""
        return self

    def get_next_version(self, current: str | int | None, channel: None = None) -> str:
        """See `BaseCheckpointSaver`. Two forks of a checkpoint never give the same one."""
        number = 0
        if current is not None:
            number = int(str(current).partition(".")[0])
        return f"{number + 1:020}.{secrets.token_hex(8)}"

    # Writing

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `BaseCheckpointSaver`. All of it, or nothing."""
        place = _place(config)
        told = cast("dict[str, Any]", get_checkpoint_metadata(config, metadata))
        values = checkpoint["channel_values"]
        versions = {**checkpoint["channel_versions"], **new_versions}
        kept: dict[str, Any] = {name: versions[name] for name in values if name in versions}
        rest = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        row = KeptCheckpoint(self.json.plain(rest), self.json.plain(told), place.id or None, kept)
        rows = [checkpoint_row(place.ns, checkpoint["id"], row)]
        older: list[str] = []
        for name, version in kept.items():
            if name in new_versions:
                rows.append(self._value(place.ns, name, version, values[name]))
            else:
                older.append(name)
        needs = [value_key(place.ns, name, kept[name]) for name in older]
        if not await self.threads.change(place.thread, ThreadChange(put=rows, needs=needs)):
            # what it goes on from was deleted meanwhile, and its values with it
            added = [self._value(place.ns, name, kept[name], values[name]) for name in older]
            await self.threads.change(place.thread, ThreadChange(put=rows, add=added))
        await self._sweep_sometimes()
        return _config(place.thread, place.ns, checkpoint["id"])

    def _value(self, ns: str, channel: str, version: Any, value: Any) -> ThreadRow:
        return ThreadRow(value_key(ns, channel, version), _bytes(self.json.plain(value)))

    async def aput_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """See `BaseCheckpointSaver`."""
        place = _place(config)
        put: list[ThreadRow] = []
        add: list[ThreadRow] = []
        for at, (channel, value) in enumerate(writes):
            number = WRITES_IDX_MAP.get(channel, at)
            body = KeptWrite(task_id, number, channel, task_path, self.json.plain(value))
            row = ThreadRow(key("w", place.ns, place.id, task_id, str(number)), _bytes(body))
            if number < 0:
                put.append(row)
            else:
                add.append(row)
        await self.threads.change(place.thread, ThreadChange(put=put, add=add))

    # Reading

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `BaseCheckpointSaver`."""
        place = _place(config)
        for _ in range(2):
            if place.id:
                found = await self.threads.named(place.thread, [key("c", place.ns, place.id)])
            else:
                found = await self.threads.rows(place.thread, key("c", place.ns, ""), newest=1)
            if not found:
                return None
            whole = await self._tuple(place.thread, found[0])
            if whole is not None:
                return whole
        raise StoreError(f"a checkpoint of thread {place.title!r:.80} has missing values")

    async def _tuple(self, thread: str, row: ThreadRow) -> CheckpointTuple | None:
        """A checkpoint with its values and writes; None if somebody deletes it at this moment."""
        _, ns, id = map(unquote, row.key.split("/"))
        kept = _kept(row)
        names = {value_key(ns, name, version): name for name, version in kept.values.items()}
        values: dict[str, Any] = {}
        for found in await self.threads.named(thread, list(names)):
            values[names[found.key]] = self.json.value(msgspec.json.decode(found.body))
        if len(values) < len(names):
            return None
        writes: list[KeptWrite] = []
        for found in await self.threads.rows(thread, key("w", ns, id, "")):
            writes.append(msgspec.json.decode(found.body, type=KeptWrite))
        writes.sort(key=lambda write: writes_sort_key(write.path, write.task, write.number))
        checkpoint = {**self.json.value(kept.checkpoint), "channel_values": values}
        return CheckpointTuple(
            config=_config(thread, ns, id),
            checkpoint=cast("Checkpoint", checkpoint),
            metadata=self.json.value(kept.metadata),
            parent_config=_config(thread, ns, kept.parent) if kept.parent else None,
            pending_writes=[
                (write.task, write.channel, self.json.value(write.value)) for write in writes
            ],
        )

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """See `BaseCheckpointSaver`: the newest first; thread by thread, if none is given."""
        until = ""
        if before is not None:
            until = _place(before, strict=False).id
        left = limit
        async for thread, row in self._listed(config, until):
            if left is not None and left <= 0:
                return
            if filter and not self._fulfils(row, filter):
                continue
            found = await self._tuple(thread, row)
            if found is not None:
                if left is not None:
                    left -= 1
                yield found

    def _fulfils(self, row: ThreadRow, filter: dict[str, Any]) -> bool:
        metadata = self.json.value(_kept(row).metadata)
        return all(name in metadata and metadata[name] == filter[name] for name in filter)

    async def _listed(
        self, config: RunnableConfig | None, until: str
    ) -> AsyncIterator[tuple[str, ThreadRow]]:
        if config is None:
            async for thread in self._all_threads():
                for row in await self._of_all_namespaces(thread):
                    if not until or _id(row) < until:
                        yield thread, row
            return
        place = _place(config)
        async for row in self._of_thread(config, place, until):
            if (not until or _id(row) < until) and place.id in ("", _id(row)):
                yield place.thread, row

    async def _of_thread(
        self, config: RunnableConfig, place: Place, until: str
    ) -> AsyncIterator[ThreadRow]:
        """Those of a thread that may be meant."""
        if "checkpoint_ns" not in config.get("configurable", {}):
            for row in await self._of_all_namespaces(place.thread):
                yield row
            return
        if place.id:
            for row in await self.threads.named(place.thread, [key("c", place.ns, place.id)]):
                yield row
            return
        bound = key("c", place.ns, until) if until else ""
        while True:
            page = await self.threads.rows(
                place.thread, key("c", place.ns, ""), before=bound, newest=PAGE
            )
            for row in page:
                yield row
            if len(page) < PAGE:
                return
            bound = page[-1].key

    async def _of_all_namespaces(self, thread: str) -> Sequence[ThreadRow]:
        return sorted(await self.threads.rows(thread, key("c", "")), key=_id, reverse=True)

    async def _all_threads(self) -> AsyncIterator[str]:
        after = ""
        while page := await self.threads.threads(after):
            for thread in page:
                yield thread
            after = page[-1]

    # Deleting and copying

    async def adelete_thread(self, thread_id: str) -> None:
        """See `BaseCheckpointSaver`."""
        await self.threads.delete([key(str(thread_id))])

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See `BaseCheckpointSaver`."""
        doomed: dict[str, set[str]] = {}
        for thread, row in await self.threads.tagged([key(run) for run in run_ids if run]):
            doomed.setdefault(thread, set()).add(row)
        for thread, keys in doomed.items():
            await self._drop(thread, partial(_as_given, keys))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See `BaseCheckpointSaver`. All of it as of one moment, or nothing."""
        rows = await self.threads.rows(key(str(source_thread_id)), "")
        if rows:
            await self.threads.change(key(str(target_thread_id)), ThreadChange(put=rows))

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """See `BaseCheckpointSaver`. What the last checkpoint is put together of is kept."""
        threads = [key(str(thread)) for thread in thread_ids]
        if strategy == "delete":
            await self.threads.delete(threads)
        elif strategy == "keep_latest":
            for thread in threads:
                await self._drop(thread, self._outdated)
        else:
            raise InvalidDefinition(
                f"strategy must be 'keep_latest' or 'delete', got {strategy!r:.80}"
            )

    async def _drop(self, thread: str, doomed: Doomed) -> None:
        """Delete the checkpoints of a thread that `doomed(rows)` names by their keys, with their
        writes, and values that no other has."""
        while True:
            version = await self.threads.version(thread)
            rows = {row.key: row for row in await self.threads.rows(thread, key("c", ""))}
            keys = rows.keys() & doomed(rows)
            if not keys:
                return
            dropped: set[str] = set()
            used: set[str] = set()
            for row in rows.values():
                if row.key in keys:
                    dropped |= _values(row)
                else:
                    used |= _values(row)
            clear = [f"w/{name.partition('/')[2]}/" for name in keys]
            change = ThreadChange(drop=[*keys, *(dropped - used)], clear=clear, at=version)
            if await self.threads.change(thread, change):
                return

    def _outdated(self, rows: dict[str, ThreadRow]) -> set[str]:
        latest = {name.rpartition("/")[0]: rows[name] for name in sorted(rows)}
        needed: set[str] = set()
        for row in latest.values():
            needed |= self._put_together_of(row, rows)
        return rows.keys() - needed

    def _put_together_of(self, row: ThreadRow, rows: dict[str, ThreadRow]) -> set[str]:
        """The keys of a checkpoint and of those that it needs: back to where each of its delta
        channels has a value."""
        needed, kept = {row.key}, _kept(row)
        lacking = set(self.json.value(kept.metadata).get(DELTAS) or ()) - kept.values.keys()
        while lacking and kept.parent:
            above = rows.get(f"{row.key.rpartition('/')[0]}/{key(kept.parent)}")
            if above is None:
                break
            row, kept = above, _kept(above)
            needed.add(row.key)
            lacking -= kept.values.keys()
        return needed

    async def asweep(self) -> int:
        """Delete threads that were not written for `ttl`; how many. Nothing without a `ttl`."""
        count = 0
        if self._ttl is None:
            return count
        before = self.store.now() - self._ttl
        while found := await self.threads.threads(limit=SWEPT, idle=before):
            deleted = await self.threads.delete(found, idle=before)
            count += deleted
            if not deleted:
                break
        return count

    async def _sweep_sometimes(self) -> None:
        now = self.store.now()
        if self._ttl is not None and now - self._swept >= SWEEP:
            self._swept = now
            before = now - self._ttl
            found = await self.threads.threads(limit=SWEPT, idle=before)
            if found:
                await self.threads.delete(found, idle=before)

    # For callers without an event loop

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """`aget_tuple`, without an event loop."""
        return self._thread.wait(self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """`alist`, without an event loop."""

        async def whole() -> tuple[CheckpointTuple, ...]:
            found = self.alist(config, filter=filter, before=before, limit=limit)
            return tuple([one async for one in found])

        yield from self._thread.wait(whole())

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """`aput`, without an event loop."""
        return self._thread.wait(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str = "",
    ) -> None:
        """`aput_writes`, without an event loop."""
        self._thread.wait(self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """`adelete_thread`, without an event loop."""
        self._thread.wait(self.adelete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """`adelete_for_runs`, without an event loop."""
        self._thread.wait(self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """`acopy_thread`, without an event loop."""
        self._thread.wait(self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """`aprune`, without an event loop."""
        self._thread.wait(self.aprune(thread_ids, strategy=strategy))

    def sweep(self) -> int:
        """`asweep`, without an event loop."""
        return self._thread.wait(self.asweep())


def _place(config: RunnableConfig, *, strict: bool = True) -> Place:
    given = config.get("configurable", {})
    thread = given.get("thread_id")
    if thread is None and strict:
        raise InvalidDefinition(
            "the configuration has no thread_id: give one, "
            "config={'configurable': {'thread_id': 'order-17'}}"
        )
    id = given.get("checkpoint_id") or ""
    return Place(key(str(thread)), str(thread), given.get("checkpoint_ns") or "", str(id))


def _config(thread: str, ns: str, id: str) -> RunnableConfig:
    return {
        "configurable": {"thread_id": unquote(thread), "checkpoint_ns": ns, "checkpoint_id": id}
    }


def _as_given(keys: set[str], rows: dict[str, ThreadRow]) -> set[str]:
    return keys


def _id(row: ThreadRow) -> str:
    return unquote(row.key.rpartition("/")[2])


def _kept(row: ThreadRow) -> KeptCheckpoint:
    return msgspec.json.decode(row.body, type=KeptCheckpoint)


def _values(row: ThreadRow) -> set[str]:
    """The keys of the values of a checkpoint."""
    ns = unquote(row.key.split("/")[1])
    return {value_key(ns, name, version) for name, version in _kept(row).values.items()}


def _bytes(value: Any) -> bytes:
    return msgspec.json.encode(value)
