"""Checkpoints under a runtime: each resumes once, wherever it comes from."""

import asyncio
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.conftest import Begin
from tests.runtime.world import (
    LIMIT,
    Ledger,
    ask_operator,
    changed,
    completed,
    last_result,
    notes,
    operator,
    paused,
    refunds,
)

from adjourn import (
    Agent,
    AlreadyResumed,
    AnswerRequired,
    CheckpointInvalid,
    Conflict,
    Flow,
    FlowContext,
    Halted,
    InvalidAnswer,
    InvalidDefinition,
    NotAllowed,
    Paused,
    Policy,
    ProgramChanged,
    Refused,
    Runtime,
    UnknownRun,
    ask,
    tool,
)
from adjourn.testing.scripted import ScriptedModel, call


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


def chooser() -> Agent:
    """What it asks second follows from the first answer; both ways have as many records."""

    def second(messages: Any) -> Any:
        return [call("ask_operator", question="DELETE ALL?" if last_result(messages) == "delete" else "A postcard?")]

    model = ScriptedModel([call("ask_operator", question="which?")], second, lambda m: f"they said {last_result(m)}")
    return Agent("chooser", model=model, tools=[ask_operator])


@pytest.mark.parametrize("first", ["the store's run", "the checkpoint"])
async def test_a_checkpoint_of_another_history_is_refused_although_it_is_as_long(address: str, first: str) -> None:
    agent, answers = chooser(), ["delete", "postcard"]
    begun = (await agent.run("go")).checkpoint
    histories = [(await agent.resume(begun, answer)).checkpoint for answer in answers]
    assert histories[0].seq == histories[1].seq
    async with Runtime(address, [agent]) as rt:
        if first == "the store's run":
            await paused(await rt.resume(begun, "delete"))
            same = await (await rt.get(begun.run_id)).checkpoint()
        else:
            with pytest.raises(AnswerRequired):
                await rt.resume(histories[0])  # nothing is recorded by that
            await rt.store.create(histories[0].started, histories[0].records[1:])
            same = histories[0]
        assert same.seq == histories[1].seq
        with pytest.raises(AlreadyResumed, match="has another history: .*with other records"):
            await rt.resume(histories[1].to_json(), "yes, of course", by="ana")
        done = await completed(await rt.resume(same, "no", by="ana"))
        assert done.output == "they said no"


async def test_two_histories_are_imported_at_the_same_time_and_one_wins(address: str) -> None:
    agent = chooser()
    begun = (await agent.run("go")).checkpoint
    histories = [(await agent.resume(begun, answer)).checkpoint for answer in ("delete", "postcard")]
    async with Runtime(address) as one, Runtime(address) as two:
        tried = await asyncio.gather(
            *(rt.resume(h, "yes", by="ana") for rt, h in zip((one, two), histories, strict=True)),
            return_exceptions=True,
        )
        assert sorted(type(result).__name__ for result in tried) == ["AlreadyResumed", "Run"]


async def test_a_secret_that_protects_nothing_is_refused_when_the_runtime_is_made(address: str) -> None:
    for secret in ("", "short"):
        with pytest.raises(InvalidDefinition, match="openssl rand -hex 32"):
            Runtime(address, secret=secret)


