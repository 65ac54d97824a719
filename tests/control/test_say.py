"""Say: a message is read exactly once, at the next boundary, and the agent knows what it broke into."""

# pyright: reportAttributeAccessIssue=false, reportUnknownMemberType=false

import asyncio
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.control.conftest import Office
from tests.control.lives import stage
from tests.control.world import LIMIT, act, call, does, says, script

from adjourn import Completed, InterruptClosed, Paused, Refused
from adjourn.core.records import Replied, Said
from adjourn.core.thread import FRAME_LIFE, FRAMES


def heard(requests: list[list[dict[str, Any]]], text: str) -> list[int]:
    """How often each request contains the message."""
    return [[m.get("text") for m in messages if m["type"] == "user"].count(text) for messages in requests]


async def test_a_message_waits_for_the_tools_in_flight_and_is_read_once_after_their_results(office: Office) -> None:
    play = script("tools", does(act("a", gate="a"), act("b")), does(act("c")), says("done"))
    run = await office.start("solo", play)
    await office.ledger.until("tools", "act a", "acted b")
    await run.say("also look at Norway", by="ann")
    office.ledger.open("tools", "a")
    assert isinstance(await run.wait(LIMIT), Completed)
    requests = office.ledger.requests("tools")
    assert heard(requests, "also look at Norway") == [0, 1, 1]
    assert [m["type"] for m in requests[1]] == ["user", "assistant", "result", "result", "user", "user"]
    assert requests[1][-1]["text"] == "also look at Norway"
    assert office.ledger.lines("tools", "acted") == ["acted b", "acted a", "acted c"]


async def test_a_message_during_a_model_call_does_not_disturb_it_and_is_read_by_the_next(office: Office) -> None:
    play = script("model", says("first thought", gate="think"), says("second thought"))
    run = await office.start("solo", play)
    await office.ledger.until("model", "model asked 0")
    await run.say("one more thing", by="ann")
    await asyncio.sleep(0.1)
    office.ledger.open("model", "think")
    assert isinstance(outcome := await run.wait(LIMIT), Completed)
    assert outcome.output == "second thought"
    assert heard(office.ledger.requests("model"), "one more thing") == [0, 1]
    assert office.ledger.lines("model") == ["model asked 0", "model asked 1"]


async def test_many_messages_at_once_are_read_in_the_order_in_which_they_were_acknowledged(office: Office) -> None:
    run = await office.start("solo", script("many", does(act("a", gate="a")), says("done")))
    await office.ledger.until("many", "act a")
    await asyncio.gather(*(run.say(f"message {n}", by="ann") for n in range(20)))
    office.ledger.open("many", "a")
    assert isinstance(await run.wait(LIMIT), Completed)
    said = [x.text for x in await office.records("many") if isinstance(x, Said)]
    last = [m["text"] for m in office.ledger.requests("many")[-1] if m["type"] == "user"]
    assert last[-20:] == said
    assert sorted(said) == sorted(f"message {n}" for n in range(20))


async def test_the_same_request_says_it_once(office: Office) -> None:
    run = await office.start("solo", script("once", does(act("a", gate="a")), says("done")))
    await office.ledger.until("once", "act a")
    for _ in range(3):
        await run.say("only once", by="ann", request_id="click-1")
    office.ledger.open("once", "a")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert heard(office.ledger.requests("once"), "only once")[-1] == 1


async def test_a_message_while_a_question_is_open_waits_for_the_answer(office: Office) -> None:
    run = await office.start("solo", script("open", does(call("wonder", question="which?")), says("done")))
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    assert await run.say("hurry up", by="ann") == []
    await asyncio.sleep(0.4)
    assert [i.id for i in await office.desk.inbox(run="open")] == [outcome.interrupts[0].id]
    assert office.ledger.lines("open") == ["model asked 0"]
    await office.desk.answer(outcome.interrupts[0].id, "this one", by="bob")
    assert isinstance(await run.wait(LIMIT), Completed)
    last = office.ledger.requests("open")[-1]
    assert last[2]["content"] == "this one"
    assert last[-1]["text"] == "hurry up"


async def test_a_message_that_abandons_drops_the_questions_and_says_which(office: Office) -> None:
    play = script(
        "drop", does(call("wonder", question="which?"), call("half", name="h"), call("pay", name="p")), says("ok")
    )
    run = await office.start("solo", play)
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    questions = [i for i in outcome.interrupts if i.kind == "question"]
    dropped = await run.say("never mind, do something else", by="ann", abandon=True)
    assert [i.id for i in dropped] == [i.id for i in questions]
    assert [i.payload for i in dropped] == [{"question": "which?"}, {"question": "go on with h?"}]
    for question in questions:
        with pytest.raises(InterruptClosed, match="abandoned"):
            await office.desk.answer(question.id, "too late", by="bob")
    [approval] = await office.desk.inbox(run="drop")
    assert approval.kind == "approval"
    await office.desk.deny(approval.id, by="bob")
    assert isinstance(await run.wait(LIMIT), Completed)
    last = office.ledger.requests("drop")[-1]
    results = [m["content"] for m in last if m["type"] == "result"]
    assert "dropped" in results[0] and "dropped" in results[1]
    assert last[-1]["text"] == "never mind, do something else"


async def test_what_was_dropped_is_what_was_open_when_the_message_landed(office: Office) -> None:
    run = await office.start(
        "solo", script("race-say", does(call("wonder", question="a?"), call("wonder", question="b?")))
    )
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    first, second = outcome.interrupts
    dropped, _ = await asyncio.gather(
        run.say("never mind", by="ann", abandon=True), _ignore(office.desk.answer(first.id, "yes", by="bob"))
    )
    records = await office.records("race-say")
    said = next(n for n, x in enumerate(records) if isinstance(x, Said))
    answered = any(
        getattr(x, "i", "") and f"race:{x.i}" == first.id for x in records[:said] if type(x).__name__ == "Decided"
    )  # type: ignore[attr-defined] # pyright: ignore
    assert [i.id for i in dropped] == ([second.id] if answered else [first.id, second.id])


