"""Everything in a PostgreSQL database, to be read or to be filled."""

from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from itertools import starmap
from typing import Any, TypeVar

import msgspec
import psycopg

from adjourn.core.codec import encode
from adjourn.errors import Conflict
from adjourn.stores.address import without_password
from adjourn.stores.audit import AuditLine
from adjourn.stores.contents import OneRun, StoreRest
from adjourn.stores.erasure import Hold
from adjourn.stores.fleet import Misfit
from adjourn.stores.guest_threads import GuestThread
from adjourn.stores.outbox import Notification
from adjourn.stores.postgres.config import READ, Config, taken
from adjourn.stores.postgres.connections import (
    Connection,
    connect,
    messages,
    store_error,
    taken_apart,
)
from adjourn.stores.postgres.guest_threads import put_thread, read_threads
from adjourn.stores.postgres.migrations import bring_up_to_date
from adjourn.stores.postgres.row_cache import Remembered
from adjourn.stores.postgres.rows import (
    COLUMNS,
    INTERRUPT,
    LETTER,
    SEAL,
    columns,
    interrupt_row,
    run_row,
)
from adjourn.stores.postgres.transaction import LockedBook
from adjourn.stores.rules.reads_and_writes import Appended, ReadRequest
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Seal

PAGE = 200
"""Runs that are read at once."""
LINES = 5_000
RUNS = f"select {COLUMNS} from adjourn.run r where r.n > %(after)s order by r.n limit {PAGE}"
JOURNAL = (
    "select run, seq, epoch, body, head from adjourn.journal where run = "
    "any(%(runs)s::bigint[]) order by run, seq"
)
INTERRUPTS = (
    f"select x.run, {columns(INTERRUPT, 'x')} from adjourn.interrupt x where x.run "
    f"= any(%(runs)s::bigint[]) order by x.run, x.i"
)
REQUESTS = (
    "select run, id, seq, body from adjourn.request where run = "
    "any(%(runs)s::bigint[]) order by run, id"
)
BLOBS = "select run, digest, body from adjourn.blob where run = any(%(runs)s::bigint[])"
KEYS = "select run, wrapped from adjourn.run_key where run = any(%(runs)s::bigint[])"
MISFITS = "select run, body from adjourn.misfit where run = any(%(runs)s::bigint[])"
WAKES = "select run, not_before from adjourn.wake where run = any(%(runs)s::bigint[])"
AUDIT = f"""
select scope, n, body, head from adjourn.audit where %(first)s or (scope, n) > (%(scope)s, %(n)s) order by scope, n limit {LINES}
"""
EMPTY = """
select not exists (select 1 from adjourn.run) and not exists (select 1 from adjourn.audit)
    and not exists (select 1 from adjourn.guest_thread)
"""
IDENTITY = """
select (select value from adjourn.meta where key = 'store'),
    coalesce((select value::bigint from adjourn.meta where key = 'erasures'), 0)
"""
PUT_REQUESTS = """
insert into adjourn.request select r.n, x.id, x.seq, x.body
from json_to_recordset(%(rows)s::json) as x(owner text, id text, seq bigint, body text) join adjourn.run r on r.id = x.owner
"""
_misfit = msgspec.json.Decoder(Misfit).decode
Found = TypeVar("Found")


