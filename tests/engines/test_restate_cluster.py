"""Three nodes of Restate, of which one is killed under load: the others continue, and nothing is lost or repeated."""

import asyncio
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from tests.engines.fleet import Fleet, check_journals, keep
from tests.engines.restate_cluster import NODES, RestateCluster
from tests.engines.restate_server import required
from tests.engines.world import CALLS, counts
from tests.runtime.world import refunds
from tests.stores.postgres.server import PostgresServer

from adjourn import Completed, Paused

LIMIT = 120.0
NEVER = 600.0
"""Seconds that the sweep leaves a run to its engine: here nothing but the cluster wakes runs."""


@pytest.fixture
def cluster() -> Iterator[RestateCluster]:
    with RestateCluster(required()) as cluster:
        yield cluster


@pytest.fixture
async def fleet(cluster: RestateCluster, postgres: PostgresServer, tmp_path: Path) -> AsyncIterator[Fleet]:
    async with Fleet(cluster.options, postgres.fresh(), tmp_path, None) as fleet:
        await asyncio.gather(fleet.begin(patience=NEVER), fleet.begin(patience=NEVER))
        yield fleet


async def progress(fleet: Fleet, lines: int) -> float:
    """Wait until so many lines more are in the ledger; the longest time between two of them."""
    first, last, longest = len(fleet.ledger.lines()), time.monotonic(), 0.0
    seen = first
    async with asyncio.timeout(LIMIT):
        while seen < first + lines:
            await asyncio.sleep(0.01)
            now, found = time.monotonic(), len(fleet.ledger.lines())
            longest = max(longest, now - last)
            if found > seen:
                seen, last = found, now
    return longest


async def survive(fleet: Fleet, cluster: RestateCluster, runs: int, killed: list[int]) -> float:
    """Let runs count and ask while nodes are killed, one after the other; the longest pause of all work."""
    counting = [await fleet.start(counts) for _ in range(runs)]
    asking = [await fleet.start(refunds) for _ in range(3)]
    longest = 0.0
    for number in killed:
        await progress(fleet, 2)
        await asyncio.to_thread(cluster.nodes[number].stop)
        longest = max(longest, await progress(fleet, runs))
        await asyncio.to_thread(cluster.nodes[number].start)
    for run in asking:
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Paused), outcome
        await fleet.desk.approve(outcome.interrupts[0].id, by="ana")
    for run in (*counting, *asking):
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Completed), outcome
    lines = Counter(fleet.ledger.lines())
    assert all(lines[f"count {run.id} {number}"] for run in counting for number in range(CALLS))
    assert all(lines[f"refund {run.id} A1 500"] == 1 for run in asking)
    await check_journals(fleet, [*counting, *asking])
    return longest


async def test_a_node_that_is_killed_under_load_costs_no_run_and_repeats_nothing(
    fleet: Fleet, cluster: RestateCluster
) -> None:
    assert cluster.alive() == NODES
    await survive(fleet, cluster, 30, [0])


@pytest.mark.crash
async def test_each_node_is_killed_in_turn_under_load(
    fleet: Fleet, cluster: RestateCluster, capsys: pytest.CaptureFixture[str]
) -> None:
    longest = await survive(fleet, cluster, 200, [0, 1, 2])
    keep("cluster", found=round(longest, 1))
    with capsys.disabled():
        print(f"\na cluster of {NODES}, each node killed once under load: nothing went on for {longest:.1f} s at most")
