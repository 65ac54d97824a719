"""Two of the same kind at the same moment: expiries, limits, cancels, queued results. One of each is tested elsewhere."""

import itertools
from typing import Any

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, Flow, FlowContext, MaxSteps, Policy, ask, testing, tool
from adjourn.core.records import Asked, CancelAsked, Closed, Decided, Returned, RunCancelled
from adjourn.core.state import State
from adjourn.testing import ScriptedModel, call

ENDS = ("deny", "cancel", "escalate")


class Till:
    """What was really paid."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        till = self

        @tool
        async def refund(order: str) -> str:
            """Refund."""
            till.paid.append(order)
            return f"refunded {order}"

        @tool
        async def pay(order: str) -> str:
            """Pay."""
            till.paid.append(order)
            return f"paid {order}"

        self.tools = [refund, pay]


async def _records(env: Any, run: str) -> list[Any]:
    return [record for _, record in await env.runtime.store.load(run)]


@pytest.mark.parametrize(("one", "other"), list(itertools.product(ENDS, repeat=2)))
async def test_two_approvals_that_expire_together(one: str, other: str) -> None:
    till = Till()
    policy = Policy([
        ask("refund", expires_in=60, on_expiry=one),  # type: ignore[arg-type]
        ask("pay", expires_in=60, on_expiry=other),  # type: ignore[arg-type]
    ])  # fmt: skip
    model = ScriptedModel([call("refund", order="1"), call("pay", order="2")], "done")
    agent = Agent("clerk", model=model, tools=till.tools, policy=policy)
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r")
        await run.wait(LIMIT)
        await env.skip(61)
        outcome = await run.wait(LIMIT)
        records = await _records(env, "r")
        assert till.paid == []
        cancels = [x for x in records if isinstance(x, CancelAsked)]
        if "cancel" in (one, other):
            assert outcome.status == "cancelled"
            assert [x.by for x in cancels] == ["@expiry"]
            assert "expired" in cancels[0].reason
            assert not [x for x in records if isinstance(x, Asked) and x.escalated], (
                "nobody is asked what nobody decides"
            )
        else:
            assert not cancels
            again = [x for x in records if isinstance(x, Asked) and x.escalated]
            assert len(again) == [one, other].count("escalate")
            assert len(await env.runtime.inbox()) == len(again)
            assert outcome.status == ("waiting" if again else "completed")


@pytest.mark.parametrize(("one", "other"), list(itertools.product(("deny", "cancel"), repeat=2)))
async def test_two_questions_of_a_flow_that_expire_together(one: str, other: str) -> None:
    flow = Flow("f")

    async def ask_one(ctx: FlowContext) -> None:
        ctx.pause_for("q", 1, expires_in=60, on_expiry=one)

    async def ask_other(ctx: FlowContext) -> None:
        ctx.pause_for("q", 2, expires_in=60, on_expiry=other)

    flow.batch(one=ask_one, other=ask_other)
    async with testing.env([flow]) as env:
        run = await env.runtime.start(flow, run_id="r")
        await run.wait(LIMIT)
        await env.skip(61)
        outcome = await run.wait(LIMIT)
        records = await _records(env, "r")
        cancelled = "cancel" in (one, other)
        assert outcome.status == ("cancelled" if cancelled else "completed")
        assert len([x for x in records if isinstance(x, CancelAsked)]) == cancelled
        assert len([x for x in records if isinstance(x, Closed) and x.why == "expired"]) == 2


async def test_two_agents_that_come_upon_one_limit_ask_once() -> None:
    till = Till()
    scripts = [ScriptedModel([call("pay", order=str(n))], "done") for n in range(2)]
    children = [Agent(f"child{n}", model=scripts[n], tools=till.tools) for n in range(2)]
    model = ScriptedModel([call("child0", input="a"), call("child1", input="b")], "end")
    root = Agent("root", model=model, tools=[c.as_tool() for c in children], stop=MaxSteps(1).then("pause"))
    async with testing.env([root]) as env:
        run = await env.runtime.start(root, "go", run_id="r")
        outcome = await run.wait(LIMIT)
        for _ in range(9):
            if outcome.status != "waiting":
                break
            [limit] = await env.runtime.inbox()
            assert limit.kind == "limit"
            await env.runtime.answer(limit.id, "extend", by="ana")
            outcome = await run.wait(LIMIT)
        assert outcome.output == "end"
        assert sorted(till.paid) == ["0", "1"]


async def test_two_flows_of_agents_that_come_upon_one_limit_ask_once() -> None:
    till = Till()
    helper = Agent("helper", model=ScriptedModel([call("pay", order="1")], "done"), tools=till.tools)
    boss = Agent(
        "boss",
        model=ScriptedModel([call("helper", input="a"), call("helper", input="b")], "end"),
        tools=[helper.as_tool()],
        stop=MaxSteps(1).then("pause"),
    )
    flow = Flow("f")
    flow.batch(one=boss, other=boss)
    async with testing.env([flow]) as env:
        run = await env.runtime.start(flow, "go", run_id="r")
        outcome = await run.wait(LIMIT)
        for _ in range(20):
            if outcome.status != "waiting":
                break
            for limit in await env.runtime.inbox():
                await env.runtime.answer(limit.id, "extend", by="ana")
            outcome = await run.wait(LIMIT)
        assert outcome.status == "completed"
        assert till.paid == ["1"] * 4


async def test_two_cancels_are_one() -> None:
    till = Till()
    agent = Agent("clerk", model=ScriptedModel([call("pay", order="1")], "done"), tools=till.tools, policy=Policy())
    async with testing.env([agent]) as env:
        run = await env.runtime.start(agent, "go", run_id="r")
        await run.wait(LIMIT)
        await run.cancel(by="ana")
        await run.cancel(by="ben")
        assert (await run.wait(LIMIT)).status == "cancelled"
        records = await _records(env, "r")
        assert [x.by for x in records if isinstance(x, CancelAsked)] == ["ana"]
        assert len([x for x in records if isinstance(x, RunCancelled)]) == 1


# What was queued in an agent that has ended


def _echo(messages: Any) -> str:
    return messages[-1].text


def _queueing(till: Till) -> tuple[Agent[Any], ...]:
    """Three agents deep; the lowest queues two payments, and all have spoken before anybody decides."""
    policy = Policy([ask("*", queue=True)])
    script = ScriptedModel([call("pay", order="1"), call("pay", order="2")], "I asked for it.")
    low = Agent("low", model=script, tools=till.tools, policy=policy)
    middle = Agent("middle", model=ScriptedModel([call("low", input="x")], "middle: asked"), tools=[low.as_tool()])
    top = Agent(
        "top",
        model=ScriptedModel([call("middle", input="x")], "top: asked", _echo, _echo),
        tools=[middle.as_tool()],
    )
    return top, middle, low


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
@pytest.mark.parametrize("agreed", list(itertools.product((True, False), repeat=2)))
async def test_what_was_queued_in_an_agent_that_has_ended_reaches_the_one_that_still_talks(
    agreed: tuple[bool, bool], order: tuple[int, int]
) -> None:
    till = Till()
    top, *_ = _queueing(till)
    async with testing.env([top]) as env:
        run = await env.runtime.start(top, "go", run_id="r")
        await run.wait(LIMIT)
        items = await env.runtime.inbox()
        assert len(items) == 2
        outcome: Any = None
        for n in order:
            verb = env.runtime.approve if agreed[n] else env.runtime.deny
            await verb(items[n].id, by="ana")
            outcome = await run.wait(LIMIT)
        assert outcome.status == "completed"
        assert "queued call pay" in outcome.output
        said = " ".join(getattr(message, "text", "") or "" for message in await run.messages())
        assert said.count("ran; its result") >= sum(agreed)
        assert said.count("was not run") >= 2 - sum(agreed)
        assert sorted(till.paid) == [str(n + 1) for n in range(2) if agreed[n]]


async def test_a_decision_that_races_with_the_end_of_its_agent_is_heard_once() -> None:
    """Whether it stands before or behind the agent's end in the journal, the same is told to the same."""
    till = Till()
    top, *_ = _queueing(till)
    async with testing.env([top]) as env:
        run = await env.runtime.start(top, "go", run_id="r")
        await run.wait(LIMIT)
        for item in await env.runtime.inbox():
            await env.runtime.deny(item.id, by="ana")
        await run.wait(LIMIT)
        records = [record for _, record in await env.runtime.store.load("r")]
    decided = [x for x in records if isinstance(x, Decided)]
    end = next(n for n, x in enumerate(records) if isinstance(x, Returned) and x.call == "1.0/1.0")
    late = [*records[: end + 1], *decided]
    early = [*records[:end], *decided, records[end]]
    folds = [State().fold_all(list(enumerate(x, 1))) for x in (late, early)]
    heard = [[getattr(p.message, "text", "") for p in fold.threads["1.0"].pending] for fold in folds]
    assert heard[0] == heard[1] and len(heard[0]) == 2


async def test_a_flow_whose_agent_has_ended_keeps_what_was_queued_in_its_notes() -> None:
    till = Till()
    policy = Policy([ask("*", queue=True)])
    clerk = Agent("clerk", model=ScriptedModel([call("pay", order="1")], "asked"), tools=till.tools, policy=policy)
    flow = Flow("f")

    async def wait(ctx: FlowContext) -> None:
        ctx.pause_for("q", resume_to="self")
        ctx.state["notes"] = ctx.notes

    flow.to(clerk).to(wait)
    async with testing.env([flow]) as env:
        run = await env.runtime.start(flow, "go", run_id="r")
        await run.wait(LIMIT)
        item = next(i for i in await env.runtime.inbox() if i.kind == "approval")
        await env.runtime.approve(item.id, by="ana")
        await run.wait(LIMIT)
        [question] = await env.runtime.inbox()
        await env.runtime.answer(question.id, "go", by="ana")
        outcome: Any = await run.wait(LIMIT)
        assert till.paid == ["1"]
        assert "its result: 'paid 1'" in outcome.output["notes"][0]
