"""Journals in memory: for storeless runs and for tests. Nothing outlives the object."""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Any, cast

from msgspec.structs import replace

from adjourn.core.ids import public_id, ref_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import AnyRecord, Started, parse
from adjourn.core.status import ENDED, Status
from adjourn.errors import UnknownRun
from adjourn.stores.audit import SECURITY, AuditRow, placed
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.channel import Ears, MemoryChannel
from adjourn.stores.memory.evidence import MemoryEvidence
from adjourn.stores.memory.heartbeat import MemoryPulse
from adjourn.stores.memory.transaction import MemoryBook
from adjourn.stores.misfit import Misfit
from adjourn.stores.notification import Letter
from adjourn.stores.protocol import Bell, Filter, RunRow, Turn
from adjourn.stores.ruled_store import Ruled
from adjourn.stores.rules import filters, journal
from adjourn.stores.rules import transaction as sheet
from adjourn.stores.rules.inbox_filter import belongs, briefly
from adjourn.stores.rules.lease import misfitting
from adjourn.stores.rules.transaction import Each, Failed, Rule, Whole
from adjourn.stores.rules.turns import turn_of
from adjourn.stores.seals import Anchor, Seal
from adjourn.stores.snapshots import MemorySnapshots
from adjourn.stores.subscriptions import Bells
from adjourn.stores.verification import Verification, verified


