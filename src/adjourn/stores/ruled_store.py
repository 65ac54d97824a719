"""The half of a store that writes: each method hands one rule to the store's only way to write."""

import asyncio
from collections.abc import Callable, Collection, Coroutine, Mapping, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from adjourn.core.files import check_blobs, uncarried
from adjourn.core.record_effects import Commands, Together
from adjourn.core.records import AnyRecord, Fact, Forked, Move, Released, Started
from adjourn.errors import UnknownRun
from adjourn.stores.audit_key import AuditKey
from adjourn.stores.erasure import Erasure, Hold, Pruning
from adjourn.stores.fleet import Misfit, WorkerCard
from adjourn.stores.item_note import ItemNote
from adjourn.stores.outbox import DeliveryAttempt, Endpoint, Notification, Wake
from adjourn.stores.protocol import Committed, Halt, Lease
from adjourn.stores.rules import chapters, commands, creation, halts, holds, outbox
from adjourn.stores.rules import commit as commits
from adjourn.stores.rules import engine_wakes as waking
from adjourn.stores.rules import erasure as erasing
from adjourn.stores.rules import item_notes as noting
from adjourn.stores.rules import lease as leases
from adjourn.stores.rules import prune as pruning
from adjourn.stores.rules import seals as sealing
from adjourn.stores.rules import signatures as signing
from adjourn.stores.rules import tickets as ticketing
from adjourn.stores.rules.reads_and_writes import NOTHING
from adjourn.stores.rules.roster import listing
from adjourn.stores.rules.transaction import Each, Find, StoreRule, Whole
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import MOST, Seal
from adjourn.stores.tickets import TicketAnswer, TicketRequest, ToolTickets

if TYPE_CHECKING:
    from adjourn.stores.secret_keys import KeyRing


