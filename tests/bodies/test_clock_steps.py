"""Somebody sets the clock, an hour forward or back, while a run waits: it waits as long as it was to, by a clock nobody sets."""

import asyncio
from collections.abc import Sequence
from typing import Any

import pytest
from tests.bodies.cases import KINDS, LIMIT, Bank, Kind, Place, cancelled, idle, program

from adjourn import Agent, Completed, ModelError, Runtime, StoreError, ToolContext
from adjourn.core.records import Doubted, Fact, Faulted, Intended, Move, Verified
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Committed, Lease
from adjourn.testing import FakeClock, ScriptedModel

HOUR = 3600.0
STEPS = [HOUR, -HOUR]
SETTLE = 30.0


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


async def set_clock(clock: FakeClock, step: float, rt: Runtime) -> None:
    """Set it, and let the run's driver look at it, as if somebody had spoken."""
    clock.set(step)
    rt.worker.advancer.running["r"].hear()
    await idle()


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", KINDS)
async def test_what_was_cut_off_gets_its_time_before_the_world_is_asked(
    kind: Kind, step: float, clock: FakeClock, bank: Bank
) -> None:
    """Asked an hour too early, the bank says "not yet", and it would be paid twice."""

    async def pay(ctx: ToolContext) -> str:
        bank.write("begins")
        await asyncio.sleep(60)
        return "never"

    async def looks(ctx: ToolContext, args: Any) -> Any:
        bank.write("asked")
        return ("happened", "paid") if "landed" in bank.lines else False

    place = Place(clock=clock)
    one = program(kind, pay, effect="verifiable", verify=looks, timeout=0.02, settle=SETTLE)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await place.until(Doubted)
        for n in (1, 2):  # a "not" is asked twice, and each time there is such a wait
            await idle()
            clock.advance(SETTLE - 1)
            await set_clock(clock, step, rt)
            assert bank.count("asked") == n - 1
            if n == 2:
                bank.write("landed")
            clock.advance(1)
            await place.until(Verified, n)
        assert await place.ends(run) == ("value", "paid")
    assert len(place.all(Intended)) == 1


@pytest.mark.parametrize("step", STEPS)
async def test_a_failing_step_is_tried_again_when_it_was_to_be(step: float, clock: FakeClock) -> None:
    place = Place(clock=clock)
    busy = ModelError("busy", transient=True)
    agent = Agent("patient", model=ScriptedModel(busy, busy, "done"))
    async with place.runtime(agent) as rt:
        run = await rt.start(agent, "go", run_id="r")
        for n in (1, 2):
            fault = await place.until(Faulted, n)
            await idle()
            clock.advance((fault.retry_at - fault.at) / 2)
            await set_clock(clock, step, rt)
            assert len(place.all(Faulted)) == n
            clock.advance((fault.retry_at - fault.at) / 2)
        assert isinstance(await run.wait(LIMIT), Completed)


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancel_waits_for_its_grace(kind: Kind, step: float, clock: FakeClock, bank: Bank) -> None:
    async def pay(ctx: ToolContext) -> str:
        bank.write("begins")
        while not bank.gate("pay").is_set():
            await asyncio.sleep(0.001)
        return "paid"

    async def refund(ctx: ToolContext, args: Any, result: Any) -> None:
        bank.write(f"refunded {result}")

    place = Place(clock=clock, grace=5.0)
    one = program(kind, pay, effect="unsafe", undo=refund)
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        await run.cancel(by="ann")
        await idle()
        clock.advance(4.0)
        await set_clock(clock, step, rt)
        assert not place.all(Doubted)
        bank.gate("pay").set()
        ended = await cancelled(run)
    assert ended.residue == []
    assert bank.lines == ["begins", "refunded paid"]


@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_cancel_waits_no_longer_than_its_grace(kind: Kind, step: float, clock: FakeClock, bank: Bank) -> None:
    async def pay(ctx: ToolContext) -> str:
        bank.write("begins")
        await asyncio.sleep(60)
        return "never"

    place = Place(clock=clock, grace=5.0)
    one = program(kind, pay, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        await bank.until("begins")
        await run.cancel(by="ann")
        await idle()
        await set_clock(clock, step, rt)
        clock.advance(5.0)
        assert [item["tool"] for item in (await cancelled(run)).residue] == ["work"]


class Away(MemoryStore):
    """A store that fails for a while. In the middle of it, somebody sets the clock."""

    def __init__(self, clock: FakeClock, step: float) -> None:
        super().__init__(now=clock.now)
        self.failures, self._clock, self._step = 0, clock, step

    async def commit(self, lease: Lease, facts: Sequence[Fact], moves: Sequence[Move], **more: Any) -> Committed:
        if self.failures:
            self.failures -= 1
            self._clock.set(self._step)
            asyncio.get_running_loop().call_later(0.001, self._clock.advance, 1.0)
            raise StoreError("the disk is not there")
        return await super().commit(lease, facts, moves, **more)


@pytest.mark.parametrize("step", STEPS)
async def test_a_failed_commit_is_made_again_for_its_grace(step: float, clock: FakeClock, bank: Bank) -> None:
    async def pay(ctx: ToolContext) -> str:
        store.failures = 3
        return "paid"

    place = Place(clock=clock, grace=10.0)
    place.store = store = Away(clock, step)
    one = program("tool", pay, effect="unsafe")
    async with place.runtime(one) as rt:
        run = await rt.start(one, "go", run_id="r")
        assert await place.ends(run) == ("value", "paid")
    assert not place.all(Doubted)
