"""Worker processes on one PostgreSQL that are killed, stopped and thawed while its server crashes: every payment is made once."""

import asyncio
import random
import signal
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.runtime.process import Process
from tests.runtime.world import Ledger, payer
from tests.stores.postgres.server import PostgresServer, programs

from adjourn import Runtime
from adjourn.core.records import Intended, Returned
from adjourn.errors import Conflict

LEASE = 2.0
LIMIT = 150.0


@pytest.fixture(scope="module")
def own() -> Iterator[PostgresServer]:
    """A server that nobody else uses."""
    found = programs()
    if found is None:
        pytest.skip("there is no PostgreSQL here")
    with PostgresServer(found) as server:
        yield server


class Fleet:
    """Some workers on one database."""

    def __init__(self, address: str, ledger: Ledger) -> None:
        self.address, self.ledger = address, ledger
        self.workers: list[Process] = []

    async def begin(self) -> None:
        """One more."""
        options = {"address": self.address, "ledger": self.ledger.path, "agents": ["payer"], "wall": False}
        self.workers.append(await Process.begin(**options, lease=LEASE, concurrency=8))

    async def disturb(self, desk: Runtime, chance: random.Random) -> None:
        """Do something bad to one of them."""
        what = chance.choice(["kill", "stop", "leave"])
        worker = chance.choice(self.workers)
        if what == "kill":
            self.workers.remove(worker)
            await worker.kill()
            await self.begin()
        elif what == "stop":
            worker.signal(signal.SIGSTOP)
            while all(until > desk.store.now() for until in (await desk.store.workers()).values()):
                await asyncio.sleep(0.05)  # its last heartbeat is over
            worker.signal(signal.SIGCONT)

    async def end(self) -> None:
        for worker in self.workers:
            await worker.kill()


@pytest.fixture
async def fleet(own: PostgresServer, postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Fleet]:
    fleet = Fleet(own.fresh(), Ledger(tmp_path / "ledger"))
    yield fleet
    await fleet.end()


async def answer(desk: Runtime, ledger: Ledger) -> None:
    """Whoever is asked about a call in doubt looks into the ledger."""
    for item in await desk.inbox(limit=1000):
        assert item.kind == "in_doubt", item
        choice = "happened" if f"paid {item.run_id}" in ledger.lines() else "run"
        try:
            await desk.answer(
                item.id, {"choice": choice, "result": "paid"} if choice == "happened" else {"choice": choice}, by="ann"
            )
        except Conflict:
            continue


async def campaign(own: PostgresServer, fleet: Fleet, *, runs: int, rounds: int, seed: int) -> None:
    chance = random.Random(seed)
    for _ in range(3):
        await fleet.begin()
    async with Runtime(fleet.address, resources={"ledger": fleet.ledger}, work=False) as desk, asyncio.timeout(LIMIT):
        for n in range(runs):
            await desk.start(payer(fleet.ledger), "go", run_id=f"r{n}")
        for number in range(rounds):
            await fleet.disturb(desk, chance)
            if number % 3 == 1:
                await asyncio.to_thread(own.stop, signal.SIGQUIT)
                await asyncio.to_thread(own.start)
            await answer(desk, fleet.ledger)
        while len(await desk.runs(status="completed", limit=1000)) < runs:
            await answer(desk, fleet.ledger)
            await asyncio.sleep(0.2)
        paid = Counter(fleet.ledger.lines())
        assert paid == Counter({f"paid r{n}": 1 for n in range(runs)})
        for n in range(runs):
            records = [record for _, record in await desk.store.load(f"r{n}")]
            assert sum(isinstance(record, Returned) for record in records) <= 1
            assert any(isinstance(record, Intended) for record in records)
        assert await desk.verify() == []


async def test_every_payment_is_made_once_whatever_happens_to_workers_and_server(
    own: PostgresServer, fleet: Fleet
) -> None:
    await campaign(own, fleet, runs=30, rounds=5, seed=2)


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(10, 16))
async def test_every_payment_is_made_once_for_long(own: PostgresServer, fleet: Fleet, seed: int) -> None:
    await campaign(own, fleet, runs=200, rounds=20, seed=seed)
