"""A worker is alive until it is known to be dead."""

import asyncio
from pathlib import Path

import pytest
from tests.runtime.world import LIMIT, Ledger, completed, slowly

from adjourn import Runtime
from adjourn.core.records import Claimed
from adjourn.core.state import State
from adjourn.errors import LeaseBusy
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "a.db")


async def claims(rt: Runtime, run: str) -> list[Claimed]:
    return [record for _, record in await rt.store.load(run) if isinstance(record, Claimed)]


async def test_a_live_worker_of_this_machine_is_not_robbed_because_time_has_passed(path: str, ledger: Ledger) -> None:
    """The wall clock is set an hour forward while a body is at work, and another worker is told to take its run."""
    clock = FakeClock()
    one, two = SQLiteStore(path, now=clock.now), SQLiteStore(path, now=clock.now)
    try:
        resources = {"ledger": ledger}
        async with Runtime(one, [slowly(ledger)], resources=resources) as first:
            run = await first.start(slowly(ledger), "go", run_id="r1")
            await ledger.until("began 1.0")  # only now is there a second worker: it might have been quicker
            async with Runtime(two, [slowly(ledger)], resources=resources) as second:
                clock.advance(3600)
                with pytest.raises(LeaseBusy):
                    await second.worker.advancer._take("r1", State(), "")  # pyright: ignore[reportPrivateUsage]
                second.worker.wake("r1")
                await asyncio.wait_for(second.worker.rested("r1"), LIMIT)
                assert len(await claims(first, "r1")) == 1
                ledger.open("tool")
                await completed(run)
                assert len(await claims(first, "r1")) == 1
    finally:
        await one.close()
        await two.close()
    assert ledger.lines() == ["began 1.0", "ended 1.0"]
