"""Limits across workers: no more calls of a tool are at work than was said, whoever has their runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.runtime.conftest import on_both

from adjourn import Agent, Runtime, tool
from adjourn.driver import tool_limits as tool_limits_module
from adjourn.errors import InvalidDefinition
from adjourn.runtime.limits import merged_limits, tool_limits
from adjourn.stores.memory.store import MemoryStore
from adjourn.stores.tickets import TicketRequest, ToolLimit
from adjourn.testing import ScriptedModel, call
from adjourn.testing.contract.fixtures import claim

SECONDS = 60.0


class Till:
    """An agent whose tool counts who is inside, and waits for the gate."""

    def __init__(self, calls: int = 1) -> None:
        self.inside = self.peak = self.done = 0
        self.gate = asyncio.Event()

        @tool(effect="idempotent")
        async def charge(number: int) -> str:
            """Charge.

            Args:
                number: which one.
            """
            self.inside += 1
            self.peak = max(self.peak, self.inside)
            try:
                await self.gate.wait()
            finally:
                self.inside -= 1
            self.done += 1
            return "charged"

        script = [call("charge", number=number) for number in range(calls)]
        self.agent = Agent("till", model=ScriptedModel(script, "done"), tools=[charge])

    async def has_inside(self, count: int) -> bool:
        return self.inside == count


async def until(true: Callable[[], Awaitable[Any]]) -> None:
    async with asyncio.timeout(SECONDS):
        while not await true():
            await asyncio.sleep(0.005)


async def waiting(rt: Runtime, count: int) -> bool:
    """Whether people see that so many calls wait."""
    fleet = await rt.fleet()
    return sum(limit.waiting for limit in fleet.limits) == count


@on_both
async def test_two_workers_together_never_do_more_calls_of_a_tool_than_the_limit_says(address: str) -> None:
    till = Till()
    limits = {"tool:charge": 2}
    async with (
        Runtime(address, [till.agent], limits=limits, concurrency=3) as one,
        Runtime(address, [till.agent], limits=limits, concurrency=3) as two,
    ):
        runs = [await one.start(till.agent) for _ in range(3)]
        runs += [await two.start(till.agent) for _ in range(3)]
        await until(lambda: waiting(one, 4))
        await until(lambda: till.has_inside(2))
        [seen] = (await two.fleet()).limits
        assert (seen.tool, seen.most, seen.working, seen.waiting) == ("charge", 2, 2, 4)
        assert seen.run_id in {run.id for run in runs}
        till.gate.set()
        for run in runs:
            assert (await run.wait(SECONDS)).status == "completed"
        assert (till.peak, till.done) == (2, 6)
        await until(lambda: _is_empty(one))


async def test_parallel_calls_of_one_run_are_limited_as_well() -> None:
    till = Till(calls=5)
    async with Runtime("memory://", [till.agent], limits={"tool:charge": 2}) as rt:
        run = await rt.start(till.agent)
        await until(lambda: waiting(rt, 3))
        await until(lambda: till.has_inside(2))
        till.gate.set()
        assert (await run.wait(SECONDS)).status == "completed"
    assert (till.peak, till.done) == (2, 5)


async def test_a_call_that_waits_is_no_obstacle_to_a_pause_or_a_cancel() -> None:
    till = Till()
    async with Runtime("memory://", [till.agent], limits={"tool:charge": 1}) as rt:
        first = await rt.start(till.agent)
        await until(lambda: till.has_inside(1))
        paused, cancelled = await rt.start(till.agent), await rt.start(till.agent)
        await until(lambda: waiting(rt, 2))
        await paused.pause()
        await cancelled.cancel()
        assert (await paused.wait(SECONDS)).status == "paused"
        assert (await cancelled.wait(SECONDS)).status == "cancelled"
        await until(lambda: waiting(rt, 0))
        till.gate.set()
        assert (await first.wait(SECONDS)).status == "completed"
        await paused.resume()
        assert (await paused.wait(SECONDS)).status == "completed"
    assert (till.peak, till.done) == (1, 2)


@on_both
async def test_what_a_dead_worker_held_is_free_once_its_run_is_taken_over(address: str) -> None:
    till = Till()
    till.gate.set()
    async with Runtime(address, [till.agent], work=False) as desk:
        run = await desk.start(till.agent)
        lease = await claim(desk.store, run.id, worker="dead", ttl=0.05)
        await desk.store.stand(_holds(run.id, lease.epoch))
        assert (await desk.store.tickets())["charge"].held
        async with Runtime(address, [till.agent], limits={"tool:charge": 1}) as rt:
            taken = await rt.get(run.id)
            assert (await taken.wait(SECONDS)).status == "completed"
            await until(lambda: _is_empty(rt))
    assert till.done == 1


async def test_a_run_that_has_ended_holds_nobody_up(monkeypatch: pytest.MonkeyPatch) -> None:
    """Its worker died after the end of the run, before it gave its ticket back: no worker takes that run over."""
    monkeypatch.setattr(tool_limits_module, "REAPED", 1)
    store, till = MemoryStore(), Till()
    till.gate.set()
    async with Runtime(store, [till.agent], limits={"tool:charge": 1}) as rt:
        run = await rt.start(till.agent)
        assert (await run.wait(SECONDS)).status == "completed"
        await until(lambda: _is_empty(rt))
        await store.stand(_holds(run.id, (await store.get(run.id)).epoch))
        late = await rt.start(till.agent)
        assert (await late.wait(SECONDS)).status == "completed"
    assert till.done == 2


async def _is_empty(rt: Runtime) -> bool:
    return not await rt.store.tickets()


def _holds(run: str, epoch: int) -> TicketRequest:
    return TicketRequest(run, epoch, "gone", wants=(("charge", "9.9"),), limits={"charge": ToolLimit(1)})


def test_limits_are_written_as_numbers_and_rates() -> None:
    given = {"tool:a": 5, "tool:b": "60/m", "tool:c": (2, "1/s")}
    assert tool_limits(given) == {"a": ToolLimit(5), "b": ToolLimit(0, 60, 60.0), "c": ToolLimit(2, 1, 1.0)}
    assert merged_limits(["tool:a=5", "tool:b=9/h", "tool:b=2", "tool:c=1/s"]) == {
        "tool:a": 5,
        "tool:b": (2, "9/h"),
        "tool:c": "1/s",
    }


@pytest.mark.parametrize(
    "given",
    [
        {"refund": 5},
        {"tool:": 5},
        {"agent:x": 5},
        {"tool:a": 0},
        {"tool:a": True},
        {"tool:a": 1001},
        {"tool:a": "5"},
        {"tool:a": "0/m"},
        {"tool:a": "5/d"},
        {"tool:a": (1, 2)},
        {"tool:a": ("1/s", "2/m")},
        {"tool:a": None},
    ],
)
def test_what_is_no_limit_is_refused(given: Any) -> None:
    with pytest.raises(InvalidDefinition):
        Runtime("memory://", limits=given)


def test_a_line_without_a_limit_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match="must be tool:NAME=LIMIT"):
        merged_limits(["tool:a"])
