"""The channel of a SQLite file: a small database beside it, never synced to disk, and empty unless
somebody watches."""

import asyncio
import os
import time
from collections.abc import Callable, Collection, Sequence
from functools import partial
from typing import Any

from adjourn.stores.channel import Ears
from adjourn.stores.polled_channel import INTEREST, KEPT, PolledChannel
from adjourn.stores.private_file import make_private, tighten
from adjourn.stores.sqlite.batch_thread import BatchThread
from adjourn.stores.work_request import WorkRequest

BUSY = 1000
"""Milliseconds that one waits for another's write."""
_SCHEMA = """
create table if not exists watched (run text primary key, until real not null, asked real not null) without rowid;
create table if not exists said (
    n integer primary key autoincrement, run text not null, source text not null, at real not null, body text not null
);
create index if not exists said_run on said (run, n);
"""
_SINCE = "select n, body from said where run = ? and n > ? and source <> ? order by n"


class SQLiteBoard:
    """See `Board`."""

    def __init__(self, database: str) -> None:
        """`database`: the store's file. What models write is for those who may read that one, and
        for nobody else."""
        self._path, self._database = f"{database}-live", database
        tighten(self._path, database)
        self._thread: BatchThread | None = None
        self._db: Any = None

    async def interested(self) -> dict[str, float]:
        """See `Board.interested`."""
        return await self._ask(_interested)

    async def note(self, runs: Sequence[str], fresh: Collection[str]) -> None:
        """See `Board.note`."""
        await self._ask(partial(_note, runs, fresh))

    async def write(self, lines: Sequence[tuple[str, str]], source: str) -> None:
        """See `Board.write`."""
        await self._ask(partial(_write, lines, source))

    async def last(self) -> int:
        """See `Board.last`."""
        [(last,)] = await self._ask(
            lambda db: db.execute("select coalesce(max(n), 0) from said").fetchall()
        )
        return last

    async def since(self, run: str, after: int, source: str) -> list[tuple[int, str]]:
        """See `Board.since`."""
        return await self._ask(lambda db: db.execute(_SINCE, (run, after, source)).fetchall())

    async def forget(self, run: str) -> bool:
        """See `Board.forget`."""
        return not await asyncio.to_thread(os.path.exists, self._path) or await self._ask(
            partial(_forget, run)
        )

    async def close(self) -> None:
        """See `Board.close`."""
        if self._thread is not None:
            await self._thread.close()

    async def _ask(self, work: Callable[[Any], Any]) -> Any:
        if self._thread is None:
            self._thread = BatchThread(
                "adjourn-live", self._batch, lambda: self._db.close() if self._db else None
            )
        return await self._thread.ask(work)

    def _batch(self, batch: list[WorkRequest]) -> None:
        for request in batch:
            try:
                if self._db is None:
                    self._db = _open(self._path, self._database)
                request.result = request.work(self._db)
            except Exception as e:
                request.error = e


def sqlite_channel(database: str, ears: Ears) -> PolledChannel:
    """A process's end of it."""
    return PolledChannel(SQLiteBoard(database), ears)


def _forget(run: str, db: Any) -> bool:
    from adjourn.stores.sqlite.write_ahead_log import cut

    db.execute("delete from said where run = ?", (run,))
    # what a sender still has in hand is not written
    db.execute("delete from watched where run = ?", (run,))
    db.execute("vacuum")  # pages that were freed before keep what they held
    done = cut(db)
    db.set_busy_timeout(BUSY)
    return done


def _open(path: str, database: str) -> Any:
    import apsw

    make_private(path, database)
    db: Any = apsw.Connection(path)
    db.set_busy_timeout(BUSY)
    db.pragma("journal_mode", "wal")
    db.pragma("synchronous", "off")
    db.pragma("secure_delete", "on")
    db.execute(_SCHEMA)
    _expire(db)
    return db


def _expire(db: Any) -> None:
    """What was said more than a minute ago is gone."""
    db.execute("delete from said where at < ?", (time.time() - KEPT,))


def _interested(db: Any) -> dict[str, float]:
    """The runs that somebody watches, and when the last of them began to."""
    return dict(
        db.execute("select run, asked from watched where until > ?", (time.time(),)).fetchall()
    )


def _note(runs: Sequence[str], asked: Collection[str], db: Any) -> None:
    now = time.time()
    sql = (
        "insert into watched values (?1, ?2, ?3) on conflict (run) do update set until = excluded.until, "
        "asked = case when ?4 then excluded.asked else asked end"
    )
    db.execute("delete from watched where until < ?", (now,))
    _expire(db)
    for run in runs:
        db.execute(sql, (run, now + INTEREST, now, run in asked))


def _write(rows: Sequence[tuple[str, str]], source: str, db: Any) -> None:
    """What runs said that are still watched: one that was erased meanwhile says nothing more."""
    now = time.time()
    sql = (
        "insert into said (run, source, at, body) select ?1, ?2, ?3, ?4 where exists "
        "(select 1 from watched where run = ?1)"
    )
    with db:
        _expire(db)
        for run, line in rows:
            db.execute(sql, (run, source, now, line))
