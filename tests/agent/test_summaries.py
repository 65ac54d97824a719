"""`summarise`: a summary stands for the beginning of a conversation, and is a step of the run."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Any

import pytest
from tests.agent.long_talks import conversation, look, looker, talk, words

from adjourn import Agent, Checkpoint, Flow, MaxCost, ModelError, RunFailed, Runtime, summarise
from adjourn.core.messages import AssistantMessage, Delta, Message, ModelRequest, Reply, Text, ToolResult, UserMessage
from adjourn.core.records import Summarised
from adjourn.core.summary import covered
from adjourn.core.thread import Thread
from adjourn.core.transcript import Transcript
from adjourn.core.usage import Usage
from adjourn.stores.memory import MemoryStore
from adjourn.testing import ScriptedModel, call
from adjourn.views.timeline import Timeline


def summariser(*texts: Any) -> ScriptedModel:
    used = Usage(requests=1, input_tokens=100, output_tokens=10, cost=0.5)
    return ScriptedModel(*(Reply((Text(text=t),), used, "small") if isinstance(t, str) else t for t in texts))


async def test_a_summary_stands_for_the_beginning_and_is_a_step_with_its_own_cost() -> None:
    small = summariser("they looked twice", "they looked four times")
    agent, model = looker(6, history=[summarise(after=6, keep=2, model=small)])
    outcome = await agent.run("find them")
    records = [x for x in outcome.checkpoint.records if isinstance(x, Summarised)]
    assert [(x.covers, x.text, x.model) for x in records] == [
        (5, "they looked twice", "small"), (11, "they looked four times", "small"),
    ]  # fmt: skip
    assert outcome.usage.cost == 1.0
    assert outcome.checkpoint.state.steps == 7 + 2
    last = words(model.requests[-1].messages)
    assert last == ["Summary of the conversation so far:\nthey looked four times", "find them", "call 5", "found 5"]
    [asked] = words(small.requests[1].messages)
    assert "they looked twice" in asked
    assert "found 0" not in asked
    assert len(outcome.checkpoint.messages) == 14


async def test_the_next_turn_begins_with_the_summary_and_makes_no_other() -> None:
    texts = iter(f"summary {n}" for n in range(9))

    def sum_up(messages: Sequence[Message]) -> str:
        return next(texts)

    small = ScriptedModel(*[sum_up] * 9)
    saved, model = await talk(8, history=[summarise(after=6, keep=2, model=small)])
    made = len(small.requests)
    assert 1 <= made <= 3
    assert words(model.requests[-1].messages)[0].endswith(f"summary {made - 1}")
    assert all(request.proof == "as sent" for request in saved.requests)
    assert len(saved.messages) == 16


class Both:
    """Looks and sums up."""

    name = "both"

    def __init__(self) -> None:
        self.script = ScriptedModel(*([call("look", n=n)] for n in range(3)), "done")
        self.told: list[str] = []

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        self.told.append(request.instructions)
        if request.instructions == "sum it up":
            yield Reply((Text(text="short"),), Usage(1, 1, 1), "both")
            return
        async for item in self.script.request(request):
            yield item


async def test_the_agent_s_own_model_summarises_if_no_other_is_named() -> None:
    model = Both()
    history = [summarise(after=4, keep=1, instructions="sum it up")]
    await Agent("a", model=model, tools=[look], history=history).run("go")
    assert model.told.count("sum it up") == 1


async def test_a_summary_counts_against_the_limits_before_the_next_request() -> None:
    agent, model = looker(9, history=[summarise(after=4, keep=1, model=summariser("dear"))])
    outcome = await Agent("looker", model=model, tools=[look], history=agent.history.processors, stop=MaxCost(0.4)).run(
        "find them"
    )
    assert outcome.status == "stopped"
    assert len(model.requests) == 2


async def test_a_summariser_that_fails_is_tried_again_and_then_a_person_is_asked() -> None:
    busy = ModelError("busy", transient=True, retry_after=0.0)
    agent, model = looker(
        4, history=[summarise(after=4, keep=1, model=summariser(busy, "after all", "and again", "and again"))]
    )
    outcome = await agent.run("find them")
    assert outcome.output == "done"
    agent, model = looker(
        4, history=[summarise(after=4, keep=1, model=summariser(ModelError("no key"), "after all", "and again"))]
    )
    with pytest.raises(RunFailed, match="no key") as failed:
        await agent.run("find them")
    asked = len(model.requests)
    assert failed.value.checkpoint is not None
    [interrupt] = failed.value.checkpoint.interrupts
    assert interrupt.local == "summary:?0"
    done = await agent.resume(failed.value.checkpoint, "retry", by="ana")
    assert done.output == "done"
    assert asked == 2


async def test_a_summary_without_words_is_a_failure() -> None:
    agent, _ = looker(4, history=[summarise(after=4, keep=1, model=summariser("  "))])
    with pytest.raises(RunFailed, match="gave no summary"):
        await agent.run("find them")


async def test_a_summary_that_was_recorded_is_not_made_again_wherever_the_worker_died() -> None:
    agent, _ = looker(4, history=[summarise(after=4, keep=1, model=summariser("one", "two", "three"))])
    records = (await agent.run("find them")).checkpoint.records
    texts = [x.text for x in records if isinstance(x, Summarised)]
    assert len(texts) == 2
    for died in range(2, len(records)):
        small = summariser("one", "two", "three")
        agent, _ = looker(4, history=[summarise(after=4, keep=1, model=small)])
        left = Checkpoint(records[:died])
        done = await agent.resume(left)
        assert [x.text for x in done.checkpoint.records if isinstance(x, Summarised)] == texts
        assert len(small.requests) == 2 - sum(isinstance(x, Summarised) for x in records[:died])
        assert {request.proof for request in done.checkpoint.requests} == {"as sent"}


async def test_a_pause_cuts_a_summary_off_and_the_next_worker_makes_it() -> None:
    small = summariser("once", "twice", "thrice")
    small.delay = 3600
    agent, _ = looker(4, history=[summarise(after=4, keep=1, model=small)])
    async with agent.stream("find them") as run:
        while not small.requests:
            await asyncio.sleep(0)
        await run.pause(now=True)
        await run.wait()
        saved = run.checkpoint
    [cut] = [x for x in saved.records if isinstance(x, Summarised)]
    assert (cut.covers, cut.text, cut.usage.estimated) == (0, "", True)
    assert all(
        isinstance(m, UserMessage | AssistantMessage | ToolResult) and not getattr(m, "interrupted", False)
        for m in saved.messages
    )
    small.delay = 0
    done = await agent.resume(saved)
    assert done.output == "done"
    assert [x.text for x in done.checkpoint.records if isinstance(x, Summarised)] == ["", "twice", "thrice"]


def test_a_summary_never_ends_between_a_call_and_its_result() -> None:
    thread = Thread("", "a", transcript=Transcript(conversation(["calls", "calls"])))
    assert [covered(thread, 5, keep) for keep in (1, 2, 3, 4)] == [5, 5, 5, 5]
    assert covered(thread, 9, 1) == 0
    assert covered(Thread("", "a", transcript=Transcript(conversation(["calls"]))), 3, 1) == 1


async def test_a_timeline_shows_the_summary_as_a_step() -> None:
    agent, _ = looker(4, history=[summarise(after=4, keep=1, model=summariser("short", "shorter"))])
    outcome = await agent.run("find them")
    steps = Timeline.of(list(enumerate(outcome.checkpoint.records, 1))).steps
    [first, *_] = [step for step in steps if step.kind == "summary"]
    assert (first.name, first.said, first.note, first.tokens) == ("summary", "short", "of the first 3 messages", 110)


def inner() -> Agent:
    small = summariser(*(f"summary {n}" for n in range(9)))
    script = ScriptedModel(*([call("look", n=n)] for n in range(5)), "found")
    return Agent("inner", model=script, tools=[look], history=[summarise(after=4, keep=1, model=small)])


def nested() -> Agent:
    script = ScriptedModel([call("inner", input="a"), call("inner", input="b")], "done")
    return Agent("outer", model=script, tools=[inner().as_tool()])


def in_a_flow() -> Flow:
    flow = Flow("steps")
    flow.to(inner())
    return flow


@pytest.mark.parametrize(("make", "summaries"), [(nested, 4), (in_a_flow, 2)])
async def test_agents_inside_others_have_summaries_of_their_own(make: Any, summaries: int) -> None:
    program = make()
    async with Runtime(MemoryStore(), [program]) as rt:
        run = await rt.start(program, "go")
        outcome = await run.wait(10)
        found = await run.requests()
    assert outcome.status == "completed"
    assert {request.proof for request in found} == {"as sent"}
    assert [request.what for request in found].count("summary") == summaries
    assert outcome.usage.cost == 0.5 * summaries