async def _ignore(work: Any) -> None:
    try:
        await work
    except InterruptClosed:
        pass


async def test_a_message_to_a_paused_run_is_read_when_it_goes_on(office: Office) -> None:
    run = await office.start("solo", script("paused", does(act("a"), gate="g"), says("done")))
    await office.ledger.until("paused", "model asked 0")
    await run.pause(by="ann")
    office.ledger.open("paused", "g")
    await run.wait(LIMIT)
    await run.say("first this", by="ann")
    assert await run.status() == "paused"
    await run.resume("then that", by="ann")
    assert isinstance(await run.wait(LIMIT), Completed)
    last = [m["text"] for m in office.ledger.requests("paused")[-1] if m["type"] == "user"]
    assert last[-2:] == ["first this", "then that"]


async def test_a_message_to_a_run_that_has_ended_is_refused(office: Office) -> None:
    run = await office.start("solo", script("ended", says("done")))
    await run.wait(LIMIT)
    with pytest.raises(Refused, match="it is completed"):
        await run.say("hello?", by="ann")


async def test_a_message_that_comes_with_the_end_makes_the_run_go_on(office: Office) -> None:
    for n in range(5):
        name = f"end{n}"
        run = await office.start("solo", script(name, says("first end", gate="g"), says("second end")))
        await office.ledger.until(name, "model asked 0")
        office.ledger.open(name, "g")
        await asyncio.sleep(0.002 * n)
        try:
            await run.say("wait", by="ann")
        except Refused:
            told = True
        else:
            told = False
        assert isinstance(outcome := await run.wait(LIMIT), Completed)
        assert outcome.output == ("first end" if told else "second end")


# Frames: what a message broke into


async def test_the_agent_is_told_what_it_was_doing_before_it_reads_the_message(office: Office) -> None:
    play = script("frame", does(act("a")), does(act("b", gate="b")), does(act("c")), says("done"))
    run = await office.start("solo", play)
    await office.ledger.until("frame", "act b")
    await run.say("and the weather?", by="ann")
    office.ledger.open("frame", "b")
    assert isinstance(await run.wait(LIMIT), Completed)
    note, message = office.ledger.requests("frame")[2][-2:]
    assert message["text"] == "and the weather?"
    assert note["text"].startswith("A message breaks into your work.")
    assert "Done: act, act." in note["text"]
    assert "go back to what you were doing" in note["text"]
    assert '"run":"frame"' in note["text"], "its goal"


async def test_a_message_after_the_last_answer_breaks_into_nothing(office: Office) -> None:
    run = await office.start("solo", script("fresh", says("an answer", gate="g"), says("another")))
    await office.ledger.until("fresh", "model asked 0")
    await run.say("next question", by="ann")
    office.ledger.open("fresh", "g")
    await run.wait(LIMIT)
    assert office.ledger.requests("fresh")[1][-2]["type"] == "assistant"


async def test_lines_of_interrupted_work_are_bounded_in_number_and_the_latest_comes_first(folder: Path) -> None:
    async with stage(folder) as on:
        count = FRAMES + 3
        run = await on.start(script("r", *(does(act(f"a{n}", gate=f"g{n}")) for n in range(count)), says("done")))
        for n in range(count):
            await on.until(lambda n=n: f"act a{n}" in on.ledger.lines("r"))
            await run.say(f"message {n}", by="ann")
            on.ledger.open("r", f"g{n}")
        await on.rest(run, "completed")
        note = on.ledger.requests("r")[count][-2]["text"]
        lines = [line for line in note.splitlines() if line.startswith("- ")]
        assert len(lines) == FRAMES
        assert lines[0].startswith(f"- 'message {count - 2}'")


async def test_lines_of_interrupted_work_expire(folder: Path) -> None:
    async with stage(folder) as on:
        run = await on.start(script("r", does(act("a", gate="a")), does(call("wonder", question="?")), says("done")))
        await on.until(lambda: "act a" in on.ledger.lines("r"))
        await run.say("first", by="ann")
        on.ledger.open("r", "a")
        await on.rest(run, "waiting")
        on.clock.advance(FRAME_LIFE + 1)
        [question] = (await run.state()).interrupts
        await run.say("second", by="ann")
        assert on.rt is not None
        await on.rt.answer(question.id, "yes", by="ann")
        await on.rest(run, "completed")
        note = on.ledger.requests("r")[2][-2]["text"]
        assert len([line for line in note.splitlines() if line.startswith("- ")]) == 1
        assert "- 'first'" in note


async def test_the_conversation_reads_the_same_after_a_restart(folder: Path) -> None:
    """Folded once as it happened and once from the journal: the notes about interrupted work are the same."""
    async with stage(folder) as on:
        run = await on.start(script("r", does(act("a", gate="a")), does(act("b", gate="b")), says("done")))
        for name in ("a", "b"):
            await on.until(lambda name=name: f"act {name}" in on.ledger.lines("r"))
            await run.say(f"about {name}", by="ann")
            on.ledger.open("r", name)
        await on.rest(run, "completed")
        seen = on.ledger.requests("r")[-1]
        now = json.loads(json.dumps(msgspec.to_builtins(await run.messages())))
        assert now[: len(seen)] == seen
        assert len([x for x in await on.records("r") if isinstance(x, Replied)]) == 3
