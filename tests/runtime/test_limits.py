"""Limits across workers: no more calls of a tool are at work than was said, whoever has their runs."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest
from tests.runtime.conftest import Begin, on_both
from tests.runtime.world import Ledger, slowly_again

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


@on_both
async def test_runs_that_have_all_slots_do_not_wait_for_one_that_waits_for_a_slot(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker died in a limited call, and more runs than slots are taken before its run is."""
    monkeypatch.setattr(tool_limits_module, "REAPED", 1)
    till = Till()
    till.gate.set()
    async with Runtime(address, [till.agent], work=False) as desk:
        dead = await desk.start(till.agent)
        lease = await claim(desk.store, dead.id, worker="dead", ttl=0.2)
        await desk.store.stand(_holds(dead.id, lease.epoch))
        urgent = [await desk.start(till.agent, priority=1) for _ in range(4)]
        async with Runtime(address, [till.agent], limits={"tool:charge": 1}, concurrency=2) as rt:
            for run in [*urgent, dead]:
                assert (await (await rt.get(run.id)).wait(SECONDS)).status == "completed"
            await until(lambda: _is_empty(rt))
    assert (till.peak, till.done) == (1, 5)


@on_both
async def test_a_run_of_a_dead_worker_that_nobody_can_take_holds_nobody_up(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tool_limits_module, "REAPED", 1)

    @tool(effect="read")
    def look() -> str:
        """Look."""
        return ""

    till = Till()
    till.gate.set()
    old = Agent("till", model=till.agent.model, tools=[*till.agent.tools.values(), look])
    async with Runtime(address, [old], work=False) as desk:
        stays = await desk.start(old)
        lease = await claim(desk.store, stays.id, worker="dead", ttl=0.2)
        await desk.store.stand(_holds(stays.id, lease.epoch))
    async with Runtime(address, [till.agent], limits={"tool:charge": 1}) as rt:
        assert (await (await rt.start(till.agent)).wait(SECONDS)).status == "completed"
        assert (await rt.store.get(stays.id)).epoch == lease.epoch, "it stays as it is"
    assert till.done == 1


@on_both
async def test_a_backlog_goes_on_after_a_worker_is_killed_in_a_limited_call(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    """The next one takes other runs first: they have its slots, and the dead one's run has the ticket."""
    options: dict[str, Any] = {"limits": {"tool:slow_again": 1}, "concurrency": 2}
    runs = [f"r{n}" for n in range(5)]
    async with Runtime(address, [slowly_again(ledger)], work=False) as desk:
        for run in runs:
            await desk.start(slowly_again(ledger), "go", run_id=run)
    first = await begin("slowly_again", **options)
    await ledger.until("began 1.0")
    await first.kill()
    ledger.open("tool")
    second = await begin("slowly_again", **options)
    for run in runs:
        assert (await second.do("wait", run=run)) == {"status": "completed", "output": "slowly done", "interrupts": []}
    assert ledger.lines() == ["began 1.0", *["began 1.0", "ended 1.0"] * 5], "one at a time"


@on_both
async def test_another_version_goes_on_after_a_worker_is_killed_in_a_limited_call(begin: Begin, ledger: Ledger) -> None:
    """It is refused the dead one's run, rightly, and that has the ticket."""
    limits = {"tool:slow_again": 1}
    first = await begin("slowly_before", limits=limits)
    await first.do("start", agent="slowly_before", run="old")
    await ledger.until("began 1.0")
    await first.kill()
    ledger.open("tool")
    second = await begin("slowly_again", limits=limits)
    await second.do("start", agent="slowly_again", run="new")
    assert (await second.do("wait", run="new"))["status"] == "completed"
    assert ledger.lines() == ["began 1.0", "began 1.0", "ended 1.0"], "the old one did not go on"


async def test_two_runs_that_need_the_tickets_of_two_tools_do_not_wait_for_each_other() -> None:
    """A call that has its ticket begins: none is kept for the sake of another one."""

    @tool(effect="idempotent")
    async def pack() -> None:
        """Pack."""
        await asyncio.sleep(0)

    @tool(effect="idempotent")
    async def ship() -> None:
        """Ship."""
        await asyncio.sleep(0)

    one = Agent("one", model=ScriptedModel([call("pack"), call("ship")] * 2, "done"), tools=[pack, ship])
    two = Agent("two", model=ScriptedModel([call("ship"), call("pack")] * 2, "done"), tools=[pack, ship])
    limits = {"tool:pack": 1, "tool:ship": 1}
    async with Runtime("memory://", [one, two], limits=limits, concurrency=4) as rt:
        runs = [await rt.start(agent) for _ in range(2) for agent in (one, two)]
        for run in runs:
            assert (await run.wait(SECONDS)).status == "completed"
        await until(lambda: _is_empty(rt))


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
