"""The half of a store in tables that reads, as far as databases are asked alike."""

from collections.abc import Sequence
from itertools import starmap
from typing import Any

import msgspec

from adjourn.stores.audit import EVERY_LINE, AuditFilter, FoundLine, newest
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.erasure import Hold
from adjourn.stores.fleet import Census, Misfit, Queue, RunCount, WorkerCard
from adjourn.stores.outbox import Notification
from adjourn.stores.rows import first_column
from adjourn.stores.ruled_store import Ruled
from adjourn.stores.seals import MOST, Seal

LETTER = ", ".join(Notification.__struct_fields__)
SEAL = ", ".join(Seal.__struct_fields__)
_card = msgspec.json.Decoder(WorkerCard).decode
_misfit = msgspec.json.Decoder(Misfit).decode


class TableStore(Ruled):
    """What every store in tables has in common. A value is `:name` in a statement."""

    _within = ""
    """What stands before the name of a table."""
    _followed: str
    _unfit: str
    _queues: str
    _census: str
    _size: str

    async def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """What a statement gives that changes nothing."""
        raise NotImplementedError

    async def _audit_lines(
        self, wanted: AuditFilter, security: bool, place: str, most: int
    ) -> list[FoundLine]:
        """See `stores.audit.newest`."""
        raise NotImplementedError

    async def _meta(self, key: str) -> str:
        """What is kept under this key; "" if nothing is."""
        sql = f"select value from {self._within}meta where key = :key"
        return "".join(first_column(await self.rows(sql, key=key)))

    async def _says(self, key: str) -> bool:
        return await self._meta(key) == "yes"

    async def identity(self) -> str:
        """See `Store.identity`."""
        return await self._meta("store")

    async def erasures(self) -> int:
        """See `Store.erasures`."""
        return int(await self._meta("erasures") or 0)

    async def recent(
        self,
        before: str = "",
        limit: int = 100,
        *,
        security: bool = False,
        wanted: AuditFilter = EVERY_LINE,
    ) -> list[FoundLine]:
        """See `Store.recent`."""
        return await newest(
            lambda place, most: self._audit_lines(wanted, security, place, most),
            wanted,
            before,
            limit,
        )

    async def seal(
        self, key: AuditKey | None = None, *, after: Seal | None = None, most: int = MOST
    ) -> Seal | None:
        """See `Store.seal`."""
        sql = (
            f"select exists (select 1 from {self._within}touched) or coalesce("
            f"(select kid = '' from {self._within}seal order by k desc limit 1), false)"
        )
        [(is_unsealed,)] = await self.rows(sql)
        if not is_unsealed:  # most of the time; then nobody waits for a lock
            return None
        return await super().seal(key, after=after, most=most)

    async def seals(self, after: int = 0, limit: int = 100) -> list[Seal]:
        """See `Store.seals`."""
        which = "where k > :after order by k"
        if after < 0:
            which, limit = "order by k desc", -after
        sql = f"select {SEAL} from {self._within}seal {which} limit :limit"
        found = starmap(Seal, await self.rows(sql, after=after, limit=limit))
        return sorted(found, key=lambda seal: seal.k)

    async def hold(
        self, scope: str, *, by: str = "", reason: str = "", lift: bool = False, origin: str = ""
    ) -> list[Hold]:
        """See `Store.hold`."""
        if not scope:
            sql = f"select scope, by, reason, at from {self._within}hold order by at"
            return list(starmap(Hold, await self.rows(sql)))
        return await super().hold(scope, by=by, reason=reason, lift=lift, origin=origin)

    async def followed(self, runs: Sequence[str]) -> dict[str, list[str]]:
        """See `Store.followed`."""
        found: dict[str, list[str]] = {}
        for run, follower in await self.rows(self._followed, runs=list(runs)):
            found.setdefault(run, []).append(follower)
        return found

    async def workers(self) -> dict[str, float]:
        """See `Store.workers`."""
        return dict(await self.rows(f"select id, until from {self._within}worker"))

    async def _roster(self) -> list[WorkerCard]:
        bodies = await self.rows(f"select body from {self._within}roster order by id")
        return list(map(_card, first_column(bodies)))

    async def queues(self) -> list[Queue]:
        """See `Store.queues`."""
        return list(starmap(Queue, await self.rows(self._queues, now=self.now())))

    async def census(self, most: int = 100_000) -> Census:
        """See `Store.census`."""
        counted = starmap(RunCount, await self.rows(self._census, most=most))
        [(size,)] = await self.rows(self._size)
        return Census(tuple(counted), size)

    async def _noted_misfits(self, runs: Sequence[str]) -> list[Misfit]:
        return list(map(_misfit, first_column(await self.rows(self._unfit, runs=list(runs)))))

    async def letters(
        self, state: str = "", *, after: int = 0, limit: int = 100
    ) -> list[Notification]:
        """See `Store.letters`."""
        states = "state in ('due', 'dead')"
        if state:
            states = "state = :state"
        sql = f"select {LETTER} from {self._within}letter where n > :after and {states} order by n"
        found = await self.rows(f"{sql} limit :limit", state=state, after=after, limit=limit)
        return list(starmap(Notification, found))
