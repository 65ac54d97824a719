"""The server crashes, and connections are cut, under load: nothing is there twice, nothing that was acknowledged is missing."""

import asyncio
import random
import signal
from collections.abc import AsyncIterator, Iterator

import psycopg
import pytest
from tests.stores.postgres.server import PostgresServer, programs

from adjourn.core.records import Returned, Said, Stepped
from adjourn.errors import StoreError
from adjourn.stores.postgres import store as postgres_store
from adjourn.stores.postgres.store import PostgresStore
from adjourn.testing import check_rows
from adjourn.testing.contract.fixtures import claim, started

RUNS, FACTS = 12, 40
LIMIT = 60.0
BETWEEN = 8
"""Rules that get through between two cuts. So there are as many cuts on a machine that is slow, and no livelock."""
TERMINATE = """
select pg_terminate_backend(pid) from pg_stat_activity where datname = %s and pid <> pg_backend_pid() order by random() limit %s
"""


@pytest.fixture(scope="module")
def own() -> Iterator[PostgresServer]:
    """A server that nobody else uses."""
    found = programs()
    if found is None:
        pytest.skip("there is no PostgreSQL here")
    with PostgresServer(found) as server:
        yield server


@pytest.fixture
async def store(
    own: PostgresServer, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[PostgresStore]:
    """One that tries for as long as the test lasts: how long that is depends on who else is at work."""
    monkeypatch.setattr(postgres_store, "PATIENCE", LIMIT)
    store = PostgresStore(own.fresh())
    yield store
    await store.close()


async def work(store: PostgresStore, run: str) -> None:
    """Facts, one after the other, by a worker that knows what it has seen."""
    lease = await claim(store, run, worker=f"w-{run}", ttl=600.0)
    seq = lease.seq
    for n in range(FACTS):
        done = await store.commit(lease, [Stepped(call="1.0", key=str(n))], [], seen=seq)
        seq = done.seq
        if not done.clean:
            done = await store.commit(lease, [Returned(call=f"1.{n}")], [], seen=seq)
            seq = done.seq


async def talk(store: PostgresStore, run: str, heard: list[int]) -> None:
    """Words, while its worker goes on."""
    for n in range(5):
        await asyncio.sleep(0.2)
        heard.append(await store.deliver(run, Said(text=str(n)), request=f"{run}-{n}"))


async def check(store: PostgresStore, heard: dict[str, list[int]]) -> None:
    for run, words in heard.items():
        records = dict(await store.load(run))
        facts = [record.key for record in records.values() if isinstance(record, Stepped)]
        assert facts == [str(n) for n in range(FACTS)], f"{run}: {facts}"
        said = [seq for seq, record in records.items() if isinstance(record, Said)]
        assert said == words
        await check_rows(store, run)
    assert await store.verify() == []


async def live(store: PostgresStore, violence: "asyncio.Task[int]", name: str = "r") -> int:
    heard: dict[str, list[int]] = {f"{name}{n}": [] for n in range(RUNS)}
    async with asyncio.timeout(LIMIT):
        await asyncio.gather(*(store.create(started(run)) for run in heard))
        await asyncio.gather(*(work(store, run) for run in heard), *(talk(store, run, heard[run]) for run in heard))
        violence.cancel()
        await asyncio.gather(violence, return_exceptions=True)
    await check(store, heard)
    return store.compared


async def terminate(own: PostgresServer, store: PostgresStore, seed: int, cuts: list[int] | None = None) -> int:
    """Cut connections, again and again; each time when something has got through. How many were cut is added to `cuts`."""
    chance, database, through = random.Random(seed), store.address.rpartition("/")[2], 0
    while True:
        await asyncio.sleep(0.01)
        if store.locked + store.compared < through + BETWEEN:
            continue
        through = store.locked + store.compared
        with psycopg.connect(own.address("postgres"), autocommit=True) as db:
            found = db.execute(TERMINATE, (database, chance.randint(1, 3))).fetchall()
        if cuts is not None:
            cuts.append(len(found))


async def crash(own: PostgresServer) -> int:
    """Let the server crash, and start it again."""
    while True:
        await asyncio.sleep(0.7)
        await asyncio.to_thread(own.stop, signal.SIGQUIT)
        await asyncio.to_thread(own.start)


async def test_connections_that_are_cut_cost_nothing_and_repeat_nothing(
    own: PostgresServer, store: PostgresStore
) -> None:
    assert await live(store, asyncio.ensure_future(terminate(own, store, 1))) > RUNS


@pytest.mark.crash
async def test_five_hundred_connections_that_are_cut_cost_nothing_and_repeat_nothing(
    own: PostgresServer, store: PostgresStore, capsys: pytest.CaptureFixture[str]
) -> None:
    cuts, lives = list[int](), 0
    while sum(cuts) < 500:
        lives += 1
        await live(store, asyncio.ensure_future(terminate(own, store, lives, cuts)), f"{lives}-")
    with capsys.disabled():
        facts = lives * RUNS * FACTS
        print(f"\n{sum(cuts)} connections cut: {facts:,} facts, each there once, and every word")


async def test_a_server_that_crashes_and_comes_back_has_lost_nothing(own: PostgresServer, store: PostgresStore) -> None:
    await live(store, asyncio.ensure_future(crash(own)))


async def test_a_server_that_was_away_for_longer_than_patience_is_found_as_soon_as_it_is_back(
    own: PostgresServer, store: PostgresStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    await store.create(started("r"))
    own.stop()
    monkeypatch.setattr(postgres_store, "PATIENCE", 0.0)
    try:
        for _ in range(8):
            with pytest.raises(StoreError):
                await store.get("r")
    finally:
        own.start()
    assert (await store.get("r")).id == "r"
