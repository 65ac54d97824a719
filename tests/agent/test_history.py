"""`Agent(history=[…])`: what of a conversation a model is sent. The conversation itself stays whole."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.agent.long_talks import conversation, look, looker, talk, words

from adjourn import (
    Agent,
    Checkpoint,
    InvalidDefinition,
    ModelError,
    RunFailed,
    drop_tool_results,
    summarise,
    trim,
)
from adjourn.agent.history import DROPPED, DropToolResults, History, Trim
from adjourn.core.messages import AssistantMessage, Message, ToolCall, ToolResult, UserMessage
from adjourn.core.records import Replied
from adjourn.core.request_digest import unpaired
from adjourn.testing import ScriptedModel, call

# trim


async def test_a_chat_is_sent_its_last_messages_and_keeps_all_of_them() -> None:
    saved, model = await talk(6, history=[trim(messages=3)])
    assert words(model.requests[-1].messages) == ["question 4", "answer 4", "question 5"]
    assert words(saved.messages) == [f"{what} {n}" for n in range(6) for what in ("question", "answer")]


async def test_a_short_conversation_is_sent_whole_and_its_record_says_nothing_of_it() -> None:
    saved, _ = await talk(2, history=[trim(messages=20)])
    [reply] = [record for record in saved.records if isinstance(record, Replied)]
    assert reply.sent is not None and reply.sent.messages is None


async def test_a_call_and_its_result_go_together_and_what_was_asked_for_stays() -> None:
    agent, model = looker(5, history=[trim(messages=4)])
    await agent.run("find them")
    assert words(model.requests[-1].messages) == ["find them", "call 4", "found 4"]
    assert words(model.requests[-2].messages) == ["find them", "call 3", "found 3"]


async def test_what_a_person_just_said_stays_with_what_the_model_has_not_read_yet() -> None:
    thread: list[Message] = [UserMessage("find them")]
    for n in range(4):
        thread += [
            AssistantMessage((ToolCall(id=str(n), tool="look", args={"n": n}),)),
            ToolResult(str(n), "look", f"found {n}"),
        ]
    said = UserMessage("stop looking")
    kept = Trim(messages=1).process([*thread, said], [said])
    assert words(kept) == ["find them", "call 3", "found 3", "stop looking"]


async def test_what_a_person_said_on_the_way_stays_when_it_was_read_long_ago() -> None:
    model = ScriptedModel(*([call("look", n=n)] for n in range(6)), "done", delay=0.001)
    agent = Agent("looker", model=model, tools=[look], history=[trim(messages=4)])
    async with agent.stream("find them") as run:
        await run.say("only the first")
        outcome = await run.wait()
    assert outcome.status == "completed"
    assert words(model.requests[-1].messages) == ["only the first", "call 5", "found 5"]


async def test_tokens_are_a_limit_too() -> None:
    agent, model = looker(5, history=[trim(tokens=260)])
    await agent.run("find them")
    sizes = [len(request.messages) for request in model.requests]
    assert sizes == [1, 3, 5, 5, 5, 5]


PARTS = st.lists(st.sampled_from(["user", "text", "call", "calls"]), min_size=1, max_size=12)


@given(PARTS, st.integers(1, 8), st.data())
def test_whatever_is_trimmed_has_its_pairs_its_order_and_the_instruction(
    kinds: list[str], most: int, data: Any
) -> None:
    messages = conversation(kinds)
    told = data.draw(st.sampled_from([m for m in messages if isinstance(m, UserMessage)]))
    for processor in (Trim(messages=most), Trim(tokens=most * 40), DropToolResults(most)):
        kept = list(processor.process(messages, [told]))
        assert not unpaired(kept)
        assert told in kept
        assert isinstance(kept[0], UserMessage)
        assert kept[-1] == messages[-1]
        if isinstance(processor, Trim):
            places = [next(n for n, m in enumerate(messages) if m is one) for one in kept]
            assert places == sorted(set(places))
            assert list(processor.process(kept, [told])) == kept


# drop_tool_results


async def test_old_results_are_a_note_and_the_latest_are_as_they_were() -> None:
    agent, model = looker(4, history=[drop_tool_results(keep=2)])
    outcome = await agent.run("find them")
    sent = model.requests[-1].messages
    assert [m.content == DROPPED for m in sent if isinstance(m, ToolResult)] == [True, True, False, False]
    assert [m.content == DROPPED for m in outcome.checkpoint.messages if isinstance(m, ToolResult)] == [False] * 4


async def test_results_that_no_model_has_read_are_never_dropped() -> None:
    calls = [call("look", n=n) for n in range(4)]
    model = ScriptedModel(calls, [call("look", n=9)], "done")
    await Agent("many", model=model, tools=[look], history=[drop_tool_results(keep=0)]).run("go")
    assert [m.content == DROPPED for m in model.requests[1].messages if isinstance(m, ToolResult)] == [False] * 4
    assert [m.content == DROPPED for m in model.requests[2].messages if isinstance(m, ToolResult)] == [True] * 4 + [
        False
    ]


async def test_what_a_turn_records_of_its_request_does_not_grow_with_the_conversation() -> None:
    agent, _ = looker(60, history=[drop_tool_results(keep=3)])
    outcome = await agent.run("find them")
    items = [len(x.sent.messages or ()) for x in outcome.checkpoint.records if isinstance(x, Replied) and x.sent]
    assert len(items) > 50 and max(items) <= 3


# What was sent can be shown


@pytest.mark.parametrize(
    "history",
    [
        [],
        [trim(messages=4)],
        [drop_tool_results(keep=1)],
        [drop_tool_results(keep=1), trim(messages=5)],
        [summarise(after=5, keep=2), drop_tool_results(keep=1)],
        [lambda messages: [UserMessage("be quick"), *messages]],  # pyright: ignore
    ],
    ids=["all", "trim", "drop", "drop and trim", "summarise and drop", "own"],
)
async def test_every_request_is_made_again_from_the_journal_alone(history: list[Any]) -> None:
    script = [
        [call("look", n=1)],
        "one",
        [call("look", n=2), call("look", n=3)],
        [call("look", n=4)],
        "two",
        "three",
        "four",
    ]
    models = [ScriptedModel(*script)]  # pyright: ignore[reportArgumentType]
    if any("summarise" in repr(one) for one in history):
        models.append(ScriptedModel(*(f"summary {n}" for n in range(20))))
        history = [summarise(after=5, keep=2, model=models[1]), *history[1:]]
    agent = Agent(
        "a", model=models[0], tools=[look], instructions="be kind", settings={"temperature": 0}, history=history
    )
    last, made = None, list[Any]()
    for text in ("go", "on", "and on", "and on and on"):
        last = (await agent.run(text, after=last)).checkpoint
        made += Checkpoint.from_json(last.to_json()).requests
    sent = [request for model in models for request in model.requests]
    assert [request.proof for request in made] == ["as sent"] * len(sent)
    assert sorted(repr(r.messages) for r in made) == sorted(repr(r.messages) for r in sent)
    replies = [request for request in made if request.what == "reply"]
    assert {request.terms.instructions for request in replies} == {"be kind"}
    assert {request.terms.tools[0]["name"] for request in replies} == {"look"}


async def test_a_journal_that_was_altered_does_not_have_the_digest() -> None:
    saved, _ = await talk(1)
    [first, *rest] = saved.records
    forged = Checkpoint([msgspec.structs.replace(first, input="something else"), *rest])
    assert [request.proof for request in forged.requests] == ["differs"]


async def test_a_journal_without_digests_says_so() -> None:
    saved, _ = await talk(1)
    old = [msgspec.structs.replace(x, request="", sent=None) if isinstance(x, Replied) else x for x in saved.records]
    [request] = Checkpoint(old).requests
    assert (request.proof, request.terms, words(request.messages)) == ("not recorded", None, ["question 0"])


async def test_what_two_agents_of_one_run_share_is_written_once() -> None:
    inner = Agent("inner", model=ScriptedModel("found"), instructions="look " * 100)
    outer = Agent(
        "outer", model=ScriptedModel([call("inner", input="a"), call("inner", input="b")], [call("inner", input="c")], "done"),
        tools=[inner.as_tool()], instructions="ask " * 100,
    )  # fmt: skip
    outcome = await outer.run("go")
    replies = [x for x in outcome.checkpoint.records if isinstance(x, Replied)]
    assert sum("look look" in repr(x.sent) for x in replies if x.path) <= 2
    assert sum("ask ask" in repr(x.sent) for x in replies) == 1
    assert {request.proof for request in outcome.checkpoint.requests} == {"as sent"}


async def test_a_request_that_was_cut_off_can_be_shown_too() -> None:
    model = ScriptedModel("never", delay=3600)
    agent = Agent("slow", model=model, history=[trim(messages=2)])
    async with agent.stream("go") as run:
        while not model.requests:
            await asyncio.sleep(0)
        await run.pause(now=True)
        await run.wait()
        [request] = run.checkpoint.requests
    assert (request.what, request.proof) == ("cut off", "as sent")


async def test_settings_that_may_hold_a_password_are_not_recorded() -> None:
    settings = {"temperature": 0.5, "extra_headers": {"x-key": "secret"}, "timeout": object()}
    agent = Agent("a", model=ScriptedModel("ok"), settings=settings)
    saved = (await agent.run("go")).checkpoint
    assert "secret" not in saved.to_json()
    [request] = saved.requests
    assert request.proof == "as sent"
    assert request.terms is not None
    assert request.terms.settings == {
        "temperature": 0.5, "extra_headers": "(not recorded)", "timeout": "(not recorded)",
    }  # fmt: skip


async def test_instructions_that_are_a_function_are_recorded_as_they_were_sent() -> None:
    texts = iter(["first", "second", "second"])
    model = ScriptedModel([call("look", n=1)], [call("look", n=2)], "done")
    agent = Agent("a", model=model, tools=[look], instructions=lambda ctx: next(texts))
    saved = (await agent.run("go")).checkpoint
    found = [(request.proof, request.terms and request.terms.instructions) for request in saved.requests]
    assert found == [("as sent", "first"), ("as sent", "second"), ("as sent", "second")]


# A processor that does not do its work


def refuses(messages: Sequence[Message]) -> Sequence[Message]:
    raise ValueError("no")


def forgets(messages: Sequence[Message]) -> Any:
    return None


def strange(messages: Sequence[Message]) -> Any:
    return [*messages, "a text"]


def empties(messages: Sequence[Message]) -> Sequence[Message]:
    return []


def breaks(messages: Sequence[Message]) -> Sequence[Message]:
    return [message for message in messages if not isinstance(message, AssistantMessage)]


@pytest.mark.parametrize(
    ("processor", "says"),
    [
        (refuses, "refuses of agent 'a' raised ValueError: no"),
        (forgets, "forgets of agent 'a' gave nothing, not a list of messages"),
        (strange, "strange of agent 'a' gave str 'a text' among the messages"),
        (empties, "empties of agent 'a' gave no messages at all"),
    ],
)
async def test_the_run_fails_with_the_processor_s_name_and_goes_on_once_it_is_corrected(
    processor: Any, says: str
) -> None:
    model = ScriptedModel(ModelError("never"), "done")
    with pytest.raises(RunFailed, match=says) as failed:
        await Agent("a", model=model, history=[processor]).run("go")
    assert model.requests == []
    again = Agent("a", model=ScriptedModel("never", "done"), history=[trim(messages=3)])
    assert failed.value.checkpoint is not None
    assert (await again.resume(failed.value.checkpoint, "retry", by="ana")).output == "done"


async def test_a_pair_that_a_processor_broke_is_found_before_a_provider_refuses_it() -> None:
    model = ScriptedModel([call("look", n=1)], "done")
    with pytest.raises(RunFailed, match=r"breaks of agent 'a' broke a pair: the result of look \(.*\) has no call"):
        await Agent("a", model=model, tools=[look], history=[breaks]).run("go")
    assert len(model.requests) == 1


async def later(messages: Sequence[Message]) -> Sequence[Message]:
    return messages


@pytest.mark.parametrize(
    ("history", "says"),
    [
        ([trim], r"history=\[trim\] needs its limits: call trim\(…\)"),
        (["trim"], "a history processor must be a plain function of one argument, the messages"),
        ([later], "later is not"),
        ([list], "is not"),
        ([lambda one, two: one], "is not"),  # pyright: ignore
        ([list], "list is not"),
        ([trim(messages=3), summarise(after=90)], "must be the first of history="),
        ([summarise(after=99), summarise(after=99)], "must be the first of history=, and the only one"),
        ("trim", "history= must be a list of processors"),
        (3, "history= must be a list of processors"),
    ],
)
def test_what_is_no_processor_is_refused_where_it_is_written(history: Any, says: str) -> None:
    with pytest.raises(InvalidDefinition, match=says):
        Agent("a", model=ScriptedModel(), history=history)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: trim(), "trim takes a limit"),
        (lambda: trim(messages=0), "messages= must be an integer of at least 1"),
        (lambda: trim(tokens=True), "tokens= must be an integer"),
        (lambda: drop_tool_results(keep=-1), "keep= must be an integer of at least 0"),
        (lambda: summarise(after=5, keep=5), "keep= must be less than after="),
        (lambda: summarise(after=5, keep=0), "keep= must be an integer of at least 1"),
        (lambda: summarise(after=50, instructions=""), "instructions= must be a non-empty string"),
        (lambda: summarise(after=50, model="gpt"), "does not name its provider"),
    ],
)
def test_a_limit_that_means_nothing_is_refused(make: Any, says: str) -> None:
    with pytest.raises(InvalidDefinition, match=says):
        make()


def test_another_history_is_no_change_of_the_program() -> None:
    one, other = (Agent("a", model=ScriptedModel(), history=h) for h in ([], [trim(messages=3)]))
    assert one.fingerprint == other.fingerprint


def test_histories_that_are_alike_are_equal() -> None:
    assert History("a", [trim(messages=3)]) == History("a", [trim(messages=3)])
    assert History("a", [trim(messages=3)]) != History("a", [trim(messages=4)])
