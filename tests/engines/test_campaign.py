"""The long campaign: 200 runs over four workers of each engine on each store, while everything is killed. `make fleet-campaign`."""

import asyncio
import random
import signal
import time
from collections import Counter
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path
from statistics import median
from typing import Any

import psycopg
import pytest
from tests.engines.fleet import (
    ENGINES,
    LEASE,
    LOAD,
    STORES,
    EngineServer,
    Fleet,
    check_frozen,
    check_journals,
    check_takeover,
    keep,
)
from tests.engines.people import People
from tests.engines.restate_server import restate
from tests.engines.temporal_server import temporal
from tests.engines.world import CALLS, boss, counts, orders
from tests.runtime.world import naps, refunds
from tests.stores.postgres.server import PostgresServer, programs
from tests.stores.postgres.test_violence import TERMINATE

from adjourn import Run

__all__ = ["restate", "temporal"]  # fixtures

RUNS, WORKERS, ROUNDS = 200, 4, 12
LIMIT = 420.0
PATIENCE, NEVER = 3.0, 600.0
FREEZES = 5
"""So often a worker is frozen: which one an engine asks next is chance."""
KINDS = (counts, refunds, boss, orders, naps)
pytestmark = pytest.mark.crash


@pytest.fixture(scope="module")
def own() -> Iterator[PostgresServer]:
    """A server that nobody else uses."""
    found = programs()
    assert found is not None, "there is no PostgreSQL here"
    with PostgresServer(found) as server:
        yield server


async def disturb(
    fleet: Fleet, people: People, chance: random.Random, server: EngineServer | None, own: PostgresServer | None
) -> str:
    """Something bad."""
    what = chance.choice(["kill", "freeze", "engine", "database"])
    worker = chance.choice(fleet.workers)
    if what in ("kill", "freeze"):
        people.disturbed.add(worker.pid)
    if what == "kill":
        fleet.workers.remove(worker)
        await worker.kill()
        await fleet.begin(patience=PATIENCE, unruly=chance.randrange(1000))
    elif what == "freeze":
        worker.signal(signal.SIGSTOP)
        await asyncio.sleep(3.0)  # longer than its lease
        worker.signal(signal.SIGCONT)
    elif what == "engine" and server is not None:
        await asyncio.to_thread(server.stop)
        await asyncio.to_thread(server.start)
    elif what == "database" and own is not None:
        await asyncio.to_thread(own.stop, signal.SIGQUIT)
        await asyncio.to_thread(own.start)
    else:
        return "nothing"
    return what


async def cut(own: PostgresServer, address: str, chance: random.Random, done: Counter[str]) -> None:
    """Connections, again and again, whatever they are in the middle of."""
    database = address.rpartition("/")[2]
    while True:
        await asyncio.sleep(0.3)
        with suppress(psycopg.Error):  # the server itself is away
            done["cut"] += await asyncio.to_thread(cut_some, own, database, chance.randint(1, 3))


def cut_some(own: PostgresServer, database: str, most: int) -> int:
    with psycopg.connect(own.address("postgres"), autocommit=True, connect_timeout=5) as db:
        return len(db.execute(TERMINATE, (database, most)).fetchall())


@asynccontextmanager
async def cutting(own: PostgresServer | None, address: str, done: Counter[str]) -> AsyncGenerator[None]:
    """Until its end connections are cut, where there is a server."""
    task = asyncio.ensure_future(cut(own, address, random.Random(11), done)) if own else None
    try:
        yield
    finally:
        if task is not None:
            task.cancel()
            await asyncio.wait({task})
    if task is not None:
        assert task.cancelled(), task.exception()


