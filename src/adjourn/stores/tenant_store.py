"""A store as one tenant sees it: every query carries the tenant's label, and what is about one run is
about one of the tenant's. What is about all runs, or advances them, is refused; what is not named here
is, too."""

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar, cast

from msgspec.structs import replace

from adjourn.core.interrupt import Interrupt
from adjourn.core.records import AnyRecord, Started
from adjourn.core.snapshot_part import SnapshotPart
from adjourn.core.status import Status
from adjourn.errors import NotAllowed, RunErased, RunExists, RunPruned, UnknownRun
from adjourn.stores.audit import EVERY_LINE, AuditFilter, AuditLine, FoundLine
from adjourn.stores.erasure import Erasure, Hold, run_of
from adjourn.stores.fleet import Misfit
from adjourn.stores.protocol import Filter, Halt, Store
from adjourn.stores.run_index import CountedRun, RunEntry, RunIndex
from adjourn.stores.run_row import RunRow, Turn
from adjourn.stores.snapshots import Kept, Snapshot, Snapshots

if TYPE_CHECKING:
    from adjourn.stores.memory.store import MemoryStore as Whole
    from adjourn.stores.ruled_store import Ruled
else:
    Whole = object  # for type checkers it has the methods of a store; they would hide what is asked

TENANT = "tenant"
"""The label by which runs belong to a tenant."""
OF_ONE_RUN = frozenset(("load", "blobs", "deliver", "chapter", "prune", "annotate"))
"""What is about the run that comes first, and about no other."""
HANDED_ON = frozenset(
    (
        "address", "now", "close", "identity", "note", "scrub", "erasures", "subscribe", "hear",
        "channel", "encrypt", "wrapped_key", "wraps_with",
    )
)  # fmt: skip
"""What says nothing of any run, and changes none. (A channel gives the text of a run to who knows it.)"""
_WORK = "acquire claim commit due pulse release renew stand wakes waking"
ABOUT_ALL = {
    **dict.fromkeys(_WORK.split(), "advancing runs"),
    **dict.fromkeys(("census", "queues", "roster", "tickets", "workers"), "what workers do"),
    **dict.fromkeys(("endpoints", "letters", "post"), "sending notifications"),
    **dict.fromkeys(("seal", "seals", "verify"), "sealing and checking the audit"),
    "guest_threads": "what other frameworks have saved",
    "rewrap": "wrapping keys again",
}
"""What is about the runs of all tenants, and what people call it."""
ASK = "ask a person who works for all tenants"
"""Nobody is sent around the guard that they have chosen."""
PAGE = 200
"""Lines or runs that are looked at together."""

T = TypeVar("T")


def whole_store(store: Store) -> Store:
    """The store with the runs of all tenants, for what shows nothing of them.

    Args:
        store: a store, or what a tenant sees of it.
    """
    if isinstance(store, TenantStore):
        return store.whole
    return store


def check_whole(store: Store, what: str) -> None:
    """Raise `NotAllowed` if this is what a tenant sees of a store.

    Args:
        store: a store.
        what: what is about all of it.
    """
    if isinstance(store, TenantStore):
        raise store.refused(what)


