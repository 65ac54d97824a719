"""Fork: a new run from a boundary of another; what was recorded before it is reused, and the original is untouched."""

# pyright: reportUnknownMemberType=false

from pathlib import Path
from typing import Any

import pytest
from tests.control.conftest import Office
from tests.control.lives import Stage, stage
from tests.control.world import LIMIT, TOOLS, Ledger, Play, act, boss, call, does, says, script, tell

from adjourn import Agent, Cancelled, Completed, Paused, Policy, Run, RunExists, UnknownInterrupt, ask
from adjourn.core.fork import cuts
from adjourn.core.records import Decided, Forked, Intended, Started
from adjourn.errors import ForkRefused, Invalid


def acts(ledger: Ledger, run: str) -> list[str]:
    return [w.split()[1] for w in ledger.lines(run, "acted")]


async def finish(on: Stage, run: Run[Any]) -> None:
    """Approve and answer whatever is asked, until it has ended."""
    assert on.rt is not None
    while await on.rest(run) not in ("completed", "cancelled"):
        for item in (await run.state()).interrupts:
            await on.rt.answer(item.id, True if item.kind == "approval" else "yes", by="ann")
        on.clock.advance(1)


def everything(run: str) -> dict[str, Any]:
    """Parallel calls, a gate, a question, a nested agent."""
    nested = tell("lead", run, does(act("h")), says("lead"))
    return script(
        run,
        does(act("a"), call("pay", name="p"), nested),
        does(call("wonder", question="?")),
        does(act("b")),
        says("done"),
    )


async def test_a_fork_at_every_boundary_reuses_what_was_recorded_and_is_refused_elsewhere(folder: Path) -> None:
    async with stage(folder, boss) as on:
        original = await on.start(everything("r"))
        await finish(on, original)
        before = await on.records("r")
        where = cuts(before)
        possible = where.boundaries
        assert 5 < len(possible) < len(before)
        assert where.first_answer
        for at in range(1, len(before) + 1):
            if at not in possible:
                nearest = min(possible, key=lambda seq: abs(seq - at))
                with pytest.raises(ForkRefused, match=f"cannot fork at record {at}.*; fork at record ") as refused:
                    await original.fork(at)
                assert (refused.value.at_seq, refused.value.nearest) == (at, nearest)
                continue
            copy = await original.fork(at, run_id=f"f{at}", by="ann")
            await finish(on, copy)
            at = where.before_answers(at)
            outcome = await on.outcome(copy)
            assert isinstance(outcome, Completed) and outcome.output == "done"
            kept = {x.call for x in before[:at] if isinstance(x, Intended)}
            assert (await on.records(copy.id))[1:at] == before[1:at]
            begun = [x for x in (await on.records(copy.id))[at:] if isinstance(x, Intended)]
            assert not kept & {x.call for x in begun}
            ran = sorted(acts(on.ledger, copy.id))
            assert ran == sorted(
                {"1.0": "a", "1.1": "p", "1.2/1.0": "h", "3.0": "b"}[x.call] for x in begun if not x.agent
            )
            first = (await on.records(copy.id))[0]
            assert isinstance(first, Started) and first.forked_from == f"r@{at}"
        assert await on.records("r") == before
        assert await on.store.verify() == []


async def test_a_fork_from_another_process_runs_where_the_program_is(office: Office) -> None:
    run = await office.start("solo", script("o", does(act("a")), does(act("b")), says("done")))
    await run.wait(LIMIT)
    at = [n for n, x in enumerate(await office.records("o"), 1) if type(x).__name__ == "Returned"][0]
    copy = await run.fork(at, instruction="be brief", run_id="c", by="ann")
    assert isinstance(await copy.wait(LIMIT), Completed)
    assert acts(office.ledger, "c") == ["b"]
    assert acts(office.ledger, "o") == ["a", "b"]
    heard = [m["text"] for m in office.ledger.requests("o")[2 + 1] if m["type"] == "user"]
    assert heard[-1] == "be brief"
    [line] = [x for x in await copy.audit() if x.verb == "fork"]
    assert (line.by, line.origin) == ("ann", office.desk.origin)


async def test_a_fork_may_have_another_input(office: Office) -> None:
    run = await office.start("solo", script("input", does(act("a")), says("done")))
    await run.wait(LIMIT)
    copy = await run.fork(1, input=script("input2", does(act("z")), says("other")), run_id="input2")
    assert isinstance(outcome := await copy.wait(LIMIT), Completed)
    assert outcome.output == "other"
    assert acts(office.ledger, "input2") == ["z"]


