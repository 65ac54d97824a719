"""Threads of guests in a PostgreSQL database."""

from collections.abc import Callable, Iterator, Sequence
from itertools import starmap
from typing import Any

from adjourn.stores.guest_threads import (
    LAST,
    GuestThread,
    TableThreads,
    ThreadChange,
    ThreadRow,
    check_run,
)
from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.rows import Ask, Rows, first_column

PAGE = 20
"""Threads that are read at once."""
_NEW = """
insert into adjourn.guest_thread values (%(thread)s, %(run)s, %(also)s::text[], 0, 0) on conflict (id) do nothing
"""
_FOUND = "select version, run from adjourn.guest_thread where id = %(thread)s for update"
_RUN = "select erased from adjourn.run where id = %(run)s for share"
_TOLD_OF = "select exists (select 1 from adjourn.audit where scope = %(run)s)"
_NEEDED = """
select count(*) from adjourn.guest_row where thread = %(thread)s and key = any(%(keys)s::text[])
"""
_DROP = "delete from adjourn.guest_row where thread = %(thread)s and key = any(%(keys)s::text[])"
_CLEAR = """
delete from adjourn.guest_row where thread = %(thread)s and key >= %(prefix)s and key < %(prefix)s || %(last)s
"""
_ADD = """
insert into adjourn.guest_row values (%(thread)s, %(key)s, %(tag)s, %(body)s) on conflict (thread, key) do nothing
"""
_PUT = """
insert into adjourn.guest_row values (%(thread)s, %(key)s, %(tag)s, %(body)s)
on conflict (thread, key) do update set tag = excluded.tag, body = excluded.body
"""
_TOUCH = """
update adjourn.guest_thread set version = version + 1, at = %(now)s where id = %(thread)s returning version
"""
_VERSION = "select version from adjourn.guest_thread where id = %(thread)s"
_ROWS = """
select key, body, tag from adjourn.guest_row
where thread = %(thread)s and key >= %(prefix)s and key < %(prefix)s || %(last)s and (%(before)s = '' or key < %(before)s)
order by key
"""
_NAMED = """
select key, body, tag from adjourn.guest_row where thread = %(thread)s and key = any(%(keys)s::text[])
"""
_TAGGED = """
select thread, key from adjourn.guest_row where tag = any(%(tags)s::text[]) and tag <> ''
"""
_THREADS = """
select id from adjourn.guest_thread where id > %(after)s and (%(idle)s::float8 is null or (at < %(idle)s::float8 and run = ''))
order by id limit %(limit)s
"""
_IDLE = """
select id from adjourn.guest_thread
where id = any(%(threads)s::text[]) and (%(idle)s::float8 is null or (at < %(idle)s::float8 and run = '')) order by id for update
"""
_REMOVE = (
    "delete from adjourn.guest_row where thread = any(%(threads)s::text[])",
    "delete from adjourn.guest_thread where id = any(%(threads)s::text[])",
    "insert into adjourn.meta values ('scrub', 'pruned') on conflict (key) do nothing",
)
_PAGE = f"""
select id, run, also, version, at from adjourn.guest_thread where id > %(after)s order by id limit {PAGE}
"""
_OF_RUN = "select id from adjourn.guest_thread where run <> '' and run = {run}"
_WITH_RUN = """
select id from adjourn.guest_thread t where {run} = any(t.also)
and not exists (select 1 from adjourn.run r where r.id = t.run and r.status not in ('completed', 'cancelled'))
"""


def _deleting(which: str) -> tuple[str, str]:
    return (
        f"delete from adjourn.guest_row where thread in ({which})",
        f"delete from adjourn.guest_thread where id in ({which})",
    )


OF_RUN, WITH_RUN = _deleting(_OF_RUN), _deleting(_WITH_RUN)
"""What deletes the threads that belong to a run, and those of other runs that have ended which hold
something of it."""


class PostgresThreads(TableThreads):
    """See `GuestThreads`. `ask`: lets a thread of the store do something with a connection."""

    _version, _in_order, _named = _VERSION, _ROWS, _NAMED
    _tagged, _threads = _TAGGED, _THREADS

    def __init__(self, rows: Rows, ask: Ask, now: Callable[[], float]) -> None:
        super().__init__(rows)
        self._ask, self._now = ask, now

    async def change(self, thread: str, change: ThreadChange) -> int:
        """See `GuestThreads.change`."""
        now = self._now()
        return await self._ask(lambda db: _change(db, thread, change, now))

    async def delete(self, threads: Sequence[str], *, idle: float | None = None) -> int:
        """See `GuestThreads.delete`."""
        return await self._ask(lambda db: _delete(db, list(threads), idle))


def _change(db: Connection, thread: str, change: ThreadChange, now: float) -> int:
    values: dict[str, Any] = {
        "thread": thread,
        "run": change.run,
        "also": list(change.also),
        "now": now,
    }
    with db.transaction() as whole:
        [(version, run)] = messages(db, [_NEW, _FOUND], values)[1]
        if run:
            erased, told_of = messages(db, [_RUN, _TOLD_OF], {"run": run})
            check_run(run, erased[0][0] if erased else None, told_of[0][0])
        is_due = change.at is None or change.at == version
        if not is_due or not _has(db, thread, list(set(change.needs))):
            whole.force_rollback = True
            return 0
        if change.drop:
            messages(db, [_DROP], {"thread": thread, "keys": list(change.drop)})
        for prefix in change.clear:
            messages(db, [_CLEAR], {"thread": thread, "prefix": prefix, "last": LAST})
        _insert(db, _PUT, thread, change.put)
        _insert(db, _ADD, thread, change.add)
        return messages(db, [_TOUCH], values)[0][0][0]


def _has(db: Connection, thread: str, keys: list[str]) -> bool:
    if not keys:
        return True
    [(there,)] = messages(db, [_NEEDED], {"thread": thread, "keys": keys})[0]
    return there == len(keys)


def _insert(db: Connection, sql: str, thread: str, rows: Sequence[ThreadRow]) -> None:
    for row in rows:
        values = {"thread": thread, "key": row.key, "tag": row.tag, "body": row.body}
        messages(db, [sql], values)


def _delete(db: Connection, threads: list[str], idle: float | None) -> int:
    with db.transaction():
        found = first_column(messages(db, [_IDLE], {"threads": threads, "idle": idle})[0])
        if found:
            messages(db, _REMOVE, {"threads": found})
        return len(found)


def read_threads(db: Connection) -> Iterator[GuestThread]:
    """All threads, whole."""
    after = ""
    while True:
        page = messages(db, [_PAGE], {"after": after})[0]
        for id, run, also, version, at in page:
            values = {"thread": id, "prefix": "", "last": LAST, "before": ""}
            rows = list(starmap(ThreadRow, messages(db, [_ROWS], values)[0]))
            yield GuestThread(id, run, tuple(also), version, at, rows)
        if len(page) < PAGE:
            return
        after = page[-1][0]


def put_thread(db: Connection, thread: GuestThread) -> None:
    """Write a thread that is not there."""
    sql = "insert into adjourn.guest_thread values (%(id)s, %(run)s, %(also)s::text[], %(version)s, %(at)s)"
    values: dict[str, Any] = {"id": thread.id, "run": thread.run, "also": list(thread.also)}
    values |= {"version": thread.version, "at": thread.at}
    messages(db, [sql], values)
    _insert(db, _PUT, thread.id, thread.rows)
