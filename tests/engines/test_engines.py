"""Every engine on every store: what people do to runs, and what happens to workers, wakes and servers."""

import asyncio
import shutil
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from tests.engines.fleet import ENGINES, LIMIT, STORES, Fleet, check_journals, check_takeover
from tests.engines.restate_server import restate
from tests.engines.temporal_server import TemporalServer, temporal
from tests.engines.world import CALLS, boss, counts, orders
from tests.places import new_folder
from tests.runtime.world import changed, naps, refunds

from adjourn import Completed, Paused, Run, Runtime

__all__ = ["restate", "temporal"]  # fixtures

NEVER, SOON = 600.0, 1.0
"""Seconds that the sweep leaves a run to its engine."""
QUEUES = count(1)


@pytest.fixture
def folder() -> Iterator[Path]:
    place = new_folder("adjourn-engines-")
    yield place
    shutil.rmtree(place, ignore_errors=True)


@pytest.fixture(params=STORES)
def address(request: pytest.FixtureRequest, folder: Path) -> str:
    if request.param == "postgres":
        return request.getfixturevalue("postgres").fresh()
    return f"sqlite:///{folder / 'runs.db'}"


@pytest.fixture
async def fleet(request: pytest.FixtureRequest, address: str, folder: Path) -> AsyncIterator[Fleet]:
    server, engine = None, {"kind": request.param}
    if request.param != "store":
        server = request.getfixturevalue(request.param)
        engine = {**server.options, "queue": f"q{next(QUEUES)}"}
    async with Fleet(engine, address, folder, server) as fleet:
        yield fleet


async def paused(run: Run[Any]) -> Paused:
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Paused), outcome
    return outcome


async def completed(*runs: Run[Any]) -> None:
    for run in runs:
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Completed), outcome


@pytest.mark.parametrize("fleet", ["store", *ENGINES], indirect=True)
async def test_the_engine_alone_wakes_what_is_started_answered_cancelled_or_due_and_replaces_the_dead(
    fleet: Fleet,
) -> None:
    await asyncio.gather(fleet.begin(patience=NEVER), fleet.begin(patience=NEVER))
    approved, nested, flow = await fleet.start(refunds), await fleet.start(boss), await fleet.start(orders)
    sleeping, stopped = await fleet.start(naps), await fleet.start(refunds)
    counting = [await fleet.start(counts) for _ in range(6)]
    for run in (approved, nested):
        await fleet.desk.approve((await paused(run)).interrupts[0].id, by="ana")
    await fleet.desk.answer((await paused(flow)).interrupts[0].id, "by air", by="ana")
    await paused(stopped)
    await stopped.cancel(by="ana")
    assert (await stopped.wait(LIMIT)).status == "cancelled"
    everything = [approved, nested, flow, sleeping, *counting]
    await completed(*everything)
    lines = Counter(fleet.ledger.lines())
    assert lines[f"refund {approved.id} A1 500"] == 1
    assert lines[f"refund {stopped.id} A1 500"] == 0
    await check_journals(fleet, [*everything, stopped])
    await check_takeover(fleet)


@pytest.mark.parametrize(("address", "fleet"), [("postgres", "restate"), ("sqlite", "temporal")], indirect=True)
async def test_a_killed_worker_a_restarted_engine_and_wakes_that_are_lost_cost_no_run_and_repeat_nothing(
    fleet: Fleet,
) -> None:
    assert fleet.server is not None
    await asyncio.gather(fleet.begin(patience=SOON, unruly=1), fleet.begin(patience=SOON, unruly=2))
    counting = [await fleet.start(counts) for _ in range(12)]
    asking = await fleet.start(refunds)
    await fleet.written(f"count {counting[0].id} 0")
    await fleet.workers[0].kill()
    await asyncio.to_thread(fleet.server.stop)
    await fleet.desk.approve((await paused(asking)).interrupts[0].id, by="ana")
    await asyncio.to_thread(fleet.server.start)
    await completed(asking, *counting)
    numbers = Counter(line for line in fleet.ledger.lines() if line.startswith("count"))
    assert {*numbers} == {f"count {run.id} {number}" for run in counting for number in range(CALLS)}
    assert Counter(fleet.ledger.lines())[f"refund {asking.id} A1 500"] == 1
    await check_journals(fleet, [asking, *counting])


@pytest.mark.parametrize("fleet", ["store", *ENGINES], indirect=True)
async def test_in_a_rolling_deploy_a_paused_run_finishes_where_it_fits_and_until_then_waits_visibly(
    fleet: Fleet,
) -> None:
    await fleet.begin(patience=SOON)
    asking = await fleet.start(refunds)
    item = (await paused(asking)).interrupts[0]
    await fleet.begin(patience=SOON, version="changed")
    await fleet.workers.pop(0).kill()
    await fleet.desk.approve(item.id, by="ana")
    counting = await fleet.start(counts)
    async with Runtime(fleet.address, work=False) as newer:  # who starts runs was deployed, too
        later = await newer.start(changed(fleet.ledger), "begin", run_id="later")
        await completed(later, counting)
    async with asyncio.timeout(LIMIT):
        while not (found := await fleet.desk.store.misfits()):
            await asyncio.sleep(0.05)
    assert [(one.run, "refund" in one.why) for one in found] == [(asking.id, True)]
    assert not any(line.startswith("refund") for line in fleet.ledger.lines())
    await fleet.begin(patience=SOON)  # both versions are there
    await completed(asking)
    assert Counter(fleet.ledger.lines())[f"refund {asking.id} A1 500"] == 1
    assert await fleet.desk.store.misfits() == []
    await check_journals(fleet, [asking, later, counting])


@pytest.mark.crash
@pytest.mark.parametrize(("address", "fleet"), [("postgres", "restate"), ("sqlite", "restate")], indirect=True)
async def test_two_engines_and_a_worker_without_one_on_one_store_by_mistake_repeat_nothing(
    fleet: Fleet, temporal: TemporalServer
) -> None:
    other = {**temporal.options, "queue": f"q{next(QUEUES)}"}
    chosen = [fleet.engine, other, {"kind": "store"}]
    await asyncio.gather(*(fleet.begin(engine, patience=SOON) for engine in chosen))
    counting = [await fleet.start(counts) for _ in range(20)]
    asking = [await fleet.start(refunds) for _ in range(4)]
    for run in asking:
        await fleet.desk.approve((await paused(run)).interrupts[0].id, by="ana")
    await completed(*asking, *counting)
    lines = Counter(fleet.ledger.lines())
    assert set(lines.values()) == {1} and len(lines) == len(asking) + CALLS * len(counting)
    await check_journals(fleet, [*asking, *counting])