class TenantStore(Whole):
    """What a tenant sees of a store. A run of another is not there.

    Args:
        whole: the store.
        tenant: the value of the label.
    """

    def __init__(self, whole: Store, tenant: str) -> None:
        self.whole, self.tenant = whole, tenant
        self._own: dict[str, bool] = {}  # labels never change; an erased run has lost its own

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.whole, name)
        if name in HANDED_ON:
            return found
        if name not in OF_ONE_RUN:
            raise self.refused(ABOUT_ALL.get(name, name.replace("_", " ")))

        async def of_one(run: str, *given: Any, **options: Any) -> Any:
            await self.get(run)
            return await found(run, *given, **options)

        return of_one

    def refused(self, what: str) -> NotAllowed:
        """The error for something that is about all tenants.

        Args:
            what: what that is.
        """
        return NotAllowed(
            f"{what} covers the runs of all tenants, and this runtime is for {self.tenant!r}",
            consequence="nothing was done",
            advice=ASK,
        )

    def _has(self, row: RunRow) -> bool:
        own = self._own.get(row.id, False) or row.labels.get(TENANT) == self.tenant
        self._own[row.id] = own
        return own

    async def _knows(self, run: str) -> bool:
        if run not in self._own:
            try:
                self._has(await self.whole.get(run))
            except UnknownRun:
                return False
        return self._own[run]

    async def _own_ones(self, runs: Iterable[str]) -> list[str]:
        return [run for run in runs if await self._knows(run)]

    # Runs

    async def get(self, run: str) -> RunRow:
        """See `Store.get`."""
        row = await self.whole.get(run)
        if not self._has(row):
            raise UnknownRun(run)
        return row

    async def create(
        self,
        started: Started,
        records: Sequence[AnyRecord] = (),
        *,
        origin: str = "",
        blobs: Mapping[str, bytes] | None = None,
    ) -> bool:
        """See `Store.create`. The run gets the tenant's label."""
        await self.check_start(started)
        begun = replace(started, labels={**started.labels, TENANT: self.tenant})
        try:
            new = await self.whole.create(begun, records, origin=origin, blobs=blobs or {})
        except (RunExists, RunErased, RunPruned) as refused:
            # of another run: the one that it goes on with, or copies
            if refused.run_id != started.run or await self._knows(started.run):
                raise
            raise RunExists(started.run, taken=True) from None
        if not new and not await self._knows(started.run):  # somebody else was first
            raise RunExists(started.run, taken=True)
        return new

    async def check_start(self, started: Started) -> None:
        """Raise what `create` would, as far as that is because of the tenant.

        Args:
            started: the first record of the run.
        """
        given = started.labels.get(TENANT, self.tenant)
        if given != self.tenant:
            raise NotAllowed(
                f"the label {TENANT}={given!r:.80} belongs to a tenant other than {self.tenant!r}",
                consequence="nothing was started",
                advice=f"leave the label {TENANT!r} out",
            )
        if not await self._knows(started.run) and await self.whole.audit(started.run, limit=1):
            raise RunExists(started.run, taken=True)
        if started.after is not None:
            await self.get(started.after.run)
        if started.session:
            await self._check_session(started.session)

    async def _check_session(self, session: str) -> None:
        """Raise `NotAllowed` if somebody else's runs are in it: a next turn continues them."""
        wanted = Filter(session=session, limit=PAGE)
        while page := await self.whole.runs(wanted):
            if not all(map(self._has, page)):
                raise NotAllowed(
                    f"the session {session!r:.80} has runs of other tenants than {self.tenant!r}",
                    consequence="nothing was started",
                    advice="choose another session",
                )
            wanted = replace(wanted, after=page[-1].id)

    async def turns(self, run: str, seq: int, limit: int = 100) -> list[Turn]:
        """See `Store.turns`. It ends where a turn is another's."""
        found: list[Turn] = []
        for turn in await self.whole.turns(run, seq, limit):
            if not await self._knows(turn.run):
                break
            found.append(turn)
        return found

    async def erase(
        self, run: str, *, by: str = "", reason: str = "", whole: bool = False, origin: str = ""
    ) -> Erasure:
        """See `Store.erase`."""
        row = await self.get(run)
        if whole:
            found = {run, *(turn.run for turn in await self.whole.turns(run, row.seq, 1_000))}
            later = list(found)
            while later:
                after = await self.whole.followed(later)
                later = [one for many in after.values() for one in many if one not in found]
                found.update(later)
            if len(await self._own_ones(found)) < len(found):
                raise NotAllowed(
                    f"the conversation of run {run} has runs of tenants other than {self.tenant!r}",
                    consequence="nothing was erased",
                    advice=f"erase this run alone, or {ASK}",
                )
        return await self.whole.erase(run, by=by, reason=reason, whole=whole, origin=origin)

    async def tell_of_archive(self, run: str, told: Mapping[str, str]) -> None:
        """See `Ruled.tell_of_archive`. Of a run that was pruned nobody can say whose it was but who
        has seen it before."""
        if not await self._knows(run):
            raise UnknownRun(run)
        await cast("Ruled", self.whole).tell_of_archive(run, told)

    def snapshots(self) -> Any:
        """See `Store.snapshots`."""
        return TenantSnapshots(self.whole.snapshots(), self.get)

    async def ended(
        self,
        status: Status,
        before: float,
        *,
        after: tuple[float, str] | None = None,
        limit: int = 100,
    ) -> list[RunRow]:
        """See `Store.ended`."""
        found: list[RunRow] = []
        while len(found) < limit:
            page = await self.whole.ended(status, before, after=after, limit=PAGE)
            found += filter(self._has, page)
            if len(page) < PAGE:
                break
            after = (page[-1].updated_at, page[-1].id)
        return found[:limit]

    async def followed(self, runs: Sequence[str]) -> dict[str, list[str]]:
        """See `Store.followed`."""
        return await self.whole.followed(await self._own_ones(runs))

    async def weigh(self, runs: Sequence[str]) -> int:
        """See `Store.weigh`."""
        return await self.whole.weigh(await self._own_ones(runs))

    async def misfits(self, put: Misfit | None = None, *, runs: Sequence[str] = ()) -> list[Misfit]:
        """See `Store.misfits`."""
        if put is not None:
            raise self.refused("advancing runs")
        found = await self.whole.misfits(runs=runs)
        own = await self._own_ones(one.run for one in found)
        return [one for one in found if one.run in own]

    async def marks(self, items: Sequence[tuple[str, str]]) -> Any:
        """See `Store.marks`."""
        own = await self._own_ones(run for run, _ in items)
        return await self.whole.marks([item for item in items if item[0] in own])

    # What is about everything

    async def halt(
        self, scope: str, *, by: str = "", reason: str = "", lift: bool = False, origin: str = ""
    ) -> list[Halt]:
        """See `Store.halt`. They hold the runs of every tenant: they can be seen."""
        if scope:
            raise self.refused("a halt")
        return await self.whole.halt("")

    async def signed(self, required: bool | None = None, *, by: str = "", origin: str = "") -> bool:
        """See `Store.signed`."""
        if required is not None:
            raise self.refused("signing")
        return await self.whole.signed()

    async def hold(
        self, scope: str, *, by: str = "", reason: str = "", lift: bool = False, origin: str = ""
    ) -> list[Hold]:
        """See `Store.hold`. A tenant sets those of its runs and of its label, and sees all that cover
        runs of its own."""
        if scope and not await self._has_hold(scope):
            if run := run_of(scope):
                raise UnknownRun(run)
            raise self.refused(f"a hold on {scope}")
        found = await self.whole.hold(scope, by=by, reason=reason, lift=lift, origin=origin)
        return [hold for hold in found if await self._is_under(hold.scope)]

    async def _has_hold(self, scope: str) -> bool:
        if run := run_of(scope):
            return await self._knows(run)
        return scope == f"label:{TENANT}={self.tenant}"

    async def _is_under(self, scope: str) -> bool:
        if run_of(scope) or await self._has_hold(scope):
            return await self._has_hold(scope)
        name, _, value = scope.partition(":")[2].partition("=")
        return bool(await self.runs(Filter(label=(name, value), limit=1)))

    # Lists

    async def runs(self, filter: Filter) -> list[RunRow]:
        """See `Store.runs`."""

        async def own(row: RunRow) -> bool:
            return self._has(row)

        return await self._listed(self.whole.runs, filter, own, lambda row: row.id)

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        """See `Store.inbox`."""

        async def own(interrupt: Interrupt) -> bool:
            return await self._knows(interrupt.run_id)

        return await self._listed(self.whole.inbox, filter, own, lambda interrupt: interrupt.ref)

    async def _listed(
        self,
        ask: Callable[[Filter], Awaitable[list[T]]],
        wanted: Filter,
        own: Callable[[T], Awaitable[bool]],
        place: Callable[[T], str],
    ) -> list[T]:
        """What a filter finds with the tenant's label. One that asks for another label, too, is asked
        page by page: a store looks for one."""
        limit = wanted.limit
        if wanted.label is None:
            wanted = replace(wanted, label=(TENANT, self.tenant))
        else:
            wanted = replace(wanted, limit=PAGE)
        found: list[T] = []
        while True:
            page = await ask(wanted)
            found += [one for one in page if await own(one)]
            if len(found) >= limit or len(page) < wanted.limit:
                return found[:limit]
            wanted = replace(wanted, after=place(page[-1]))

    def run_index(self) -> Any:
        """See `Store.run_index`."""
        return TenantIndex(self.whole.run_index(), self.tenant)

    # The audit

    async def audit(
        self, scope: str | None = None, *, after: int = 0, limit: int = 100
    ) -> list[AuditLine]:
        """See `Store.audit`."""
        if not scope or not await self._knows(scope):
            return []
        return await self.whole.audit(scope, after=after, limit=limit)

    async def recent(
        self,
        before: str = "",
        limit: int = 100,
        *,
        security: bool = False,
        wanted: AuditFilter = EVERY_LINE,
    ) -> list[FoundLine]:
        """See `Store.recent`."""
        if security:
            raise self.refused("the security log")
        found: list[FoundLine] = []
        while len(found) < limit:
            page = await self.whole.recent(before, PAGE, wanted=wanted)
            found += [line for line in page if line.scope and await self._knows(line.scope)]
            if len(page) < PAGE:
                break
            before = page[-1].place
        return found[:limit]


