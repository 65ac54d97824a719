"""One approval, used twice: what each framework does by itself at the version that is installed, and what it does under Adjourn.

Two people press the button at once, or one request is delivered twice. A framework by itself pays twice. Should one of them stop
doing so, its test fails, and what the guides and the comparison say of it must change.
"""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (some frameworks' own types are unknown in part)

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest
from agent_framework import Agent as FrameworkAgent
from agent_framework import AgentSession, Content, Message
from agent_framework import tool as framework_tool
from agents import Agent as OpenAIAgent
from agents import RunConfig, Runner, RunState, function_tool
from langchain.agents import create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.types import Command
from pydantic_ai import Agent as PydanticAgent
from pydantic_ai import DeferredToolRequests, DeferredToolResults
from pydantic_ai import Tool as PydanticTool
from pydantic_ai.messages import ModelMessagesTypeAdapter
from tests.guests import test_agent_framework, test_langgraph, test_openai_agents, test_pydantic_ai_guest

from adjourn import Runtime
from adjourn.errors import AlreadyDecided
from adjourn.guests import adopt
from adjourn.stores.memory import MemoryStore
from adjourn.testing import GuestScript, call
from adjourn.testing.guest_script import GuestShop


def script() -> GuestScript:
    return GuestScript([call("refund", order="A1", cents=500)], "done")


def pydantic_ai(shop: GuestShop) -> Any:
    tools = [PydanticTool(shop.refund, requires_approval=True)]
    return PydanticAgent(test_pydantic_ai_guest.says(script()), name="support", tools=tools)


async def pydantic_ai_alone(shop: GuestShop) -> None:
    agent, kinds = pydantic_ai(shop), [str, DeferredToolRequests]
    async with agent.run_stream("refund A1", output_type=kinds) as result:
        requests = await result.get_output()
        saved = result.all_messages_json()
    approved = DeferredToolResults(approvals={one.tool_call_id: True for one in requests.approvals})

    async def resume() -> None:
        history = ModelMessagesTypeAdapter.validate_json(saved)
        async with agent.run_stream(
            message_history=history, deferred_tool_results=approved, output_type=kinds
        ) as result:
            await result.get_output()

    await asyncio.gather(resume(), resume())


def openai_agents(shop: GuestShop) -> Any:
    tools: list[Any] = [function_tool(shop.refund, needs_approval=True)]
    return OpenAIAgent("support", model=test_openai_agents.Says(script()), tools=tools)


async def openai_agents_alone(shop: GuestShop) -> None:
    agent, config = openai_agents(shop), RunConfig(tracing_disabled=True)
    result = await Runner.run(agent, "refund A1", run_config=config)
    saved = result.to_state().to_string()

    async def resume() -> None:
        state: Any = await RunState.from_string(agent, saved)
        for one in state.get_interruptions():
            state.approve(one)
        await Runner.run(agent, state, run_config=config)

    await asyncio.gather(resume(), resume())


def langgraph(shop: GuestShop) -> Any:
    gate = HumanInTheLoopMiddleware(interrupt_on={"refund": True})
    return create_agent(test_langgraph.Says(script=script()), [shop.refund], name="support", middleware=[gate])


async def langgraph_alone(shop: GuestShop) -> None:
    agent = langgraph(shop).copy({"checkpointer": InMemorySaver()})
    config: Any = {"configurable": {"thread_id": "t"}}
    await agent.ainvoke({"messages": [("user", "refund A1")]}, config)

    async def resume() -> None:
        await agent.ainvoke(Command(resume={"decisions": [{"type": "approve"}]}), config)

    await asyncio.gather(resume(), resume())


def agent_framework(shop: GuestShop) -> Any:
    tools = [framework_tool(shop.refund, approval_mode="always_require")]
    return FrameworkAgent(client=test_agent_framework.Says(script()), name="support", tools=tools)


async def agent_framework_alone(shop: GuestShop) -> None:
    agent, session = agent_framework(shop), AgentSession()
    waits = await agent.run("refund A1", session=session)
    saved = json.dumps({"session": session.to_dict(), "asked": [one.to_dict() for one in waits.user_input_requests]})

    async def resume() -> None:
        kept = json.loads(saved)
        agreed = [Content.from_dict(one).to_function_approval_response(True) for one in kept["asked"]]
        await agent.run([Message(role="user", contents=agreed)], session=AgentSession.from_dict(kept["session"]))

    await asyncio.gather(resume(), resume())


ALONE: dict[str, tuple[Callable[[GuestShop], Any], Callable[[GuestShop], Any]]] = {
    "pydantic_ai": (pydantic_ai, pydantic_ai_alone),
    "openai_agents": (openai_agents, openai_agents_alone),
    "langgraph": (langgraph, langgraph_alone),
    "agent_framework": (agent_framework, agent_framework_alone),
}


@pytest.mark.parametrize("framework", ALONE)
async def test_one_approval_twice_pays_twice_in_the_framework_alone_and_once_under_adjourn(framework: str) -> None:
    make, alone = ALONE[framework]
    by_itself, adopted = GuestShop(), GuestShop()
    await alone(by_itself)
    assert by_itself.refunds == [("A1", 500), ("A1", 500)]

    store = MemoryStore()
    async with Runtime(store, [adopt(make(adopted))]) as one, Runtime(store, [adopt(make(adopted))]) as other:
        run = await one.start(adopt(make(adopted)), "refund A1")
        await run.wait()
        [waiting] = await one.inbox()
        decided = await asyncio.gather(
            one.approve(waiting, by="ana"), other.approve(waiting, by="ben"), return_exceptions=True
        )
        assert [type(result) for result in decided].count(AlreadyDecided) == 1
        assert (await run.wait()).output == "done"
    assert adopted.refunds == [("A1", 500)]