class MemoryStore(Ruled, MemoryBook):
    """A `Store` that is a few dicts. Each method is atomic because it never awaits."""

    def __init__(self, now: Callable[[], float] = time.time) -> None:
        super().__init__()
        self.now = now
        self._bells = Bells()
        self._ends: set[MemoryChannel] = set()

    async def _write(self, rule: Rule | Each | Whole, *, ring: str | None = None, own: bool = False) -> Any:
        return self._do(rule, ring, own)

    def _ring(self, run: str, *, own: bool) -> None:
        self._bells.ring(run, own=own)

    def _do(self, rule: Rule | Each | Whole, ring: str | None = None, own: bool = False) -> Any:
        result = sheet.carried_out(self, rule)
        sheet.settled(self)
        if ring is not None:
            self._bells.ring(ring, own=own)
        if isinstance(result, Failed):
            raise result.error
        return result

    async def get(self, run: str) -> RunRow:
        """See `Store.get`."""
        row = self._runs.get(run)
        if row is None:
            raise UnknownRun(run)
        return self._dated(row)

    def _dated(self, row: RunRow) -> RunRow:
        return replace(row, lease_until=self._workers.get(row.worker, 0.0))

    async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
        """See `Store.load`."""
        if run not in self._journals:
            raise UnknownRun(run)
        return [(n, parse(body)) for n, body in enumerate(self._journals[run][after:], after + 1) if body is not None]

    @property
    def address(self) -> str:
        """See `Store.address`."""
        return "memory://"

    async def erasures(self) -> int:
        """See `Store.erasures`."""
        return self._erasures

    async def turns(self, run: str, seq: int, limit: int = 100) -> list[Turn]:
        """See `Store.turns`."""
        found: list[Turn] = []
        while run in self._runs and seq <= self._runs[run].seq and len(found) < limit:
            lines = list(enumerate(self._journals[run][:seq], 1))
            found.append(turn_of(run, lines, self._chains[run][seq - 1]))
            before = found[-1].before
            if before is None:
                break
            run, seq = before.run, before.seq
        return found

    def peek(self, run: str) -> list[tuple[int, AnyRecord]]:
        """`load`, without awaiting."""
        return [(n, parse(body)) for n, body in enumerate(self._journals[run], 1) if body is not None]

    def adopt(self, records: Sequence[AnyRecord]) -> None:
        """`create` with a whole journal, without awaiting."""
        first, *rest = records
        assert isinstance(first, Started)
        self._do(journal.creating(first, rest, ""), first.run)

    def knows(self, run: str, request: str) -> bool:
        """Whether a request id was used for this run."""
        return (run, request) in self._requests

    def ring(self, run: str) -> None:
        """Ring for a run although nothing was written."""
        self._bells.ring(run)

    def pulse(self) -> MemoryPulse:
        """See `Store.pulse`."""
        return MemoryPulse(self.now, self._workers)

    def channel(self, ears: Ears) -> MemoryChannel:
        """See `Store.channel`."""
        return MemoryChannel(self._ends, ears)

    def snapshots(self) -> MemorySnapshots:
        """See `Store.snapshots`."""
        return MemorySnapshots(self._chains, self._snapshots)

    async def audit(self, scope: str | None = None, *, after: int = 0, limit: int = 100) -> list[AuditRow]:
        """See `Store.audit`."""
        lines = self._audit.get(scope, []) if scope is not None else self._lines(security=False)
        return sorted((x for x in lines if x.n > after), key=lambda x: (x.entry["at"], x.scope, x.n))[:limit]

    async def recent(self, before: str = "", limit: int = 100, *, security: bool = False) -> list[AuditRow]:
        """See `Store.recent`."""
        lines = [((x.entry["at"], x.scope, x.n), x) for x in self._lines(security=security)]
        start = placed(before) if before else None
        found = sorted((x for x in lines if start is None or x[0] < start), key=lambda x: x[0], reverse=True)
        return [x for _, x in found[:limit]]

    def _lines(self, *, security: bool) -> list[AuditRow]:
        return [x for scope, rows in self._audit.items() for x in rows if (scope == SECURITY) == security]

    async def identity(self) -> str:
        """See `Store.identity`."""
        return self._id

    async def seals(self, after: int = 0, limit: int = 100) -> list[Seal]:
        """See `Store.seals`."""
        return self._seals[after:][:limit]

    async def verify(self, keys: Sequence[AuditKey] = (), since: Anchor | None = None) -> Verification:
        """See `Store.verify`."""
        return verified(MemoryEvidence(self), keys, since)

    async def ended(
        self, status: Status, before: float, *, after: tuple[float, str] | None = None, limit: int = 100
    ) -> list[RunRow]:
        """See `Store.ended`."""
        found = [x for x in self._runs.values() if x.status == status and x.updated_at <= before]
        places = sorted(((x.updated_at, x.id) for x in found), reverse=True)
        return [self._dated(self._runs[id]) for at, id in places if after is None or (at, id) < after][:limit]

    async def followed(self, runs: Sequence[str]) -> dict[str, list[str]]:
        """See `Store.followed`."""
        found = {run: self._after(run) for run in runs}
        return {run: followers for run, followers in found.items() if followers}

    async def weigh(self, runs: Sequence[str]) -> int:
        """See `Store.weigh`."""
        bodies = (body for run in runs for body in self._journals.get(run, ()))
        return sum(len(body.encode()) for body in bodies if body is not None)

    async def scrub(self, *, pruned: bool = False) -> bool:
        """See `Store.scrub`."""
        return True

    async def signed(self, required: bool | None = None, *, by: str = "", origin: str = "") -> bool:
        """See `Store.signed`."""
        return self._signed if required is None else await self._require_seals(required, by, origin)

    async def waking(self, wanted: bool | None = None, *, by: str = "", origin: str = "") -> bool:
        """See `Store.waking`."""
        return self._waking if wanted is None else await self._want_wakes(wanted, by, origin)

    async def workers(self) -> dict[str, float]:
        """See `Store.workers`."""
        return dict(self._workers)

    async def due(self, programs: Sequence[str], limit: int = 100) -> list[RunRow]:
        """See `Store.due`."""
        now, halts = self.now(), frozenset(self._halts)
        found = [r for r in self._runs.values() if r.program in programs and r.due(now, halts) and not self._ahead(r)]
        return [self._dated(r) for r in sorted(found, key=lambda r: r.updated_at)[:limit]]

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """See `Store.inbox`."""
        now, start = self.now(), (0, 0.0, 0, 0)
        of_run = Filter(
            run=filter.run, program=filter.program, session=filter.session, label=filter.label, changed=filter.changed
        )
        found: list[tuple[tuple[int, float, int, int], Interrupt]] = []
        for n, (id, interrupts) in enumerate(self._interrupts.items()):
            row = self._runs[id]
            fits = filters.fits(row, of_run, now, self._halts)
            for x in interrupts.values():
                wanted = x.i == filter.interrupt if filter.interrupt else filters.visible(row, x, now)
                wanted = wanted and fits and filter.kind in ("", x.kind)
                last = bool(filter.after) and filter.after in (public_id(id, x.i), ref_of(id, x.i))
                if wanted or last:
                    journal = cast("list[str]", self._journals[id])  # what was erased has no interrupts
                    agreed = [journal[seq - 1] for seq in x.votes.values()]
                    shown = filters.shown(id, x.seq, journal[x.seq - 1], agreed, row.requesters, x.disowned)
                    place = (x.rank, shown.opened_at, n, x.seq)
                    start = place if last else start
                    wanted = wanted and belongs(shown, row.title, row.program, filter)
                    brief = briefly(id, x.i, x.seq, x.kind, shown.opened_at, x.expires)
                    found += [(place, brief if filter.brief else shown)] if wanted else []
        return [shown for place, shown in sorted(found, key=lambda f: f[0]) if place > start][: filter.limit]

    async def runs(self, filter: Filter) -> list[RunRow]:
        """See `Store.runs`."""
        now = self.now()
        rows = [self._dated(row) for row in reversed(self._runs.values())]
        if filter.prefix:
            rows.sort(key=lambda row: row.id)
        ids = [r.id for r in rows]
        start = ids.index(filter.after) + 1 if filter.after in ids else len(ids) if filter.after else 0
        return [r for r in rows[start:] if filters.fits(r, filter, now, self._halts)][: filter.limit]

    async def misfits(self, put: Misfit | None = None, *, runs: Sequence[str] = ()) -> list[Misfit]:
        """See `Store.misfits`."""
        if put is not None:
            await self._write(misfitting(put))
        found = [x for x in self._misfits.values() if not runs or x.run in runs]
        return [x for x in found if (row := self._runs[x.run]).seq == x.seq and row.status not in ENDED]

    async def letters(self, state: str = "", *, after: int = 0, limit: int = 100) -> list[Letter]:
        """See `Store.letters`."""
        return [x for x in self._letters.values() if x.n > after and state in ("", x.state)][:limit]

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """See `Store.subscribe`."""
        return self._bells.add(run, bell, words)

    async def close(self) -> None:
        """See `Store.close`."""
        await asyncio.sleep(0)
