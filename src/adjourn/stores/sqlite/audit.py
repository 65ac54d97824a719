"""The audit in SQLite: its lines, its seals, and a look at everything."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any

from adjourn.stores.audit import (
    AuditFilter,
    AuditLine,
    BrokenChain,
    Evidenced,
    FoundLine,
)
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.erasure import Hold
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Halt
from adjourn.stores.rows import first_column
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Anchor, Seal
from adjourn.stores.sqlite import audit_search, lists
from adjourn.stores.sqlite.batch_thread import BatchThread
from adjourn.stores.sqlite.rows import (
    COLUMNS,
    INTERRUPT,
    SEAL,
    endpoints,
    holds,
    interrupt_row,
    is_signed,
    key,
    run_row,
    store_id,
)
from adjourn.stores.table_store import TableStore

if TYPE_CHECKING:
    from adjourn.stores.verification import Line, Verification


class SQLiteAudit(TableStore):
    """The part of `SQLiteStore` that is about the audit."""

    _lists: BatchThread
    _reader: BatchThread
    _connect: Callable[[], Any]

    async def audit(
        self, scope: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[AuditLine]:
        """See `Store.audit`."""
        return await self._lists.ask(lambda db: lists.audit(db, scope, after, limit))

    async def _audit_lines(
        self, wanted: AuditFilter, security: bool, place: str, most: int
    ) -> list[FoundLine]:
        return await self._lists.ask(
            lambda db: audit_search.look(db, wanted, security, place, most)
        )

    async def verify(
        self, keys: Sequence[AuditKey] = (), since: Anchor | None = None
    ) -> "Verification":
        """See `Store.verify`."""

        from adjourn.stores.verification import verified

        def work() -> "Verification":
            # of its own: it reads everything, and nobody else should wait for that
            db = self._connect()
            try:
                with db:  # one view of the file, whatever is written meanwhile
                    return verified(_Evidence(db), keys, since)
            finally:
                db.close()

        return await asyncio.to_thread(work)


class _Evidence:
    """Everything in the file, by one connection that is inside a transaction."""

    def __init__(self, db: Any) -> None:
        self._db = db

    def store_id(self) -> str:
        return store_id(self._db)

    def scopes(self) -> Iterable[tuple[str, int, bytes]]:
        return self._db.execute("select scope, n, head from audit_head").fetchall()

    def strays(self) -> Iterable[BrokenChain]:
        headless = (
            "select distinct scope from audit where scope not in (select scope from audit_head)"
        )
        lost = "select distinct run from journal where run not in (select n from run)"
        asked = "select distinct run from interrupt where run not in (select n from run)"
        for scope in first_column(self._db.execute(headless)):
            yield BrokenChain(Evidenced.AUDIT, scope, 1, "nothing says how long it was")
        for number in first_column(self._db.execute(lost)):
            yield BrokenChain(Evidenced.JOURNAL, f"run number {number}", 1, "its run is missing")
        for number in first_column(self._db.execute(asked)):
            yield BrokenChain(Evidenced.ROWS, f"run number {number}", 0, "its run is missing")

    def lines(self, scope: str) -> "Iterable[Line]":
        return self._db.execute(
            "select n, body, head from audit where scope = ? order by n", (scope,)
        )

    def line(self, scope: str, number: int) -> "Line | None":
        sql = "select n, body, head from audit where scope = ? and n = ?"
        return self._db.execute(sql, (scope, number)).fetchone()

    def runs(self) -> Iterable[RunRow | BrokenChain]:
        for row in self._db.execute(f"select {COLUMNS} from run"):
            try:
                yield run_row(row)
            except (KeyError, ValueError, TypeError) as e:
                yield BrokenChain(Evidenced.ROWS, row[0], 0, f"its row cannot be read: {e!r:.200}")

    def journal(self, row: RunRow) -> "Iterable[Line]":
        whole = (key(row.n, 0), key(row.n + 1, 0))
        return self._db.execute(
            "select seq, body, head from journal where key between ? and ? order by key", whole
        )

    def interrupts(self, row: RunRow) -> Iterable[InterruptRow]:
        rows = self._db.execute(f"select {INTERRUPT} from interrupt where run = ?", (row.n,))
        return list(map(interrupt_row, rows))

    def blobs(self, row: RunRow) -> Iterable[tuple[str, bytes]]:
        return self._db.execute("select digest, body from blob where run = ?", (row.n,))

    def record_head(self, run: str, seq: int) -> bytes | None:
        sql = "select j.head from run r join journal j on j.key = (r.n << 32 | ?2) where r.id = ?1"
        found = self._db.execute(sql, (run, seq)).fetchone()
        return found[0] if found else None

    def seals(self) -> Iterable[Seal]:
        return starmap(Seal, self._db.execute(f"select {SEAL} from seal order by k"))

    def touched(self) -> Iterable[str]:
        return first_column(self._db.execute("select scope from touched"))

    def is_signed(self) -> bool:
        return is_signed(self._db)

    def halts(self) -> Iterable[Halt]:
        return list(starmap(Halt, self._db.execute("select scope, by, reason, at from halt")))

    def holds(self) -> Iterable[Hold]:
        return holds(self._db)

    def endpoints(self) -> Iterable[Endpoint]:
        return endpoints(self._db)
