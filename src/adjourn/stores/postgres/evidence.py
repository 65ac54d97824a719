"""Everything in a PostgreSQL database, for a check."""

from collections.abc import Iterable, Iterator
from itertools import starmap
from typing import Any

from adjourn.stores.audit import BrokenChain, Evidenced
from adjourn.stores.erasure import Hold
from adjourn.stores.erasure_check import Line
from adjourn.stores.outbox import Endpoint
from adjourn.stores.postgres.config import READ, Config, taken
from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.postgres.rows import COLUMNS, INTERRUPT, SEAL, columns, interrupt_row, run_row
from adjourn.stores.protocol import Halt
from adjourn.stores.rows import first_column
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Seal

PAGE = 1_000
"""So many rows are read at once."""
SCOPES = """
select scope, n, head from adjourn.audit_head where %(after)s::text is null or scope > %(after)s order by scope
"""
HEADLESS = """
select distinct a.scope from adjourn.audit a
where not exists (select 1 from adjourn.audit_head h where h.scope = a.scope)
"""


class PostgresEvidence:
    """See `verification.Evidence`: by one connection, inside a transaction that sees one moment."""

    def __init__(self, db: Connection) -> None:
        self._db = db
        self._config = taken(self._rows(READ, generation="")[0], Config())[1]

    def _rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        return messages(self._db, [sql], values)[0]

    def store_id(self) -> str:
        """See `verification.Evidence`."""
        found = self._rows("select value from adjourn.meta where key = 'store'")
        return found[0][0] if found else ""

    def scopes(self) -> Iterable[tuple[str, int, bytes]]:
        """See `verification.Evidence`."""
        return self._pages(SCOPES, after=None)

    def strays(self) -> Iterable[BrokenChain]:
        """See `verification.Evidence`."""
        for (scope,) in self._rows(HEADLESS):
            yield BrokenChain(Evidenced.AUDIT, scope, 1, "nothing says how long it was")
        for what, line, table in (
            (Evidenced.JOURNAL, 1, "journal"),
            (Evidenced.ROWS, 0, "interrupt"),
        ):
            sql = (
                f"select distinct run from adjourn.{table} x where not exists (select 1 "
                f"from adjourn.run r where r.n = x.run)"
            )
            for (number,) in self._rows(sql):
                yield BrokenChain(what, f"run number {number}", line, "its run is missing")

    def lines(self, scope: str) -> Iterator[Line]:
        """See `verification.Evidence`."""
        sql = "select n, body, head from adjourn.audit where scope = %(of)s and n > %(after)s order by n"
        return self._pages(sql, of=scope)

    def line(self, scope: str, number: int) -> Line | None:
        """See `verification.Evidence`."""
        sql = "select n, body, head from adjourn.audit where scope = %(scope)s and n = %(number)s"
        found = self._rows(sql, scope=scope, number=number)
        return found[0] if found else None  # pyright: ignore[reportReturnType]

    def _pages(self, sql: str, *, after: Any = 0, place: int = 0, **values: Any) -> Iterator[Any]:
        """Rows, page by page: `after` is what stands at this `place` of the last one."""
        while True:
            found = self._rows(f"{sql} limit {PAGE}", after=after, **values)
            yield from found
            if len(found) < PAGE:
                return
            after = found[-1][place]

    def runs(self) -> Iterable[RunRow | BrokenChain]:
        """See `verification.Evidence`."""
        sql = f"select {COLUMNS} from adjourn.run r where r.n > %(after)s order by r.n"
        return map(_run_or_broken, self._pages(sql, place=-1))

    def journal(self, row: RunRow) -> Iterator[Line]:
        """See `verification.Evidence`."""
        sql = "select seq, body, head from adjourn.journal where run = %(of)s and seq > %(after)s order by seq"
        return self._pages(sql, of=row.n)

    def interrupts(self, row: RunRow) -> Iterable[InterruptRow]:
        """See `verification.Evidence`."""
        sql = f"select {columns(INTERRUPT, 'x')} from adjourn.interrupt x where x.run = %(run)s"
        return map(interrupt_row, self._rows(sql, run=row.n))

    def blobs(self, row: RunRow) -> Iterator[tuple[str, bytes]]:
        """See `verification.Evidence`."""
        for (digest,) in self._rows(
            "select digest from adjourn.blob where run = %(run)s", run=row.n
        ):
            sql = "select body from adjourn.blob where run = %(run)s and digest = %(digest)s"
            for (body,) in self._rows(sql, run=row.n, digest=digest):
                yield digest, bytes(body)

    def record_head(self, run: str, seq: int) -> bytes | None:
        """See `verification.Evidence`."""
        sql = (
            "select j.head from adjourn.run r join adjourn.journal j on j.run = r.n and "
            "j.seq = %(seq)s where r.id = %(run)s"
        )
        found = self._rows(sql, run=run, seq=seq)
        return found[0][0] if found else None

    def seals(self) -> Iterable[Seal]:
        """See `verification.Evidence`."""
        return starmap(Seal, self._rows(f"select {', '.join(SEAL)} from adjourn.seal order by k"))

    def touched(self) -> Iterable[str]:
        """See `verification.Evidence`."""
        return first_column(self._rows("select scope from adjourn.touched"))

    def is_signed(self) -> bool:
        """See `verification.Evidence`."""
        return self._config.signed

    def halts(self) -> Iterable[Halt]:
        """See `verification.Evidence`."""
        return self._config.halts

    def holds(self) -> Iterable[Hold]:
        """See `verification.Evidence`."""
        return list(starmap(Hold, self._rows("select scope, by, reason, at from adjourn.hold")))

    def endpoints(self) -> Iterable[Endpoint]:
        """See `verification.Evidence`."""
        return self._config.endpoints


def _run_or_broken(row: tuple[Any, ...]) -> RunRow | BrokenChain:
    try:
        return run_row(row)
    except (KeyError, ValueError, TypeError) as e:
        return BrokenChain(Evidenced.ROWS, row[0], 0, f"its row cannot be read: {e!r:.200}")