@pytest.mark.parametrize("engine", ["store", *ENGINES])
@pytest.mark.parametrize("store", STORES)
async def test_two_hundred_runs_end_and_nothing_recorded_is_repeated(
    engine: str, store: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    own = request.getfixturevalue("own") if store == "postgres" else None
    server = request.getfixturevalue(engine) if engine != "store" else None
    address = own.fresh() if own else f"sqlite:///{tmp_path / 'runs.db'}"
    options = {**server.options, "queue": f"campaign-{engine}-{store}"} if server else {"kind": "store"}
    chance, began = random.Random(7), time.monotonic()
    done: Counter[str] = Counter()
    async with asyncio.timeout(LIMIT), Fleet(options, address, tmp_path, server) as fleet:
        await asyncio.gather(*(fleet.begin(patience=PATIENCE, unruly=seed) for seed in range(WORKERS)))
        runs, people = list[Run[Any]](), People(fleet)
        for number in range(RUNS):
            runs.append(await fleet.start(KINDS[number % len(KINDS)]))
            if number % (3 * len(KINDS)) == 0:
                await people.pause(runs[-1])
        cancelled = [run for number, run in enumerate(runs) if number % len(KINDS) == 1 and number % 3 == 0]
        for run in cancelled:
            await run.cancel(by="ann")
        async with cutting(own, address, done):
            for _ in range(ROUNDS):
                done[await disturb(fleet, people, chance, server, own)] += 1
                await people.answer()
        while await unfinished(fleet):
            await people.answer()
            await people.resume(runs)
            await asyncio.sleep(0.2)
        took = time.monotonic() - began
        assert people.paused and (own is None or done["cut"] >= ROUNDS)
        done["doubts"] = people.doubts
        await check(fleet, runs, cancelled)
        await people.check(runs, cancelled)
    keep("lives", f"{engine} on {store}", found={"seconds": round(took, 1), **done})
    with capsys.disabled():
        print(f"\n{engine} on {store}: {RUNS} runs over {WORKERS} workers in {took:.0f} s; {dict(done)}")


@pytest.mark.parametrize("engine", ["store", *ENGINES])
async def test_how_long_it_takes_until_another_worker_goes_on(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest, capsys: pytest.CaptureFixture[str]
) -> None:
    """The engine alone, with nothing else to do: the sweep does not help. All workers are on one machine."""
    server = request.getfixturevalue(engine) if engine != "store" else None
    took: list[float] = []
    for check, times in ((check_takeover, 1), (check_frozen, FREEZES)):
        found: list[float] = []
        for number in range(times):
            name = f"{check.__name__}{number}"
            options = {**server.options, "queue": name} if server else {"kind": "store"}
            address = request.getfixturevalue("own").fresh()
            async with Fleet(options, address, tmp_path / name, server) as fleet:
                await asyncio.gather(fleet.begin(patience=NEVER), fleet.begin(patience=NEVER))
                found.append(await check(fleet))
        took.append(median(found))
    keep("takeovers", engine, found={"kill": round(took[0], 1), "freeze": round(took[1], 1), "load": LOAD})
    with capsys.disabled():
        print(
            f"\n{engine}: another worker goes on {took[0]:.1f} s after a kill, {took[1]:.1f} s after a freeze (lease {LEASE:.0f} s)"
        )


async def unfinished(fleet: Fleet) -> bool:
    ended = 0
    for status in ("completed", "cancelled"):
        ended += len(await fleet.desk.runs(status=status, limit=1000))
    return ended < RUNS


async def check(fleet: Fleet, runs: list[Run[Any]], cancelled: list[Run[Any]]) -> None:
    """Every run has ended as it should; what must happen once did so, and what was recorded was not repeated."""
    lines = Counter(fleet.ledger.lines())
    for run in runs:
        if run.id.startswith("counts"):
            assert all(lines[f"count {run.id} {number}"] for number in range(CALLS)), run.id
        if run.id.startswith(("refunds", "boss")):
            assert lines[f"refund {run.id} A1 500"] <= 1, run.id
            if run not in cancelled:
                assert lines[f"refund {run.id} A1 500"] == 1, run.id
    await check_journals(fleet, runs)
