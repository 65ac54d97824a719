"""Pause and resume, from another process than the one that works."""

import asyncio
import time
from typing import Any

from tests.again import in_time
from tests.control.conftest import Office
from tests.control.world import LIMIT, act, call, does, says, script, tell

from adjourn import Completed, Paused, Run
from adjourn.core.records import Broke, Intended, Parked, PauseAsked, Replied, Resumed, Returned, Yielded


async def until(run: Run[Any], status: str) -> None:
    async with asyncio.timeout(LIMIT):
        while await run.status() != status:
            await asyncio.sleep(0.005)


async def test_a_pause_at_a_boundary_lets_the_model_call_finish_and_starts_none_of_its_calls(office: Office) -> None:
    play = script("boundary", does(act("a"), gate="think"), says("done"))
    run = await office.start("solo", play)
    await office.ledger.until("boundary", "model asked 0")
    await run.pause(by="ann", reason="have a look")
    assert await run.status() == "pausing"
    now = (await run.state()).now
    assert (now.verb, now.tools) == ("finishing", ())
    office.ledger.open("boundary", "think")
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    assert outcome.status == "paused"
    assert office.ledger.lines("boundary") == ["model asked 0"]
    records = await office.records("boundary")
    assert [type(x) for x in records[2:]] == [PauseAsked, Replied, Parked]
    now = (await run.state()).now
    assert (now.verb, now.by, now.reason) == ("paused", "ann", "have a look")
    await run.resume(by="ann")
    assert isinstance(outcome := await run.wait(LIMIT), Completed)
    assert outcome.output == "done"
    assert office.ledger.lines("boundary", "act", "acted") == ["act a", "acted a"]


async def test_pause_now_cuts_the_model_call_and_what_it_said_is_kept_before_the_instruction(office: Office) -> None:
    play = script("now", does(act("a")), says("", pieces=["The first ", "three words"], gate="never"), says("done"))
    run = await office.start("solo", play)
    await office.ledger.until("now", "model asked 1")
    await asyncio.sleep(0.1)  # so that the pieces have arrived
    asked = time.monotonic()
    await run.pause(now=True, by="ann")
    await office.ledger.until("now", "model cut 1")
    took = office.ledger.at("now", "model cut 1") - asked
    print(f"pause now: the model call in another process was cut after {took * 1000:.0f} ms")
    in_time(took, 1.0)
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    assert outcome.status == "paused"
    [broke] = [x for x in await office.records("now") if isinstance(x, Broke)]
    assert broke.text == "The first three words"
    assert broke.usage.estimated
    assert broke.usage.requests == 1
    assert outcome.usage.output_tokens == 5 + len("The first three words") // 4
    assert outcome.usage.input_tokens > 10
    await run.resume("summarise what you have and stop", by="ann")
    assert isinstance(outcome := await run.wait(LIMIT), Completed)
    assert outcome.usage.requests == 3
    last = office.ledger.requests("now")[-1]
    assert [m["type"] for m in last] == ["user", "assistant", "result", "assistant", "user", "user"]
    assert last[3] == {
        "type": "assistant",
        "parts": [{"type": "text", "text": "The first three words"}],
        "interrupted": True,
    }
    assert "cut off" in last[4]["text"] and "Done: act" in last[4]["text"]
    assert last[5]["text"] == "summarise what you have and stop"
    assert office.ledger.lines("now", "act") == ["act a"]


async def test_tools_in_flight_finish_and_are_recorded_and_pausing_says_what_it_waits_for(office: Office) -> None:
    play = script("tools-finish", does(act("a", gate="a"), act("b", gate="b")), says("done"))
    run = await office.start("solo", play)
    await office.ledger.until("tools-finish", "act a", "act b")
    await run.pause(now=True, by="ann")
    office.ledger.open("tools-finish", "a")
    await office.ledger.until("tools-finish", "acted a")
    assert await run.status() == "pausing"
    async with asyncio.timeout(LIMIT):
        while len(waits := list((await run.state()).calls)) > 1:
            await asyncio.sleep(0.005)
    [call] = waits
    assert (call.call_id, call.tool, call.phase) == ("1.1", "act", "intended")
    assert call.arguments == {"name": "b", "gate": "b"}
    now = (await run.state()).now
    assert (now.verb, now.tools) == ("finishing", ("act",))
    office.ledger.open("tools-finish", "b")
    assert (await run.wait(LIMIT)).status == "paused"
    assert [x.call for x in await office.records("tools-finish") if isinstance(x, Returned)] == ["1.0", "1.1"]
    assert office.ledger.lines("tools-finish", "model") == ["model asked 0"]
    await run.resume(by="ann")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("tools-finish", "act", "acted") == ["act a", "act b", "acted a", "acted b"]


