"""The audit in PostgreSQL: its lines, its seals, and a look at everything."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any

import psycopg

from adjourn.stores.audit import SECURITY, AuditFilter, AuditLine, FoundLine
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.postgres import audit_search
from adjourn.stores.postgres.connections import Connection, connect, store_error
from adjourn.stores.postgres.lists import planned
from adjourn.stores.seals import Anchor
from adjourn.stores.table_store import TableStore

if TYPE_CHECKING:
    from adjourn.stores.verification import Verification

LINE = "select scope, n, body, head from adjourn.audit"


class PostgresAudit(TableStore):
    """The part of `PostgresStore` that is about the audit."""

    _within = "adjourn."

    where: str
    _info: str
    ask: Callable[[Callable[[Connection], Any]], Awaitable[Any]]
    _crew: Any

    async def audit(
        self, scope: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[AuditLine]:
        """See `Store.audit`."""
        if scope is None:
            sql = (
                f"{LINE} where scope <> '{SECURITY}' and n > %(after)s order by at, "
                f"scope, n limit %(limit)s"
            )
        else:
            sql = f"{LINE} where scope = %(scope)s and n > %(after)s order by n limit %(limit)s"
        values = {"scope": scope, "after": after, "limit": limit}
        return list(starmap(AuditLine, await self.ask(lambda db: planned(db, sql, values))))

    async def _audit_lines(
        self, wanted: AuditFilter, security: bool, place: str, most: int
    ) -> list[FoundLine]:
        return await self.ask(lambda db: audit_search.look(db, wanted, security, place, most))

    async def verify(
        self, keys: Sequence[AuditKey] = (), since: Anchor | None = None
    ) -> "Verification":
        """See `Store.verify`."""
        return await self._crew.ask(lambda: self._verify(keys, since))

    def _verify(self, keys: Sequence[AuditKey], since: Anchor | None) -> "Verification":
        from adjourn.stores.postgres.evidence import PostgresEvidence
        from adjourn.stores.verification import verified

        try:
            with connect(self._info) as db:  # of its own: it reads everything
                # one moment, whatever is written meanwhile
                db.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
                with db.transaction():
                    return verified(PostgresEvidence(db), keys, since)
        except psycopg.Error as e:
            raise store_error(self.where, e) from e
