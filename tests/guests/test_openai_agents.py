"""OpenAI Agents SDK agents under Adjourn, with the framework's real package."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Sequence
from typing import Any

import pytest
from agents import Agent as TheirAgent
from agents import (
    LocalShellTool,
    ModelResponse,
    ModelSettings,
    RunHooks,
    ToolGuardrailFunctionOutput,
    Usage,
    WebSearchTool,
    function_tool,
    tool_input_guardrail,
)
from agents import Model as TheirModel
from agents.items import TResponseInputItem
from openai.types.responses import (
    Response,
    ResponseCompletedEvent,
    ResponseFunctionToolCall,
    ResponseOutputMessage,
    ResponseOutputText,
    ResponseTextDeltaEvent,
)
from pydantic import BaseModel

from adjourn import Agent, Completed, InvalidDefinition, Policy, Runtime, ask, is_paused
from adjourn.guests import adopt
from adjourn.testing import GuestContract, GuestReply, GuestScript, call
from adjourn.testing.guest_script import GuestShop, blocks


class Says(TheirModel):
    """A model of the framework that follows the script."""

    def __init__(self, script: GuestScript) -> None:
        self.script = script

    async def get_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any) -> ModelResponse:
        reply = await self.script.reply(replies_in(input), heard(input))
        return ModelResponse(output=output_of(reply), usage=Usage(requests=1), response_id=None)

    async def stream_response(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, system_instructions: Any, input: Any, *args: Any, **options: Any
    ) -> AsyncIterator[Any]:
        reply = await self.script.reply(replies_in(input), heard(input))
        number = 0
        async for piece in self.script.spoken(reply):
            yield ResponseTextDeltaEvent(
                content_index=0, delta=piece, item_id="m", logprobs=[], output_index=0, sequence_number=number,
                type="response.output_text.delta",
            )  # fmt: skip
            number += 1
        done = Response(
            id="r", created_at=0, model="scripted", object="response", output=output_of(reply), tool_choice="auto", tools=[],
            parallel_tool_calls=True,
        )  # fmt: skip
        yield ResponseCompletedEvent(response=done, sequence_number=99, type="response.completed")


def output_of(reply: GuestReply) -> list[Any]:
    found: list[Any] = []
    if reply.text:
        text = ResponseOutputText(annotations=[], text=reply.text, type="output_text")
        found.append(
            ResponseOutputMessage(id="m", content=[text], role="assistant", status="completed", type="message")
        )
    for wanted in reply.calls:
        arguments = json.dumps(wanted.arguments)
        found.append(
            ResponseFunctionToolCall(
                arguments=arguments, call_id=wanted.id, name=wanted.tool, type="function_call", id=wanted.id
            )
        )
    if reply.hand_to:
        name = f"transfer_to_{reply.hand_to}"
        found.append(ResponseFunctionToolCall(arguments="{}", call_id=name, name=name, type="function_call", id=name))
    return found


def replies_in(input: str | list[TResponseInputItem]) -> int:
    """A reply may be several items; between two replies stands something else."""
    spoke = [is_said(item) for item in input] if isinstance(input, list) else []
    return sum(now and not before for before, now in zip([False, *spoke], spoke, strict=False))


def is_said(item: Any) -> bool:
    return item.get("role") == "assistant" or item.get("type") == "function_call"


def heard(input: str | list[TResponseInputItem]) -> list[str]:
    if isinstance(input, str):
        return [input]
    return [str(item.get("output", item.get("content"))) for item in input if not is_said(item)]


class TestOpenAIAgents(GuestContract):
    def guest(self, script: GuestScript, tools: Sequence[Callable[..., Any]], **terms: Any) -> Agent[Any]:
        return adopt(TheirAgent("support", model=Says(script), tools=[function_tool(tool) for tool in tools]), **terms)

    def marked_guest(self, script: GuestScript, tool: Callable[..., Any], **terms: Any) -> Agent[Any]:
        marked = function_tool(tool, needs_approval=True)
        return adopt(TheirAgent("support", model=Says(script), tools=[marked]), **terms)

    def handing_guest(
        self,
        script: GuestScript,
        tools: Sequence[Callable[..., Any]],
        other: Sequence[Callable[..., Any]],
        **terms: Any,
    ) -> Agent[Any]:
        clerk = TheirAgent("clerk", model=Says(script), tools=[function_tool(tool) for tool in other])
        support = TheirAgent(
            "support", model=Says(script), tools=[function_tool(tool) for tool in tools], handoffs=[clerk]
        )
        return adopt(support, **terms)


class Order(BaseModel):
    number: str
    cents: int


async def pays(order: str, cents: int) -> str:
    """Pay money back."""
    return f"paid {cents}"


def paying(cents: int) -> GuestScript:
    return GuestScript([call("pays", order="A1", cents=cents)], "done")


def agent_of(script: GuestScript, *tools: Any, **options: Any) -> TheirAgent[Any]:
    return TheirAgent("support", model=Says(script), tools=list(tools), **options)


async def test_a_function_as_needs_approval_is_asked_about_these_arguments() -> None:
    async def large(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
        return arguments["cents"] > 100

    tool = function_tool(pays, needs_approval=large)
    small = await adopt(agent_of(paying(50), tool)).run("pay")
    assert isinstance(small, Completed)
    waits = await adopt(agent_of(paying(500), tool)).run("pay")
    assert is_paused(waits) and waits.interrupts[0].call is not None


async def test_a_needs_approval_that_cannot_tell_at_once_asks() -> None:
    async def looks_it_up(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
        await asyncio.sleep(0)
        return False

    waits = await adopt(agent_of(paying(50), function_tool(pays, needs_approval=looks_it_up))).run("pay")
    assert is_paused(waits)


async def test_an_agent_that_is_a_tool_is_adopted_with_its_own_tools() -> None:
    clerk = TheirAgent("clerk", model=Says(paying(500)), tools=[function_tool(pays)])
    script = GuestScript([call("ask_clerk", input="pay A1")], "all is well")
    above = agent_of(script, clerk.as_tool("ask_clerk", "Ask the clerk."))
    agent = adopt(above, policy=Policy([ask("pays")], default="allow"))
    waits = await agent.run("pay")
    assert is_paused(waits)
    [waiting] = waits.interrupts
    assert waiting.call is not None and waiting.call.tool == "pays" and waiting.path
    done = await agent.resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and done.output == "all is well"


async def always(context: Any, arguments: dict[str, Any], call_id: str) -> bool:
    return True


@pytest.mark.parametrize("mark", [True, always])
async def test_the_mark_of_an_agent_that_is_a_tool_asks_before_it_begins(mark: Any) -> None:
    inner = paying(500)
    clerk = TheirAgent("clerk", model=Says(inner), tools=[function_tool(pays)])
    tool = clerk.as_tool("ask_clerk", "Ask the clerk.", needs_approval=mark)
    script = GuestScript([call("ask_clerk", input="pay A1")], "all is well")
    agent = adopt(agent_of(script, tool), policy=Policy([], default="allow"))
    waits = await agent.run("pay")
    assert is_paused(waits) and not inner.requests
    [waiting] = waits.interrupts
    assert waiting.call is not None and waiting.call.tool == "ask_clerk"
    done = await agent.resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and done.output == "all is well" and "paid 500" in inner.heard


async def test_terms_may_name_the_tools_of_agents_that_are_tools() -> None:
    taken: list[Any] = []

    def takes_back(ctx: Any, args: dict[str, Any], result: Any) -> None:
        taken.append(args["order"])

    inner = GuestScript([call("pays", order="A1", cents=5)], blocks("done"))
    clerk = TheirAgent("clerk", model=Says(inner), tools=[function_tool(pays)])
    above = agent_of(GuestScript([call("ask_clerk", input="pay")], "done"), clerk.as_tool("ask_clerk", "Ask."))
    async with Runtime("memory://", [agent := adopt(above, undo={"pays": takes_back})]) as rt:
        run = await rt.start(agent, "pay")
        await asyncio.wait_for(inner.thinking.wait(), 30)
        await run.cancel(by="ana", reason="enough")
        await run.wait()
    assert taken == ["A1"]
    with pytest.raises(InvalidDefinition, match="it has 'ask_clerk', 'pays'"):
        adopt(above, undo={"pay": takes_back})


def test_an_agent_that_is_a_tool_with_parameters_is_refused_if_it_has_tools_itself() -> None:
    clerk = TheirAgent("clerk", model=Says(GuestScript()), tools=[function_tool(pays)])
    with pytest.raises(InvalidDefinition, match="'clerk' is a tool with parameters="):
        adopt(agent_of(GuestScript(), clerk.as_tool("ask_clerk", "Ask.", parameters=Order)))
    speaks = TheirAgent("speaks", model=Says(GuestScript()))
    assert sorted(adopt(agent_of(GuestScript(), speaks.as_tool("ask", "Ask.", parameters=Order))).tools) == ["ask"]


async def test_a_handoff_beside_a_tool_call_is_made_once_the_call_has_its_result() -> None:
    class Both(Says):
        async def stream_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any):
            async for event in super().stream_response(system_instructions, input, *args, **options):
                if replies_in(input) == 0 and isinstance(event, ResponseCompletedEvent):
                    event.response.output += output_of(GuestReply(hand_to="clerk"))
                yield event

    script = GuestScript([call("pays", order="A1", cents=1)], "the clerk speaks")
    clerk = TheirAgent("clerk", model=Says(script), instructions="clerk")
    support = TheirAgent("support", model=Both(script), tools=[function_tool(pays)], handoffs=[clerk])
    done = await adopt(support).run("pay, then hand over")
    assert isinstance(done, Completed) and done.output == "the clerk speaks"
    assert any("paid 1" in text for text in script.heard) and any(
        '"assistant": "clerk"' in text for text in script.heard
    )


async def test_tools_of_one_name_in_two_agents_are_told_apart() -> None:
    async def other(order: str) -> str:
        """Something else."""
        return "other"

    clerk = TheirAgent("the clerk", model=Says(GuestScript()), tools=[function_tool(other, name_override="pays")])
    agent = adopt(agent_of(GuestScript(), function_tool(pays), handoffs=[clerk]))
    assert sorted(agent.tools) == ["support.pays", "the_clerk.pays"]


async def test_what_the_provider_runs_is_listed_and_what_the_sdk_would_run_here_is_refused() -> None:
    assert adopt(agent_of(GuestScript(), WebSearchTool())).ungoverned == ("web_search",)
    with pytest.raises(InvalidDefinition, match="LocalShellTool"):
        adopt(agent_of(GuestScript(), LocalShellTool(executor=lambda request: "")))


async def test_errors_come_in_the_words_of_the_tool_and_guardrails_of_tools_are_kept() -> None:
    async def fails(order: str) -> str:
        """It fails."""
        raise ValueError("secret detail")

    @tool_input_guardrail
    def never_a1(data: Any) -> ToolGuardrailFunctionOutput:
        if "A1" in data.context.tool_arguments:
            return ToolGuardrailFunctionOutput.reject_content("A1 is not for you")
        return ToolGuardrailFunctionOutput.allow()

    def gently(context: Any, error: Exception) -> str:
        return "it did not work out"

    script = GuestScript([call("fails", order="B2"), call("pays", order="A1", cents=1)], "done")
    guarded = function_tool(pays)
    guarded.tool_input_guardrails = [never_a1]
    done = await adopt(agent_of(script, function_tool(fails, failure_error_function=gently), guarded)).run("go")
    assert isinstance(done, Completed)
    assert any("it did not work out" in text for text in script.heard)
    assert any("A1 is not for you" in text for text in script.heard)
    assert not any("secret detail" in text for text in script.heard)


async def test_an_agent_that_stops_with_its_tools_needs_no_model_again() -> None:
    script = GuestScript([call("pays", order="A1", cents=3)])
    done = await adopt(agent_of(script, function_tool(pays), tool_use_behavior="stop_on_first_tool")).run("pay")
    assert isinstance(done, Completed) and done.output == "paid 3"


async def test_a_forced_tool_is_not_forced_again_after_its_result() -> None:
    chosen: list[Any] = []

    class Chooses(Says):
        async def stream_response(self, system_instructions: Any, input: Any, *args: Any, **options: Any):
            chosen.append((args[0] if args else options["model_settings"]).tool_choice)
            async for event in super().stream_response(system_instructions, input, *args, **options):
                yield event

    forced = TheirAgent(
        "support",
        model=Chooses(paying(1)),
        tools=[function_tool(pays)],
        model_settings=ModelSettings(tool_choice="required"),
    )
    assert isinstance(await adopt(forced).run("pay"), Completed)
    assert chosen == ["required", None]


async def test_the_output_has_the_type_of_the_agent() -> None:
    script = GuestScript('{"number": "A1", "cents": 7}')
    done = await adopt(agent_of(script, output_type=Order)).run("which?")
    assert isinstance(done, Completed) and done.output == Order(number="A1", cents=7)


async def test_the_runners_own_hooks_are_called_and_ours_are_not_mistaken_for_them() -> None:
    seen: list[str] = []

    class Seen(RunHooks[Any]):
        async def on_tool_start(self, context: Any, agent: Any, tool: Any) -> None:
            seen.append(tool.name)

    shop = GuestShop()
    theirs = TheirAgent(
        "support",
        model=Says(GuestScript([call("look_up", order="A1")], "done")),
        tools=[function_tool(shop.look_up)],
    )
    outcome = await adopt(theirs, run_hooks=Seen()).run("go")
    assert (outcome.output, seen) == ("done", ["look_up"])
    wrong: Any = Seen()
    with pytest.raises(InvalidDefinition, match=r"hooks= must be a list of before_tool"):
        adopt(theirs, hooks=wrong)
    with pytest.raises(InvalidDefinition, match=r"does not know run_hook= .* context=, run_config=, run_hooks="):
        adopt(theirs, run_hook=Seen())
