"""A store that fails on purpose, once, at a chosen operation: what a worker sees of a bad disk or a
bad network."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from enum import StrEnum
from typing import Any, TypeVar

from adjourn.core.interrupt import Interrupt
from adjourn.core.records import AnyRecord, Command, Fact, Move, Released, Started
from adjourn.core.status import Status
from adjourn.errors import AdjournError, StoreError
from adjourn.stores.audit import EVERY_LINE, AuditFilter, AuditLine, FoundLine
from adjourn.stores.channel import Channel, Ears
from adjourn.stores.erasure import Erasure, Hold, Pruning
from adjourn.stores.fleet import Misfit, Queue, WorkerCard
from adjourn.stores.outbox import DeliveryAttempt, Endpoint, Notification, Wake
from adjourn.stores.protocol import Bell, Committed, Filter, Halt, Lease, Pulse, Store, Turn
from adjourn.stores.run_index import RunIndex
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Seal
from adjourn.stores.snapshots import Snapshots
from adjourn.stores.tickets import TicketAnswer, TicketRequest, ToolTickets
from adjourn.stores.verification import Verification

Done = TypeVar("Done")


class Fault(StrEnum):
    """What goes wrong. All but the first leave the caller not knowing whether it happened."""

    BEFORE = "before"
    """An error; nothing happened."""
    AFTER = "after"
    """An error; it happened all the same."""
    LOST = "lost"
    """It happened, and no answer ever comes."""
    LATE = "late"
    """An error; it happens later, after whatever the caller does next."""


class Faulty:
    """A `Store` whose operation number `at` (from 0) fails with `fault`. `tripped` tells whether it
    came to that.

    `lost` is set once a caller waits for an answer that never comes: whoever supervises it should
    give it up.
    """

    def __init__(self, store: Store, at: int, fault: Fault) -> None:
        self.store, self.at, self.fault = store, at, fault
        self.operations: list[str] = []
        self.tripped = False
        self.lost = asyncio.Event()
        self._late: Callable[[], Awaitable[Any]] | None = None

    async def _do(self, name: str, work: Callable[[], Awaitable[Done]]) -> Done:
        self.operations.append(name)
        if len(self.operations) - 1 == self.at:
            return await self._fail(name, work)
        result = await work()
        await self.settle()
        return result

    async def _fail(self, name: str, work: Callable[[], Awaitable[Done]]) -> Done:
        self.tripped = True
        if self.fault is Fault.LATE:
            self._late = work
        elif self.fault is not Fault.BEFORE:
            await work()
        if self.fault is Fault.LOST:
            self.lost.set()
            await asyncio.Event().wait()
        raise StoreError(
            f"{name}: a fault ({self.fault.value}) was planted here",
            advice="reload before doing anything",
        )

    async def settle(self) -> None:
        """Let what is late happen. That it is refused by now is its own affair."""
        work, self._late = self._late, None
        if work is not None:
            try:
                await work()
            except AdjournError:
                pass

    @property
    def address(self) -> str:
        """See `Store.address`."""
        return self.store.address

    def now(self) -> float:
        """See `Store.now`."""
        return self.store.now()

    async def erasures(self) -> int:
        """See `Store.erasures`."""
        return await self.store.erasures()

    async def create(
        self, started: Started, records: Sequence[AnyRecord] = (), *, origin: str = ""
    ) -> bool:
        """See `Store.create`."""
        return await self._do("create", lambda: self.store.create(started, records, origin=origin))

    async def get(self, run: str) -> RunRow:
        """See `Store.get`."""
        return await self._do("get", lambda: self.store.get(run))

    async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
        """See `Store.load`."""
        return await self._do("load", lambda: self.store.load(run, after))

    async def turns(self, run: str, seq: int, limit: int = 100) -> list[Turn]:
        """See `Store.turns`."""
        return await self._do("turns", lambda: self.store.turns(run, seq, limit))

    async def acquire(
        self,
        run: str,
        worker: str,
        ttl: float,
        *,
        after: int = 0,
        head: bytes = b"",
        replaces: str = "",
        spares: str = "",
    ) -> Lease | None:
        """See `Store.acquire`."""
        return await self._do(
            "acquire",
            lambda: self.store.acquire(
                run, worker, ttl, after=after, head=head, replaces=replaces, spares=spares
            ),
        )

    async def claim(
        self, programs: Sequence[str], worker: str, ttl: float, limit: int, **options: Any
    ) -> list[Lease]:
        """See `Store.claim`."""
        return await self._do(
            "claim", lambda: self.store.claim(programs, worker, ttl, limit, **options)
        )

    def pulse(self) -> Pulse:
        """See `Store.pulse`."""
        return self.store.pulse()

    def channel(self, ears: Ears) -> Channel:
        """See `Store.channel`."""
        return self.store.channel(ears)

    def run_index(self) -> RunIndex:
        """See `Store.run_index`."""
        return self.store.run_index()

    def snapshots(self) -> Snapshots:
        """See `Store.snapshots`."""
        return self.store.snapshots()

    async def renew(self, lease: Lease, ttl: float) -> None:
        """See `Store.renew`."""
        await self._do("renew", lambda: self.store.renew(lease, ttl))

    async def release(self, lease: Lease, released: Released | None = None) -> None:
        """See `Store.release`."""
        await self._do("release", lambda: self.store.release(lease, released))

    async def commit(
        self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int
    ) -> Committed:
        """See `Store.commit`."""
        return await self._do("commit", lambda: self.store.commit(lease, facts, moves, seen=seen))

    async def deliver(self, run: str, command: Command, **options: Any) -> int:
        """See `Store.deliver`."""
        return await self._do("deliver", lambda: self.store.deliver(run, command, **options))

    async def chapter(self, run: str, **options: Any) -> int:
        """See `Store.chapter`."""
        return await self._do("chapter", lambda: self.store.chapter(run, **options))

    async def erase(self, run: str, **options: Any) -> Erasure:
        """See `Store.erase`."""
        return await self._do("erase", lambda: self.store.erase(run, **options))

    async def prune(self, run: str, wanted: Pruning, **options: Any) -> bool:
        """See `Store.prune`."""
        return await self._do("prune", lambda: self.store.prune(run, wanted, **options))

    async def ended(self, status: Status, before: float, **options: Any) -> list[RunRow]:
        """See `Store.ended`."""
        return await self.store.ended(status, before, **options)

    async def followed(self, runs: Sequence[str]) -> dict[str, list[str]]:
        """See `Store.followed`."""
        return await self.store.followed(runs)

    async def weigh(self, runs: Sequence[str]) -> int:
        """See `Store.weigh`."""
        return await self.store.weigh(runs)

    async def hold(self, scope: str, **options: Any) -> list[Hold]:
        """See `Store.hold`."""
        return await self._do("hold", lambda: self.store.hold(scope, **options))

    async def scrub(self, **options: Any) -> bool:
        """See `Store.scrub`."""
        return await self.store.scrub(**options)

    async def signed(self, required: bool | None = None, **options: Any) -> bool:
        """See `Store.signed`."""
        return await self.store.signed(required, **options)

    async def workers(self) -> dict[str, float]:
        """See `Store.workers`."""
        return await self._do("workers", self.store.workers)

    async def due(self, programs: Sequence[str], limit: int = 100) -> list[RunRow]:
        """See `Store.due`."""
        return await self._do("due", lambda: self.store.due(programs, limit))

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """See `Store.inbox`."""
        return await self._do("inbox", lambda: self.store.inbox(filter))

    async def runs(self, filter: Filter) -> list[RunRow]:
        """See `Store.runs`."""
        return await self._do("runs", lambda: self.store.runs(filter))

    async def audit(
        self, scope: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[AuditLine]:
        """See `Store.audit`."""
        return await self._do("audit", lambda: self.store.audit(scope, after=after, limit=limit))

    async def verify(self, *options: Any, **named: Any) -> Verification:
        """See `Store.verify`."""
        return await self._do("verify", lambda: self.store.verify(*options, **named))

    async def note(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """See `Store.note`."""
        await self._do("note", lambda: self.store.note(lines))

    async def identity(self) -> str:
        """See `Store.identity`."""
        return await self._do("identity", self.store.identity)

    async def seal(self, *options: Any, **named: Any) -> Seal | None:
        """See `Store.seal`."""
        return await self._do("seal", lambda: self.store.seal(*options, **named))

    async def seals(self, after: int = 0, limit: int = 100) -> list[Seal]:
        """See `Store.seals`."""
        return await self._do("seals", lambda: self.store.seals(after, limit))

    async def halt(self, scope: str, **options: Any) -> list[Halt]:
        """See `Store.halt`."""
        return await self._do("halt", lambda: self.store.halt(scope, **options))

    async def recent(
        self,
        before: str = "",
        limit: int = 100,
        *,
        security: bool = False,
        wanted: AuditFilter = EVERY_LINE,
    ) -> list[FoundLine]:
        """See `Store.recent`."""
        return await self._do(
            "recent", lambda: self.store.recent(before, limit, security=security, wanted=wanted)
        )

    async def roster(self, put: WorkerCard | None = None, **options: Any) -> list[WorkerCard]:
        """See `Store.roster`."""
        return await self._do("roster", lambda: self.store.roster(put, **options))

    async def stand(self, request: TicketRequest) -> TicketAnswer:
        """See `Store.stand`."""
        return await self._do("stand", lambda: self.store.stand(request))

    async def tickets(self) -> dict[str, ToolTickets]:
        """See `Store.tickets`."""
        return await self._do("tickets", self.store.tickets)

    async def queues(self) -> list[Queue]:
        """See `Store.queues`."""
        return await self._do("queues", self.store.queues)

    async def misfits(self, put: Misfit | None = None, *, runs: Sequence[str] = ()) -> list[Misfit]:
        """See `Store.misfits`."""
        return await self._do("misfits", lambda: self.store.misfits(put, runs=runs))

    async def endpoints(self, put: Endpoint | None = None, **options: Any) -> list[Endpoint]:
        """See `Store.endpoints`."""
        return await self._do("endpoints", lambda: self.store.endpoints(put, **options))

    async def post(
        self, sent: Sequence[DeliveryAttempt] = (), **options: Any
    ) -> list[Notification]:
        """See `Store.post`."""
        return await self._do("post", lambda: self.store.post(sent, **options))

    async def waking(self, wanted: bool | None = None, **options: Any) -> bool:
        """See `Store.waking`."""
        return await self._do("waking", lambda: self.store.waking(wanted, **options))

    async def wakes(self, done: Sequence[Wake] = (), **options: Any) -> list[Wake]:
        """See `Store.wakes`."""
        return await self._do("wakes", lambda: self.store.wakes(done, **options))

    async def letters(self, state: str = "", **options: Any) -> list[Notification]:
        """See `Store.letters`."""
        return await self._do("letters", lambda: self.store.letters(state, **options))

    def subscribe(self, run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
        """See `Store.subscribe`."""
        return self.store.subscribe(run, bell, words=words)

    async def close(self) -> None:
        """See `Store.close`."""
        await self.store.close()
