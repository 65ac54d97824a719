"""The ground the promises stand on: a store to test, its clock, and journals in a few words."""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any, TypeVar, cast

import pytest

from adjourn.core.messages import ToolCall
from adjourn.core.records import (
    AnyRecord,
    Asked,
    CancelAsked,
    Decided,
    Fact,
    Intended,
    Move,
    Parked,
    PauseAsked,
    Record,
    Replied,
    RunCancelled,
    RunCompleted,
    Started,
    Suspended,
)
from adjourn.core.status import Status
from adjourn.stores.protocol import Committed, Filter, Lease, Store
from adjourn.stores.run_row import RunRow
from adjourn.testing.fake_clock import FakeClock
from adjourn.testing.oracle import CheckedStore

TTL = 30.0
Found = TypeVar("Found")
OfRecord = TypeVar("OfRecord", bound=Record)


class ContractFixtures:
    """How a contract test gets its store. A store's author overrides `open_store`, and `reopen` if
    data outlives it."""

    pytestmark = pytest.mark.anyio

    async def open_store(self, now: Callable[[], float]) -> Store:
        """A new, empty store that goes by `now`."""
        raise NotImplementedError(
            "override open_store: return a new, empty store that goes by `now`"
        )

    async def reopen(self, store: Store, now: Callable[[], float]) -> Store:
        """Another store on the data of `store`, which is closed already."""
        pytest.skip("what this store holds ends with the object")

    @asynccontextmanager
    async def reopened(self, store: Store, clock: FakeClock) -> AsyncGenerator[Store]:
        """The data of a store once that is closed, as another process finds it."""
        await store.close()
        again = await self.reopen(store, clock.now)
        try:
            yield again
        finally:
            await again.close()

    @pytest.fixture
    def anyio_backend(self) -> str:
        return "asyncio"

    @pytest.fixture
    def clock(self) -> FakeClock:
        return FakeClock()

    @pytest.fixture
    async def store(self, clock: FakeClock) -> AsyncIterator[Store]:
        opened = await self.open_store(clock.now)
        yield CheckedStore(opened)
        await opened.close()


# Records


def started(
    run: str = "r1", *, program: str = "clerk", input: Any = "hello", **fields: Any
) -> Started:
    """The first record of a run."""
    return Started(
        run=run, kind=fields.pop("kind", "agent"), program=program, input=input, **fields
    )


def replied(*tools: str) -> Replied:
    """A model's reply that asks for these tools; the calls of the first reply are `1.0`, `1.1`,
    …"""
    calls = [ToolCall(id=f"c{number}", tool=tool) for number, tool in enumerate(tools)]
    return Replied(parts=tuple(calls))


def approval(id: str = "1.0?0", **fields: Any) -> Asked:
    """An approval that is asked for."""
    return Asked(i=id, kind=fields.pop("kind", "approval"), **fields)


def question(id: str = "1.0?0", *, call: str = "1.0", **fields: Any) -> tuple[Intended, Suspended]:
    """A call that starts and stops to wait: the move that intends it, and the fact that opens its
    question."""
    return Intended(call=call, tool="ask"), Suspended(call=call, i=id, **fields)


def yes(id: str = "1.0?0", by: str = "ana", **fields: Any) -> Decided:
    """An approval that is given."""
    return Decided(i=id, verdict="approve", by=by, **fields)


def no(id: str = "1.0?0", by: str = "ana", **fields: Any) -> Decided:
    """An approval that is refused."""
    return Decided(i=id, verdict="deny", by=by, **fields)


def answer(value: Any, id: str = "1.0?0", by: str = "ana", **fields: Any) -> Decided:
    """An answer to a question, or a choice."""
    return Decided(i=id, verdict="value", value=value, by=by, **fields)


# Journals


async def claim(
    store: Store, run: str = "r1", worker: str = "w1", ttl: float = TTL, **options: Any
) -> Lease:
    """The lease of a run that is due, and free, or can be taken with these options."""
    lease = await store.acquire(run, worker, ttl, **options)
    assert lease is not None, f"{run} is due, but acquire says there is nothing to do"
    return lease


async def created(store: Store, *runs: str) -> None:
    """New runs, one after the other, which nobody has."""
    for run in runs:
        await store.create(started(run))


async def begin(store: Store, run: str = "r1", worker: str = "w1", **fields: Any) -> Lease:
    """A new run, claimed."""
    assert await store.create(started(run, **fields))
    return await claim(store, run, worker)


async def commit(
    store: Store,
    lease: Lease,
    facts: Sequence[Fact] = (),
    moves: Sequence[Move] = (),
    *,
    seen: int | None = None,
) -> Committed:
    """A commit by a worker that has seen everything, unless told otherwise."""
    if seen is None:
        seen = (await store.get(lease.run)).seq
    return await store.commit(lease, facts, moves, seen=seen)


