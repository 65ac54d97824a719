"""`after=`: the next turn of a finished conversation; and what a checkpoint shows of one."""

import asyncio
from typing import Any

import msgspec
import pytest
from tests.agent.words import calls

from adjourn import (
    Agent,
    Checkpoint,
    CheckpointInvalid,
    MaxSteps,
    Misused,
    Policy,
    Refused,
    TextMention,
    ask,
    is_paused,
    tool,
)
from adjourn.core.messages import AssistantMessage, Text, ToolCall, ToolResult, UserMessage
from adjourn.core.records import Replied, RunCompleted
from adjourn.testing import ScriptedModel, call
from adjourn.views.timeline import Timeline


@tool
async def refund(order: str) -> str:
    """Refund."""
    return f"refunded {order}"


def make_agent(**options: Any) -> tuple[Agent, ScriptedModel]:
    model = ScriptedModel([call("refund", order="1")], "first", "second", [call("refund", order="2")], "third")
    return Agent("turns", model=model, tools=[refund], **options), model


async def test_the_next_turn_has_the_whole_conversation_before_it() -> None:
    agent, _ = make_agent()
    first = await agent.run("one")
    second = await make_agent()[0].run("two", after=first.checkpoint.to_json())
    agent, model = make_agent()
    third = await agent.run("three", after=second.checkpoint)
    assert [first.output, second.output, third.output] == ["first", "second", "third"]
    assert len({first.run_id, second.run_id, third.run_id}) == 3
    words = [
        m.text if isinstance(m, UserMessage | AssistantMessage) else m.content for m in model.requests[-1].messages
    ]
    assert words == ["one", "", "refunded 1", "first", "two", "second", "three", "", "refunded 2"]


async def test_each_turn_counts_its_own_budget() -> None:
    agent, _ = make_agent(stop=MaxSteps(2))
    first = await agent.run("one")
    second = await agent.run("two", after=first.checkpoint)
    assert (first.output, second.output) == ("first", "second")
    assert (first.usage.requests, second.usage.requests) == (2, 1)


async def test_a_conversation_that_has_not_finished_has_no_next_turn() -> None:
    agent, _ = make_agent(policy=Policy([ask("refund")]))
    outcome = await agent.run("one")
    with pytest.raises(Refused, match=r"it is waiting; nothing was changed; finish or resume it first"):
        await agent.run("two", after=outcome.checkpoint)


async def test_after_takes_a_checkpoint_only() -> None:
    agent, _ = make_agent()
    wrongs: list[Any] = ["", "{}", 5, []]
    for wrong in wrongs:
        with pytest.raises(CheckpointInvalid):
            await agent.run("two", after=wrong)


async def test_the_last_words_are_recorded_once() -> None:
    words = "the very last words"
    done = await Agent("a", model=ScriptedModel(words)).run("go")
    saved = done.checkpoint
    [reply] = [x for x in saved.records if isinstance(x, Replied)]
    assert (reply.spoken, reply.output, reply.final) == (True, None, True)
    assert saved.to_json().count(words) == 1
    assert saved.state.threads[""].output == words == done.output
    assert isinstance(saved.state.ended, RunCompleted) and saved.state.ended.output == words
    assert Timeline.of(list(enumerate(saved.records, 1)), 0.0).steps[-1].result == words
    old = [
        msgspec.structs.replace(x, spoken=False, output=words) if isinstance(x, Replied | RunCompleted) else x
        for x in saved.records
    ]
    again = Checkpoint(old).state
    assert again.threads[""].output == words and isinstance(again.ended, RunCompleted) and again.ended.output == words


@pytest.mark.parametrize("stop", [MaxSteps(2), TextMention("words")], ids=["stopped", "by"])
async def test_what_was_said_when_a_condition_ended_the_run_is_recorded_once(stop: Any) -> None:
    words = "the last words"
    model = ScriptedModel([words, call("refund", order="1")], [call("refund", order="2")], "never said")
    done = await Agent("a", model=model, tools=[refund], stop=stop).run("go")
    assert done.checkpoint.to_json().count(words) == 1
    assert isinstance(done.checkpoint.state.ended, RunCompleted) and done.checkpoint.state.ended.output == words


