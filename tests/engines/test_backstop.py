"""What an engine forgot is found: not before its time, and whether or not the engine is there."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.engines.world import counts
from tests.runtime.world import LIMIT, Ledger

from adjourn import Completed, Runtime
from adjourn.engines.backstop import Backstop
from adjourn.engines.run_tasks import RunTasks
from adjourn.stores.memory import MemoryStore
from adjourn.testing import FakeClock

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