async def test_a_fork_may_give_another_answer(office: Office) -> None:
    run = await office.start("solo", script("answer", does(call("wonder", question="?")), says("done")))
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    at = outcome.checkpoint.seq
    await office.desk.answer(outcome.interrupts[0].id, "yes", by="ann")
    assert isinstance(await run.wait(LIMIT), Completed)
    copy = await run.fork(at, answers={outcome.interrupts[0].id: "no"}, run_id="other", by="ann")
    assert isinstance(await copy.wait(LIMIT), Completed)
    answers = {len(r) and r[2].get("content") for r in office.ledger.requests("answer") if len(r) > 2}
    assert answers == {"yes", "no"}
    with pytest.raises(UnknownInterrupt):
        await run.fork(1, answers={outcome.interrupts[0].id: "no"}, run_id="never")
    with pytest.raises(LookupError):
        await office.desk.get("never")


async def test_a_fork_of_a_paused_run_goes_on_and_the_original_stays_paused(office: Office) -> None:
    run = await office.start("solo", script("p", does(act("a"), gate="g"), says("done")))
    await office.ledger.until("p", "model asked 0")
    await run.pause(by="ann")
    office.ledger.open("p", "g")
    await run.wait(LIMIT)
    copy = await run.fork(instruction="hurry", run_id="p2", by="ann")
    assert isinstance(await copy.wait(LIMIT), Completed)
    assert await run.status() == "paused"
    assert (acts(office.ledger, "p"), acts(office.ledger, "p2")) == ([], ["a"])


async def test_a_fork_of_a_cancelled_run_begins_before_the_cancel(office: Office) -> None:
    run = await office.start("solo", script("k", does(act("a")), says("", gate="never"), says("done")))
    await office.ledger.until("k", "model asked 1")
    at = len(await office.records("k"))
    await run.cancel(by="ann")
    await run.wait(LIMIT)
    with pytest.raises(ForkRefused, match="being cancelled"):
        await run.fork(at + 1)
    copy = await run.fork(run_id="k2", by="ann")
    await office.ledger.until("k", "model asked 1")
    await copy.cancel(by="ann")
    assert isinstance(outcome := await copy.wait(LIMIT), Cancelled)
    assert office.ledger.lines("k2", "undone") == []
    assert [x["why"] for x in outcome.residue] == ["inherited: done by k, which can undo it"]


def guarded(ledger: Ledger) -> Agent:
    return Agent("guarded", model=Play(ledger), tools=TOOLS, policy=Policy([ask("act")], default="allow"))


async def test_approvals_are_asked_for_again_in_a_fork_also_those_for_the_whole_run(folder: Path) -> None:
    async with stage(folder, guarded) as on:
        run = await on.start(script("r", does(act("a")), does(act("a")), says("done")))
        assert on.rt is not None
        await on.rest(run, "waiting")
        [item] = (await run.state()).interrupts
        await on.rt.approve(item.id, by="ann", scope="run")
        await on.rest(run, "completed")
        assert acts(on.ledger, "r") == ["a", "a"]
        records = await on.records("r")
        spent = next(n for n, x in enumerate(records, 1) if type(x).__name__ == "Returned")
        copy = await run.fork(spent, run_id="f", by="bob")
        assert await on.rest(copy) == "waiting"
        assert acts(on.ledger, "f") == []


async def test_an_approval_that_was_given_but_not_used_is_not_taken_along(folder: Path) -> None:
    async with stage(folder, guarded) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        assert on.rt is not None
        await on.rest(run, "waiting")
        [item] = (await run.state()).interrupts
        await run.pause(by="ann")
        await on.rt.approve(item.id, by="ann")
        copy = await run.fork(run_id="f", by="bob")
        assert await on.rest(copy) == "waiting"
        assert acts(on.ledger, "f") == []
        assert [type(x) for x in await on.records("f") if isinstance(x, Decided | Forked)] == [Decided, Forked]
        [again] = (await copy.state()).interrupts
        await on.rt.approve(again.id, by="bob")
        await on.rest(copy, "completed")
        assert await run.status() == "paused"


@pytest.mark.parametrize("at", [0, -1, 99, 2.5, "3", True])
async def test_a_fork_where_there_is_no_record_is_refused_and_says_where_it_could_be(office: Office, at: Any) -> None:
    name = f"bad-{at}".replace(".", "-")
    run = await office.start("solo", script(name, says("done")))
    await run.wait(LIMIT)
    with pytest.raises((ForkRefused, Invalid), match="record"):
        await run.fork(at)


async def test_a_fork_under_an_id_that_is_taken_is_refused(office: Office) -> None:
    run = await office.start("solo", script("taken", says("done")))
    await run.wait(LIMIT)
    with pytest.raises(RunExists):
        await run.fork(1, run_id="taken")
