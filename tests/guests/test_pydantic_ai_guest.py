"""Pydantic AI agents under Adjourn, with the framework's real package."""

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent as TheirAgent
from pydantic_ai import (
    ApprovalRequired,
    DeferredToolRequests,
    DeferredToolResults,
    ExternalToolset,
    FunctionToolset,
    ModelRetry,
    RunContext,
    ToolDefinition,
    WebSearchTool,
)
from pydantic_ai import Tool as TheirTool
from pydantic_ai import messages as theirs
from pydantic_ai.capabilities import (
    AbstractCapability,
    CombinedCapability,
    HandleDeferredToolCalls,
    Hooks,
    NativeTool,
    WrapperCapability,
)
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from adjourn import Agent, Completed, InvalidDefinition, Policy, ask, is_paused
from adjourn.guests import adopt
from adjourn.testing import GuestContract, GuestScript, call


def says(script: GuestScript) -> FunctionModel:
    """A model of the framework that follows the script."""

    async def stream(messages: list[theirs.ModelMessage], info: AgentInfo) -> AsyncIterator[Any]:
        turn = sum(isinstance(message, theirs.ModelResponse) for message in messages)
        reply = await script.reply(turn, heard(messages))
        async for piece in script.spoken(reply):
            yield piece
        if reply.calls:
            yield {
                n: DeltaToolCall(
                    call.tool, theirs.ToolCallPart("", call.arguments).args_as_json_str(), tool_call_id=call.id
                )
                for n, call in enumerate(reply.calls, 1)
            }

    async def whole(messages: list[theirs.ModelMessage], info: AgentInfo) -> theirs.ModelResponse:
        turn = sum(isinstance(message, theirs.ModelResponse) for message in messages)
        reply = await script.reply(turn, heard(messages))
        parts: list[Any] = [theirs.TextPart(reply.text)] if reply.text else []
        parts += [theirs.ToolCallPart(call.tool, call.arguments, tool_call_id=call.id) for call in reply.calls]
        return theirs.ModelResponse(parts)

    return FunctionModel(whole, stream_function=stream)


def heard(messages: Sequence[theirs.ModelMessage]) -> list[str]:
    found: list[str] = []
    for message in messages:
        for part in message.parts if isinstance(message, theirs.ModelRequest) else ():
            if isinstance(part, theirs.UserPromptPart):
                found.append(str(part.content))
            elif isinstance(part, theirs.ToolReturnPart):
                found.append(part.model_response_str())
    return found


class TestPydanticAI(GuestContract):
    def guest(self, script: GuestScript, tools: Sequence[Callable[..., Any]], **terms: Any) -> Agent[Any]:
        return adopt(TheirAgent(says(script), name="support", tools=list(tools)), **terms)

    def marked_guest(self, script: GuestScript, tool: Callable[..., Any], **terms: Any) -> Agent[Any]:
        marked = TheirTool(tool, requires_approval=True)
        return adopt(TheirAgent(says(script), name="support", tools=[marked]), **terms)


class Order(BaseModel):
    number: str
    cents: int


def agent_of(script: GuestScript, *tools: Any, **options: Any) -> TheirAgent[Any, Any]:
    return TheirAgent(says(script), name="support", tools=list(tools), **options)


def paying(cents: int) -> GuestScript:
    return GuestScript([call("pays", cents=cents)], "done")


async def test_a_tool_that_wants_approval_for_some_arguments_asks_and_runs_once_it_has_it() -> None:
    paid: list[int] = []

    async def pays(ctx: RunContext[None], cents: int) -> str:
        """Pay money back."""
        if cents > 100 and not ctx.tool_call_approved:
            raise ApprovalRequired
        paid.append(cents)
        return "paid"

    assert isinstance(await adopt(agent_of(paying(50), pays)).run("pay"), Completed)
    agent = adopt(agent_of(paying(500), pays))
    waits = await agent.run("pay")
    assert is_paused(waits) and paid == [50]
    denied = await agent.resume(waits.checkpoint, False)
    assert isinstance(denied, Completed) and paid == [50]
    done = await agent.resume(waits.checkpoint, True)
    assert isinstance(done, Completed) and paid == [50, 500]


async def test_what_our_policy_has_had_approved_is_not_asked_again_by_the_tool() -> None:
    async def pays(ctx: RunContext[None], cents: int) -> str:
        """Pay money back."""
        if not ctx.tool_call_approved:
            raise ApprovalRequired
        return "paid"

    agent = adopt(agent_of(paying(500), pays), policy=Policy([ask("pays")]))
    waits = await agent.run("pay")
    assert is_paused(waits)
    assert isinstance(await agent.resume(waits.checkpoint, approved=True), Completed)


async def test_an_external_tool_is_a_question_whose_answer_is_its_result() -> None:
    schema = {"type": "object", "properties": {"cents": {"type": "integer"}}}
    definition = ToolDefinition(name="pays", parameters_json_schema=schema)
    script = paying(500)
    agent = adopt(agent_of(script, toolsets=[ExternalToolset([definition])]))
    waits = await agent.run("pay")
    assert is_paused(waits) and waits.interrupts[0].kind == "question"
    done = await agent.resume(waits.checkpoint, "it was paid by hand")
    assert isinstance(done, Completed)
    assert any("paid by hand" in text for text in script.heard)