async def wait_for(
    store: Store, *asks: Move, run: str = "r1", parked: Parked | None = None, **fields: Any
) -> Lease:
    """A new run that asks these and parks; its lease is over."""
    lease = await begin(store, run, **fields)
    done = await commit(store, lease, (), [*asks, parked or Parked()])
    assert done.clean
    return lease


async def suspend(
    store: Store, lease: Lease, id: str = "1.0?0", call: str = "1.0", **fields: Any
) -> None:
    """A call of a claimed run that starts and stops to wait."""
    intended, suspended = question(id, call=call, **fields)
    assert (await commit(store, lease, (), [intended])).clean
    assert (await commit(store, lease, [suspended])).clean


def undoing() -> Asked:
    """A question that only a cancel asks."""
    return Asked(i="1.0?9", kind="in_doubt", undoing=True)


async def bring(store: Store, status: Status, run: str = "r1") -> None:
    """A new run in this status, with an approval `1.0?0` asked for on the way, and one for its
    undoing."""
    lease = await begin(store, run)
    await commit(store, lease, (), [approval(), approval("1.1?0")])
    match status:
        case Status.READY:
            pass
        case Status.WAITING:
            await commit(store, lease, (), [Parked()])
        case Status.PAUSING:
            await store.deliver(run, PauseAsked())
        case Status.PAUSED:
            await store.deliver(run, PauseAsked())
            await commit(store, lease, (), [Parked()])
        case Status.CANCELLING | Status.STUCK | Status.CANCELLED:
            await store.deliver(run, CancelAsked())
            await commit(store, lease, (), [undoing()])
            if status != Status.CANCELLING:
                await commit(
                    store, lease, (), [Parked() if status == Status.STUCK else RunCancelled()]
                )
        case Status.COMPLETED:
            await commit(store, lease, (), [undoing(), RunCompleted()])
    assert (await store.get(run)).status == status


@asynccontextmanager
async def unchanged(store: Store, *runs: str) -> AsyncGenerator[None]:
    """Whatever happens inside, these runs (`r1`, if none is named) are afterwards what they
    were."""

    async def everything() -> list[Any]:
        found: list[Any] = []
        for run in runs or ("r1",):
            found += [
                await store.get(run),
                await store.load(run),
                await store.inbox(Filter(run=run)),
            ]
        return found

    before = await everything()
    yield
    assert await everything() == before


@asynccontextmanager
async def refused(
    store: Store,
    error: type[Exception] | tuple[type[Exception], ...],
    match: str | None = None,
    *,
    runs: Sequence[str] = ("r1",),
) -> AsyncGenerator[None]:
    """What happens inside is refused, with a text in which `match` is found, and changes none of these
    runs."""
    async with unchanged(store, *runs):
        with pytest.raises(error, match=match):
            yield


def seqs(records: Iterable[tuple[int, AnyRecord]]) -> list[int]:
    """The numbers of records."""
    return [seq for seq, _ in records]


async def recorded(store: Store, of: type[OfRecord], run: str = "r1") -> list[OfRecord]:
    """The records of a run that are of this type."""
    found: list[OfRecord] = []
    for _, record in cast("Sequence[tuple[int, Record]]", await store.load(run)):
        if isinstance(record, of):
            found.append(record)
    return found


async def entries(store: Store, scope: str | None = None) -> list[dict[str, Any]]:
    """What the lines of an audit say."""
    return [line.entry for line in await store.audit(scope)]


def check_fields(found: object, **wanted: Any) -> None:
    """Fail unless something has these values under these names."""
    assert {name: getattr(found, name) for name in wanted} == wanted


async def at_once(count: int, work: Callable[[int], Awaitable[Found]]) -> list[Found]:
    """What so many calls at the same time return; each is given its number."""
    return await asyncio.gather(*map(work, range(count)))


async def tried_at_once(
    count: int, work: Callable[[int], Awaitable[Found]]
) -> list[Found | BaseException]:
    """What so many calls at the same time return, or raise; each is given its number."""
    return await asyncio.gather(*map(work, range(count)), return_exceptions=True)


def how_many(found: Iterable[object], of: type) -> int:
    """How many of these are of this type."""
    return sum(isinstance(one, of) for one in found)


def names(count: int) -> list[str]:
    """Ids for so many runs."""
    return [f"r{number}" for number in range(count)]


async def ids(store: Store, **fields: Any) -> list[str]:
    """The ids of a list of runs."""
    return [row.id for row in await store.runs(Filter(**fields))]


async def open_ids(store: Store, **fields: Any) -> list[str]:
    """The ids of what is in the inbox."""
    return [found.id for found in await store.inbox(Filter(**fields))]


async def due_ids(store: Store, *programs: str, limit: int = 100) -> list[str]:
    """The ids of the runs that are due."""
    rows: list[RunRow] = await store.due(programs or ("clerk",), limit)
    return [row.id for row in rows]
