"""The audit in SQLite: its lines, its seals, and a look at everything."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any

from adjourn.stores.audit import (
    EVERY_LINE,
    AuditFilter,
    AuditLine,
    BrokenChain,
    Evidenced,
    FoundLine,
    newest,
)
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.erasure import Hold
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Halt
from adjourn.stores.rows import first_column
from adjourn.stores.ruled_store import Ruled
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import MOST, Anchor, Seal
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

if TYPE_CHECKING:
    from adjourn.stores.verification import Line, Verification


class SQLiteAudit(Ruled):
    """The part of `SQLiteStore` that is about the audit."""

    _lists: BatchThread
    _reader: BatchThread
    _connect: Callable[[], Any]

    async def audit(
        self, scope: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[AuditLine]:
        """See `Store.audit`."""
        return await self._lists.ask(lambda db: lists.audit(db, scope, after, limit))

    async def recent(
        self,
        before: str = "",
        limit: int = 100,
        *,
        security: bool = False,
        wanted: AuditFilter = EVERY_LINE,
    ) -> list[FoundLine]:
        """See `Store.recent`."""

        def look(place: str, most: int) -> Awaitable[list[FoundLine]]:
            return self._lists.ask(lambda db: audit_search.look(db, wanted, security, place, most))

        return await newest(look, wanted, before, limit)

    async def identity(self) -> str:
        """See `Store.identity`."""
        return await self._reader.ask(store_id)

    async def seal(
        self, key: AuditKey | None = None, *, after: Seal | None = None, most: int = MOST
    ) -> Seal | None:
        """See `Store.seal`."""
        # most of the time; then nobody waits for the file
        if not await self._reader.ask(_is_unsealed):
            return None
        return await super().seal(key, after=after, most=most)

    async def seals(self, after: int = 0, limit: int = 100) -> list[Seal]:
        """See `Store.seals`."""
        if after < 0:
            sql, values = f"select {SEAL} from seal order by k desc limit ?", (-after,)
        else:
            sql, values = f"select {SEAL} from seal where k > ? order by k limit ?", (after, limit)
        found: list[Seal] = await self._reader.ask(
            lambda db: list(starmap(Seal, db.execute(sql, values)))
        )
        return sorted(found, key=lambda x: x.k)

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


def _is_unsealed(db: Any) -> bool:
    """Whether a sealer could have something to do: a scope was touched, or the last seal is not
    signed."""
    if db.execute("select 1 from touched limit 1").fetchone():
        return True
    last = db.execute("select kid from seal order by k desc limit 1").fetchone()
    return last is not None and not last[0]


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
