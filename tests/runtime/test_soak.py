"""People bothered without cause: none. Rolling restarts, blocked loops, a crashing run, a starved CPU and a clock that is set
again and again, an hour forward or back, judged by a ledger.

The bounded one runs with the tests; `make crash` runs the long one.
"""

import asyncio
import multiprocessing
import random
from collections.abc import Generator
from contextlib import contextmanager, suppress

import pytest
from tests.runtime.conftest import Begin, on_both
from tests.runtime.process import opened
from tests.runtime.world import AGENTS, LIMIT, Ledger

from adjourn import Runtime
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import Claimed

LEASE, HOUR = 0.6, 3600.0
pytestmark = on_both

KINDS = ("payer", "parser", "killer")


def spin() -> None:
    while True:
        pass


@contextmanager
def stress(processes: int) -> Generator[None]:
    """So many processes that use all the CPU they can get."""
    busy = [multiprocessing.get_context("spawn").Process(target=spin, daemon=True) for _ in range(processes)]
    for process in busy:
        process.start()
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.join()


async def has_cause(desk: Runtime, item: Interrupt, killed: set[str]) -> bool:
    """Whether there is anything for a person to do: its run kills its workers, or its worker was killed in the middle of it."""
    if item.run_id.startswith("killer"):
        return item.kind == "error"
    claims = [x for _, x in await desk.store.load(item.run_id) if isinstance(x, Claimed)]
    lost = [before.worker for before, after in zip(claims, claims[1:], strict=False) if after.lost]
    return item.kind == "in_doubt" and any(worker.split("|")[1] in killed for worker in lost)


async def soak(begin: Begin, address: str, ledger: Ledger, *, runs: int, restarts: int, seed: int) -> None:
    chance = random.Random(seed)
    store = opened(address, ledger.now)
    async with Runtime(store, resources={"ledger": ledger}, work=False) as desk:
        workers = [await begin(*KINDS, lease=LEASE) for _ in range(2)]
        for restart in range(restarts):
            for n in range(restart * runs // restarts, (restart + 1) * runs // restarts):
                kind = "parser" if n % 10 == 5 else "payer"
                await desk.start(AGENTS[kind](ledger), "go", run_id=f"{kind}-{n}")
            await asyncio.sleep(chance.uniform(0.2, 0.8))
            ledger.set_clock(chance.choice([-HOUR, 0.0, HOUR]))
            if restart == restarts // 2:
                await desk.start(AGENTS["killer"](ledger), "go", run_id="killer-0")
            k = chance.randrange(2)
            with suppress(AssertionError):  # the killer may have been quicker
                await workers[k].end()
            workers[k] = await begin(*KINDS, lease=LEASE)
        ids = [row.id for row in await desk.runs(limit=1000)]
        rested: set[str] = set()
        async with asyncio.timeout(3 * LIMIT):
            while len(rested) < len(ids):
                for k, worker in enumerate(workers):
                    if not worker.is_alive():
                        workers[k] = await begin(*KINDS, lease=LEASE)
                for id in ids:
                    status = await (await desk.get(id)).status()
                    if status in ("completed", "waiting", "failed"):
                        rested.add(id)
                await asyncio.sleep(0.1)
        killed = {line.split()[2] for line in ledger.lines() if line.startswith("kill ")}
        items = await desk.inbox(limit=1000)
        bothered = [item for item in items if not await has_cause(desk, item, killed)]
        print(
            f"{len(ids)} runs, {restarts} restarts, {len(killed)} crashes: {len(items)} items, {len(bothered)} without cause"
        )
        assert not bothered, [(item.run_id, item.kind, item.payload) for item in bothered]
        paid = [line for line in ledger.lines() if line.startswith(("paid ", "parsed "))]
        assert len(paid) == len(set(paid)), "something was done twice"
        assert await desk.verify() == []
    await store.close()


async def test_nobody_is_bothered_without_cause(begin: Begin, address: str, ledger: Ledger) -> None:
    await soak(begin, address, ledger, runs=20, restarts=4, seed=1)


@pytest.mark.crash
@pytest.mark.parametrize("seed", range(10))
async def test_nobody_is_bothered_without_cause_for_long(begin: Begin, address: str, ledger: Ledger, seed: int) -> None:
    with stress(2 * multiprocessing.cpu_count()):
        await soak(begin, address, ledger, runs=200, restarts=20, seed=seed)
