"""Rules as values: a rule sees what it asked for and nothing else, and a batch of rules is what each of them says."""

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest

from adjourn.core.records import CancelAsked, Parked, RunCompleted, Said, Stepped
from adjourn.errors import AlreadyDecided, Refused, StoreError
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Lease, Store
from adjourn.stores.rules.reads_and_writes import ReadRequest, ReadResult, Writes
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.run_row import RunRow
from adjourn.stores.sqlite import SQLiteStore, gathered
from adjourn.testing import check_rows
from adjourn.testing.contract.fixtures import approval, begin, commit, started, wait_for, yes


@pytest.fixture
async def store(folder: Path) -> AsyncIterator[SQLiteStore]:
    opened = SQLiteStore(str(folder / "adjourn.db"))
    yield opened
    await opened.close()


READS: dict[str, Callable[[Sheet], Any]] = {
    "records": lambda sheet: sheet.tail(0),
    "one record": lambda sheet: sheet.record(1),
    "a hash": lambda sheet: sheet.head_at(1),
    "an interrupt": lambda sheet: sheet.interrupt("1.0?0"),
    "open interrupts": lambda sheet: sheet.open_interrupts(),
    "what a call lives on": lambda sheet: sheet.lived_on("1.0"),
    "a request": lambda sheet: sheet.request("q1"),
    "its worker": lambda sheet: sheet.until,
    "its audit": lambda sheet: sheet.audited("r1", {}),
    "the global audit": lambda sheet: sheet.audited("", {}),
    "the security log": lambda sheet: sheet.noted([{}]),
    "the id of the store": lambda sheet: sheet.store_id(),
    "what was touched": lambda sheet: sheet.touched(),
    "a seal": lambda sheet: sheet.seal(),
    "halts": lambda sheet: sheet.halts(),
    "whether decisions are signed": lambda sheet: sheet.is_signed(),
    "endpoints": lambda sheet: sheet.endpoints(),
    "a letter": lambda sheet: sheet.letter(1),
    "due letters": lambda sheet: sheet.due_letters(),
    "runs that are asleep": lambda sheet: sheet.asleep(),
    "due wakes": lambda sheet: sheet.due_wakes(),
}


@pytest.mark.parametrize("what", READS)
def test_what_was_not_asked_for_cannot_be_read(what: str) -> None:
    sheet = Sheet(ReadRequest("r1"), ReadResult(0.0, RunRow("r1", "agent", "clerk", seq=3)))
    with pytest.raises(AssertionError, match="not asked for"):
        READS[what](sheet)


@pytest.mark.unwatched
@pytest.mark.parametrize("what", [*READS])
async def test_a_rule_that_reads_what_it_did_not_ask_for_fails_alone_and_writes_nothing(
    store: SQLiteStore, what: str
) -> None:
    await begin(store)

    def work(sheet: Sheet) -> None:
        sheet.beat("w9", 1.0)
        READS[what](sheet)

    async with one_batch(store) as batch:
        failed = batch(store._write(StoreRule(ReadRequest("r1"), work)))
        word = batch(store.deliver("r1", Said(text="hi")))
    with pytest.raises(StoreError, match="AssertionError: .*not asked for"):
        await failed
    assert await word == 3
    assert store._db.execute("select count(*) from worker where id = 'w9'").fetchone() == (0,)


@pytest.mark.parametrize("kind", ["memory", "sqlite"])
async def test_a_rule_that_raises_has_written_nothing(kind: str, store: SQLiteStore) -> None:
    place = store if kind == "sqlite" else MemoryStore()
    lease = await begin(place)
    before = await place.get("r1"), await place.load("r1")
    with pytest.raises(Refused):
        await commit(place, lease, (), [approval(), RunCompleted(), Parked()])
    assert (await place.get("r1"), await place.load("r1")) == before
    assert (await commit(place, lease, (), [approval(), Parked()])).clean
    assert not await place.verify()


# Batches


@asynccontextmanager
async def one_batch(store: SQLiteStore) -> AsyncGenerator[Callable[[Any], asyncio.Future[Any]]]:
    """Everything that is begun inside goes to the writer thread as one batch, in this order."""
    busy, free = threading.Event(), threading.Event()

    def hold(_: Sheet) -> None:
        busy.set()
        free.wait()

    holding = asyncio.ensure_future(store._writer.ask(StoreRule(ReadRequest(), hold, light=True)))
    await asyncio.to_thread(busy.wait)
    begun: list[asyncio.Future[Any]] = []

    def begin(work: Any) -> asyncio.Future[Any]:
        begun.append(asyncio.ensure_future(work))
        return begun[-1]

    before = store.transactions
    yield begin
    await asyncio.sleep(0)  # each has handed in its rule
    free.set()
    await asyncio.gather(holding, *begun, return_exceptions=True)
    assert store.transactions <= before + 1, "they were not in one batch: this proves nothing"


