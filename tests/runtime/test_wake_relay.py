"""Wakes go to whoever drives runs from outside: in order, at least once, whatever dies in between."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, Busy, Misused, Rested, Runtime, Unfit
from adjourn.runtime.wake_relay import WakeRelay
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock, ScriptedModel

HOLD = 10.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path, clock: FakeClock) -> AsyncIterator[Store]:
    found: Any = MemoryStore(now=clock.now)
    if request.param == "sqlite":
        found = SQLiteStore(str(tmp_path / "a.db"), now=clock.now)
    await found.waking(True)
    yield found
    await found.close()


def clerk() -> Agent[Any]:
    return Agent("clerk", model=ScriptedModel("done"))


async def started(store: Store, clock: FakeClock, *runs: str) -> None:
    """Start these in a process that does not work."""
    async with Runtime(store, work=False) as rt:
        for run in runs:
            await rt.start(clerk(), "go", run_id=run)
            clock.advance(1)


class Handed:
    """What was handed over, and how that ended."""

    def __init__(self, **ends: Any) -> None:
        self.runs: list[str] = []
        self._ends = ends

    async def __call__(self, run: str) -> Any:
        self.runs.append(run)
        end = self._ends.pop(run, None)
        if isinstance(end, BaseException):
            raise end
        return end


def relay(store: Store, hand: Any, **options: Any) -> WakeRelay:
    return WakeRelay(store, hand, hold=HOLD, **options)


async def test_each_is_handed_over_once_in_order_and_acknowledged(store: Store, clock: FakeClock) -> None:
    await started(store, clock, "c", "a", "b")
    handed = Handed()
    assert await relay(store, handed, take=2).once() == 3
    clock.advance(HOLD)
    assert await relay(store, handed).once() == 0
    assert handed.runs == ["c", "a", "b"]


@pytest.mark.parametrize("end", [Busy(worker="w9"), Unfit(why="no program"), RuntimeError("the engine is away")])
async def test_what_is_busy_unfit_or_fails_is_never_acknowledged_and_stops_no_other(
    store: Store, clock: FakeClock, end: Any
) -> None:
    await started(store, clock, "r1", "r2")
    handed = Handed(r1=end)
    assert await relay(store, handed).once() == 1
    assert await relay(store, handed).once() == 0, "nobody gets it before its time is over"
    clock.advance(HOLD)
    assert await relay(store, handed).once() == 1
    assert handed.runs == ["r1", "r2", "r1"]


async def test_whoever_dies_between_handing_over_and_acknowledging_loses_nothing(
    store: Store, clock: FakeClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    await started(store, clock, "r1", "r2")
    died, real = asyncio.Event(), store.wakes

    async def wakes(done: Any = (), **options: Any) -> Any:
        if done:
            died.set()
            await asyncio.Event().wait()
        return await real(done, **options)

    handed = Handed()
    monkeypatch.setattr(store, "wakes", wakes)
    life = asyncio.create_task(relay(store, handed).once())
    await asyncio.wait_for(died.wait(), LIMIT)
    life.cancel()
    await asyncio.gather(life, return_exceptions=True)
    monkeypatch.undo()
    assert handed.runs == ["r1"]
    clock.advance(HOLD)
    assert await relay(store, handed).once() == 2
    assert handed.runs == ["r1", "r1", "r2"]


async def test_what_becomes_due_while_it_is_handed_over_comes_again(store: Store, clock: FakeClock) -> None:
    """The acknowledgement is of the wake that was taken, not of the one that a word has written meanwhile."""
    await started(store, clock, "r1")
    handed = Handed()

    async def hand(run: str) -> None:
        await handed(run)
        if len(handed.runs) == 1:
            async with Runtime(store, work=False) as rt:
                await (await rt.get(run)).say("wait", by="ana")

    assert await relay(store, hand).once() == 2
    assert handed.runs == ["r1", "r1"]


async def test_two_relays_on_one_store_hand_each_over_once(store: Store, clock: FakeClock) -> None:
    runs = [f"r{n}" for n in range(12)]
    await started(store, clock, *runs)
    handed = Handed()
    counts = await asyncio.gather(relay(store, handed, take=2).once(), relay(store, handed, take=2).once())
    assert sum(counts) == 12
    assert sorted(handed.runs) == sorted(runs)


async def test_with_advance_it_is_a_scheduler_that_is_told(tmp_path: Path) -> None:
    address = f"sqlite:///{tmp_path}/a.db"
    async with Runtime(address, [clerk()], work=False) as rt, Runtime(address, work=False) as elsewhere:
        await rt.store.waking(True)
        relaying = asyncio.create_task(WakeRelay(rt.store, rt.advance).run())
        try:
            run = await elsewhere.start(clerk(), "go")
            assert (await run.wait(LIMIT)).status == "completed"
        finally:
            relaying.cancel()
            await asyncio.gather(relaying, return_exceptions=True)
        assert isinstance(await rt.advance(run), Rested)


async def test_a_store_that_writes_no_wakes_is_told_apart_from_one_that_has_none() -> None:
    with pytest.raises(Misused, match="waking"):
        await WakeRelay(MemoryStore(), Handed()).once()