@pytest.mark.parametrize(("kind", "text", "output"), [(int, "7", 7), (int | None, "null", None), (str, "", "")])
async def test_an_output_that_is_not_the_text_is_recorded_as_it_is(kind: Any, text: str, output: Any) -> None:
    done = await Agent("a", model=ScriptedModel(text), output_type=kind).run("go")
    assert done.output == output
    assert Checkpoint.from_json(done.checkpoint.to_json()).state.threads[""].output == output


async def test_the_id_of_a_run_without_a_runtime_says_where_it_belongs() -> None:
    agent, _ = make_agent()
    with pytest.raises(
        CheckpointInvalid, match=r"after= must be a checkpoint, got '4CZS-P9W9'.*rt.start\(agent, input, after=run_id\)"
    ):
        await agent.run("two", after="4CZS-P9W9")


async def test_the_next_turn_of_a_cancelled_conversation_answers_every_call_first() -> None:
    """Every call has a result before the next request, also when nobody ever decided."""
    model = ScriptedModel([call("refund", order="1"), call("refund", order="2")], "on we go")
    agent = Agent("turns", model=model, tools=[refund], policy=Policy([ask("refund", when={"order": "2"})], "allow"))
    outcome = await agent.run("one")
    assert is_paused(outcome)
    async with agent.stream(checkpoint=outcome.checkpoint, instruction="never mind") as run:
        await run.cancel()
        cancelled = await run.wait()
    assert cancelled.status == "cancelled"
    done = await agent.run("two", after=cancelled.checkpoint.to_json())
    assert done.output == "on we go"
    messages = model.requests[-1].messages
    at = next(n for n, m in enumerate(messages) if isinstance(m, AssistantMessage))
    following = messages[at + 1 : at + 3]
    assert [m.call_id for m in following if isinstance(m, ToolResult)] == [c.id for c in calls(messages[at])]
    assert isinstance(messages[-1], UserMessage)
    assert messages[-1].text == "two"


async def test_a_checkpoint_shows_the_conversation_the_input_and_the_cost() -> None:
    agent, _ = make_agent()
    done = await agent.run("one")
    seen = Checkpoint.from_json(done.checkpoint.to_json())
    assert seen.messages == [
        UserMessage("one"),
        AssistantMessage((ToolCall(id="call_0_0", tool="refund", args={"order": "1"}),), "scripted"),
        ToolResult("call_0_0", "refund", "refunded 1"),
        AssistantMessage((Text(text="first"),), "scripted"),
    ]
    assert (seen.run_id, seen.session, seen.status, seen.input) == (done.run_id, "", "completed", "one")
    assert seen.interrupts == []
    assert seen.usage == done.usage
    assert (seen.usage.requests, seen.usage.total_tokens > 0) == (2, True)
    assert seen.seq == len(seen.records)
    assert repr(seen) == f"Checkpoint(run_id={done.run_id!r}, status='completed', seq={seen.seq})"


def test_run_sync_and_resume_sync_are_for_programs_without_a_loop() -> None:
    agent, _ = make_agent(policy=Policy([ask("refund")]))
    outcome = agent.run_sync("one")
    assert is_paused(outcome)
    done = agent.resume_sync(outcome.checkpoint.to_json(), True)
    assert done.output == "first"
    assert agent.run_sync("two", after=done.checkpoint).output == "second"


async def test_inside_a_loop_they_say_to_use_await() -> None:
    agent, _ = make_agent()
    with pytest.raises(Misused, match=r"await agent\.run\("):
        agent.run_sync("one")
    with pytest.raises(Misused, match=r"await agent\.resume\("):
        agent.resume_sync("{}")


async def test_one_agent_has_any_number_of_runs_at_once() -> None:
    model = ScriptedModel([call("refund", order="1")], lambda m: f"for {getattr(m[0], 'text', '')}")
    agent = Agent("many", model=model, tools=[refund])
    outcomes = await asyncio.gather(*(agent.run(f"customer {n}") for n in range(30)))
    assert [o.output for o in outcomes] == [f"for customer {n}" for n in range(30)]
    assert len({o.run_id for o in outcomes}) == 30


async def test_whoever_continues_an_outcome_is_told_to_give_its_checkpoint() -> None:
    agent = Agent("chat", model=ScriptedModel("one", "two"))
    outcome: Any = await agent.run("a")
    with pytest.raises(CheckpointInvalid, match=r"got Completed; .*pass its \.checkpoint"):
        await agent.run("b", after=outcome)