class PostgresContents:
    """See `Contents`: by one connection, inside a transaction that sees one moment."""

    def __init__(self, db: Connection) -> None:
        self._db = db

    def _rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        return messages(self._db, [sql], values)[0]

    def _all(self, of: Callable[..., Found], sql: str, **values: Any) -> list[Found]:
        return list(starmap(of, self._rows(sql, **values)))

    def identity(self) -> tuple[str, int]:
        """See `Contents.identity`."""
        [(id, erased)] = self._rows(IDENTITY)
        return id, erased

    def runs(self) -> Iterator[OneRun]:
        """See `Contents.runs`."""
        after = 0
        while True:
            rows = list(map(run_row, self._rows(RUNS, after=after)))
            yield from self._whole(rows)
            if len(rows) < PAGE:
                return
            after = rows[-1].n

    def _whole(self, rows: list[RunRow]) -> list[OneRun]:
        found = {row.n: OneRun(row, [], [], []) for row in rows}
        numbers = list(found)
        for run, *line in self._rows(JOURNAL, runs=numbers):
            found[run].journal.append(Appended(*line))
        for run, *values in self._rows(INTERRUPTS, runs=numbers):
            found[run].interrupts.append(interrupt_row(values))
        for run, id, seq, body in self._rows(REQUESTS, runs=numbers):
            found[run].requests.append((id, seq, body))
        for run, digest, body in self._rows(BLOBS, runs=numbers):
            found[run].blobs[digest] = bytes(body)
        for run, wrapped in self._rows(KEYS, runs=numbers):
            found[run].key = wrapped
        for run, body in self._rows(MISFITS, runs=numbers):
            found[run].misfit = _misfit(body)
        for run, at in self._rows(WAKES, runs=numbers):
            found[run].wake = at
        return list(found.values())

    def lines(self) -> Iterator[AuditLine]:
        """See `Contents.lines`."""
        last = AuditLine("", 0, "", b"")
        first = True
        while True:
            rows = self._all(AuditLine, AUDIT, first=first, scope=last.scope, n=last.n)
            yield from rows
            if len(rows) < LINES:
                return
            last, first = rows[-1], False

    def seals(self) -> Iterator[Seal]:
        """See `Contents.seals`."""
        yield from self._all(Seal, f"select {', '.join(SEAL)} from adjourn.seal order by k")

    def rest(self) -> StoreRest:
        """See `Contents.rest`."""
        _, current, _ = taken(self._rows(READ, generation="")[0], Config())
        return StoreRest(
            sorted(current.halts, key=lambda halt: (halt.at, halt.scope)),
            self._all(Hold, "select scope, by, reason, at from adjourn.hold order by at"),
            list(current.endpoints),
            self._all(Notification, f"select {', '.join(LETTER)} from adjourn.letter order by n"),
            dict(self._rows("select scope, at from adjourn.touched")),
            current.signed,
            current.waking,
        )

    def threads(self) -> Iterator[GuestThread]:
        """See `Contents.threads`."""
        return read_threads(self._db)


@contextmanager
def reading(address: str) -> Generator[PostgresContents]:
    """What is in a database, as of one moment."""
    try:
        with connect(taken_apart(address)[0]) as db:
            db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            with db.transaction():
                yield PostgresContents(db)
    except psycopg.Error as e:
        raise store_error(without_password(address), e) from e


class PostgresFilling:
    """See `Filling`."""

    def __init__(self, db: Connection) -> None:
        self._db, self.book = db, LockedBook(db, Remembered(None))

    def put_requests(self, requests: Sequence[tuple[str, str, int, str]]) -> None:
        """See `Filling.put_requests`."""
        rows = [
            {"owner": run, "id": id, "seq": seq, "body": body} for run, id, seq, body in requests
        ]
        messages(self._db, [PUT_REQUESTS], {"rows": encode(rows).decode()})

    def put_thread(self, thread: GuestThread) -> None:
        """See `Filling.put_thread`."""
        put_thread(self._db, thread)


@contextmanager
def filling(address: str, identity: tuple[str, int]) -> Generator[PostgresFilling]:
    """A database with nothing of ours in it, to be filled: all of it, or nothing."""
    where = without_password(address)
    try:
        with connect(taken_apart(address)[0]) as db:
            bring_up_to_date(db, where)
            found = PostgresFilling(db)
            book = found.book
            book.read(ReadRequest(audit=("",)))
            messages(db, ["set local idle_in_transaction_session_timeout = 0"], {})
            if not messages(db, [EMPTY], {})[0][0][0]:
                raise Conflict(
                    f"{where!r} is not empty",
                    consequence="nothing was copied",
                    advice="name another",
                )
            _name(db, identity)
            yield found
            book.ending = True
            book.flush()
    except psycopg.Error as e:
        raise store_error(where, e) from e


def _name(db: Connection, identity: tuple[str, int]) -> None:
    """It is the same store."""
    script = [
        "update adjourn.meta set value = %(id)s where key = 'store'",
        (
            "insert into adjourn.meta values ('erasures', %(erased)s) on conflict (key) do "
            "update set value = excluded.value"
        ),
    ]
    messages(db, script, {"id": identity[0], "erased": str(identity[1])})
