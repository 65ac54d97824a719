"""A run under an engine is a task of its process: whoever waits for it may leave, and a run that is not to be had is an error."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest
from tests.engines.world import counts, slowly
from tests.runtime.world import LIMIT, Ledger, refunds

from adjourn import Runtime
from adjourn.engines.run_tasks import NotNow, RunTasks
from adjourn.stores.memory import MemoryStore


@pytest.fixture
def ledger(tmp_path: object) -> Ledger:
    return Ledger(f"{tmp_path}/ledger")


@pytest.fixture
async def runtime(ledger: Ledger) -> AsyncIterator[Runtime]:
    programs = [counts(ledger), slowly(ledger), refunds(ledger)]
    async with Runtime(MemoryStore(), programs, resources={"ledger": ledger}, work=False) as rt:
        yield rt


async def began(ledger: Ledger) -> None:
    async with asyncio.timeout(LIMIT):
        while not ledger.lines():
            await asyncio.sleep(0.001)


async def test_an_engine_is_told_that_a_run_is_over_or_waits_and_nothing_else(runtime: Runtime, ledger: Ledger) -> None:
    tasks = RunTasks(runtime)
    ending, asking = await runtime.start(counts(ledger), "go"), await runtime.start(refunds(ledger), "go")
    over, waits = await tasks.advance(ending.id), await tasks.advance(asking.id)
    assert (over.is_over, over.more) == (True, False)
    assert (waits.is_over, waits.more, waits.wake_in) == (False, False, 0.0)


async def test_an_engine_that_stops_waiting_cuts_off_nothing_and_finds_the_run_again(
    runtime: Runtime, ledger: Ledger
) -> None:
    tasks, run = RunTasks(runtime), await runtime.start(slowly(ledger), "go")
    waiting = asyncio.create_task(tasks.advance(run.id))
    await began(ledger)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    assert (await tasks.advance(run.id, within=0.01)).more
    stops = asyncio.Event()
    stops.set()
    assert (await tasks.advance(run.id, within=LIMIT, until=stops)).more
    ledger.open("tool")
    assert (await tasks.advance(run.id)).is_over
    assert [line.split()[0] for line in ledger.lines()] == ["began", "ended"]


async def test_a_run_that_another_worker_has_or_that_does_not_fit_is_never_acknowledged(ledger: Ledger) -> None:
    store = MemoryStore()
    options: dict[str, Any] = {"resources": {"ledger": ledger}, "work": False}
    async with Runtime(store, [slowly(ledger)], **options) as one, Runtime(store, [slowly(ledger)], **options) as two:
        run = await one.start(slowly(ledger), "go")
        first = asyncio.create_task(RunTasks(one).advance(run.id))
        await began(ledger)
        with pytest.raises(NotNow, match="has it"):
            await RunTasks(two).advance(run.id)
        async with Runtime(store, [counts(ledger)], **options) as other:
            with pytest.raises(NotNow, match="there is no program 'slowly' here"):
                await RunTasks(other).advance(run.id)
        ledger.open("tool")
        assert (await first).is_over


async def test_a_wake_for_a_run_that_is_not_there_is_done(runtime: Runtime) -> None:
    assert (await RunTasks(runtime).advance("no-such-run")).is_over
