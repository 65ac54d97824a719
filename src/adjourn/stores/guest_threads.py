"""Threads of guests: what another framework saves, as rows of bytes by key. A store knows nothing of
what they mean; whoever writes them gives them keys that sort as they are to be read.

A thread may belong to a run. It is then erased and pruned with it, in the same transaction. If it
holds something of other runs, because it went on from them, it is erased with any of these, unless
its own run has not ended: then that run's journal holds the same.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from itertools import starmap
from typing import Protocol

import msgspec

from adjourn.errors import RunErased, RunPruned
from adjourn.stores.rows import Rows, first_column

LAST = "\x7f"
"""Comes after every character of a key."""
KEY = "!key/"
"""So begin key and tag of a row that holds a wrapped key, before the id of that key; what guests write
begins otherwise."""


class ThreadRow(msgspec.Struct, frozen=True):
    """A row of a thread. `key`: printable ASCII. `tag`: by which rows of all threads are found."""

    key: str
    body: bytes
    tag: str = ""


class GuestThread(msgspec.Struct):
    """A thread, whole. `run`: to which it belongs, if to any; `also`: runs of which it holds
    something, too; `version`: how often it was changed; `at`: when it was changed last."""

    id: str
    run: str
    also: tuple[str, ...]
    version: int
    at: float
    rows: list[ThreadRow]


class ThreadChange(msgspec.Struct, frozen=True):
    """What is to be changed in a thread: rows that replace those of their keys, rows that are left
    as they are if they are there, keys that go, and beginnings of keys that go. It is done only if
    all of `needs` are there and, where `at` is given, if that is the thread's version. `run` and
    `also`: to which run a new thread belongs, and of which others it holds something."""

    put: Sequence[ThreadRow] = ()
    add: Sequence[ThreadRow] = ()
    drop: Sequence[str] = ()
    clear: Sequence[str] = ()
    needs: Sequence[str] = ()
    at: int | None = None
    run: str = ""
    also: tuple[str, ...] = ()


class GuestThreads(Protocol):
    """Where a store keeps them. Every method is one transaction."""

    async def change(self, thread: str, change: ThreadChange) -> int:
        """Do all of it; the thread's version then. 0: nothing was changed, because something that it
        needs is not there, or because the thread has another version. Raises `RunErased` and
        `RunPruned` if the run to which it belongs is gone."""
        ...

    async def version(self, thread: str) -> int:
        """How often it was changed; 0 if it is not there."""
        ...

    async def rows(
        self, thread: str, prefix: str, *, before: str = "", newest: int = 0
    ) -> list[ThreadRow]:
        """The rows whose keys begin with `prefix`, in order.

        Args:
            thread: its id.
            prefix: how their keys begin.
            before: only those with smaller keys.
            newest: so many of the last ones, the last one first.
        """
        ...

    async def named(self, thread: str, keys: Sequence[str]) -> list[ThreadRow]:
        """The rows with these keys, as far as they are there."""
        ...

    async def tagged(self, tags: Sequence[str]) -> list[tuple[str, str]]:
        """Thread and key of all rows that have one of these tags."""
        ...

    async def threads(
        self, after: str = "", limit: int = 100, *, idle: float | None = None
    ) -> list[str]:
        """Ids of threads, in order.

        Args:
            after: the last id of the page before.
            limit: at most so many.
            idle: only those that were changed last before this time and belong to no run.
        """
        ...

    async def delete(self, threads: Sequence[str], *, idle: float | None = None) -> int:
        """Delete `threads`, all their rows; how many there were. `idle`: only those that were changed
        last before this time and belong to no run. Their bytes go with the next scrub of what was pruned."""
        ...


class TableThreads:
    """What of `GuestThreads` in tables is read. Every database has statements of its own."""

    _version: str
    _in_order: str
    _named: str
    _tagged: str
    _threads: str

    def __init__(self, rows: Rows) -> None:
        self._rows = rows

    async def version(self, thread: str) -> int:
        """See `GuestThreads.version`."""
        for (version,) in await self._rows(self._version, thread=thread):
            return version
        return 0

    async def rows(
        self, thread: str, prefix: str, *, before: str = "", newest: int = 0
    ) -> list[ThreadRow]:
        """See `GuestThreads.rows`."""
        sql = self._in_order
        if newest:
            sql = f"{sql} desc limit {int(newest)}"
        found = await self._rows(sql, thread=thread, prefix=prefix, last=LAST, before=before)
        return list(starmap(ThreadRow, found))

    async def named(self, thread: str, keys: Sequence[str]) -> list[ThreadRow]:
        """See `GuestThreads.named`."""
        found = await self._rows(self._named, thread=thread, keys=list(keys))
        return list(starmap(ThreadRow, found))

    async def tagged(self, tags: Sequence[str]) -> list[tuple[str, str]]:
        """See `GuestThreads.tagged`."""
        found = await self._rows(self._tagged, tags=list(tags))
        return [(thread, key) for thread, key in found]

    async def threads(
        self, after: str = "", limit: int = 100, *, idle: float | None = None
    ) -> list[str]:
        """See `GuestThreads.threads`."""
        found = await self._rows(self._threads, after=after, limit=limit, idle=idle)
        return first_column(found)


class KeepsThreads(Protocol):
    """A part of a store."""

    def guest_threads(self) -> GuestThreads:
        """Where it keeps threads of guests."""
        ...


def check_run(run: str, erased: float | None, told_of: bool) -> None:
    """Raise if the run to which a thread belongs is gone. `erased`: of its row, if it has one;
    `told_of`: whether the audit knows it. A run that nobody knows here lives in another store."""
    if erased:
        raise RunErased(run)
    if erased is None and told_of:
        raise RunPruned(run)


class MemoryThreads:
    """See `GuestThreads`. `gone(run)`: raises if a run is gone."""

    def __init__(
        self, kept: dict[str, GuestThread], now: Callable[[], float], gone: Callable[[str], None]
    ) -> None:
        self._kept, self._now, self._gone = kept, now, gone
        self._lock = threading.Lock()  # graphs may run in threads of their own

    def _rows(self, thread: str) -> dict[str, ThreadRow]:
        found = self._kept.get(thread)
        if found is None:
            return {}
        return {row.key: row for row in found.rows}

    async def change(self, thread: str, change: ThreadChange) -> int:
        """See `GuestThreads.change`."""
        with self._lock:
            found = self._kept.get(thread) or GuestThread(
                thread, change.run, change.also, 0, 0.0, []
            )
            self._gone(found.run)
            rows = self._rows(thread)
            if change.at is not None and change.at != found.version:
                return 0
            if not all(key in rows for key in change.needs):
                return 0
            rows = changed(rows, change)
            found.rows = [rows[key] for key in sorted(rows)]
            found.version, found.at = found.version + 1, self._now()
            self._kept[thread] = found
            return found.version

    async def version(self, thread: str) -> int:
        """See `GuestThreads.version`."""
        with self._lock:
            found = self._kept.get(thread)
            return found.version if found else 0

    async def rows(
        self, thread: str, prefix: str, *, before: str = "", newest: int = 0
    ) -> list[ThreadRow]:
        """See `GuestThreads.rows`."""
        with self._lock:
            rows = self._rows(thread)
        found: list[ThreadRow] = []
        for key in sorted(rows):
            if key.startswith(prefix) and (not before or key < before):
                found.append(rows[key])
        if newest:
            return found[::-1][:newest]
        return found

    async def named(self, thread: str, keys: Sequence[str]) -> list[ThreadRow]:
        """See `GuestThreads.named`."""
        with self._lock:
            rows = self._rows(thread)
        return [rows[key] for key in keys if key in rows]

    async def tagged(self, tags: Sequence[str]) -> list[tuple[str, str]]:
        """See `GuestThreads.tagged`."""
        found: list[tuple[str, str]] = []
        with self._lock:
            for thread in self._kept.values():
                for row in thread.rows:
                    if row.tag and row.tag in tags:
                        found.append((thread.id, row.key))
        return found

    async def threads(
        self, after: str = "", limit: int = 100, *, idle: float | None = None
    ) -> list[str]:
        """See `GuestThreads.threads`."""
        with self._lock:
            found = sorted(id for id in self._kept if id > after and self._is_idle(id, idle))
        return found[:limit]

    async def delete(self, threads: Sequence[str], *, idle: float | None = None) -> int:
        """See `GuestThreads.delete`."""
        count = 0
        with self._lock:
            for id in dict.fromkeys(threads):
                if id in self._kept and self._is_idle(id, idle):
                    del self._kept[id]
                    count += 1
        return count

    def keys(self) -> dict[str, str]:
        """The wrapped keys that are in threads, by their ids."""
        with self._lock:
            rows = [row for thread in self._kept.values() for row in thread.rows]
        return {row.tag[len(KEY) :]: row.body.decode() for row in rows if row.tag.startswith(KEY)}

    def put_keys(self, keys: Mapping[str, str]) -> None:
        """Replace wrapped keys, where they are."""
        with self._lock:
            for thread in self._kept.values():
                for at, row in enumerate(thread.rows):
                    wrapped = keys.get(row.tag.removeprefix(KEY))
                    if wrapped is not None:
                        thread.rows[at] = msgspec.structs.replace(row, body=wrapped.encode())

    def _is_idle(self, thread: str, before: float | None) -> bool:
        found = self._kept[thread]
        return before is None or (found.at < before and not found.run)


def changed(rows: Mapping[str, ThreadRow], change: ThreadChange) -> dict[str, ThreadRow]:
    """The rows of a thread as they are once a change is done."""
    found: dict[str, ThreadRow] = {}
    for key, row in rows.items():
        if key not in change.drop and not key.startswith(tuple(change.clear)):
            found[key] = row
    for row in change.put:
        found[row.key] = row
    for row in change.add:
        found.setdefault(row.key, row)
    return found
