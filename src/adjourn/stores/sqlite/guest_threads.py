"""Threads of guests in a SQLite file."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import msgspec

from adjourn.core.codec import encode
from adjourn.stores.guest_threads import (
    LAST,
    GuestThread,
    TableThreads,
    ThreadChange,
    ThreadRow,
    check_run,
)
from adjourn.stores.rows import Rows, first_column
from adjourn.stores.sqlite.connection import written_beside

_RUN = """
select (select erased from run where id = ?1), exists (select 1 from audit where scope = ?1)
"""
_TOUCH = """
insert into guest_thread (id, run, also, version, at) values (?1, ?2, ?3, 1, ?4)
on conflict (id) do update set version = version + 1, at = excluded.at
returning version
"""
_FOUND = "select version, run from guest_thread where id = ?"
_VERSION = "select version from guest_thread where id = :thread"
_ROWS = """
select key, body, tag from guest_row
where thread = :thread and key >= :prefix and key < :prefix || :last and (:before = '' or key < :before) order by key
"""
_NAMED = """
select g.key, g.body, g.tag from json_each(:keys) x join guest_row g on g.thread = :thread and g.key = x.value
"""
_NEEDED = (
    "select count(*) from guest_row where thread = ? and key in (select value from json_each(?))"
)
_DROP = "delete from guest_row where thread = ? and key in (select value from json_each(?))"
_CLEAR = "delete from guest_row where thread = ?1 and key >= ?2 and key < ?2 || ?3"
_TAGGED = """
select g.thread, g.key from json_each(:tags) x join guest_row g on g.tag = x.value where g.tag <> ''
"""
_THREADS = """
select id from guest_thread where id > :after and (:idle is null or (at < :idle and run = '')) order by id limit :limit
"""
_DELETE = """
select id from guest_thread where id in (select value from json_each(?1)) and (?2 is null or (at < ?2 and run = ''))
"""

_OF_RUN = "select id from guest_thread where run <> '' and run = ?"
_WITH_RUN = """
select id from guest_thread t where exists (select 1 from json_each(t.also) where value = ?1)
and not exists (select 1 from run r where r.id = t.run and r.status not in ('completed', 'cancelled'))
"""
_names = msgspec.json.Decoder(tuple[str, ...]).decode


class SQLiteThreads(TableThreads):
    """See `GuestThreads`. They are written over a connection of their own: nobody's commit waits for
    a large state."""

    _version, _in_order, _named = _VERSION, _ROWS, _NAMED
    _tagged, _threads = _TAGGED, _THREADS

    def __init__(self, rows: Rows, connect: Callable[[], Any], now: Callable[[], float]) -> None:
        super().__init__(rows)
        self._connect, self._now = connect, now

    async def _write(self, work: Callable[[Any], int]) -> int:
        return await asyncio.to_thread(self._transact, work)

    def _transact(self, work: Callable[[Any], int]) -> int:
        nothing = "nothing was changed"
        with written_beside(self._connect, "a thread", light=False, consequence=nothing) as db:
            return work(db)

    async def change(self, thread: str, change: ThreadChange) -> int:
        """See `GuestThreads.change`."""
        now = self._now()
        return await self._write(lambda db: _change(db, thread, change, now))

    async def delete(self, threads: Sequence[str], *, idle: float | None = None) -> int:
        """See `GuestThreads.delete`."""
        return await self._write(lambda db: _delete(db, threads, idle))


def _list(values: Sequence[str]) -> str:
    return encode(list(values)).decode()


def _change(db: Any, thread: str, change: ThreadChange, now: float) -> int:
    version, run = db.execute(_FOUND, (thread,)).fetchone() or (0, "")
    run = run if version else change.run
    if run:
        [(erased, told_of)] = db.execute(_RUN, (run,)).fetchall()
        check_run(run, erased, bool(told_of))
    if change.at is not None and change.at != version:
        return 0
    needs = set(change.needs)
    if needs:
        [(there,)] = db.execute(_NEEDED, (thread, _list([*needs]))).fetchall()
        if there < len(needs):
            return 0
    db.execute(_DROP, (thread, _list(change.drop)))
    for prefix in change.clear:
        db.execute(_CLEAR, (thread, prefix, LAST))
    _insert(db, "insert or replace", thread, change.put)
    _insert(db, "insert or ignore", thread, change.add)
    [(version,)] = db.execute(_TOUCH, (thread, run, _list(change.also), now)).fetchall()
    return version


def _insert(db: Any, verb: str, thread: str, rows: Sequence[ThreadRow]) -> None:
    values = [(thread, row.key, row.tag, row.body) for row in rows]
    db.executemany(f"{verb} into guest_row (thread, key, tag, body) values (?, ?, ?, ?)", values)


def _delete(db: Any, threads: Sequence[str], idle: float | None) -> int:
    found = first_column(db.execute(_DELETE, (_list(threads), idle)))
    _remove(db, found)
    return len(found)


def _remove(db: Any, threads: Sequence[str]) -> None:
    if threads:
        one = [(thread,) for thread in threads]
        db.executemany("delete from guest_row where thread = ?", one)
        db.executemany("delete from guest_thread where id = ?", one)
        db.execute("insert or ignore into meta values ('scrub', 'pruned')")


def remove_threads_of(db: Any, run: str) -> None:
    """Delete the threads that belong to a run."""
    _remove(db, first_column(db.execute(_OF_RUN, (run,))))


def remove_threads_with(db: Any, run: str) -> None:
    """Delete the threads of other runs that have ended which hold something of a run."""
    _remove(db, first_column(db.execute(_WITH_RUN, (run,))))


def read_threads(db: Any) -> Iterator[GuestThread]:
    """All threads, whole."""
    sql = "select id, run, also, version, at from guest_thread order by id"
    for id, run, also, version, at in db.execute(sql).fetchall():
        rows = db.execute(
            "select key, body, tag from guest_row where thread = ? order by key", (id,)
        )
        yield GuestThread(id, run, _names(also), version, at, [ThreadRow(*row) for row in rows])


def put_thread(db: Any, thread: GuestThread) -> None:
    """Write a thread that is not there."""
    values = (thread.id, thread.run, _list(thread.also), thread.version, thread.at)
    db.execute("insert into guest_thread values (?, ?, ?, ?, ?)", values)
    _insert(db, "insert", thread.id, thread.rows)
