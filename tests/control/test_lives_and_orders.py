"""How long things live and in which order they come, where two of them tell one rule from another."""

import asyncio
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, Flow, FlowContext, MaxSteps, ModelError, Policy, ToolContext, ask, testing, tool
from adjourn.core.messages import UserMessage
from adjourn.core.records import Asked, Intended, Replied
from adjourn.testing import ScriptedModel, call


async def test_a_message_that_comes_while_a_model_call_waits_to_be_tried_again_is_read_once() -> None:
    """It is the last record when the call is tried again: the request contains it, and so its reply has read it."""
    agent = Agent("a", model=ScriptedModel(ModelError("busy", transient=True), "one", "two", "three"))
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r")
        await env.settle()
        await run.say("also this", by="ana")
        await env.skip(5)
        outcome = await run.wait(LIMIT)
        assert outcome.output == "one", "it was read with the first reply; another call would cost money"
        replies = [x for _, x in await env.runtime.store.load("r") if isinstance(x, Replied)]
        assert len(replies) == 1
        said = [m.text for m in await run.messages() if isinstance(m, UserMessage)]
        assert said.count("also this") == 1


@pytest.mark.parametrize(("later", "asked"), [(50, 1), (61, 2)])
async def test_an_agreement_lives_from_the_decision_on_and_not_from_the_question(later: float, asked: int) -> None:
    paid: list[str] = []

    @tool
    async def pay(order: str) -> str:
        """Pay."""
        paid.append(order)
        return "paid"

    policy = Policy([ask("pay", valid_for=60)])
    agent = Agent("a", model=ScriptedModel([call("pay", order="1")], "done"), tools=[pay], policy=policy)
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r")
        await run.wait(LIMIT)
        await run.pause(by="ana")
        await env.skip(50)
        [item] = await env.runtime.inbox()
        await env.runtime.approve(item.id, by="ana")
        await env.skip(later)
        await run.resume(by="ana")
        outcome = await run.wait(LIMIT)
        questions = [x for _, x in await env.runtime.store.load("r") if isinstance(x, Asked)]
        assert len(questions) == asked
        assert outcome.status == ("completed" if asked == 1 else "waiting")
        assert paid == (["1"] if asked == 1 else [])


async def test_of_two_effects_whose_bodies_wait_the_later_is_undone_first() -> None:
    undone: list[str] = []

    async def release(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        undone.append(args["order"])

    @tool(undo=release)
    async def hold(ctx: ToolContext, order: str) -> str:
        """Hold."""
        return str(ctx.pause_for("keep", resume_to="self"))

    @tool(undo=release)
    async def pay(order: str) -> str:
        """Pay."""
        return "paid"

    first, second = [call("pay", order="1"), call("pay", order="2")], [call("hold", order="3"), call("hold", order="4")]
    agent = Agent("a", model=ScriptedModel(first, second, "done"), tools=[hold, pay])
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r")
        await run.wait(LIMIT)
        await run.cancel(by="ana")
        outcome = await run.wait(LIMIT)
        assert outcome.status == "cancelled"
        assert undone == ["4", "3", "2", "1"]


async def test_a_flows_limit_counts_what_is_in_flight() -> None:
    began: list[str] = []
    go = asyncio.Event()
    flow = Flow("f", stop=MaxSteps(3))

    @flow.chunk
    async def slow(ctx: FlowContext) -> None:
        began.append("slow")
        await go.wait()

    async def quick(ctx: FlowContext) -> None:
        began.append("quick")

    chain = flow.branch().to(quick).to(quick).to(quick).to(quick)
    flow.batch(slow=slow, quick=chain)
    async with testing.env([flow]) as env:
        run = await env.runtime.start(flow, run_id="r")
        await env.settle()
        assert sorted(began) == ["quick", "quick", "slow"], "three steps, the one in flight among them"
        go.set()
        assert (await run.wait(LIMIT)).status == "stopped"
        assert len([x for _, x in await env.runtime.store.load("r") if isinstance(x, Intended)]) == 3
