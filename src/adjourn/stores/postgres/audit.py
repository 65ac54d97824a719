"""The audit in PostgreSQL: its lines, its seals, and a look at everything."""

from collections.abc import Awaitable, Callable, Sequence
from itertools import starmap
from typing import TYPE_CHECKING, Any

import msgspec
import psycopg

from adjourn.stores.audit import EVERY_LINE, SECURITY, AuditFilter, AuditLine, FoundLine, newest
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.fleet import Misfit
from adjourn.stores.postgres import audit_search
from adjourn.stores.postgres.connections import Connection, connect, store_error
from adjourn.stores.postgres.lists import planned
from adjourn.stores.postgres.rows import SEAL
from adjourn.stores.ruled_store import Ruled
from adjourn.stores.seals import MOST, Anchor, Seal

if TYPE_CHECKING:
    from adjourn.stores.verification import Verification

LINE = "select scope, n, body, head from adjourn.audit"
SEALS = f"select {', '.join(SEAL)} from adjourn.seal"
UNSEALED = """
select exists (select 1 from adjourn.touched)
    or coalesce((select kid = '' from adjourn.seal order by k desc limit 1), false)
"""
misfit = msgspec.json.Decoder(Misfit).decode


class PostgresAudit(Ruled):
    """The part of `PostgresStore` that is about the audit."""

    where: str
    _info: str
    ask: Callable[[Callable[[Connection], Any]], Awaitable[Any]]
    rows: Callable[..., Awaitable[list[tuple[Any, ...]]]]
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
            return self.ask(lambda db: audit_search.look(db, wanted, security, place, most))

        return await newest(look, wanted, before, limit)

    async def identity(self) -> str:
        """See `Store.identity`."""
        found = await self.rows("select value from adjourn.meta where key = 'store'")
        return found[0][0] if found else ""

    async def seal(
        self, key: AuditKey | None = None, *, after: Seal | None = None, most: int = MOST
    ) -> Seal | None:
        """See `Store.seal`."""
        if not (await self.rows(UNSEALED))[0][0]:  # most of the time; then nobody waits for a lock
            return None
        return await super().seal(key, after=after, most=most)

    async def seals(self, after: int = 0, limit: int = 100) -> list[Seal]:
        """See `Store.seals`."""
        if after < 0:
            rows = await self.rows(f"{SEALS} order by k desc limit %(limit)s", limit=-after)
        else:
            rows = await self.rows(
                f"{SEALS} where k > %(after)s order by k limit %(limit)s", after=after, limit=limit
            )
        return sorted(starmap(Seal, rows), key=lambda seal: seal.k)

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
