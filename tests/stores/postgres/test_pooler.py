"""Behind a pooler that hands out its connections by transaction, everything works as without one."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.runtime.process import Process
from tests.runtime.world import Ledger, payer, refunds
from tests.stores.postgres.pooler import Pooler
from tests.stores.postgres.server import PostgresServer
from tests.stores.postgres.test_unknown_outcomes import ruled, told
from tests.stores.postgres.test_violence import RUNS, live

from adjourn import Completed, Paused, Runtime
from adjourn.stores.postgres.database import PostgresDatabase
from adjourn.stores.postgres.store import PostgresStore

LIMIT = 60.0


@pytest.fixture(scope="module")
def pooler(postgres: PostgresServer) -> Iterator[Pooler]:
    with Pooler(postgres) as pooler:
        yield pooler


@pytest.mark.unwatched  # the oracle lets one thread look at a time, and each has a connection: there are more threads than those
async def test_the_life_of_a_run_and_of_a_store_is_the_same_through_a_pooler(
    postgres: PostgresServer, pooler: Pooler
) -> None:
    direct = postgres.fresh()
    store, other = PostgresStore(direct), PostgresStore(pooler.address(direct, listen=True))
    assert await told(other, "pooled") == await told(store, "direct")
    assert await ruled(other, "pooled") == await ruled(store, "direct")
    nothing = asyncio.ensure_future(asyncio.sleep(0, 0))
    assert await live(other, nothing) > RUNS, "many at once, over three connections"
    await store.close()
    await other.close()


async def test_workers_in_two_processes_pay_and_hear_words_through_a_pooler_with_no_way_around_it(
    postgres: PostgresServer, pooler: Pooler, tmp_path: Path
) -> None:
    address, ledger = pooler.address(postgres.fresh(), listen=False), Ledger(tmp_path / "ledger")
    options = {"address": address, "ledger": ledger.path, "agents": ["payer", "refunds"], "wall": False}
    workers = await asyncio.gather(*(Process.begin(**options, concurrency=8) for _ in range(2)))
    try:
        async with Runtime(address, resources={"ledger": ledger}, work=False) as desk:
            paying = [await desk.start(payer(ledger), "go", run_id=f"r{n}") for n in range(20)]
            asking = await desk.start(refunds(ledger), "go")
            outcome = await asking.wait(LIMIT)
            assert isinstance(outcome, Paused)
            await desk.approve(outcome.interrupts[0].id, by="ana")
            for run in (*paying, asking):
                assert isinstance(await run.wait(LIMIT), Completed)
            paid = Counter(line for line in ledger.lines() if line.startswith("paid"))
            assert paid == Counter({f"paid r{n}": 1 for n in range(20)})
            assert await desk.verify() == []
    finally:
        for worker in workers:
            await worker.kill()


def test_the_doctor_sees_a_pooler_and_whether_there_is_a_way_around_it(
    postgres: PostgresServer, pooler: Pooler
) -> None:
    direct = postgres.fresh()
    found = PostgresDatabase(pooler.address(direct, listen=True)).report()
    assert (found.pooled, found.listens_elsewhere, found.heard is not None) == (True, True, True)
    found = PostgresDatabase(pooler.address(direct, listen=False)).report()
    assert (found.pooled, found.listens_elsewhere) == (True, False)
