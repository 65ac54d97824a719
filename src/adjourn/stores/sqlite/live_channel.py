"""The channel of a SQLite file: a small database beside it, never synced to disk, and empty unless somebody watches.

A watcher leaves a note of interest; the worker's process looks for such notes and writes what its runs say, for at most a minute.
"""

import asyncio
import logging
import os
import time
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from typing import Any, NamedTuple

from adjourn.stores.channel import Ears, Line
from adjourn.stores.private_file import make_private, tighten
from adjourn.stores.sqlite.batch_thread import Request, Worker

log = logging.getLogger("adjourn.live")

POLL, INTEREST, KEPT = 0.05, 5.0, 60.0
BUSY = 1000
"""Milliseconds that one waits for another's write."""
_SCHEMA = """
create table if not exists watched (run text primary key, until real not null, asked real not null) without rowid;
create table if not exists said (
    n integer primary key autoincrement, run text not null, source text not null, at real not null, body text not null
);
create index if not exists said_run on said (run, n);
"""


class _Said(NamedTuple):
    run: str
    line: Line
    in_whole: bool


class SQLiteChannel:
    """See `Channel`."""

    def __init__(self, database: str, ears: Ears) -> None:
        """`database`: the store's file. What models write is for those who may read that one, and for nobody else."""
        self._ears = ears
        self._path, self._database = f"{database}-live", database
        tighten(self._path, database)
        self._waiting: list[_Said] = []
        self._id = os.urandom(8).hex()
        self._followed: dict[str, int] = {}
        self._followers: Counter[str] = Counter()
        self._asked: set[str] = set()
        self._wanted: dict[str, float] = {}
        self._sender: asyncio.Task[None] | None = None
        self._poller: asyncio.Task[None] | None = None
        self._worker: Worker | None = None
        self._db: Any = None
        self._loop = asyncio.get_running_loop()

    def send(self, run: str, line: Line, *, in_whole: bool = False) -> None:
        """See `Channel.send`. It is kept for a moment in case somebody elsewhere listens."""
        self._waiting.append(_Said(run, line, in_whole))
        if self._sender is None or self._sender.done():
            self._sender = self._loop.create_task(self._send(), name="adjourn-live-send")

    async def _send(self) -> None:
        with suppress(Exception):
            while self._waiting:
                await asyncio.sleep(POLL)
                items, self._waiting = self._waiting, []
                wanted: dict[str, float] = await self._ask(_interested)
                joined = {run for run, asked in wanted.items() if self._wanted.get(run) != asked}
                fresh = [(run, line) for run in joined for line in self._ears.so_far(run)]
                self._wanted = wanted
                caught = {run for run, _ in fresh}
                self._waiting = [x for x in self._waiting if not (x.run in caught and x.in_whole)]  # `fresh` has it
                rows = [(x.run, x.line()) for x in items if x.run in wanted and x.run not in caught] + fresh
                if rows:
                    await self._ask(partial(_write, rows, self._id))

    @asynccontextmanager
    async def follow(self, run: str) -> AsyncGenerator[None]:
        """See `Channel.follow`."""
        self._followed.setdefault(run, -1)
        self._followers[run] += 1
        self._asked.add(run)
        if self._poller is None or self._poller.done():
            self._poller = self._loop.create_task(self._poll(), name="adjourn-live-poll")
        try:
            yield
        finally:
            self._followers[run] -= 1
            if not self._followers[run]:
                del self._followers[run]
                self._followed.pop(run, None)

    async def _poll(self) -> None:
        noted = 0.0
        try:
            while self._followed:
                if self._asked or time.time() - noted > INTEREST / 2:
                    noted, asked, self._asked = time.time(), self._asked, set()
                    await self._ask(partial(_note, list(self._followed), asked))
                for run, after in list(self._followed.items()):
                    await self._hear(run, after)
                await asyncio.sleep(POLL)
        except Exception as e:
            log.warning("live text from other processes is off: %s", e)

    async def _hear(self, run: str, after: int) -> None:
        if after < 0:
            [(last,)] = await self._ask(lambda db: db.execute("select coalesce(max(n), 0) from said").fetchall())
            if run in self._followed:
                self._followed[run] = last
            return
        sql = (
            "select n, body from said where run = ? and n > ? and source <> ? order by n"  # our own were heard already
        )
        for n, body in await self._ask(lambda db: db.execute(sql, (run, after, self._id)).fetchall()):
            if run in self._followed:
                self._followed[run] = n
            self._ears.hear(body)

    async def forget(self, run: str) -> bool:
        """See `Channel.forget`."""
        self._waiting = [said for said in self._waiting if said.run != run]
        return not await asyncio.to_thread(os.path.exists, self._path) or await self._ask(partial(_forget, run))

    async def _ask(self, work: Callable[[Any], Any]) -> Any:
        if self._worker is None:
            self._worker = Worker("adjourn-live", self._batch, lambda: self._db.close() if self._db else None)
        return await self._worker.ask(work)

    def _batch(self, batch: list[Request]) -> None:
        for request in batch:
            try:
                if self._db is None:
                    self._db = _open(self._path, self._database)
                request.result = request.work(self._db)
            except Exception as e:
                request.error = e

    async def close(self) -> None:
        """See `Channel.close`."""
        tasks = [t for t in (self._sender, self._poller) if t is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        if self._worker is not None:
            await self._worker.close()


def _forget(run: str, db: Any) -> bool:
    from adjourn.stores.sqlite.write_ahead_log import cut

    db.execute("delete from said where run = ?", (run,))
    db.execute("delete from watched where run = ?", (run,))  # what a sender still has in hand is not written
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
    return dict(db.execute("select run, asked from watched where until > ?", (time.time(),)).fetchall())


def _note(runs: list[str], asked: set[str], db: Any) -> None:
    now = time.time()
    sql = (
        "insert into watched values (?1, ?2, ?3) on conflict (run) do update set until = excluded.until, "
        "asked = case when ?4 then excluded.asked else asked end"
    )
    db.execute("delete from watched where until < ?", (now,))
    _expire(db)
    for run in runs:
        db.execute(sql, (run, now + INTEREST, now, run in asked))


def _write(rows: list[tuple[str, str]], source: str, db: Any) -> None:
    """What runs said that are still watched: one that was erased meanwhile says nothing more."""
    now = time.time()
    sql = "insert into said (run, source, at, body) select ?1, ?2, ?3, ?4 where exists (select 1 from watched where run = ?1)"
    with db:
        _expire(db)
        for run, line in rows:
            db.execute(sql, (run, source, now, line))
