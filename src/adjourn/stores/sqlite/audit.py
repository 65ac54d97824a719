"""The audit in SQLite: its lines, its seals, and a look at everything."""

import asyncio
from collections.abc import Callable, Iterable, Sequence
from contextlib import closing
from itertools import starmap
from typing import TYPE_CHECKING, Any

from adjourn.stores.audit import (
    AuditFilter,
    AuditLine,
    FoundLine,
)
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Halt
from adjourn.stores.seals import Anchor
from adjourn.stores.sqlite import audit_search, lists
from adjourn.stores.sqlite.batch_thread import BatchThread
from adjourn.stores.sqlite.rows import (
    COLUMNS,
    RUN,
    endpoints,
    interrupt_row,
    is_signed,
    run_row,
)
from adjourn.stores.table_evidence import TableEvidence
from adjourn.stores.table_store import TableStore

if TYPE_CHECKING:
    from adjourn.stores.verification import Verification


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
            # and one view of the file, whatever is written meanwhile
            with closing(self._connect()) as db, db:
                return verified(_Evidence(db), keys, since)

        return await asyncio.to_thread(work)


class _Evidence(TableEvidence):
    """Everything in the file, by one connection that is inside a transaction."""

    _runs, _number = f"select {COLUMNS} from run where n > :after order by n", RUN.index("n")
    _journal = (
        "select seq, body, head from journal "
        "where key > (:of << 32) + :after and key < (:of + 1) << 32 order by key"
    )
    _head = (
        "select j.head from run r join journal j on j.key = (r.n << 32 | :seq) where r.id = :run"
    )

    def __init__(self, db: Any) -> None:
        super().__init__(run_row, interrupt_row)
        self._db = db

    def _rows(self, sql: str, **values: Any) -> list[Any]:
        return self._db.execute(sql, values).fetchall()

    def is_signed(self) -> bool:
        return is_signed(self._db)

    def halts(self) -> Iterable[Halt]:
        return list(starmap(Halt, self._rows("select scope, by, reason, at from halt")))

    def endpoints(self) -> Iterable[Endpoint]:
        return endpoints(self._db)
