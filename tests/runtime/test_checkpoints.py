"""Checkpoints under a runtime: each resumes once, wherever it comes from."""

import asyncio
from collections import Counter

import pytest
from tests.runtime.conftest import Begin
from tests.runtime.world import LIMIT, Ledger, changed, completed, notes, operator, paused, refunds

from adjourn import (
    AlreadyResumed,
    AnswerRequired,
    CheckpointInvalid,
    InvalidAnswer,
    Paused,
    ProgramChanged,
    Refused,
    Runtime,
)


async def paused_without_a_store(ledger: Ledger) -> Paused:
    outcome = await refunds(ledger).run("go", resources={"ledger": ledger})
    assert isinstance(outcome, Paused)
    return outcome


async def test_g25_a_checkpoint_of_a_storeless_run_is_imported_and_resumes_once(address: str, ledger: Ledger) -> None:
    saved = (await paused_without_a_store(ledger)).checkpoint.to_json()
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.resume(saved, approved=True, by="ann")
        outcome = await completed(run)
        assert outcome.output == "refunded"
        for approved in (True, False):
            with pytest.raises(AlreadyResumed, match="ends at record"):
                await rt.resume(saved, approved=approved, by="bob")
        assert [row.id for row in await rt.runs()] == [run.id]
    assert len(ledger.lines()) == 1


async def test_g25_two_processes_resume_the_same_checkpoint_and_one_wins(begin: Begin, ledger: Ledger) -> None:
    saved = [(await paused_without_a_store(ledger)).checkpoint.to_json() for _ in range(5)]
    one, two = await asyncio.gather(begin("refunds"), begin("refunds"))
    for checkpoint in saved:
        one.tell("resume", checkpoint=checkpoint, approved=True, by="one")
        two.tell("resume", checkpoint=checkpoint, approved=False, by="two")
        answers = [await one.hear(), await two.hear()]
        won = [k for k, answer in enumerate(answers) if isinstance(answer, str)]
        assert len(won) == 1
        assert answers[1 - won[0]]["error"] == "AlreadyResumed"
        run = answers[won[0]]
        assert (await one.do("wait", run=run))["status"] == "completed"
        assert Counter(line.split()[1] for line in ledger.lines())[run] == (won == [0])


async def test_g25_two_instructions_for_one_checkpoint_have_one_winner(begin: Begin, ledger: Ledger) -> None:
    """Nothing but the checkpoint's place in the journal tells them apart."""
    saved = [(await paused_without_a_store(ledger)).checkpoint.to_json() for _ in range(10)]
    one, two = await asyncio.gather(begin(), begin())
    for checkpoint in saved:
        one.tell("resume", checkpoint=checkpoint, instruction="first", by="one")
        two.tell("resume", checkpoint=checkpoint, instruction="second", by="two")
        answers = [await one.hear(), await two.hear()]
        assert sorted(isinstance(answer, str) for answer in answers) == [False, True]
        assert {answer["error"] for answer in answers if not isinstance(answer, str)} == {"AlreadyResumed"}


async def test_an_older_checkpoint_of_a_run_that_moved_on_is_refused(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [operator(ledger), refunds(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(operator(ledger), "go")
        old = await paused(run)
        await run.say("hurry", by="ann")
        new = await paused(run)
        with pytest.raises(AlreadyResumed):
            await rt.resume(old.checkpoint, "yes")
        again = await rt.resume(await run.checkpoint(), "yes")
        assert again.id == run.id
        await completed(run)
        with pytest.raises(AlreadyResumed):
            await rt.resume(new.checkpoint, "yes")


async def test_a_checkpoint_of_a_cancelled_run_is_refused(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go")
        old = await paused(run)
        await run.cancel(by="ann")
        await run.wait(LIMIT)
        with pytest.raises(AlreadyResumed, match="cancelled"):
            await rt.resume(old.checkpoint, approved=True)
        with pytest.raises(Refused, match="ended"):
            await rt.resume(await run.checkpoint(), approved=True)
    assert ledger.lines() == []


async def test_a_paused_run_resumes_from_its_checkpoint_with_an_instruction(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go")
        await run.wait(LIMIT)
        await run.pause(by="ann")
        outcome = await paused(run)
        assert outcome.status == "paused"
        again = await rt.resume(outcome.checkpoint, approved=True, instruction="be brief", by="ann")
        await completed(again)
        assert "be brief" in [getattr(m, "text", "") for m in await again.messages()]
        with pytest.raises(AlreadyResumed):
            await rt.resume(outcome.checkpoint, approved=True)


async def test_everything_is_checked_before_anything_is_recorded(address: str, ledger: Ledger) -> None:
    saved = (await paused_without_a_store(ledger)).checkpoint.to_json()
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        with pytest.raises(AnswerRequired):
            await rt.resume(saved)
        with pytest.raises(InvalidAnswer):
            await rt.resume(saved, "yes")
        with pytest.raises(CheckpointInvalid):
            await rt.resume(saved.replace("waiting", "running"), approved=True)
        assert await rt.runs() == []
    async with Runtime(address, [changed(ledger)]) as rt:
        with pytest.raises(ProgramChanged, match="refund"):
            await rt.resume(saved, approved=True)
        assert await rt.runs() == []


async def test_a_desk_without_the_program_resumes_for_a_worker_that_has_it(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    saved = (await paused_without_a_store(ledger)).checkpoint.to_json()
    async with Runtime(address) as desk:
        run = await desk.resume(saved, approved=True, by="ann")
        assert await run.status() == "ready"
        worker = await begin("refunds")
        assert (await worker.do("wait", run=run.id))["output"] == "refunded"
    assert len(ledger.lines()) == 1


async def test_a_call_in_flight_in_an_imported_checkpoint_is_in_doubt(address: str, ledger: Ledger) -> None:
    from tests.runtime.world import slowly

    agent = slowly(ledger)
    async with agent.stream("go", resources={"ledger": ledger}) as live:
        await ledger.until("began 1.0")
        saved = live.checkpoint
    async with Runtime(address, [agent], resources={"ledger": ledger}) as rt:
        run = await rt.resume(saved)
        outcome = await paused(run)
        assert [i.kind for i in outcome.interrupts] == ["in_doubt"]
    assert ledger.lines() == ["began 1.0"]


async def test_the_next_turn_of_a_finished_conversation(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        first = await rt.start(notes(ledger), "go", session="s")
        outcome = await first.wait(LIMIT)
        second = await rt.start(notes(ledger), "again", after=outcome.checkpoint)
        messages = await second.messages()
        assert [getattr(m, "text", "") for m in messages if type(m).__name__ == "User"] == ["go", "again"]
        assert [row.session for row in await rt.runs()] == ["s", "s"]