async def test_a_checkpoint_of_a_cancelled_run_is_refused(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go")
        old = await paused(run)
        await run.cancel(by="ann")
        await run.wait(LIMIT)
        with pytest.raises(AlreadyResumed, match="cancelled"):
            await rt.resume(old.checkpoint, approved=True)
        with pytest.raises(Refused, match="it is cancelled"):
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


async def test_if_one_of_several_answers_is_refused_none_is_recorded_and_nothing_runs(tmp_path: Path) -> None:
    ran: list[str] = []

    @tool(effect="unsafe")
    async def pay(to: str) -> str:
        """Pay somebody."""
        ran.append(to)
        return "paid"

    @tool
    async def publish(text: str) -> str:
        """Publish a text."""
        ran.append(text)
        return "published"

    both = [call("pay", to="ana"), call("publish", text="news")]
    policy = Policy([ask("pay"), ask("publish", not_requester=True)])
    agent = Agent("both", model=ScriptedModel(both, "done"), tools=[pay, publish], policy=policy)
    async with Runtime(f"sqlite:///{tmp_path / 'runs.db'}", [agent]) as rt:
        run = await rt.start(agent, "go", by="cleo")
        outcome = await paused(run)
        saved, seq = outcome.checkpoint, outcome.checkpoint.seq
        yes = {interrupt.id: True for interrupt in outcome.interrupts}
        with pytest.raises(NotAllowed):
            await rt.resume(saved, answers=yes, by="cleo")
        await rt.halt("tool:publish", reason="an incident", by="op")
        with pytest.raises(Halted, match="nothing was approved"):
            await rt.resume(saved, answers=yes, by="ben")
        assert ((await run.state()).seq, len(await rt.inbox()), ran) == (seq, 2, [])
        await rt.unhalt("tool:publish", by="op")
        await rt.resume(saved, answers=yes, by="ben")
        assert (await completed(run)).output == "done"
    assert sorted(ran) == ["ana", "news"]


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
        assert [getattr(m, "text", "") for m in messages if type(m).__name__ == "UserMessage"] == ["go", "again"]
        assert [row.session for row in await rt.runs()] == ["s", "s"]


async def test_the_next_turn_goes_on_with_a_run_with_its_id_or_with_its_checkpoint(
    address: str, ledger: Ledger
) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        first = await rt.start(notes(ledger), "go", session="s", by="ana")
        outcome = await first.wait(LIMIT)
        begun: list[Any] = []
        for after in (first, first.id, outcome.checkpoint, outcome.checkpoint.to_json()):
            run = await rt.start(notes(ledger), "again", after=after)
            begun.append((await run.checkpoint()).started)
        assert len({repr((x.after, x.history, x.session, x.requesters)) for x in begun}) == 1
        assert begun[0].after.run == first.id and not begun[0].history and begun[0].requesters == ("ana",)


async def test_what_has_no_next_turn_is_refused_by_name(address: str, ledger: Ledger) -> None:
    flow = Flow("steps")

    @flow.chunk
    async def only(ctx: FlowContext) -> None: ...

    flow.to(only)
    agent = notes(ledger)
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        walked = await rt.start(flow, "go")
        await walked.wait(LIMIT)
        talked = await rt.start(agent, "go")
        await talked.wait(LIMIT)
        with pytest.raises(UnknownRun, match="run nobody not found"):
            await rt.start(agent, "again", after="nobody")
        with pytest.raises(Conflict, match="of the flow 'steps', which has no conversation"):
            await rt.start(agent, "again", after=walked)
        with pytest.raises(Conflict, match="'steps' is a flow, which has no conversation"):
            await rt.start(flow, "again", after=talked)
        with pytest.raises(CheckpointInvalid, match="got int"):
            await rt.start(agent, "again", after=5)  # pyright: ignore[reportArgumentType]
        waits = await rt.start(refunds(ledger), "go")
        await paused(waits)
        with pytest.raises(Refused, match="finish or resume it first"):
            await rt.start(refunds(ledger), "again", after=waits)


async def test_a_runtime_reads_with_its_own_secret_what_it_signed(address: str, ledger: Ledger) -> None:
    async with Runtime(
        address, [notes(ledger)], resources={"ledger": ledger}, secret="of this runtime alone " * 2
    ) as rt:
        first = await (await rt.start(notes(ledger), "go")).wait(LIMIT)
        signed = first.checkpoint.to_json()
        second = await rt.start(notes(ledger), "again", after=signed)
        assert len(await second.messages()) > len(first.checkpoint.messages)
    with pytest.raises(CheckpointInvalid, match="no secret is set"):
        await notes(ledger).run("again", after=signed, resources={"ledger": ledger})
