"""The verbs of a sync body as its author writes them: this file is checked by pyright, strictly, like every other.

`assert_type` is what a type checker says about them; the runs are what they do.
"""

from collections.abc import Sequence
from typing import Any, assert_type

import pytest
from tests.runtime.world import LIMIT

from adjourn import Agent, Completed, Flow, FlowContext, Misused, Runtime, ToolContext, tool
from adjourn.core.records import Stepped
from adjourn.testing import ScriptedModel, call

RELEASED: list[str] = []


def release(what: str) -> None:
    """A compensation, found by its name."""
    RELEASED.append(what)


def price(order: str) -> int:
    return len(order)


async def stock(order: str) -> bool:
    return bool(order)


@tool(effect="idempotent")
def pack(ctx: ToolContext, order: str) -> str:
    """Pack an order."""
    cents, there = ctx.sync.step("price", price, order), ctx.sync.step("stock", stock, order)
    assert_type(cents, int)
    assert_type(there, bool)
    assert_type(ctx.sync.save({"packed": 1}), None)
    assert_type(ctx.sync.on_cancel(release, order), None)
    return f"{cents} {there}"


@tool(effect="idempotent")
async def ship(ctx: ToolContext, order: str) -> str:
    """Ship an order."""
    cents = await ctx.step("price", price, order)
    assert_type(cents, int)
    with pytest.raises(Misused, match="await ctx.step"):
        ctx.sync.step("stock", stock, order)
    with pytest.raises(Misused, match="await ctx.save"):
        ctx.sync.save(1)
    return str(cents)


def flow() -> Flow:
    made = Flow("packs")

    def pack_it(ctx: FlowContext) -> int:
        cents = ctx.sync.step("price", price, "4417")
        assert_type(cents, int)
        ctx.sync.sleep(0)
        ctx.state["cents"] = cents
        return cents

    made.to(made.chunk(pack_it))
    return made


def agent(body: Any) -> Agent[Any]:
    def read(messages: Sequence[Any]) -> str:
        return messages[-1].content

    return Agent("packs", model=ScriptedModel([call(body.name, order="4417")], read), tools=[body])


async def steps(rt: Runtime, run: str) -> list[str]:
    return [x.key for _, x in await rt.store.load(run) if isinstance(x, Stepped)]


async def test_a_sync_tool_records_by_verbs_that_have_its_types() -> None:
    async with Runtime("memory://") as rt:
        outcome = await (await rt.start(agent(pack), "go", run_id="r")).wait(LIMIT)
        assert isinstance(outcome, Completed) and outcome.output == "4 True"
        assert await steps(rt, "r") == ["step:price", "step:stock", "progress", "undo:0"]


async def test_a_sync_chunk_does_too() -> None:
    async with Runtime("memory://") as rt:
        outcome = await (await rt.start(flow(), run_id="r")).wait(LIMIT)
        assert isinstance(outcome, Completed) and str(outcome.output) == "{'cents': 4}"
        assert await steps(rt, "r") == ["step:price"]


async def test_in_an_async_body_they_say_what_to_write_instead() -> None:
    async with Runtime("memory://") as rt:
        outcome = await (await rt.start(agent(ship), "go", run_id="r")).wait(LIMIT)
        assert isinstance(outcome, Completed) and outcome.output == "4"
        assert await steps(rt, "r") == ["step:price"]
