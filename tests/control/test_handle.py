"""The storeless handle: `pause`, `cancel` and `say` mean what they mean in a runtime."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from tests.control.world import LIMIT, Ledger, act, call, does, says, script, solo

from adjourn import Cancelled, Completed, Invalid, Paused, Refused
from adjourn.core.records import Broke


@pytest.fixture
def given(ledger: Ledger) -> dict[str, Any]:
    return {"ledger": ledger}


async def begun(run: Any, ledger: Ledger, *lines: str) -> str:
    """Its tools write to the page of the run's own id; its model to the page `r`."""
    await ledger.until("r", *[x for x in lines if x.startswith("model")])
    await ledger.until(run.run_id, *[x for x in lines if not x.startswith("model")])
    return run.run_id


async def test_a_pause_at_a_boundary_and_a_resume_from_the_checkpoint(ledger: Ledger, given: dict[str, Any]) -> None:
    play = script("r", does(act("a"), gate="think"), says("done"))
    async with solo(ledger).stream(play, resources=given) as run:
        await begun(run, ledger, "model asked 0")
        await run.pause(by="ann")
        ledger.open("r", "think")
        outcome = await run.wait()
    assert isinstance(outcome, Paused) and outcome.status == "paused"
    assert ledger.lines(outcome.run_id, "act") == []
    after = await solo(ledger).resume(outcome.checkpoint.to_json(), instruction="be brief", resources=given)
    assert isinstance(after, Completed)
    assert ledger.lines(outcome.run_id, "acted") == ["acted a"]
    assert ledger.requests("r")[-1][-1]["text"] == "be brief"


async def test_pause_now_cuts_the_model_call_and_keeps_the_thought(ledger: Ledger, given: dict[str, Any]) -> None:
    play = script("r", says("", pieces=["half a ", "thought"], gate="never"), says("done"))
    async with solo(ledger).stream(play, resources=given) as run:
        await begun(run, ledger, "model asked 0")
        await asyncio.sleep(0.02)
        await run.pause(now=True)
        outcome = await run.wait()
    assert outcome.status == "paused"
    assert ledger.lines("r") == ["model asked 0", "model cut 0"]
    assert [x.text for x in outcome.checkpoint.records if isinstance(x, Broke)] == ["half a thought"]
    after = await solo(ledger).resume(outcome.checkpoint, resources=given)
    assert after.output == "done"
    assert ledger.requests("r")[-1][1]["interrupted"]


async def test_a_cancel_undoes_in_reverse(ledger: Ledger, given: dict[str, Any]) -> None:
    play = script("r", does(act("a")), does(act("b")), says("", gate="never"))
    async with solo(ledger).stream(play, resources=given) as run:
        await begun(run, ledger, "model asked 2")
        await run.cancel(by="ann")
        outcome = await run.wait()
    assert isinstance(outcome, Cancelled)
    assert ledger.lines(outcome.run_id, "undone") == ["undone b", "undone a"]
    assert ledger.lines("r")[-1] == "model cut 2"


async def test_a_message_is_read_once(ledger: Ledger, given: dict[str, Any]) -> None:
    play = script("r", says("one", gate="g"), says("two"))
    async with solo(ledger).stream(play, resources=given) as run:
        await begun(run, ledger, "model asked 0")
        await run.say("also Norway")
        ledger.open("r", "g")
        assert (await run.wait()).output == "two"
        with pytest.raises(Refused, match="it is (completed|cancelled)"):
            await run.say("too late")
        with pytest.raises(Refused):
            await run.pause()
    assert [m["text"] for m in ledger.requests("r")[-1] if m["type"] == "user"].count("also Norway") == 1


async def test_a_run_that_rests_can_still_be_cancelled_paused_and_spoken_to(
    ledger: Ledger, given: dict[str, Any]
) -> None:
    play = script("r", does(act("a"), call("pay", name="p")), says("done"))
    async with solo(ledger).stream(play, resources=given) as run:
        assert (await run.wait()).status == "waiting"
        await run.say("hurry")
        assert (await run.wait()).status == "waiting"
        await run.pause(by="ann")
        paused = await run.wait()
        assert paused.status == "paused" and run.outcome.status == "paused"
        assert run.checkpoint.status == "paused"
        await run.cancel(by="ann")
        outcome = await run.wait()
        assert isinstance(outcome, Cancelled) and outcome.undone == ["1.0"]
        events = [event async for event in run]
        assert getattr(events[-1], "type", "") == "cancelled"
    assert ledger.lines(outcome.run_id, "undone") == ["undone a"]


async def test_an_undo_that_fails_makes_it_stuck_and_it_can_be_resumed(ledger: Ledger, given: dict[str, Any]) -> None:
    play = script("r", does(act("a")), says("", gate="never"))
    async with solo(ledger).stream(play, resources=given) as run:
        await begun(run, ledger, "model asked 1")
        ledger.plan(run.run_id, "a", "fail")
        await run.cancel(by="ann")
        async with asyncio.timeout(LIMIT):
            outcome = await run.wait()
    assert isinstance(outcome, Paused) and outcome.status == "stuck"
    after = await solo(ledger).resume(outcome.checkpoint.to_json(), "leave", resources=given)
    assert isinstance(after, Cancelled)
    assert [x["why"] for x in after.residue] == ["left: its undo failed"]


async def test_closing_the_handle_stops_the_model_call_and_undoes_nothing(
    ledger: Ledger, given: dict[str, Any], folder: Path
) -> None:
    async with solo(ledger).stream(script("r", does(act("a")), says("", gate="never")), resources=given) as run:
        await begun(run, ledger, "model asked 1")
    assert ledger.lines("r")[-1] == "model cut 1"
    assert ledger.lines(run.run_id, "undo") == []


@pytest.mark.parametrize("text", ["", None, 5])
async def test_a_message_must_be_a_text(ledger: Ledger, given: dict[str, Any], text: Any) -> None:
    async with solo(ledger).stream(script("r", says("x", gate="never")), resources=given) as run:
        with pytest.raises(Invalid):
            await run.say(text)
