"""Decisions: of many simultaneous ones exactly one wins, and only what was seen is approved."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from tests.runtime.conftest import Begin
from tests.runtime.world import LIMIT, Ledger, completed, refunds

from adjourn import (
    Agent,
    AlreadyDecided,
    InterruptClosed,
    InvalidAnswer,
    NotAllowed,
    Paused,
    Policy,
    RequestReused,
    Run,
    Runtime,
    StaleDecision,
    ToolContext,
    ask,
    tool,
)
from adjourn.core.records import Decided, Intended
from adjourn.testing import ScriptedModel, call


async def waiting(rt: Runtime, ledger: Ledger, run_id: str = "r1") -> tuple[Run[Any], str]:
    """A run that waits for the approval of a refund, and the interrupt's id."""
    run = await rt.start(refunds(ledger), "go", run_id=run_id)
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Paused)
    return run, outcome.interrupts[0].id


async def test_g20_the_same_decision_by_100_callers_in_4_processes_executes_once(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    processes = await asyncio.gather(begin("refunds"), begin(), begin("refunds"), begin())
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run, interrupt = await waiting(rt, ledger)
        for n, process in enumerate(processes):
            process.tell("approve", interrupt=interrupt, times=25, by=f"process {n}")
        answers = [answer for process in processes for answer in await process.hear()]
        winners = [answer for answer in answers if isinstance(answer, int)]
        losers = [answer for answer in answers if not isinstance(answer, int)]
        assert len(winners) == 1
        assert Counter(answer["error"] for answer in losers) == {"AlreadyDecided": 99}
        by = {answer["text"].partition(" has already ")[0] for answer in losers}
        assert len(by) == 1 and by.pop().startswith("process ")  # all are told by whom
        await completed(run)
        records = await rt.store.load("r1")
    assert ledger.lines() == ["refund r1 A1 500"]
    assert [seq for seq, record in records if isinstance(record, Decided)] == winners
    assert len([record for _, record in records if isinstance(record, Intended)]) == 1


async def test_g7_the_same_request_id_from_4_processes_gets_the_recorded_answer(
    begin: Begin, address: str, ledger: Ledger
) -> None:
    processes = await asyncio.gather(begin("refunds"), begin(), begin("refunds"), begin())
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run, interrupt = await waiting(rt, ledger)
        for process in processes:
            process.tell("approve", interrupt=interrupt, times=25, by="ann", request_id="once")
        answers = [answer for process in processes for answer in await process.hear()]
        assert len(answers) == 100
        assert len(set(answers)) == 1  # the same seq, a hundred times
        await completed(run)
        assert await rt.approve(interrupt, by="ann", request_id="once") == answers[0]  # also after the end
        with pytest.raises(AlreadyDecided, match="ann"):
            await rt.approve(interrupt, by="ann", request_id="another")
        with pytest.raises(AlreadyDecided, match="ann"):
            await rt.approve(interrupt, by="ann")
        with pytest.raises(RequestReused, match="once"):
            await rt.deny(interrupt, by="ann", request_id="once")
        records = await rt.store.load("r1")
    assert ledger.lines() == ["refund r1 A1 500"]
    assert len([record for _, record in records if isinstance(record, Decided)]) == 1


async def test_g20_approve_deny_and_edit_at_once_have_one_winner_and_what_it_says_happens(
    address: str, ledger: Ledger
) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        for n in range(10):
            run, interrupt = await waiting(rt, ledger, f"r{n}")
            results = await asyncio.gather(
                rt.approve(interrupt, by="ann"),
                rt.deny(interrupt, by="bob"),
                rt.approve(interrupt, by="cem", edit={"order": "A1", "cents": 1}),
                return_exceptions=True,
            )
            won = [k for k, result in enumerate(results) if isinstance(result, int)]
            assert len(won) == 1
            assert all(isinstance(r, AlreadyDecided) for r in results if not isinstance(r, int))
            await completed(run)
            expected = [[f"refund r{n} A1 500"], [], [f"refund r{n} A1 1"]][won[0]]
            assert [line for line in ledger.lines() if f" r{n} " in line] == expected


async def test_g16_approving_something_else_than_what_would_run_is_stale(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run, interrupt = await waiting(rt, ledger)
        seq = (await run.state()).seq
        with pytest.raises(StaleDecision):
            await rt.approve(interrupt, by="ann", digest="0" * 64)
        with pytest.raises(StaleDecision):
            await rt.deny(interrupt, by="ann", digest="0" * 64)
        state = await run.state()
        assert (state.seq, state.status) == (seq, "waiting")
        assert state.interrupts[0].call is not None
        await rt.approve(interrupt, by="ann", digest=state.interrupts[0].call.digest)
        await run.wait(LIMIT)
    assert ledger.lines() == ["refund r1 A1 500"]


async def test_an_approval_of_another_run_does_not_fit(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        _, one = await waiting(rt, ledger, "r1")
        _, two = await waiting(rt, ledger, "r2")
        seen = (await rt.interrupt(one)).call
        assert seen is not None
        with pytest.raises(StaleDecision):
            await rt.approve(two, by="ann", digest=seen.digest)
    assert ledger.lines() == []


async def test_a_decision_for_a_finished_run_is_refused_and_says_why(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run, interrupt = await waiting(rt, ledger)
        await run.cancel(by="ann")
        await run.wait(LIMIT)
        with pytest.raises(InterruptClosed, match="cancelled"):
            await rt.approve(interrupt, by="bob")
    assert ledger.lines() == []


async def test_who_decided_and_why_is_on_record(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run, interrupt = await waiting(rt, ledger)
        call = (await rt.interrupt(interrupt)).call
        assert call is not None
        edit = {"order": "A1", "cents": 7}
        await rt.approve(interrupt, by="ann", note="half of it", edit=edit, digest=call.digest)
        await run.wait(LIMIT)
        records = [record for _, record in await rt.store.load("r1")]
    [decided] = [x for x in records if isinstance(x, Decided)]
    [intended] = [x for x in records if isinstance(x, Intended)]
    assert (decided.by, decided.note, decided.edit) == ("ann", "half of it", edit)
    assert decided.at > 0
    assert decided.digest == call.digest  # what was shown
    assert intended.digest != call.digest  # what was executed: an edit is a new action
    assert ledger.lines() == ["refund r1 A1 7"]


async def test_g23_neither_the_agent_nor_the_machinery_decides_what_a_run_asks(address: str, ledger: Ledger) -> None:
    async with Runtime(address, resources={"ledger": ledger}) as rt:
        run, interrupt = await waiting(rt, ledger)
        for name in ("refunds", "@refunds", "@policy", "@expiry"):
            with pytest.raises(NotAllowed, match="an agent cannot decide its own requests"):
                await rt.approve(interrupt, by=name)
            with pytest.raises(NotAllowed, match="an agent cannot decide its own requests"):
                await rt.deny(interrupt, by=name)
        assert not [x for _, x in await rt.store.load("r1") if isinstance(x, Decided)]
        await rt.approve(interrupt, by="ann")
        await completed(run)
    assert ledger.lines() == ["refund r1 A1 500"]


def unchanged(ledger: Ledger) -> Agent:
    """Its refunds may be agreed to as they are, and in no other way."""

    @tool(name="refund")
    async def refund(ctx: ToolContext, order: str, cents: int) -> str:
        ledger.write(f"refund {ctx.run_id} {order} {cents}")
        return "refunded"

    model = ScriptedModel([call("refund", order="A1", cents=500)], "done")
    rules = [ask(effect="unsafe", undo=False, edits=False)]
    return Agent("unchanged", model=model, tools=[refund], policy=Policy(rules, default="allow"))


async def test_where_a_rule_allows_no_edit_nobody_can_make_one(address: str, ledger: Ledger) -> None:
    async with Runtime(address) as rt:
        run = await rt.start(unchanged(ledger), "go", run_id="r1")
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Paused)
        [item] = outcome.interrupts
        assert item.call is not None
        assert item.answer_schema is False
        with pytest.raises(InvalidAnswer, match="cannot be changed") as refused:
            await rt.approve(item.id, by="ann", edit={"order": "A1", "cents": 1})
        assert refused.value.advice == "approve it as it is, or deny it with a note"
        # not even by whoever leaves the checks of the runtime out
        forged = Decided(
            i=item.local, verdict="approve", edit={"order": "A1", "cents": 1}, by="ann", digest=item.call.digest
        )
        with pytest.raises(InvalidAnswer, match="cannot be changed"):
            await rt.store.deliver("r1", forged)
        await rt.approve(item.id, by="ann")
        await completed(run)
    assert ledger.lines() == ["refund r1 A1 500"]