class Ruled:
    """What every store that is made of rules has in common."""

    wraps_with: "KeyRing | None" = None

    now: Callable[[], float]

    if TYPE_CHECKING:

        async def get(self, run: str) -> RunRow:
            """See `Store.get`."""
            ...

        async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
            """See `Store.load`."""
            ...

        async def blobs(self, run: str, digests: Collection[str] | None = None) -> dict[str, bytes]:
            """See `Store.blobs`."""
            ...

    async def _write(
        self, rule: StoreRule | Each | Whole, *, ring: str | None = None, own: bool = False
    ) -> Any:
        """Read what the rule asks for, let it work, and write what it says, in one transaction; its
        result.

        Then ring for the run `ring` ("": for everybody; None: for nobody). `own`: the lease's
        holder wrote it. A `Failed` is raised.
        """
        raise NotImplementedError

    def _ring(self, run: str, *, own: bool) -> None:
        """Ring for a run that was written to."""
        raise NotImplementedError

    async def create(
        self,
        started: Started,
        records: Sequence[AnyRecord] = (),
        *,
        origin: str = "",
        blobs: Mapping[str, bytes] = NOTHING,
    ) -> bool:
        """See `Store.create`."""
        ring, key = self.wraps_with or await self._ring_of_copies(started, records), None
        if ring is not None:
            from adjourn.stores.run_keys import NewRunKey

            key = NewRunKey(ring)
        return await self._write(
            creation.creating(started, records, origin, blobs, key), ring=started.run
        )

    async def _ring_of_copies(
        self, started: Started, records: Sequence[AnyRecord]
    ) -> "KeyRing | None":
        """With what a new run is encrypted that begins with what an encrypted run said, also if
        others that begin here are not; raises `KeyMissing` if the ring is not here."""
        copied = {started.again_of, started.before.run if started.before else ""}
        copied |= {record.of for record in records if isinstance(record, Forked)}
        for run in filter(None, copied):
            from adjourn.stores.run_keys import ring_of_copies

            with suppress(UnknownRun):  # it came from elsewhere
                if ring := ring_of_copies(self, (await self.get(run)).salt):
                    return ring
        return None

    def encrypt(self, ring: "KeyRing | None") -> None:
        """From now on every run that begins in this store object has a key of its own, wrapped by
        the ring; None: not any more. Runs that are there stay as they are."""
        self.wraps_with = ring

    def wrapped_key(self, kid: str) -> str | None:
        """See `run_keys.HasRunKeys`."""
        raise NotImplementedError

    async def rewrap(self, ring: "KeyRing") -> int:
        """Wrap the keys of all encrypted runs with the first key of this ring, in one transaction;
        how many that were. What they encrypt is not touched. Raises `Invalid`, with nothing
        changed, if the ring does not open one of them."""
        raise NotImplementedError

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
        taken = leases.Taken(run, worker, ttl, after, head, (replaces,) if replaces else (), spares)
        return await self._write(leases.acquiring(taken), ring=run, own=True)

    async def claim(
        self,
        programs: Sequence[str],
        worker: str,
        ttl: float,
        limit: int,
        *,
        after: Mapping[str, tuple[int, bytes]] = NOTHING,
        but: Collection[str] = (),
        replaces: Sequence[str] = (),
        spares: str = "",
    ) -> list[Lease]:
        """See `Store.claim`."""
        find = Find(tuple(programs), limit, frozenset(but), tuple(replaces), spares)
        taken: list[Lease] = await self._write(leases.claiming(find, worker, ttl, after))
        for lease in taken:
            self._ring(lease.run, own=True)
        return taken

    async def renew(self, lease: Lease, ttl: float) -> None:
        """See `Store.renew`."""
        await self._write(leases.renewing(lease, ttl))

    async def stand(self, request: TicketRequest) -> TicketAnswer:
        """See `Store.stand`."""
        return await self._write(ticketing.standing(request))

    async def tickets(self) -> dict[str, ToolTickets]:
        """See `Store.tickets`."""
        return await self._write(ticketing.counting())

    def hear(self, told: Callable[[str], None]) -> Callable[[], None]:
        """See `Store.hear`. Nobody announces anything, unless a store says otherwise."""
        return _nothing

    async def release(self, lease: Lease, released: Released | None = None) -> None:
        """See `Store.release`."""
        await self._write(leases.releasing(lease, released or Released()), ring=lease.run)

    def commit(
        self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], *, seen: int
    ) -> Coroutine[Any, Any, Committed]:
        """See `Store.commit`."""
        return self._write(commits.committing(lease, facts, moves, seen), ring=lease.run, own=True)

    async def deliver(
        self, run: str, command: Commands, *, request: str = "", origin: str = "", at: int = 0
    ) -> int:
        """See `Store.deliver`."""
        if isinstance(command, Together):
            said = command.commands
        else:
            said = (command,)
        for one in said:
            if named := uncarried(one):
                await self.get(run)
                check_blobs(run, (one,), await self.blobs(run, named))
        return await self._write(commands.delivering(run, command, request, origin, at), ring=run)

    async def annotate(
        self, run: str, note: ItemNote, *, request: str = "", origin: str = ""
    ) -> float:
        """See `Store.annotate`."""
        return await self._write(noting.annotating(run, note, request, origin), ring=run)

    async def chapter(
        self, run: str, *, by: str = "", why: str = "", request: str = "", origin: str = ""
    ) -> int:
        """See `Store.chapter`."""
        wanted = chapters.ChapterRequest(run, by, why, request, origin)
        draft = await self._draft(run)
        seq = await self._write(chapters.beginning(wanted, draft), ring=run)
        if seq is None:  # somebody has written meanwhile
            seq = await self._write(chapters.beginning(wanted), ring=run)
        return seq

    async def _draft(self, run: str) -> chapters.Draft | None:
        """The chapter of a long journal, made while others may write; None if that is not worth it,
        or if there is no run."""
        try:
            row = await self.get(run)
        except UnknownRun:
            return None
        if row.worker or row.seq < chapters.LONG:
            return None
        records = await self.load(run)
        if len(records) < row.seq:
            return None
        return await asyncio.to_thread(chapters.drafted, records[: row.seq], row.head)

    async def erase(
        self, run: str, *, by: str = "", reason: str = "", whole: bool = False, origin: str = ""
    ) -> Erasure:
        """See `Store.erase`."""
        if not whole:
            return await self._write(erasing.erasing(run, by, reason, origin), ring=run)
        done: list[Erasure] = await self._write(
            Whole(run, lambda turn: erasing.erasing(turn, by, reason, origin))
        )
        for turn in done:
            self._ring(turn.run, own=False)
        [found] = [turn for turn in done if turn.run == run]
        return replace(found, turns=tuple(turn.run for turn in done if turn.run != run))

    async def tell_of_archive(self, run: str, told: Mapping[str, str]) -> None:
        """A line of the audit of a run that was pruned: that its archive was erased. `told`: by whom,
        why, from where."""
        await self._write(erasing.telling_of_archive(run, told))

    async def prune(self, run: str, wanted: Pruning, *, origin: str = "") -> bool:
        """See `Store.prune`."""
        return await self._write(pruning.pruning(run, wanted, origin), ring=run)

    async def hold(
        self, scope: str, *, by: str = "", reason: str = "", lift: bool = False, origin: str = ""
    ) -> list[Hold]:
        """See `Store.hold`."""
        return await self._write(holds.holding(scope, by, reason, lift, origin))

    async def _says(self, key: str) -> bool:
        """Whether decisions must carry a seal (`signed`), or wakes are wanted (`wakes`)."""
        raise NotImplementedError

    async def signed(self, required: bool | None = None, *, by: str = "", origin: str = "") -> bool:
        """See `Store.signed`."""
        if required is None:
            return await self._says("signed")
        return await self._write(signing.requiring_seals(required, by, origin), ring="")

    async def note(self, lines: Sequence[Mapping[str, Any]]) -> None:
        """See `Store.note`."""
        await self._write(sealing.noting(lines))

    async def seal(
        self, key: AuditKey | None = None, *, after: Seal | None = None, most: int = MOST
    ) -> Seal | None:
        """See `Store.seal`."""
        return await self._write(sealing.sealing(key, after, most))

    async def halt(
        self, scope: str, *, by: str = "", reason: str = "", lift: bool = False, origin: str = ""
    ) -> list[Halt]:
        """See `Store.halt`."""
        return await self._write(
            halts.halting(scope, by, reason, lift, origin), ring="" if scope else None
        )

    async def roster(
        self, put: WorkerCard | None = None, *, drop: Sequence[str] = ()
    ) -> list[WorkerCard]:
        """See `Store.roster`."""
        if put is not None or drop:
            await self._write(listing(put, drop))
        return await self._roster()

    async def _roster(self) -> list[WorkerCard]:
        raise NotImplementedError

    async def misfits(self, put: Misfit | None = None, *, runs: Sequence[str] = ()) -> list[Misfit]:
        """See `Store.misfits`."""
        if put is not None:
            await self._write(leases.misfitting(put))
        return await self._noted_misfits(runs)

    async def _noted_misfits(self, runs: Sequence[str]) -> list[Misfit]:
        raise NotImplementedError

    async def endpoints(
        self, put: Endpoint | None = None, *, drop: str = "", by: str = "", origin: str = ""
    ) -> list[Endpoint]:
        """See `Store.endpoints`."""
        return await self._write(outbox.endpointing(put, drop, by, origin))

    async def post(
        self,
        sent: Sequence[DeliveryAttempt] = (),
        *,
        take: int = 0,
        hold: float = 60.0,
        but: Sequence[str] = (),
    ) -> list[Notification]:
        """See `Store.post`."""
        if sent:
            await self._write(outbox.settling(sent))
        if take:
            return await self._write(outbox.taking(take, hold, but))
        return []

    async def waking(self, wanted: bool | None = None, *, by: str = "", origin: str = "") -> bool:
        """See `Store.waking`."""
        if wanted is None:
            return await self._says("wakes")
        return await self._write(waking.wanting(wanted, by, origin))

    async def wakes(
        self, done: Sequence[Wake] = (), *, take: int = 0, hold: float = 60.0
    ) -> list[Wake]:
        """See `Store.wakes`."""
        if done:
            await self._write(waking.acknowledging(done))
        if take:
            return await self._write(waking.taking(take, hold))
        return []


def _nothing() -> None:
    """There is nothing to end."""
