"""A limit of time cuts a model call that is in flight: of the run, of a nested agent, of a flow."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from adjourn import Agent, Flow, MaxSteps, MaxTime, Outcome, Run, Runtime, Stopped, is_paused
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta
from adjourn.core.records import Broke, Replied
from adjourn.core.usage import Usage
from adjourn.stores.memory.store import MemoryStore
from adjourn.testing import FakeClock, ScriptedModel, call


class Hanging:
    """Says two words and then nothing, until it is cut off; after that it answers at once."""

    name = "hanging"

    def __init__(self) -> None:
        self.asked = 0
        self.hangs, self.cut = asyncio.Event(), asyncio.Event()

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.asked += 1
        if self.asked > 1:
            yield Reply((Text(text="at last"),), Usage(1, 1, 1))
            return
        yield TextDelta("so far")
        self.hangs.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.cut.set()


def runtime(clock: FakeClock, *programs: Any) -> Runtime:
    rt = Runtime(MemoryStore(now=clock.now), list(programs), lease=36_000.0)
    rt.clock = clock
    return rt


async def until(event: asyncio.Event) -> None:
    async with asyncio.timeout(20):
        await event.wait()


async def ended(run: Run[Any]) -> Outcome[Any]:
    async with asyncio.timeout(20):
        return await run.wait()


@pytest.mark.parametrize("stop", [MaxTime(60), MaxTime(60) & MaxTime(30), MaxTime(60, waiting=False)])
async def test_a_deadline_cuts_the_request_and_what_it_had_said_is_recorded(stop: Any) -> None:
    clock, model = FakeClock(), Hanging()
    async with runtime(clock, agent := Agent("slow", model=model, stop=stop)) as rt:
        run = await rt.start(agent, "go")
        await until(model.hangs)
        clock.advance(59)
        assert not model.cut.is_set()
        clock.advance(2)
        outcome = await ended(run)
        records = [record for _, record in await rt.store.load(run.id)]
    assert isinstance(outcome, Stopped)
    assert (outcome.by.startswith("MaxTime("), model.cut.is_set(), model.asked) == (True, True, 1)
    [broke] = [record for record in records if isinstance(record, Broke)]
    assert (broke.text, broke.usage.estimated) == ("so far", True)
    assert not [record for record in records if isinstance(record, Replied)]


async def test_a_deadline_that_asks_cuts_too_and_more_time_asks_the_model_again() -> None:
    clock, model = FakeClock(), Hanging()
    async with runtime(clock, agent := Agent("slow", model=model, stop=MaxTime(60).then("pause"))) as rt:
        run = await rt.start(agent, "go")
        await until(model.hangs)
        clock.advance(61)
        outcome = await ended(run)
        assert is_paused(outcome)
        assert ([i.kind for i in outcome.interrupts], model.cut.is_set()) == (["limit"], True)
        await rt.answer(outcome.interrupts[0].id, {"choice": "extend", "amount": 600}, by="ana")
        assert (await ended(run)).output == "at last"


async def test_the_deadline_of_a_nested_agent_cuts_its_request_and_the_caller_reads_it() -> None:
    clock, model = FakeClock(), Hanging()
    child = Agent("child", model=model, stop=MaxTime(60))
    root = Agent(
        "root",
        model=ScriptedModel([call("child", input="x")], lambda _: f"cut {model.cut.is_set()}"),
        tools=[child.as_tool()],
    )
    async with runtime(clock, root) as rt:
        run = await rt.start(root, "go")
        await until(model.hangs)
        clock.advance(61)
        outcome = await ended(run)
        records = [record for _, record in await rt.store.load(run.id)]
    assert (outcome.output, model.asked) == ("cut True", 1)
    assert any("stopped by MaxTime(60)" in str(getattr(record, "error", "")) for record in records)


async def test_the_deadline_of_a_flow_cuts_the_request_of_its_agent() -> None:
    clock, model = FakeClock(), Hanging()
    flow = Flow("f", stop=MaxTime(60) | MaxSteps(9))
    flow.to(Agent("slow", model=model))
    async with runtime(clock, flow) as rt:
        run = await rt.start(flow, "go")
        await until(model.hangs)
        clock.advance(61)
        outcome = await ended(run)
    assert isinstance(outcome, Stopped)
    assert (outcome.by, model.cut.is_set()) == ("MaxTime(60)", True)