async def test_dependencies_hooks_and_argument_types_are_the_frameworks_own() -> None:
    seen: list[Any] = []

    class Watch(AbstractCapability[Any]):
        async def before_tool_execute(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
            seen.append(("before", call.tool_name))
            return args

    async def pays(ctx: RunContext[str], order: Order) -> Order:
        """Pay money back."""
        seen.append((ctx.deps, order, bool(ctx.tool_call_id)))
        return order

    script = GuestScript([call("pays", number="A1", cents=3)], "done")
    agent = agent_of(script, pays, deps_type=str, capabilities=[Watch()])
    assert isinstance(await adopt(agent, deps="the shop").run("pay"), Completed)
    assert seen == [("before", "pays"), ("the shop", Order(number="A1", cents=3), True)]
    assert any('"cents":3' in text for text in script.heard)


async def test_the_output_has_the_type_of_the_agent() -> None:
    script = GuestScript([call("final_result", number="A1", cents=7)])
    done = await adopt(agent_of(script, output_type=Order)).run("which?")
    assert isinstance(done, Completed) and done.output == Order(number="A1", cents=7)


async def test_a_retry_that_a_tool_asks_for_is_an_error_for_the_model() -> None:
    async def pays(cents: int) -> str:
        """Pay money back."""
        raise ModelRetry("give whole euros")

    script = paying(5)
    assert isinstance(await adopt(agent_of(script, pays)).run("pay"), Completed)
    assert any("give whole euros" in text for text in script.heard)


async def test_arguments_that_the_framework_refuses_never_become_a_call() -> None:
    paid: list[int] = []

    async def pays(cents: int) -> str:
        """Pay money back."""
        paid.append(cents)
        return "paid"

    script = GuestScript([call("pays", cents="many"), call("pays", cents=3)], "done")
    done = await adopt(agent_of(script, pays)).run("pay")
    assert isinstance(done, Completed) and paid == [3]
    assert len([text for text in script.heard if "valid integer" in text]) == 1


def test_what_the_provider_runs_is_listed() -> None:
    agent = agent_of(GuestScript(), capabilities=[NativeTool(WebSearchTool())])
    assert adopt(agent).ungoverned == ("web_search",)


def test_terms_about_a_tool_that_is_not_there_are_refused() -> None:
    with pytest.raises(InvalidDefinition, match="refnd"):
        adopt(agent_of(GuestScript()), effects={"refnd": "read"})
    with pytest.raises(InvalidDefinition, match="no name"):
        adopt(TheirAgent(says(GuestScript())))
    with pytest.raises(InvalidDefinition, match="builtins.int"):
        adopt(3)


async def test_tools_that_the_agent_finds_while_it_runs_are_governed_too() -> None:
    paid: list[int] = []

    async def pays(cents: int) -> str:
        """Pay money back."""
        paid.append(cents)
        return "paid"

    def dynamic(ctx: RunContext[Any]) -> FunctionToolset[Any]:
        return FunctionToolset([pays])

    def guest() -> Agent[Any]:
        agent = agent_of(script)
        agent.toolset(dynamic)
        return adopt(agent, policy=Policy([ask("pays")], default="allow"), effects={"pays": "idempotent"})

    script = paying(500)
    waits = await guest().run("pay")
    assert is_paused(waits) and not paid
    assert waits.interrupts[0].call is not None and waits.interrupts[0].call.effect == "idempotent"
    assert isinstance(await guest().resume(waits.checkpoint, approved=True), Completed)
    assert paid == [500]


async def pays(cents: int) -> str:
    """Pay money back."""
    return f"paid {cents}"


async def handler(ctx: Any, requests: DeferredToolRequests) -> Any:
    return DeferredToolResults(calls={one.tool_call_id: "handled" for one in requests.calls})


async def hooked(ctx: Any, *, requests: DeferredToolRequests) -> Any:
    return await handler(ctx, requests)


@pytest.mark.parametrize(
    "capability",
    [
        HandleDeferredToolCalls(handler),
        Hooks(deferred_tool_calls=hooked),
        CombinedCapability([HandleDeferredToolCalls(handler)]),
        WrapperCapability(wrapped=HandleDeferredToolCalls(handler)),
    ],
    ids=["capability", "hook", "combined", "wrapped"],
)
def test_a_handler_that_would_answer_for_every_call_is_refused(capability: Any) -> None:
    with pytest.raises(InvalidDefinition, match="handler of deferred tool calls"):
        adopt(agent_of(GuestScript(), pays, capabilities=[capability]))


def test_hooks_that_handle_no_deferred_call_are_taken() -> None:
    async def before(ctx: Any, request_context: Any) -> Any:
        return request_context

    assert adopt(agent_of(GuestScript(), pays, capabilities=[Hooks(before_model_request=before)])).name
