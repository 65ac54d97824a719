"""Everything in a SQLite file, to be read or to be filled."""

import os
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager
from itertools import starmap
from typing import Any, TypeVar

import msgspec

from adjourn.errors import Conflict
from adjourn.stores.audit import AuditLine
from adjourn.stores.contents import OneRun, StoreRest
from adjourn.stores.fleet import Misfit
from adjourn.stores.guest_threads import GuestThread
from adjourn.stores.outbox import Notification
from adjourn.stores.private_file import PARTS
from adjourn.stores.protocol import Halt
from adjourn.stores.rules.reads_and_writes import Appended
from adjourn.stores.seals import Seal
from adjourn.stores.sqlite.connection import bring_up_to_date, connect, transaction
from adjourn.stores.sqlite.guest_threads import put_thread, read_threads
from adjourn.stores.sqlite.rows import (
    COLUMNS,
    INTERRUPT,
    LETTER,
    SEAL,
    endpoints,
    erasures,
    holds,
    interrupt_row,
    is_signed,
    is_waking,
    key,
    run_row,
    store_id,
)
from adjourn.stores.sqlite.transaction import SQLiteBook

_misfit = msgspec.json.Decoder(Misfit).decode
Found = TypeVar("Found")


class SQLiteContents:
    """See `Contents`: by one connection, inside a transaction."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def _all(self, of: Callable[..., Found], sql: str, *values: Any) -> list[Found]:
        return list(starmap(of, self._db.execute(sql, values)))

    def identity(self) -> tuple[str, int]:
        """See `Contents.identity`."""
        return store_id(self._db), erasures(self._db)

    def runs(self) -> Iterator[OneRun]:
        """See `Contents.runs`."""
        sql = "select seq, epoch, body, head from journal where key between ? and ? order by key"
        for values in self._db.execute(f"select {COLUMNS} from run order by n"):
            row = run_row(values)
            journal = self._all(Appended, sql, key(row.n, 0), key(row.n + 1, 0))
            asked = self._db.execute(
                f"select {INTERRUPT} from interrupt where run = ? order by i", (row.n,)
            )
            interrupts = list(map(interrupt_row, asked))
            requests = self._db.execute(
                "select id, seq, body from request where run = ? order by id", (row.n,)
            ).fetchall()
            said = self._db.execute("select body from misfit where run = ?", (row.n,)).fetchone()
            woken = "select not_before from wake where run = ?"
            wake = self._db.execute(woken, (row.n,)).fetchone()
            keyed = "select wrapped from run_key where run = ?"
            wrapped = self._db.execute(keyed, (row.n,)).fetchone()
            yield OneRun(
                row,
                journal,
                interrupts,
                requests,
                dict(self._db.execute("select digest, body from blob where run = ?", (row.n,))),
                _misfit(said[0]) if said else None,
                wake[0] if wake else None,
                wrapped[0] if wrapped else "",
            )

    def lines(self) -> Iterator[AuditLine]:
        """See `Contents.lines`."""
        for values in self._db.execute("select scope, n, body, head from audit order by scope, n"):
            yield AuditLine(*values)

    def seals(self) -> Iterator[Seal]:
        """See `Contents.seals`."""
        for values in self._db.execute(f"select {SEAL} from seal order by k"):
            yield Seal(*values)

    def rest(self) -> StoreRest:
        """See `Contents.rest`."""
        return StoreRest(
            self._all(Halt, "select scope, by, reason, at from halt order by at, scope"),
            holds(self._db),
            endpoints(self._db),
            self._all(Notification, f"select {', '.join(LETTER)} from letter order by n"),
            dict(self._db.execute("select scope, at from touched").fetchall()),
            is_signed(self._db),
            is_waking(self._db),
        )

    def threads(self) -> Iterator[GuestThread]:
        """See `Contents.threads`."""
        return read_threads(self._db)


@contextmanager
def reading(path: str) -> Generator[SQLiteContents]:
    """What is in a file, as of one moment."""
    with closing(connect(path)) as db, db:
        yield SQLiteContents(db)


class SQLiteFilling:
    """See `Filling`."""

    def __init__(self, db: Any) -> None:
        self._db, self.book = db, SQLiteBook(db, lambda: 0.0)

    def put_requests(self, requests: Sequence[tuple[str, str, int, str]]) -> None:
        """See `Filling.put_requests`."""
        self._db.executemany(
            "insert into request select n, ?2, ?3, ?4 from run where id = ?1", requests
        )

    def put_thread(self, thread: GuestThread) -> None:
        """See `Filling.put_thread`."""
        put_thread(self._db, thread)


@contextmanager
def filling(path: str, identity: tuple[str, int]) -> Generator[SQLiteFilling]:
    """A new file, to be filled: all of it, or there is none."""
    if os.path.exists(path):
        raise Conflict(
            f"file {path!r} already exists", consequence="nothing was copied", advice="name another"
        )
    db = connect(path)
    try:
        with closing(db):
            bring_up_to_date(db, path)
            with transaction(db):
                db.execute("update meta set value = ? where key = 'store'", identity[:1])
                db.execute("insert into meta values ('erasures', ?)", (str(identity[1]),))
                yield SQLiteFilling(db)
    except BaseException:
        for part in PARTS:
            if os.path.exists(path + part):
                os.unlink(path + part)
        raise
