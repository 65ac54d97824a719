"""What a worker says of itself, what people see of the fleet, and which of its runs a process begins first."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace
from tests.runtime.conftest import on_both
from tests.runtime.test_claiming import clerk

from adjourn import Agent, Runtime, ToolContext, tool
from adjourn.errors import Invalid
from adjourn.runtime.announcer import EVERY, FORGOTTEN, Announcer
from adjourn.stores.fleet import WorkerCard
from adjourn.stores.memory.store import MemoryStore
from adjourn.testing import FakeClock, ScriptedModel, call

SECONDS = 30.0


def gated(gate: asyncio.Event, order: list[str]) -> Agent[str]:
    """An agent whose tool says who calls it, and waits for the gate."""

    @tool(effect="read")
    async def enter(ctx: ToolContext) -> str:
        """Enter."""
        order.append(ctx.run_id)
        await gate.wait()
        return "in"

    return Agent("gated", model=ScriptedModel([call("enter")], "done"), tools=[enter])


async def until(true: Callable[[], Any]) -> None:
    async with asyncio.timeout(SECONDS):
        while not true():
            await asyncio.sleep(0.005)


@on_both
async def test_a_process_begins_the_most_urgent_of_its_own_runs_first(address: str) -> None:
    gate, order = asyncio.Event(), list[str]()
    agent = gated(gate, order)
    async with Runtime(address, [agent], concurrency=1) as rt:
        runs = [await rt.start(agent, run_id="first")]
        await until(lambda: order)
        for name, priority in (("low", -1), ("normal", 0), ("high", 7), ("higher", 8)):
            runs.append(await rt.start(agent, run_id=name, priority=priority))
        assert [(await rt.store.get(run.id)).priority for run in runs] == [0, -1, 0, 7, 8]
        gate.set()
        for run in runs:
            await run.wait(SECONDS)
    assert order == ["first", "higher", "high", "normal", "low"]


@pytest.mark.parametrize("priority", [1001, -1001, True, 1.5, "high", None])
async def test_what_is_no_priority_is_refused_and_nothing_is_started(priority: Any) -> None:
    agent = Agent("plain", model=ScriptedModel("done"))
    async with Runtime("memory://", [agent]) as rt:
        with pytest.raises(Invalid, match="priority= must be an integer from -1000 to 1000"):
            await rt.start(agent, "x", priority=priority)
        assert await rt.runs() == []


@on_both
async def test_a_worker_is_listed_while_it_works_and_not_when_it_has_ended(address: str) -> None:
    agent = Agent("plain", model=ScriptedModel("done"))
    async with Runtime(address) as desk:
        async with Runtime(address, [agent], concurrency=3) as rt:
            assert (await desk.fleet()).workers == (), "nobody said that it is there"
            rt.worker.announce()
            async with asyncio.timeout(SECONDS):
                while not (fleet := await desk.fleet()).alive:
                    await asyncio.sleep(0.005)
            [seen] = fleet.workers
            assert (seen.id, seen.state, seen.slots, seen.programs) == (rt.worker.id, "idle", 3, ("plain",))
            assert (fleet.alive, fleet.slots, fleet.running, fleet.ready, fleet.oldest_at) == (1, 3, 0, 0, 0.0)
        assert (await desk.fleet()).workers == ()


async def test_a_runtime_that_advances_nothing_is_no_worker() -> None:
    agent = Agent("plain", model=ScriptedModel("done"))
    async with Runtime("memory://", [agent], work=False) as rt:
        rt.worker.announce()
        await asyncio.sleep(0)
        assert await rt.store.roster() == []


@on_both
async def test_a_worker_whose_cards_stop_does_not_answer_and_is_forgotten_after_a_day(address: str) -> None:
    async with Runtime(address) as rt:
        card = WorkerCard("elsewhere|7|1|a", host="app-02", pid=7, slots=2, running=1, every=EVERY)
        [put] = await rt.store.roster(card)
        [seen] = (await rt.fleet()).workers
        assert (seen.host, seen.state) == ("app-02", "working")
        fresh = (await rt.fleet()).now
        from adjourn.views.fleet_view import fleet_view

        later = fleet_view([put], {}, [], [], fresh + 3 * EVERY + 1)
        assert (later.workers[0].state, later.alive, later.slots) == ("not_answering", 0, 0)


async def test_cards_that_nobody_renewed_for_a_day_are_removed_by_whoever_is_there() -> None:
    clock = FakeClock()
    store = MemoryStore(clock.now)
    await store.roster(WorkerCard("old", every=EVERY))
    clock.advance(FORGOTTEN + 1)
    await store.roster(WorkerCard("young", every=EVERY))
    announcer = Announcer(store, clock, lambda: WorkerCard("me", every=EVERY))
    announcer.start()
    async with asyncio.timeout(SECONDS):
        while [card.id for card in await store.roster()] != ["me", "young"]:
            await asyncio.sleep(0)
    await announcer.close("me")
    assert [card.id for card in await store.roster()] == ["young"]


@on_both
async def test_a_run_that_a_worker_refuses_is_listed_with_what_it_said(address: str) -> None:
    old, new = clerk(1), clerk(2)
    async with Runtime(address, [old], work=False) as desk:
        run = await desk.start(old, "x")
        async with Runtime(address, [new]) as rt:
            rt.worker.announce()
            async with asyncio.timeout(SECONDS):
                fleet = await desk.fleet()
                while not any(unfit.run_id for unfit in fleet.unfit):
                    await asyncio.sleep(0.01)
                    fleet = await desk.fleet()
    [unfit] = fleet.unfit
    assert (unfit.agent, unfit.runs, unfit.run_id) == ("clerk", 1, run.id)
    assert "stamp" in unfit.why


async def test_a_worker_that_never_said_who_it_is_is_seen_by_its_runs() -> None:
    from adjourn.views.fleet_view import fleet_view

    fleet = fleet_view([], {"app-01/b/1|12|9|ff": 20.0, "app-02/b/1|13|9|ff": 5.0}, [], [], 10.0)
    states = [(worker.host, worker.pid, worker.state) for worker in fleet.workers]
    assert states == [("app-01", 12, "working"), ("app-02", 13, "not_answering")]
    card = replace(WorkerCard("w", every=5.0, seen_at=10.0), draining=True, running=1)
    assert fleet_view([card], {}, [], [], 10.0).workers[0].state == "draining"
    assert fleet_view([card], {}, [], [], 10.0, gone=["w"]).workers[0].state == "not_answering"