class TenantSnapshots:
    """What a tenant sees of the states that were written down: those of its runs."""

    def __init__(self, whole: Snapshots, get: Callable[[str], Awaitable[RunRow]]) -> None:
        self._whole, self._get = whole, get

    async def known(self, run: str) -> tuple[int, tuple[SnapshotPart, ...]]:
        """See `Snapshots.known`."""
        await self._get(run)
        return await self._whole.known(run)

    async def last(self, run: str) -> Kept | None:
        """See `Snapshots.last`."""
        await self._get(run)
        return await self._whole.last(run)

    async def keep(self, run: str, snapshot: Snapshot, parts: Mapping[SnapshotPart, bytes]) -> None:
        """See `Snapshots.keep`."""
        await self._get(run)
        await self._whole.keep(run, snapshot, parts)


class TenantIndex:
    """What a tenant sees of the index of runs. To bring it up to date shows nothing."""

    def __init__(self, whole: RunIndex, tenant: str) -> None:
        self._whole, self._label = whole, (TENANT, tenant)
        self.stale, self.put = whole.stale, whole.put

    async def entries(
        self, since: float, until: float, *, after: str = "", limit: int = 100
    ) -> list[tuple[RunRow, RunEntry]]:
        """See `RunIndex.entries`."""
        name, value = self._label
        found: list[tuple[RunRow, RunEntry]] = []
        while len(found) < limit:
            page = await self._whole.entries(since, until, after=after, limit=PAGE)
            found += [one for one in page if one[0].labels.get(name) == value]
            if len(page) < PAGE:
                break
            after = page[-1][0].id
        return found[:limit]

    async def counts(
        self,
        since: float,
        until: float,
        *,
        after: int = 0,
        limit: int = 500,
        label: tuple[str, str] | None = None,
    ) -> list[CountedRun]:
        """See `RunIndex.counts`. The label is the tenant's."""
        return await self._whole.counts(since, until, after=after, limit=limit, label=self._label)
