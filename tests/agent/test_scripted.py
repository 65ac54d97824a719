"""The model that says what it was told to say, for other people's tests too."""

import asyncio
from typing import Any

import pytest

from adjourn import Agent, InvalidDefinition, ModelError, NotJSON, RunFailed, is_paused, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text, TextDelta, ToolCall, UserMessage
from adjourn.testing import ScriptedModel, call, streamed


@tool(policy="ask")
async def work(n: int = 0) -> str:
    """Work."""
    return f"worked {n}"


async def said(model: ScriptedModel, index: int = 0) -> list[Delta | Reply]:
    return [item async for item in model.request(ModelRequest((UserMessage("go"),), index=index))]


@pytest.mark.parametrize(
    ("reply", "parts"),
    [
        ("text", (Text(text="text"),)),
        (call("work", n=1), (ToolCall(id="call_0_0", tool="work", args={"n": 1}),)),
        (
            ["well, ", call("work", n=1), call("work")],
            (
                Text(text="well, "),
                ToolCall(id="call_0_1", tool="work", args={"n": 1}),
                ToolCall(id="call_0_2", tool="work", args={}),
            ),
        ),
        (lambda messages: f"{len(messages)} message", (Text(text="1 message"),)),  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
        (lambda messages: [call("work")], (ToolCall(id="call_0_0", tool="work", args={}),)),  # pyright: ignore[reportUnknownLambdaType]
    ],
)
async def test_every_kind_of_reply(reply: Any, parts: tuple[Any, ...]) -> None:
    [answer] = await said(ScriptedModel(reply))
    assert isinstance(answer, Reply)
    assert answer.parts == parts
    assert answer.usage.requests == 1


async def test_a_streamed_reply_arrives_in_pieces() -> None:
    *pieces, whole = await said(ScriptedModel(streamed("a", "b")))
    assert pieces == [TextDelta("a"), TextDelta("b")]
    assert isinstance(whole, Reply)
    assert whole.text == "ab"


@pytest.mark.parametrize("error", [ValueError("x"), ValueError, ModelError("down", transient=True)])
async def test_an_exception_is_raised(error: Any) -> None:
    with pytest.raises((ValueError, ModelError)):
        await said(ScriptedModel(error))


async def test_the_kth_reply_answers_the_kth_model_call_also_in_another_process() -> None:
    def make() -> tuple[Agent, ScriptedModel]:
        model = ScriptedModel([call("work")], [call("work")], "the end")
        return Agent("script", model=model, tools=[work]), model

    outcome = await make()[0].run("go")
    for n in (1, 2):
        assert is_paused(outcome)
        agent, model = make()
        outcome = await agent.resume(outcome.checkpoint.to_json(), True)
        assert [r.index for r in model.requests] == [n]
    assert outcome.output == "the end"


async def test_a_script_that_is_too_short_says_so() -> None:
    with pytest.raises(RunFailed, match="the script has 1 replies; this is model call 2"):
        await Agent("short", model=ScriptedModel([call("unknown")])).run("go")


async def test_a_delay_is_waited_for_and_can_be_cut_short() -> None:
    model = ScriptedModel("late", delay=30)
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.02):
            await said(model)


async def test_a_reply_that_is_none_is_refused() -> None:
    wrong: Any = [5]
    with pytest.raises(InvalidDefinition, match="a scripted reply"):
        await said(ScriptedModel(wrong))
    with pytest.raises(NotJSON, match=r"args\.f: a value of type function"):
        call("work", f=lambda: None)
