"""Limits: an endless loop is stopped, what is in flight finishes, and a person may be asked to extend one."""

import asyncio
from typing import Any

import pytest
from tests.flow.world import execution, only, records, reloaded, started

from adjourn import Agent, External, Flow, FlowContext, MaxSteps, MaxTime, MaxTokens, RunFailed, ToolCalled
from adjourn.core.records import Intended, Returned
from adjourn.core.stop_conditions import Stop
from adjourn.testing import FakeClock
from adjourn.testing.scripted import ScriptedModel


def endless(stop: Stop) -> Flow:
    flow = Flow("endless", stop=stop)

    async def turn(ctx: FlowContext) -> None:
        ctx.state["n"] = ctx.state.get("n", 0) + 1

    flow.to(turn).emit("again")
    flow.when("again").to(turn).emit("again")
    return flow


async def test_an_endless_loop_is_stopped_by_a_limit() -> None:
    one = await started(endless(MaxSteps(25)))
    assert (one.status, one.state, one.stopped_by) == ("stopped", {"n": 25}, "MaxSteps(25)")
    assert await one.close() == {"n": 25}
    assert len(records(one, Intended)) == 25


async def test_start_without_a_handle_says_that_it_was_stopped() -> None:
    with pytest.raises(RunFailed, match=r"flow endless was stopped by MaxSteps\(5\); raise the limit"):
        await endless(MaxSteps(5)).start()


async def test_a_flow_has_a_limit_even_if_nobody_set_one() -> None:
    assert Flow("f").stop == MaxSteps(10_000)


async def test_a_flow_that_needs_exactly_as_many_steps_as_it_has_completes() -> None:
    flow = Flow("f", stop=MaxSteps(3))

    async def step(ctx: FlowContext) -> int:
        return ctx.input + 1

    flow.to(step).to(step).to(step)
    one = await started(flow, 0)
    assert one.status == "waiting"
    await one.close()
    assert one.status == "completed"


async def test_not_one_step_too_many_starts_at_the_same_time_and_what_is_in_flight_finishes() -> None:
    flow = Flow("f", stop=MaxSteps(3))
    begun: list[int] = []

    async def item(ctx: FlowContext) -> int:
        begun.append(ctx.input)
        await asyncio.sleep(0)
        return ctx.input

    flow.for_each().to(item).end_for_each()
    one = await started(flow, [0, 1, 2, 3, 4])
    assert one.status == "stopped"
    assert begun == [0, 1, 2]
    assert len(records(one, Returned)) == 3


@pytest.mark.parametrize("effect", ["read", "unsafe"])
async def test_a_limit_may_ask_a_person_instead(effect: Any) -> None:
    flow = Flow("f", stop=MaxSteps(2).then("pause"))

    @flow.chunk(effect=effect)
    async def item(ctx: FlowContext) -> int:
        return ctx.input * 10

    async def keep(ctx: FlowContext) -> None:
        ctx.state["kept"] = ctx.input

    flow.for_each().to(item).end_for_each().to(keep)
    one = await started(flow, [1, 2, 3, 4])
    [limit] = one.pending_interrupts.values()
    assert (limit.kind, limit.payload["condition"]) == ("limit", "MaxSteps(2)")
    one = reloaded(flow, one)
    await one.continue_with(limit.id, {"choice": "extend", "amount": 1}, by="ann")
    assert [i.kind for i in one.pending_interrupts.values()] == ["limit"]
    await one.continue_with(only(one), {"choice": "extend", "amount": 10})
    assert await one.close() == {"kept": [10, 20, 30, 40]}


async def test_a_person_may_stop_it_there() -> None:
    one = await started(endless(MaxSteps(4).then("pause")))
    await one.continue_with(only(one), "stop")
    assert (one.status, one.state) == ("stopped", {"n": 4})


async def test_a_limit_of_time(clock: FakeClock) -> None:
    flow = Flow("f", stop=MaxTime(60))

    async def step(ctx: FlowContext) -> None:
        clock.advance(25)

    flow.to(step).to(step).to(step).to(step)
    one = await execution(flow, clock).start()
    assert one.status == "stopped"
    assert len(records(one, Returned)) == 3


async def test_the_tokens_of_its_agents_count() -> None:
    flow = Flow("f", stop=MaxTokens(1))
    flow.to(Agent("a", model=ScriptedModel("a long answer"))).to(Agent("b", model=ScriptedModel("never")))
    one = await started(flow, "x")
    assert one.status == "stopped"


async def test_model_calls_and_chunks_count_together() -> None:
    flow = Flow("f", stop=MaxSteps(2))

    async def step(ctx: FlowContext) -> None: ...

    flow.to(step).to(Agent("a", model=ScriptedModel("one"))).to(step)
    one = await started(flow, "x")
    assert one.status == "stopped"
    assert len([r for r in records(one, Intended) if isinstance(r, Intended) and not r.agent]) == 1


async def test_an_event_from_outside_may_stop_it_also_while_it_waits() -> None:
    flow = Flow("f", stop=External("enough"))

    async def ask(ctx: FlowContext) -> None:
        ctx.state["asked"] = True
        ctx.pause_for("q")

    flow.to(ask)
    one = await started(flow)
    await one.emit("enough")
    assert (one.status, one.pending_interrupts, one.state) == ("stopped", {}, {"asked": True})


async def test_a_chunk_may_be_the_last_one() -> None:
    flow = Flow("f", stop=ToolCalled("found"))

    async def found(ctx: FlowContext) -> None:
        ctx.state["found"] = True

    async def more(ctx: FlowContext) -> None:
        ctx.state["more"] = True

    flow.to(found).to(more)
    one = await started(flow)
    assert (one.status, one.state) == ("completed", {"found": True})
