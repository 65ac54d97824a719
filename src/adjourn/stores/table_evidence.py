"""Everything that is in the tables of a store, for a check, as far as databases are asked alike."""

from collections.abc import Callable, Iterable, Iterator
from itertools import starmap
from typing import Any

from adjourn.stores.audit import BrokenChain, Evidenced
from adjourn.stores.erasure import Hold
from adjourn.stores.erasure_check import Line
from adjourn.stores.rows import first_column
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Seal
from adjourn.stores.table_store import SEAL

PAGE = 1_000
"""So many rows are read at once."""
LEAST = -(1 << 62)
"""Before every number, also one that nobody but a forger has written."""
INTERRUPT = ", ".join(f"x.{name}" for name in InterruptRow.__struct_fields__)


class TableEvidence:
    """See `verification.Evidence`. A value is `:name` in a statement."""

    _within = ""
    """What stands before the name of a table."""
    _runs: str
    """All runs with numbers greater than `:after`, in order."""
    _number: int
    """The place of the number in a row of a run."""
    _journal: str
    """The lines of the run with the number `:of` that come after `:after`, in order."""
    _head: str
    """The head of the record `:seq` of `:run`."""

    def __init__(
        self, run_row: Callable[[Any], RunRow], interrupt_row: Callable[[Any], InterruptRow]
    ) -> None:
        self._run_row, self._interrupt_row = run_row, interrupt_row

    def _rows(self, sql: str, **values: Any) -> list[Any]:
        raise NotImplementedError

    def _pages(
        self, sql: str, *, after: Any = LEAST, place: int = 0, **values: Any
    ) -> Iterator[Any]:
        """Rows, page by page: `after` is what stands at this `place` of the last one."""
        while True:
            found = self._rows(f"{sql} limit {PAGE}", after=after, **values)
            yield from found
            if len(found) < PAGE:
                return
            after = found[-1][place]

    def store_id(self) -> str:
        """See `verification.Evidence`."""
        sql = f"select value from {self._within}meta where key = 'store'"
        return "".join(first_column(self._rows(sql)))

    def scopes(self) -> Iterable[tuple[str, int, bytes]]:
        """See `verification.Evidence`."""
        heads = f"select scope, n, head from {self._within}audit_head"
        yield from self._rows(f"{heads} where scope = ''")  # of no run; it comes first
        yield from self._pages(f"{heads} where scope > :after order by scope", after="")

    def strays(self) -> Iterable[BrokenChain]:
        """See `verification.Evidence`."""
        headless = (
            f"select distinct a.scope from {self._within}audit a where not exists "
            f"(select 1 from {self._within}audit_head h where h.scope = a.scope)"
        )
        for scope in first_column(self._rows(headless)):
            yield BrokenChain(Evidenced.AUDIT, scope, 1, "nothing says how long it was")
        for what, line, table in (
            (Evidenced.JOURNAL, 1, "journal"),
            (Evidenced.ROWS, 0, "interrupt"),
        ):
            sql = (
                f"select distinct run from {self._within}{table} x where not exists (select 1 "
                f"from {self._within}run r where r.n = x.run)"
            )
            for number in first_column(self._rows(sql)):
                yield BrokenChain(what, f"run number {number}", line, "its run is missing")

    def lines(self, scope: str) -> Iterator[Line]:
        """See `verification.Evidence`."""
        which = "where scope = :of and n > :after order by n"
        return self._pages(f"select n, body, head from {self._within}audit {which}", of=scope)

    def line(self, scope: str, number: int) -> Line | None:
        """See `verification.Evidence`."""
        which = "where scope = :scope and n = :number"
        sql = f"select n, body, head from {self._within}audit {which}"
        return next(iter(self._rows(sql, scope=scope, number=number)), None)

    def runs(self) -> Iterable[RunRow | BrokenChain]:
        """See `verification.Evidence`."""
        for row in self._pages(self._runs, place=self._number):
            try:
                yield self._run_row(row)
            except (KeyError, ValueError, TypeError) as e:
                yield BrokenChain(Evidenced.ROWS, row[0], 0, f"its row cannot be read: {e!r:.200}")

    def journal(self, row: RunRow) -> Iterator[Line]:
        """See `verification.Evidence`."""
        return self._pages(self._journal, after=-1, of=row.n)

    def interrupts(self, row: RunRow) -> Iterable[InterruptRow]:
        """See `verification.Evidence`."""
        sql = f"select {INTERRUPT} from {self._within}interrupt x where x.run = :run"
        return map(self._interrupt_row, self._rows(sql, run=row.n))

    def blobs(self, row: RunRow) -> Iterator[tuple[str, bytes]]:
        """See `verification.Evidence`."""
        digests = f"select digest from {self._within}blob where run = :run"
        for digest in first_column(self._rows(digests, run=row.n)):
            sql = f"select body from {self._within}blob where run = :run and digest = :digest"
            for body in first_column(self._rows(sql, run=row.n, digest=digest)):
                yield digest, bytes(body)

    def record_head(self, run: str, seq: int) -> bytes | None:
        """See `verification.Evidence`."""
        return next(iter(first_column(self._rows(self._head, run=run, seq=seq))), None)

    def seals(self) -> Iterable[Seal]:
        """See `verification.Evidence`."""
        return starmap(Seal, self._rows(f"select {SEAL} from {self._within}seal order by k"))

    def touched(self) -> Iterable[str]:
        """See `verification.Evidence`."""
        return first_column(self._rows(f"select scope from {self._within}touched"))

    def holds(self) -> Iterable[Hold]:
        """See `verification.Evidence`."""
        return list(
            starmap(Hold, self._rows(f"select scope, by, reason, at from {self._within}hold"))
        )
