"""The translation is pure: wherever a front end was cut off, what it has and what it is told add up to the same messages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.front_ends.world import cashier

from adjourn import Agent, Runtime
from adjourn.core.records import AnyRecord, Faulted, Replied
from adjourn.driver.live_feed import Published, TextArrived
from adjourn.server.front_ends.ag_ui import AgUiPlace, AgUiStream
from adjourn.server.front_ends.shown_event import (
    CallAnswered,
    CallShown,
    ItemShown,
    Shown,
    ShownMessages,
    Spoken,
    TextAdded,
    TextClosed,
    TextDropped,
    TextOpened,
)
from adjourn.server.front_ends.translator import RunTranslator
from adjourn.testing import ScriptedModel, call


async def journal(folder: Path, agent: Agent[Any] | None = None) -> list[tuple[int, AnyRecord]]:
    """A run with a denied, an approved and a free call, and what somebody said to it in between."""
    async with Runtime("memory://", [one := agent or cashier(folder)]) as rt:
        run = await rt.start(one, "refund both", run_id="R")
        await run.wait()
        for number, asked in enumerate(await rt.inbox()):
            if number:
                await run.say("be kind", by="lena")
            await (rt.deny if number else rt.approve)(asked, by="ana")
        await run.wait()
        return await rt.store.load("R")


def told(records: Sequence[tuple[int, AnyRecord]]) -> list[Shown]:
    translator = RunTranslator("R")
    return [event for seq, record in records for event in translator.record(seq, record)]


def applied(messages: dict[str, Any], wire: dict[str, Any]) -> dict[str, Any]:
    """What a client makes of an event, by the protocol."""
    match wire["type"]:
        case "MESSAGES_SNAPSHOT":
            return {m["id"]: m for m in wire["messages"]}
        case "TEXT_MESSAGE_START":
            messages[wire["messageId"]] = {"id": wire["messageId"], "role": wire["role"], "content": ""}
        case "TEXT_MESSAGE_CONTENT":
            messages[wire["messageId"]]["content"] += wire["delta"]
        case "TOOL_CALL_START":
            parent = messages.setdefault(wire["parentMessageId"], {"id": wire["parentMessageId"], "role": "assistant"})
            called = {
                "id": wire["toolCallId"],
                "type": "function",
                "function": {"name": wire["toolCallName"], "arguments": ""},
            }
            parent.setdefault("toolCalls", []).append(called)
        case "TOOL_CALL_ARGS":
            [of] = [c for m in messages.values() for c in m.get("toolCalls", ()) if c["id"] == wire["toolCallId"]]
            of["function"]["arguments"] += wire["delta"]
        case "TOOL_CALL_RESULT":
            messages[wire["messageId"]] = {
                "id": wire["messageId"],
                "role": "tool",
                "content": wire["content"],
                "toolCallId": wire["toolCallId"],
            }
        case _:
            pass
    return messages


async def test_from_every_position_the_rest_adds_up_to_the_same_messages(tmp_path: Path) -> None:
    records, found = await journal(tmp_path), list[list[Any]]()
    own = {"id": "mine", "role": "user", "content": "refund both"}
    for cut in range(len(records) + 1):
        stream, translator = AgUiStream(AgUiPlace("t", "r", "R", (own,), has_input=True)), RunTranslator("R")
        for seq, record in records[:cut]:
            for event in translator.record(seq, record):
                stream.told(event)
        messages = dict[str, Any]({"half": {"id": "half", "role": "assistant", "content": "All i"}})
        for wire in stream.begin(restate=True):
            messages = applied(messages, wire)
        for seq, record in records[cut:]:
            for event in translator.record(seq, record):
                for wire in stream.event(event):
                    messages = applied(messages, wire)
        found.append([{**m, "error": ""} for m in messages.values()])
    assert all(one == found[0] for one in found)
    assert sorted(m["role"] for m in found[0]) == ["assistant", "assistant", "tool", "tool", "tool", "user", "user"]


async def test_every_call_is_shown_once_and_answered_once(tmp_path: Path) -> None:
    events = told(await journal(tmp_path))
    calls = [event.id for event in events if isinstance(event, CallShown)]
    answers = [event for event in events if isinstance(event, CallAnswered)]
    assert sorted(calls) == sorted(answer.id for answer in answers) and len({*calls}) == 3
    assert [answer.denied for answer in answers].count(True) == 1
    assert [event.text for event in events if isinstance(event, Spoken)] == ["refund both", "be kind"]


async def test_calls_of_a_nested_agent_are_shown_because_people_are_asked_about_them(tmp_path: Path) -> None:
    model = ScriptedModel([call("cashier", input="please")], "the cashier did it")
    events = told(await journal(tmp_path, Agent("boss", model=model, tools=[cashier(tmp_path).as_tool()])))
    calls = [event.tool for event in events if isinstance(event, CallShown)]
    assert calls == ["cashier", "get_order", "refund", "refund"]
    assert {e.id for e in events if isinstance(e, CallAnswered)} == {e.id for e in events if isinstance(e, CallShown)}
    assert (
        "".join(e.text for e in events if isinstance(e, TextAdded)) == "the cashier did it"
    )  # not what is said inside


def piece(text: str, at: int, upto: int = 1, **more: Any) -> TextArrived:
    return TextArrived("R", "", text, offset=at, upto=upto, **more)


@pytest.fixture
async def begun(tmp_path: Path) -> tuple[RunTranslator, list[tuple[int, AnyRecord]]]:
    """A translator that was told everything before the first reply, and the rest."""
    records = await journal(tmp_path)
    translator, first = RunTranslator("R"), next(n for n, (_, x) in enumerate(records) if isinstance(x, Replied))
    for seq, record in records[:first]:
        list(translator.record(seq, record))
    return translator, records[first:]


Begun = tuple[RunTranslator, list[tuple[int, AnyRecord]]]


def upto_of(rest: list[tuple[int, AnyRecord]]) -> int:
    [(_, reply), *_] = rest
    assert isinstance(reply, Replied)
    return reply.upto


async def test_what_was_streamed_is_not_said_again_by_the_record(begun: Begun) -> None:
    translator, rest = begun
    upto = upto_of(rest)
    live = [
        piece("Let", 0, upto),
        piece("Let me", 0, upto, whole=True),
        piece(" lo", 6, upto),
        piece("beyond", 99, upto),
    ]
    events = [event for item in live for event in translator.live(item)]
    events += list(translator.record(*rest[0]))
    texts = [event for event in events if isinstance(event, TextOpened | TextAdded | TextClosed)]
    assert [type(event).__name__ for event in texts] == ["TextOpened", *["TextAdded"] * 4, "TextClosed"]
    assert "".join(event.text for event in texts if isinstance(event, TextAdded)) == "Let me look. "
    assert {event.id for event in texts} == {event.message for event in events if isinstance(event, CallShown)}


async def test_text_that_comes_before_the_records_that_it_follows_waits_for_them(begun: Begun) -> None:
    translator, rest = begun
    later = next(record.upto for _, record in rest[1:] if isinstance(record, Replied))
    assert list(translator.live(piece("All", 0, later))) == []
    found: list[tuple[int, Shown]] = []
    for seq, record in rest:
        found += [(seq, event) for event in translator.record(seq, record)]
    [(when, _)] = [(seq, event) for seq, event in found if isinstance(event, TextAdded) and event.text == "All"]
    assert when == later


async def test_a_reply_that_broke_off_is_dropped_and_another_one_begins(begun: Begun) -> None:
    translator, rest = begun
    upto = upto_of(rest)
    stream, seen = AgUiStream(AgUiPlace("t", "r", "R")), list[dict[str, Any]]()
    failed = Faulted(step="model:", error="gone", transient=True)
    events = [*translator.live(piece("Garbage", 0, upto)), *translator.record(rest[0][0], failed)]
    assert [type(e) for e in events if isinstance(e, TextDropped)] == [TextDropped]
    for event in events:
        seen += stream.event(event)
    assert [event["type"] for event in seen][-2:] == ["TEXT_MESSAGE_END", "MESSAGES_SNAPSHOT"]
    assert seen[-1]["messages"] == []
    _, reply = rest[0]
    other = [event for event in translator.record(rest[0][0] + 1, reply) if isinstance(event, TextAdded)]
    assert [event.text for event in other] == ["Let me look. "]


async def test_a_record_that_says_otherwise_replaces_what_was_streamed(begun: Begun) -> None:
    translator, rest = begun
    events = [*translator.live(piece("Nonsense", 0, upto_of(rest))), *translator.record(*rest[0])]
    messages = ShownMessages()
    for event in events:
        messages.add(event)
    assert [m.text for m in messages if m.role == "assistant"] == ["Let me look. "]


async def test_what_a_body_publishes_is_passed_on(begun: Begun) -> None:
    translator, _ = begun
    [item] = translator.live(Published("R", "1.0", {"done": 3}))
    assert isinstance(item, ItemShown) and item.item == {"done": 3}
    [wire] = AgUiStream(AgUiPlace("t", "r", "R")).event(item)
    assert wire == {"type": "CUSTOM", "name": "adjourn.published", "value": {"call": "R:1.0", "item": {"done": 3}}}