async def test_a_refusal_in_a_batch_leaves_the_others(store: SQLiteStore) -> None:
    for run in ("r1", "r2", "r3"):
        await store.create(started(run))
    await store.deliver("r2", CancelAsked())
    async with one_batch(store) as batch:
        first = batch(store.deliver("r1", Said(text="one")))
        refused = batch(store.commit(stale_lease("r2"), [Stepped(call="1.0", key="a")], [], seen=1))
        last = batch(store.deliver("r3", Said(text="three")))
    assert (await first, await last) == (2, 2)
    with pytest.raises(Exception, match="epoch"):
        await refused
    for run in ("r1", "r3"):
        assert [seq for seq, _ in await store.load(run)] == [1, 2]
        await check_rows(store, run)
    assert not await store.verify()


def stale_lease(run: str) -> Lease:
    return Lease(run, "nobody", 7, 1, (), frozenset())


async def test_two_votes_in_one_batch_are_both_counted(store: SQLiteStore) -> None:
    """The second is judged by what the first has left, although nothing is committed yet."""
    await wait_for(store, approval("1.0?0", approvers=2))
    async with one_batch(store) as batch:
        votes = [batch(store.deliver("r1", yes("1.0?0", by=by))) for by in ("ana", "ana", "bo", "cy")]
    done = await asyncio.gather(*votes, return_exceptions=True)
    assert [type(x) for x in done] == [int, AlreadyDecided, int, AlreadyDecided]
    await check_rows(store, "r1")
    assert not await store.verify()


async def test_a_commit_hears_a_word_of_the_same_batch(store: SQLiteStore) -> None:
    lease = await begin(store)
    async with one_batch(store) as batch:
        word = batch(store.deliver("r1", Said(text="wait")))
        done = batch(store.commit(lease, [], [Parked()], seen=lease.seq))
    assert await word == lease.seq + 1
    committed = await done
    assert not committed.clean
    assert [seq for seq, _ in committed.records] == [lease.seq + 1]


async def test_a_batch_in_which_everything_is_refused_changes_nothing(store: SQLiteStore) -> None:
    await wait_for(store, approval())
    await store.deliver("r1", CancelAsked())
    before = store.transactions
    async with one_batch(store) as batch:
        tried = [batch(store.commit(stale_lease("r1"), [], [Parked()], seen=1)) for _ in range(3)]
    assert all(isinstance(x, Exception) for x in await asyncio.gather(*tried, return_exceptions=True))
    assert store.transactions == before
    await store.deliver("r1", CancelAsked())
    assert not await store.verify()


async def _life(store: Store, run: str) -> None:
    lease = await begin(store, run)
    for n in range(5):
        await commit(store, lease, [Stepped(call="1.0", key=str(n))])
        await store.deliver(run, Said(text=str(n)))
    await commit(store, lease, (), [approval(), Parked()])
    await store.deliver(run, yes())


@pytest.mark.parametrize("watched", [True, pytest.param(False, marks=pytest.mark.unwatched)])
async def test_many_runs_at_once_end_as_they_would_alone(store: SQLiteStore, watched: bool) -> None:
    runs = [f"r{n}" for n in range(20)]
    await asyncio.gather(*(_life(store, run) for run in runs))
    alone = MemoryStore()
    await _life(alone, "r0")
    wanted = [type(record) for _, record in await alone.load("r0")]
    for run in runs:
        assert [type(record) for _, record in await store.load(run)] == wanted
        await check_rows(store, run)
    assert not await store.verify()
    assert store.transactions < store.commits


def test_everything_that_a_rule_may_write_is_looked_for() -> None:
    """A field that no list names would be written by no one."""
    with_the_run = {"row", "new", "wiped", "removed", "journal", "interrupts", "request", "blobs", "key"}
    with_another = {"untouch"}  # goes with `seal`
    known = {*gathered._NAMES, "audit", "touched", "beats", "post", "wakes"}  # pyright: ignore[reportPrivateUsage]
    assert {field.name for field in msgspec.structs.fields(Writes)} == with_the_run | with_another | known
