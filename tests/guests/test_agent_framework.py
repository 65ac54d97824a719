"""Agents of the Microsoft Agent Framework under Adjourn, with the framework's real package."""

import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from agent_framework import Agent as TheirAgent
from agent_framework import (
    BaseChatClient,
    ChatResponse,
    ChatResponseUpdate,
    Content,
    ContextProvider,
    FunctionInvocationContext,
    FunctionInvocationLayer,
    FunctionMiddleware,
    InMemoryHistoryProvider,
    MCPStdioTool,
    Message,
    ResponseStream,
    SessionContext,
)
from agent_framework import tool as their_tool
from pydantic import BaseModel

from adjourn import Agent, Completed, Policy, RunFailed, ask, is_paused
from adjourn.errors import InvalidDefinition
from adjourn.guests import adopt
from adjourn.testing import GuestContract, GuestReply, GuestScript, call


class Says(FunctionInvocationLayer, BaseChatClient):  # pyright: ignore[reportMissingTypeArgument]
    """A client of the framework that follows the script."""

    def __init__(self, script: GuestScript) -> None:
        super().__init__()
        self.script = script

    def _inner_get_response(
        self, *, messages: Sequence[Message], stream: bool = False, options: Any = None, **_: Any
    ) -> Any:
        async def whole() -> ChatResponse:
            reply = await self._reply(messages)
            return ChatResponse(messages=[Message(role="assistant", contents=contents_of(reply))], response_id="r")

        async def pieces() -> AsyncIterator[ChatResponseUpdate]:
            reply = await self._reply(messages)
            async for piece in self.script.spoken(reply):
                yield ChatResponseUpdate(role="assistant", contents=[Content.from_text(piece)])
            calls = [content for content in contents_of(reply) if content.type == "function_call"]
            if calls:
                yield ChatResponseUpdate(role="assistant", contents=calls)

        if not stream:
            return whole()
        return ResponseStream(pieces(), finalizer=lambda updates: ChatResponse.from_updates(updates))

    async def _reply(self, messages: Sequence[Message]) -> GuestReply:
        turns = sum(message.role == "assistant" for message in messages)
        return await self.script.reply(turns, heard(messages))


def contents_of(reply: GuestReply) -> list[Content]:
    found = [Content.from_text(reply.text)] if reply.text else []
    for wanted in reply.calls:
        found.append(Content.from_function_call(wanted.id, wanted.tool, arguments=json.dumps(wanted.arguments)))
    return found


def heard(messages: Sequence[Message]) -> list[str]:
    found: list[str] = []
    for message in messages:
        for content in message.contents:
            if message.role == "user" and content.type == "text":
                found.append(str(content.text))
            elif content.type == "function_result":
                found.append(str(content.result))
    return found


class TestAgentFramework(GuestContract):
    def guest(self, script: GuestScript, tools: Sequence[Callable[..., Any]], **terms: Any) -> Agent[Any]:
        return adopt(TheirAgent(client=Says(script), name="support", tools=list(tools)), **terms)

    def marked_guest(self, script: GuestScript, tool: Callable[..., Any], **terms: Any) -> Agent[Any]:
        marked = their_tool(tool, approval_mode="always_require")
        return adopt(TheirAgent(client=Says(script), name="support", tools=[marked]), **terms)


async def pays(order: str, cents: int) -> str:
    """Pay money back."""
    return f"paid {cents} of {order}"


def agent_of(script: GuestScript, *tools: Any, **options: Any) -> TheirAgent[Any]:
    return TheirAgent(client=Says(script), name="support", tools=list(tools), **options)


async def test_an_agent_that_is_a_tool_is_adopted_with_its_own_tools() -> None:
    inner = GuestScript([call("pays", order="A1", cents=5)], "paid it")
    clerk = TheirAgent(client=Says(inner), name="clerk", tools=[pays])
    script = GuestScript([call("ask_clerk", task="pay A1")], "all is well")
    agent = adopt(agent_of(script, clerk.as_tool(name="ask_clerk")), policy=Policy([ask("pays")], default="allow"))
    waits = await agent.run("have it paid")
    assert is_paused(waits) and waits.interrupts[0].path
    done = await agent.resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and done.output == "all is well"
    assert "pay A1" in inner.heard and "paid it" in script.heard


async def test_an_agent_that_is_a_tool_has_its_mark_its_terms_and_what_functions_are_given() -> None:
    async def charges(order: str, ctx: FunctionInvocationContext) -> str:
        """Charge."""
        return f"{order} charged to {ctx.kwargs['tenant']}"

    inner = GuestScript([call("charges", order="A1")], "charged it")
    clerk = TheirAgent(client=Says(inner), name="clerk", tools=[charges])
    script = GuestScript([call("ask_clerk", task="charge A1")], "all is well")
    above = agent_of(script, clerk.as_tool(name="ask_clerk", approval_mode="always_require"))
    agent = adopt(above, effects={"charges": "idempotent"}, function_invocation_kwargs={"tenant": "acme"})
    waits = await agent.run("have it charged")
    assert is_paused(waits) and not inner.requests and waits.interrupts[0].call is not None
    assert waits.interrupts[0].call.tool == "ask_clerk"
    done = await agent.resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and done.output == "all is well"
    assert "A1 charged to acme" in inner.heard


async def test_function_middleware_stands_around_the_tool_when_we_run_it() -> None:
    seen: list[str] = []

    class Watch(FunctionMiddleware):
        async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
            seen.append(f"before {context.function.name}")
            await call_next()
            seen.append(f"after: {context.result}")

    script = GuestScript([call("pays", order="A1", cents=5)], "done")
    assert isinstance(await adopt(agent_of(script, pays, middleware=[Watch()])).run("pay"), Completed)
    assert seen == ["before pays", "after: paid 5 of A1"]


async def test_a_tool_that_comes_up_while_the_agent_runs_is_not_run() -> None:
    ran: list[str] = []

    async def sneaks(order: str) -> str:
        """Not known beforehand."""
        ran.append(order)
        return "done"

    class Adds(ContextProvider):
        async def before_run(self, *, agent: Any, session: Any, context: SessionContext, state: Any) -> None:
            context.extend_tools(self.source_id, [their_tool(sneaks)])

    script = GuestScript([call("sneaks", order="A1")], "done")
    try:
        await adopt(agent_of(script, context_providers=[Adds("adds")])).run("go")
    except RunFailed as failed:
        assert "was not adopted" in str(failed)
    assert not ran


async def test_the_output_has_the_type_of_the_agent() -> None:
    class Order(BaseModel):
        number: str
        cents: int

    script = GuestScript('{"number": "A1", "cents": 7}')
    options: Any = {"response_format": Order}
    done = await adopt(agent_of(script, default_options=options)).run("which?")
    assert isinstance(done, Completed) and done.output == Order(number="A1", cents=7)


def test_what_cannot_be_held_is_refused_and_what_the_provider_runs_is_listed() -> None:
    hosted: Any = {"type": "web_search"}
    assert adopt(agent_of(GuestScript(), hosted)).ungoverned == ("web_search",)
    with pytest.raises(InvalidDefinition, match="MCP"):
        adopt(agent_of(GuestScript(), MCPStdioTool(name="files", command="nothing")))
    with pytest.raises(InvalidDefinition, match="history provider"):
        adopt(agent_of(GuestScript(), context_providers=[InMemoryHistoryProvider()]))
