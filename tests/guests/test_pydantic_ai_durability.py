"""`agent.run()` of a Pydantic AI agent inside a chunk: what it did is not done again."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent as TheirAgent
from pydantic_ai import FunctionToolset, RunContext
from pydantic_ai.exceptions import UserError
from pydantic_ai.toolsets import DynamicToolset
from tests.guests.test_pydantic_ai_guest import says

from adjourn import Completed, Flow, FlowContext, Runtime, is_paused, pause_for
from adjourn.core.records import Stepped
from adjourn.errors import InvalidDefinition, RunFailed
from adjourn.guests.pydantic_ai_durability import AdjournDurability
from adjourn.stores.memory import MemoryStore
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import GuestScript, call, crash_points


class Shop:
    """What the tools of an agent did."""

    def __init__(self) -> None:
        self.paid: list[str] = []
        self.looked: list[str] = []

    async def pay(self, order: str) -> str:
        """Pay for an order."""
        self.paid.append(order)
        return f"paid {order}"

    def look(self, order: str) -> str:
        """Look up an order."""
        self.looked.append(order)
        return f"order {order}"


def clerk(script: GuestScript, *tools: Any, name: str = "clerk", **options: Any) -> Any:
    capabilities = [AdjournDurability(), *options.pop("capabilities", ())]
    return TheirAgent(says(script), name=name, tools=list(tools), capabilities=capabilities, **options)


def office(body: Callable[[FlowContext], Any], effect: Any = "idempotent") -> Flow:
    flow = Flow("office")
    flow.to(flow.chunk(effect=effect)(body))
    return flow


def shopping(*more: str) -> GuestScript:
    return GuestScript([call("look", order="A1"), call("pay", order="A1"), call("pay", order="B2")], "done", *more)


async def steps(store: Any, run: str) -> list[str]:
    return [record.key for _, record in await store.load(run) if isinstance(record, Stepped)]


async def test_each_request_and_each_call_is_a_step_that_is_not_done_again() -> None:
    shop, script = Shop(), shopping("again")
    agent = clerk(script, shop.pay, shop.look)
    asked: list[str] = []

    async def handle(ctx: FlowContext) -> str:
        result = await agent.run(ctx.input)
        asked.append(result.output)
        answer = ctx.pause_for("check", result.output, resume_to="self")
        again = await agent.run(f"{answer}", message_history=result.all_messages())
        return f"{result.output} {again.output} {len(again.all_messages())}"

    store = MemoryStore()
    async with Runtime(store, [flow := office(handle)]) as rt:
        run = await rt.start(flow, "pay both", run_id="r1")
        await run.wait()
        assert shop.paid == ["A1", "B2"] and shop.looked == ["A1"]
        done = await steps(store, "r1")
        assert len([key for key in done if "model.request" in key]) == 2
        assert len([key for key in done if "call_tool" in key]) == 3
    async with Runtime(store, [office(handle)]) as rt:  # another process
        [waiting] = await rt.inbox()
        await rt.answer(waiting.id, "go on", by="ana")
        run = await rt.get("r1")
        outcome = await run.wait()
    assert isinstance(outcome, Completed) and asked == ["done", "done"]
    assert shop.paid == ["A1", "B2"] and shop.looked == ["A1"]
    assert (await steps(store, "r1"))[: len(done)] == done


async def test_a_worker_may_die_at_any_write() -> None:
    for point in crash_points():
        shop, script = Shop(), shopping()
        agent = clerk(script, shop.pay, shop.look)

        async def handle(ctx: FlowContext, agent: Any = agent) -> str:
            return (await agent.run(ctx.input)).output

        doubts: list[str] = []

        def answer(interrupt: Any, doubts: list[str] = doubts) -> Any:
            doubts.append(interrupt.kind)
            return "run"

        flow: Any = office(handle, effect="unsafe")
        outcome: Any = await point.run(flow, "pay both", answer=answer)
        assert isinstance(outcome, Completed), point
        assert sorted(set(shop.paid)) == ["A1", "B2"]
        assert len(shop.paid) == 2 or doubts == ["in_doubt"], (point, shop.paid)


async def test_a_tool_may_ask_a_person_and_goes_on_where_it_was(tmp_path: Path) -> None:
    shop = Shop()

    async def approve(order: str) -> str:
        """Pay for an order, if a person agrees."""
        if not pause_for("agree", {"order": order}, resume_to="self"):
            return "not paid"
        return await shop.pay(order)

    script = GuestScript([call("look", order="A1"), call("approve", order="A1")], "done")
    agent = clerk(script, approve, shop.look)

    async def handle(ctx: FlowContext) -> str:
        found = (await agent.run(ctx.input)).output
        return f"{found}, {ctx.pause_for('agree', 'all well?', resume_to='self')}"

    path = str(tmp_path / "adjourn.db")
    async with Runtime(SQLiteStore(path), [flow := office(handle)]) as rt:
        run = await rt.start(flow, "pay", run_id="r1")
        assert is_paused(await run.wait()) and not shop.paid
    async with Runtime(SQLiteStore(path), [office(handle)]) as rt:
        [waiting] = await rt.inbox()
        assert waiting.payload == {"order": "A1"}
        await rt.answer(waiting.id, True, by="ana")
        run = await rt.get("r1")
        assert is_paused(await run.wait()) and shop.paid == ["A1"]
        [waiting] = await rt.inbox()
        assert waiting.payload == "all well?"
        await rt.answer(waiting.id, "yes", by="ana")
        assert isinstance(await run.wait(), Completed)
    assert shop.paid == ["A1"] and shop.looked == ["A1"]
    assert script.heard.count("paid A1") == 1


async def test_several_agents_at_once_and_an_agent_in_a_tool_keep_their_own_steps() -> None:
    shop = Shop()
    inner = clerk(GuestScript([call("pay", order="C3")], "inner done"), shop.pay, name="inner")

    async def delegate(order: str) -> str:
        """Let another agent do it."""
        return (await inner.run(order)).output

    scripts = [GuestScript([call("pay", order=order), call("delegate", order=order)], order) for order in ("A1", "B2")]
    agents = [clerk(script, shop.pay, delegate, name=f"clerk{n}") for n, script in enumerate(scripts)]

    async def handle(ctx: FlowContext) -> list[str]:
        found = await asyncio.gather(*(agent.run("pay") for agent in agents))
        ctx.pause_for("check", resume_to="self")
        return [one.output for one in found]

    store = MemoryStore()
    async with Runtime(store, [flow := office(handle)]) as rt:
        run = await rt.start(flow, "go")
        await run.wait()
        before = sorted(shop.paid)
        [waiting] = await rt.inbox()
        await rt.answer(waiting.id, "yes", by="ana")
        assert isinstance(await run.wait(), Completed)
    assert sorted(shop.paid) == before == ["A1", "B2", "C3", "C3"]


async def test_outside_of_a_run_the_agent_is_as_it_was() -> None:
    shop = Shop()
    assert (await clerk(shopping(), shop.pay, shop.look).run("pay")).output == "done"
    assert shop.paid == ["A1", "B2"]


async def test_dependencies_outputs_and_dynamic_tools_are_the_frameworks_own() -> None:
    class Order(BaseModel):
        number: str

    async def pays(ctx: RunContext[str], number: str) -> Order:
        """Pay."""
        return Order(number=f"{ctx.deps} {number}")

    def dynamic(ctx: RunContext[str]) -> FunctionToolset[str]:
        return FunctionToolset([pays], id="found")

    script = GuestScript([call("pays", number="A1")], [call("final_result", number="A1")])
    agent = clerk(script, deps_type=str, output_type=Order, toolsets=[DynamicToolset(dynamic, id="dynamic")])

    async def handle(ctx: FlowContext) -> str:
        first = await agent.run("pay", deps="shop")
        ctx.pause_for("check", resume_to="self")
        assert isinstance(first.output, Order)
        return first.output.number

    async with Runtime(MemoryStore(), [flow := office(handle)]) as rt:
        run = await rt.start(flow, "go")
        await run.wait()
        await rt.answer((await rt.inbox())[0].id, "yes", by="ana")
        assert isinstance(await run.wait(), Completed)
    assert any("shop A1" in text for text in script.heard)


async def test_what_would_run_without_being_recorded_is_refused() -> None:
    shop = Shop()
    agent = clerk(shopping(), shop.look)

    async def handle(ctx: FlowContext) -> str:
        return (await agent.run("pay", toolsets=[FunctionToolset([shop.pay], id="late")])).output

    with pytest.raises(RunFailed, match="Adjourn"):
        await _outcome(office(handle))
    assert not shop.paid
    with pytest.raises((InvalidDefinition, UserError), match="name"):
        TheirAgent(says(shopping()), capabilities=[AdjournDurability()])


async def test_a_plain_function_is_told_to_be_async() -> None:
    agent = clerk(shopping(), Shop().pay)

    def handle(ctx: FlowContext) -> str:
        return asyncio.run(agent.run("pay")).output

    with pytest.raises(RunFailed, match="async def"):
        await _outcome(office(handle))


async def _outcome(flow: Flow) -> Any:
    async with Runtime(MemoryStore(), [flow]) as rt:
        run = await rt.start(flow, "go")
        return await run.wait()
