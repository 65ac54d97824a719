"""The server is lost under load, and a standby takes its place."""

import asyncio
import signal
import time
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Literal, get_args

import psycopg
import pytest
from tests.runtime.process import Process
from tests.runtime.world import Ledger, payer
from tests.stores.postgres.proxy import Proxy
from tests.stores.postgres.server import PostgresServer, programs
from tests.stores.postgres.standby import NAME, Standby
from tests.stores.postgres.test_fleet import answer
from tests.stores.postgres.test_violence import RUNS, live

from adjourn import Runtime
from adjourn.core.records import Said, Stepped
from adjourn.errors import LeaseLost, StoreError
from adjourn.stores.postgres import store as postgres_store
from adjourn.stores.postgres.store import SIZE, PostgresStore
from adjourn.testing.contract.fixtures import claim, started

LIMIT = 60.0
Ending = Literal["pg_terminate_backend", "pg_cancel_backend"]
WAITING = "select pid from pg_stat_activity where wait_event = 'SyncRep'"


class Pair:
    """A server, and one that follows it."""

    def __init__(self, primary: PostgresServer, standby: Standby) -> None:
        self.primary, self.standby = primary, standby
        self.address = self._either(primary.fresh())

    def _either(self, address: str) -> str:
        """Whichever of the two is written to."""
        ports = f"127.0.0.1:{self.primary.port},127.0.0.1:{self.standby.port}"
        return f"postgresql://adjourn@{ports}/{address.rpartition('/')[2]}"

    def replicate_synchronously(self) -> None:
        """From now on a commit is acknowledged when both have it."""
        for sql in (f"alter system set synchronous_standby_names = '{NAME}'", "select pg_reload_conf()"):
            self.primary.execute(sql)
        while not self._rows("select 1 from pg_stat_replication where sync_state = 'sync'"):
            time.sleep(0.01)

    async def fail_over(self) -> None:
        """The first one crashes; the second one is promoted."""
        await asyncio.to_thread(self.primary.stop, signal.SIGQUIT)
        await asyncio.to_thread(self.standby.promote)

    def _rows(self, sql: str) -> list[tuple[Any, ...]]:
        with psycopg.connect(self.primary.address("postgres"), autocommit=True) as db:
            return db.execute(sql.encode()).fetchall()

    def waiting(self) -> set[int]:
        """The backends whose commit waits for the standby."""
        return {pid for (pid,) in self._rows(WAITING)}

    def end(self, how: Ending, backends: set[int]) -> None:
        """End the wait of these: what they have committed here, the other one does not have."""
        with psycopg.connect(self.primary.address("postgres"), autocommit=True) as db:
            db.execute(f"select {how}(p) from unnest(%s::int[]) p".encode(), ([*backends],))


@pytest.fixture
def pair(postgres: PostgresServer) -> Iterator[Pair]:
    found = programs()
    assert found is not None
    with ExitStack() as stack:
        primary = stack.enter_context(PostgresServer(found))
        standby = Standby(found, primary)
        stack.enter_context(standby)
        yield Pair(primary, standby)


