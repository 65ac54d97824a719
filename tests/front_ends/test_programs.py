"""Whatever is served: flows, structured output, queued approvals, nested agents, limits and cancels."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from pydantic import BaseModel
from tests.front_ends.world import Place, approves, asks, cashier, interrupts, place, post

from adjourn import Agent, Flow, FlowContext, MaxSteps, Policy, ask, tool
from adjourn.testing import ScriptedModel, call


class Found(BaseModel):
    """A structured output."""

    city: str


@tool(effect="idempotent")
async def pay(n: int) -> str:
    """Pay."""
    return f"paid {n}"


def manager() -> Flow:
    """Asks, and keeps the answer."""
    flow = Flow("manager")

    async def ask_manager(ctx: FlowContext) -> None:
        ctx.pause_for("approval", {"question": f"Approve {ctx.input}?"}, resume_to="next")

    async def commit(ctx: FlowContext) -> None:
        ctx.state["decision"] = ctx.input

    flow.to(flow.chunk(ask_manager)).to(flow.chunk(commit))
    return flow


@pytest.fixture
async def at(tmp_path: Path) -> AsyncIterator[Place]:
    queue = Policy([ask("pay", queue=True)])
    paying = [[call("pay", n=n)] for n in range(9)]
    boss = ScriptedModel([call("cashier", input="please")], "the cashier did it")
    more: list[Agent[Any] | Flow] = [
        manager(),
        Agent("finder", model=ScriptedModel([call("final_result", city="Oslo")]), output_type=Found),
        Agent("queued", model=ScriptedModel([call("pay", n=1)], "I go on.", "It is paid."), tools=[pay], policy=queue),
        Agent("limited", model=ScriptedModel(*paying), tools=[pay], stop=MaxSteps(2)),
        Agent("boss", model=boss, tools=[cashier(tmp_path).as_tool()]),
    ]
    async with place(tmp_path, more=more) as made:
        yield made


def chat(text: str = "go") -> dict[str, Any]:
    return {"id": "c1", "messages": [{"id": "m1", "role": "user", "parts": [{"type": "text", "text": text}]}]}


def text_of(events: list[dict[str, Any]]) -> str:
    return "".join(event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")


async def test_a_flow_asks_and_gives_its_state(at: Place) -> None:
    async with at.client() as ana:
        [asked] = interrupts(await post(ana, "/ag-ui/manager", asks()))
        assert (asked["reason"], asked["message"]) == ("input_required", "Approve refund both?")
        done = await post(ana, "/ag-ui/manager", asks("t1", "r2", resume=approves(asked)))
    assert done[-1]["result"] == {"decision": {"approved": True}}


async def test_structured_output_is_the_result_and_no_call(at: Place) -> None:
    async with at.client() as ana:
        found = await post(ana, "/ag-ui/finder", asks())
        assert found[-1]["result"] == {"city": "Oslo"} and "TOOL_CALL_START" not in str(found)
        chunks = await post(ana, "/ai-sdk/finder", chat())
    assert [chunk["data"] for chunk in chunks if chunk["type"] == "data-result"] == [{"city": "Oslo"}]


async def test_a_queued_call_is_asked_about_while_the_agent_goes_on(at: Place) -> None:
    async with at.client() as ana:
        asked = await post(ana, "/ag-ui/queued", asks())
        assert text_of(asked) == "I go on."
        done = await post(ana, "/ag-ui/queued", asks("t1", "r2", resume=approves(*interrupts(asked))))
    assert [e["content"] for e in done if e["type"] == "TOOL_CALL_RESULT"] == ["paid 1"]
    assert text_of(done) == "It is paid."


async def test_a_nested_agent_s_calls_are_approved_here_too(at: Place) -> None:
    async with at.client() as ana:
        chunks = await post(ana, "/ai-sdk/boss", chat())
        shown = {chunk["toolCallId"] for chunk in chunks if chunk["type"] == "tool-input-available"}
        wanted = [chunk for chunk in chunks if chunk["type"] == "tool-approval-request"]
        assert len(wanted) == 2 and {chunk["toolCallId"] for chunk in wanted} <= shown
        asked = interrupts(await post(ana, "/ag-ui/boss", asks()))
        done = await post(ana, "/ag-ui/boss", asks("t1", "r2", resume=approves(*asked)))
    assert (text_of(done), sorted(at.ledger)) == ("the cashier did it", ["A1 500", "B2 700"])


async def test_a_limit_and_a_cancel_are_no_success(at: Place) -> None:
    async with at.client() as ana:
        stopped = await post(ana, "/ag-ui/limited", asks())
        assert stopped[-1]["outcome"] == {"type": "cancelled"} and "result" not in stopped[-1]
        assert (await post(ana, "/ai-sdk/limited", chat()))[-1] == {"type": "abort", "reason": "stopped"}
        await post(ana, "/ag-ui/cashier", asks())
        [run, *_] = (await ana.get("/api/v1/runs", params={"agent": "cashier"})).json()["items"]
        await ana.post(f"/api/v1/runs/{run['run_id']}/cancel", json={"reason": "no"})
        ended = await post(ana, "/ag-ui/cashier/connect", asks("t1", "r1"), params={"wait": "true"})
    assert ended[-1]["outcome"] == {"type": "cancelled"} and at.ledger == []
