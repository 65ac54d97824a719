"""What an engine forgot is found: not before its time, and whether or not the engine is there."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.engines.world import counts
from tests.runtime.world import LIMIT, Ledger

from adjourn import Completed, Runtime
from adjourn.core.records import Started
from adjourn.engines.backstop import PAGE, TOGETHER, Backstop
from adjourn.engines.run_tasks import RunTasks
from adjourn.stores.memory import MemoryStore
from adjourn.testing import FakeClock
from adjourn.testing.contract.fixtures import claim

PATIENCE = 30.0


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
async def runtime(ledger: Ledger) -> AsyncIterator[Runtime]:
    programs = [counts(ledger)]
    async with Runtime(MemoryStore(), programs, resources={"ledger": ledger}, work=False) as rt:
        yield rt


async def test_a_run_is_left_to_its_engine_until_it_was_due_for_too_long(runtime: Runtime, ledger: Ledger) -> None:
    clock = FakeClock()
    backstop = Backstop(runtime, RunTasks(runtime), patience=PATIENCE, clock=clock)
    run = await runtime.start(counts(ledger), "go")
    assert await backstop.once() == []
    clock.advance(PATIENCE - 1)
    assert await backstop.once() == []
    clock.advance(1)
    assert await backstop.once() == [run.id]
    await backstop.settled()
    assert isinstance(await run.wait(LIMIT), Completed)
    assert await backstop.once() == []


async def begun(backstop: Backstop, clock: FakeClock, looks: int) -> list[str]:
    """What it begins with, looking so often."""
    found: list[str] = []
    for _ in range(looks):
        found += await backstop.once()
        await backstop.settled()
        clock.advance(PATIENCE)
    return found


async def test_long_calls_of_other_workers_do_not_hide_a_run_that_the_engine_forgot(
    runtime: Runtime, ledger: Ledger
) -> None:
    clock = FakeClock()
    backstop = Backstop(runtime, RunTasks(runtime), patience=PATIENCE, clock=clock)
    for number in range(3 * PAGE):
        await runtime.start(counts(ledger), "go", run_id=f"held-{number}")
        await claim(runtime.store, f"held-{number}", worker="other", ttl=600.0)
    run = await runtime.start(counts(ledger), "go")
    assert await begun(backstop, clock, 2) == [run.id]
    assert isinstance(await run.wait(LIMIT), Completed)


async def test_runs_that_fit_no_worker_do_not_hide_a_run_that_the_engine_forgot(
    runtime: Runtime, ledger: Ledger
) -> None:
    clock = FakeClock()
    backstop = Backstop(runtime, RunTasks(runtime), patience=PATIENCE, clock=clock)
    other = {**counts(ledger).fingerprint, "tools": "others"}
    for number in range(PAGE + TOGETHER):
        await runtime.store.create(Started(run=f"odd-{number}", kind="agent", program="counts", fingerprint=other))
    run = await runtime.start(counts(ledger), "go")
    assert run.id in await begun(backstop, clock, 2 + PAGE // TOGETHER + 2)
    assert (await runtime.store.get("odd-0")).seq == 1, "it waits for a worker that fits"
    assert isinstance(await run.wait(LIMIT), Completed)