async def test_a_tool_that_saves_its_progress_stops_there_and_goes_on_from_there(office: Office) -> None:
    play = script("save", does(call("crawl", pages=4)), says("done"))
    run = await office.start("solo", play)
    office.ledger.open("save", "page0")
    await office.ledger.until("save", "page 1")
    await run.pause(by="ann")
    async with asyncio.timeout(LIMIT):
        while await run.status() != "pausing":
            await asyncio.sleep(0.005)
    await asyncio.sleep(0.1)  # so that the worker has heard it
    office.ledger.open("save", "page1", "page2", "page3")
    assert (await run.wait(LIMIT)).status == "paused"
    assert office.ledger.lines("save", "page") == ["page 0", "page 1"]
    assert [x.call for x in await office.records("save") if isinstance(x, Yielded)] == ["1.0"]
    await run.resume(by="ann")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("save", "page") == ["page 0", "page 1", "page 2", "page 3"]


async def test_a_paused_run_is_touched_by_nobody_and_budgets_carry_over(office: Office) -> None:
    play = script("idle", does(act("a"), gate="think", usage=(100, 50, 0.5)), says("done", usage=(10, 5, 0.25)))
    run = await office.start("solo", play)
    await office.ledger.until("idle", "model asked 0")
    await run.pause(by="ann")
    office.ledger.open("idle", "think")
    before = await run.wait(LIMIT)
    await asyncio.sleep(0.4)  # a sweep of the worker
    assert len(await office.records("idle")) == before.checkpoint.seq
    assert before.usage.total_tokens == 150
    await run.resume(by="ann")
    after = await run.wait(LIMIT)
    assert (after.usage.total_tokens, after.usage.cost, after.usage.requests) == (165, 0.75, 2)


async def test_a_run_that_waits_is_paused_at_once_and_an_answer_then_changes_nothing_until_it_is_resumed(
    office: Office,
) -> None:
    run = await office.start("solo", script("waits", does(call("pay", name="a")), says("done")))
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    await run.pause(by="ann")
    assert await run.status() == "paused"
    await office.desk.approve(outcome.interrupts[0].id, by="bob")
    await asyncio.sleep(0.4)
    assert await run.status() == "paused"
    assert office.ledger.lines("waits", "act") == []
    await run.resume(by="ann")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("waits", "act") == ["act a"]


async def test_a_pause_can_be_made_more_urgent_and_taken_back(office: Office) -> None:
    play = script("urgent", says("", pieces=["hm"], gate="never"), says("", gate="again"), says("done"))
    run = await office.start("solo", play)
    await office.ledger.until("urgent", "model asked 0")
    await run.pause(by="ann")
    await run.pause(by="ann", now=True)
    await run.wait(LIMIT)
    assert office.ledger.lines("urgent") == ["model asked 0", "model cut 0"]
    await run.resume(by="ann")
    await office.ledger.until("urgent", "model asked 1")
    await run.pause(by="ann")
    await run.resume(by="ann")
    assert await run.status() == "running"
    office.ledger.open("urgent", "again")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("urgent") == ["model asked 0", "model cut 0", "model asked 1"]


async def test_a_pause_reaches_nested_agents(office: Office) -> None:
    inner = tell("hand", "deep", says("", pieces=["deep "], gate="never"), does(act("x")), says("hand done"))
    play = script("deep", does(tell("lead", "deep", does(inner), says("lead done"))), says("boss done"))
    run = await office.start("boss", play)
    await office.ledger.until("deep", "hand asked 0")
    await asyncio.sleep(0.05)
    await run.pause(now=True, by="ann")
    assert (await run.wait(LIMIT)).status == "paused"
    assert office.ledger.lines("deep")[-1] == "hand cut 0"
    await run.resume(by="ann")
    assert isinstance(outcome := await run.wait(LIMIT), Completed)
    assert outcome.output == "boss done"
    assert office.ledger.lines("deep", "act", "acted") == ["act x", "acted x"]
    records = await office.records("deep")
    assert [x.path for x in records if isinstance(x, Broke)] == ["1.0/1.0"]
    assert len([x for x in records if isinstance(x, Intended)]) == 3
    assert len([x for x in records if isinstance(x, Resumed)]) == 1