@pytest.fixture
async def store(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[PostgresStore]:
    monkeypatch.setattr(postgres_store, "PATIENCE", LIMIT)
    store = PostgresStore(pair.address)
    yield store
    await store.close()


async def until(found: Callable[[], bool]) -> None:
    async with asyncio.timeout(LIMIT):
        while not await asyncio.to_thread(found):
            await asyncio.sleep(0.01)


async def test_with_a_synchronous_standby_a_failover_under_load_loses_nothing_and_repeats_nothing(
    pair: Pair, store: PostgresStore
) -> None:
    pair.replicate_synchronously()

    async def fail() -> int:
        await until(lambda: store.compared > 5 * RUNS)
        await pair.fail_over()
        return 1

    violence = asyncio.ensure_future(fail())
    await live(store, violence)
    assert violence.result() == 1, "there was nothing left to do when it happened"


async def commit(store: PostgresStore, run: str) -> Any:
    lease = await claim(store, run)
    return lambda: store.commit(lease, [Stepped(call="1.0", key="1")], [], seen=lease.seq)


async def deliver(store: PostgresStore, run: str) -> Any:
    return lambda: store.deliver(run, Said(text="stop"), request="1")


async def halt(store: PostgresStore, run: str) -> Any:
    return lambda: store.halt("tool:pay", by="ana")


async def create(store: PostgresStore, run: str) -> Any:
    return lambda: store.create(started("another"))


Verb = Callable[[PostgresStore, str], Awaitable[Callable[[], Awaitable[Any]]]]


@pytest.mark.parametrize("how", get_args(Ending))
async def test_what_only_the_first_server_has_is_not_acknowledged_because_it_can_be_read_there(
    pair: Pair, store: PostgresStore, how: Ending
) -> None:
    """A backend that is ended while it waits for the standby has committed, as every reader of its server can see."""
    pair.replicate_synchronously()
    verbs: tuple[Verb, ...] = (commit, deliver, halt, create)
    for number, verb in enumerate(verbs):
        await store.create(started(f"r{number}"))
        work = await verb(store, f"r{number}")
        pair.standby.freeze()
        try:
            asked = asyncio.ensure_future(work())
            await until(lambda: bool(pair.waiting()))
            first = pair.waiting()
            pair.end(how, first)
            await until(lambda first=first, asked=asked: asked.done() or bool(pair.waiting() - first))
            assert not asked.done(), f"{verb.__name__} was acknowledged while one server has it"
        finally:
            pair.standby.thaw()
        await asyncio.wait_for(asked, LIMIT)


async def test_a_worker_on_a_server_that_was_replaced_and_came_back_is_told_nothing(
    pair: Pair, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody has kept it away. Its commits wait for a standby that does not follow it any more: no call begins there."""
    pair.replicate_synchronously()
    await store.create(started("r"))
    await pair.fail_over()
    lease = await claim(store, "r", worker="new", ttl=600.0)
    await asyncio.to_thread(pair.primary.start)
    old = PostgresStore(pair.primary.address(pair.address.rpartition("/")[2]))
    monkeypatch.setattr(postgres_store, "PATIENCE", 0.0)
    asked = asyncio.ensure_future(claim(old, "r", worker="old"))
    await until(lambda: asked.done() or bool(pair.waiting()))
    assert not asked.done()
    await store.commit(lease, [Stepped(call="1.0", key="1")], [], seen=lease.seq)
    await asyncio.to_thread(pair.primary.stop, signal.SIGQUIT)
    with pytest.raises(StoreError):
        await asyncio.wait_for(asked, LIMIT)
    await old.close()


async def test_with_an_asynchronous_standby_a_worker_whose_last_records_are_lost_stops(
    pair: Pair, store: PostgresStore
) -> None:
    await store.create(started("r"))
    lease = await claim(store, "r", ttl=600.0)
    seen = (await store.commit(lease, [Stepped(call="1.0", key="1")], [], seen=lease.seq)).seq
    await until(lambda: has(pair.standby, pair.address, seen))
    pair.standby.stop()
    seen = (await store.commit(lease, [Stepped(call="1.0", key="2")], [], seen=seen)).seq
    await asyncio.to_thread(pair.primary.stop, signal.SIGQUIT)
    await asyncio.to_thread(pair.standby.start)
    await asyncio.to_thread(pair.standby.promote)
    with pytest.raises(LeaseLost, match="restored, or lost its end"):
        await store.commit(lease, [Stepped(call="1.0", key="3")], [], seen=seen)
    assert [record.key for _, record in await store.load("r") if isinstance(record, Stepped)] == ["1"]


def has(server: PostgresServer, address: str, seq: int) -> bool:
    """Whether a record has arrived there."""
    with psycopg.connect(server.address(address.rpartition("/")[2])) as db:
        return db.execute("select 1 from adjourn.journal where seq = %s", (seq,)).fetchone() is not None


async def test_a_word_that_meets_a_standby_waits_until_it_is_promoted(
    pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The way there is a name or a balancer, which leads to the standby before that may write."""
    monkeypatch.setattr(postgres_store, "PATIENCE", LIMIT)
    with Proxy(pair.primary.address(pair.address.rpartition("/")[2])) as way:
        store, met, loop = PostgresStore(way.address), asyncio.Event(), asyncio.get_running_loop()
        await store.create(started("r"))
        await until(lambda: has(pair.standby, pair.address, 1))
        await asyncio.to_thread(pair.primary.stop, signal.SIGQUIT)
        way.lead_to(pair.standby.port)
        way.seen = lambda message: loop.call_soon_threadsafe(met.set) and None
        asked = asyncio.ensure_future(store.deliver("r", Said(text="stop"), request="1"))
        await asyncio.wait_for(met.wait(), LIMIT)
        await asyncio.to_thread(pair.standby.promote)
        assert await asyncio.wait_for(asked, LIMIT) == 2
        await store.close()


async def test_every_payment_is_made_once_although_the_server_is_replaced(pair: Pair, tmp_path: Path) -> None:
    pair.replicate_synchronously()
    ledger, runs = Ledger(tmp_path / "ledger"), 30
    options = {"address": pair.address, "ledger": ledger.path, "agents": ["payer"], "wall": False}
    workers = await asyncio.gather(*(Process.begin(**options, lease=2.0, concurrency=8) for _ in range(2)))
    try:
        async with Runtime(pair.address, resources={"ledger": ledger}, work=False) as desk, asyncio.timeout(LIMIT):
            for n in range(runs):
                await desk.start(payer(ledger), "go", run_id=f"r{n}")
            await until(lambda: bool(ledger.lines()))
            await pair.fail_over()
            while len(await desk.runs(status="completed", limit=1000)) < runs:
                await answer(desk, ledger)
                await asyncio.sleep(0.1)
            assert Counter(ledger.lines()) == Counter({f"paid r{n}": 1 for n in range(runs)})
            assert await desk.verify() == []
    finally:
        for worker in workers:
            await worker.kill()


@pytest.mark.unwatched  # who looks at a commit from beside it sees that it is another past, and it is not compared any more
async def test_a_word_in_the_place_of_a_lost_record_does_not_make_its_worker_go_on(
    pair: Pair, store: PostgresStore
) -> None:
    """As many records as its worker has seen, of the same claim, and not the same."""
    await store.create(started("r"))
    lease = await claim(store, "r", ttl=600.0)
    seen = (await store.commit(lease, [Stepped(call="1.0", key="1")], [], seen=lease.seq)).seq
    await until(lambda: has(pair.standby, pair.address, seen))
    pair.standby.stop()
    seen = (await store.commit(lease, [Stepped(call="1.0", key="2")], [], seen=seen)).seq
    await asyncio.to_thread(pair.primary.stop, signal.SIGQUIT)
    await asyncio.to_thread(pair.standby.start)
    await asyncio.to_thread(pair.standby.promote)
    desk = PostgresStore(pair.address)
    assert await desk.deliver("r", Said(text="stop"), request="1") == seen
    await desk.close()
    await asyncio.gather(*(store.get("r") for _ in range(2 * SIZE)))  # connections that were cut are replaced by now
    with pytest.raises(LeaseLost, match="lost its end"):
        await store.commit(lease, [Stepped(call="1.0", key="3")], [], seen=seen)
    assert [record.key for _, record in await store.load("r") if isinstance(record, Stepped)] == ["1"]
    assert await store.verify() == []
