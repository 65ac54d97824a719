"""The approval queue, who may approve, for how long an approval holds, and what happens if nobody decides."""

# pyright: reportUnknownArgumentType=false, reportUnknownVariableType=false

import asyncio
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.control.conftest import Office
from tests.control.lives import Stage, stage
from tests.control.process import Process, said
from tests.control.world import LIMIT, TOOLS, Ledger, Play, act, call, does, says, script

from adjourn import (
    Agent,
    AlreadyDecided,
    Cancelled,
    Completed,
    Decision,
    InterruptClosed,
    InvalidAnswer,
    Paused,
    Policy,
    Run,
    ToolContext,
    ask,
    tool,
)
from adjourn.core.records import Asked, CancelAsked, Closed, Decided, Intended, Reminded
from adjourn.errors import NotAllowed


def guarded(*rules: Any) -> Callable[[Ledger], Agent]:
    """An agent under these rules; everything else is allowed."""
    return lambda ledger: Agent("guarded", model=Play(ledger), tools=TOOLS, policy=Policy(rules, default="allow"))


async def asked(on: Stage, run: Run[Any]) -> str:
    """The id of the one open interrupt, once the run waits."""
    await on.rest(run, "waiting")
    [interrupt] = (await run.state()).interrupts
    return interrupt.id


# The queue


async def test_a_queued_action_waits_in_the_inbox_while_the_agent_goes_on_and_its_result_follows(
    office: Office,
) -> None:
    play = script("queue", does(act("a")), does(call("look", name="l")), says("so far"), says("with a"))
    run = await office.start("queued", play)
    await office.ledger.until("queue", "look l")
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    [item] = await office.desk.inbox(run="queue")
    assert [i.id for i in outcome.interrupts] == [item.id]
    assert office.ledger.lines("queue", "model", "look", "act") == [
        "model asked 0", "model asked 1", "look l", "model asked 2",
    ]  # fmt: skip
    told = [m for m in office.ledger.requests("queue")[1] if m["type"] == "result"]
    assert told[0]["content"].startswith("queued for approval")
    await office.desk.approve(item.id, by="bob")
    assert isinstance(outcome := await run.wait(LIMIT), Completed)
    assert outcome.output == "with a"
    assert office.ledger.lines("queue", "acted") == ["acted a"]
    assert office.ledger.requests("queue")[3][-1]["text"] == "The queued call act ran; its result: {'did': 'a'}"


async def test_several_queued_actions_are_decided_in_any_order_and_a_refusal_reaches_the_model(office: Office) -> None:
    play = script("queues", does(act("a"), act("b"), act("c")), says("one"), says("two"), says("three"), says("four"))
    run = await office.start("queued", play)
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    first, second, third = outcome.interrupts
    await office.desk.approve(third.id, by="bob")
    await office.ledger.until("queues", "acted c")
    await office.desk.deny(first.id, by="bob", note="not today")
    await office.desk.approve(second.id, by="bob")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("queues", "acted") == ["acted c", "acted b"]
    heard = [m["text"] for m in office.ledger.requests("queues")[-1] if m["type"] == "user"]
    assert len([t for t in heard if t.startswith("The queued call act ran")]) == 2
    assert len([t for t in heard if "was not run: denied by bob: not today" in t]) == 1


# Who


async def test_a_quorum_of_two_needs_two_persons_and_the_same_one_twice_counts_once(office: Office) -> None:
    run = await office.start("quorum", script("two", does(act("a")), says("done")))
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    [item] = outcome.interrupts
    assert item.approvers == 2
    await office.desk.approve(item.id, by="ann")
    with pytest.raises(AlreadyDecided):
        await office.desk.approve(item.id, by="ann")
    assert [i.id for i in await office.desk.inbox(run="two")] == [item.id]
    await asyncio.sleep(0.4)
    assert office.ledger.lines("two", "act") == []
    await office.desk.approve(item.id, by="bob")
    with pytest.raises(AlreadyDecided):
        await office.desk.approve(item.id, by="carl")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("two", "acted") == ["acted a"]


async def test_the_first_refusal_settles_also_after_a_yes(office: Office) -> None:
    run = await office.start("quorum", script("no", does(act("a")), says("done")))
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    [item] = outcome.interrupts
    await office.desk.approve(item.id, by="ann")
    await office.desk.deny(item.id, by="bob")
    with pytest.raises(AlreadyDecided, match="bob"):
        await office.desk.approve(item.id, by="carl")
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("no", "act") == []


async def test_an_edit_of_one_does_not_count_as_the_agreement_of_two(folder: Path) -> None:
    async with stage(folder, guarded(ask("act", approvers=2))) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        item = await asked(on, run)
        assert on.rt is not None
        with pytest.raises(InvalidAnswer, match="2"):
            await on.rt.approve(item, by="ann", edit={"name": "b"})
        await on.rt.approve(item, by="ann")
        with pytest.raises(InvalidAnswer, match="2"):
            await on.rt.approve(item, by="bob", edit={"name": "b"})
        await on.rt.approve(item, by="bob")
        await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == ["acted a"]


@pytest.mark.parametrize(
    ("scopes", "asked_again"), [(("run", "run"), False), (("once", "run"), True), (("run", "once"), True)]
)
async def test_an_approval_is_for_the_whole_run_only_if_all_approvers_say_so(
    folder: Path, scopes: tuple[Any, Any], asked_again: bool
) -> None:
    async with stage(folder, guarded(ask("act", approvers=2))) as on:
        run = await on.start(script("r", does(act("a")), does(act("a")), says("done")))
        item = await asked(on, run)
        assert on.rt is not None
        for by, scope in zip(("ann", "bob"), scopes, strict=True):
            await on.rt.approve(item, by=by, scope=scope)
        await on.until(lambda: "model asked 1" in on.ledger.lines("r"))
        assert await on.rest(run, "waiting", "completed") == ("waiting" if asked_again else "completed")
        assert len(on.ledger.lines("r", "acted")) == (1 if asked_again else 2)


async def test_only_members_of_a_group_may_approve_and_anybody_may_refuse(folder: Path) -> None:
    async with stage(folder, guarded(ask("act", groups=["finance", "board"]))) as on:
        run = await on.start(script("r", does(act("a"), act("b")), says("done")))
        await on.rest(run, "waiting")
        assert on.rt is not None
        first, second = (await run.state()).interrupts
        assert first.groups == ("board", "finance")
        for groups in ((), ("sales",)):
            with pytest.raises(NotAllowed, match="board, finance"):
                await on.rt.approve(first.id, by="ann", groups=groups)
        await on.rt.approve(first.id, by="bob", groups=("sales", "finance"))
        await on.rt.deny(second.id, by="ann")
        await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == ["acted a"]
        refused = [x for x in await run.audit() if x.refused]
        assert [x.by for x in refused] == ["ann", "ann"]


async def test_two_rules_with_different_groups_need_somebody_of_each(folder: Path) -> None:
    rules = (ask("act", groups=["finance"]), ask("a*", groups=["security", "board"]))
    async with stage(folder, guarded(*rules)) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        item = await asked(on, run)
        assert on.rt is not None
        with pytest.raises(NotAllowed, match="is not in a group"):
            await on.rt.approve(item, by="eve", groups=("interns",))
        await on.rt.approve(item, by="ann", groups=("finance",))
        with pytest.raises(NotAllowed, match="has no open place to fill; still needed: security or board"):
            await on.rt.approve(item, by="fay", groups=("finance",))
        assert on.ledger.lines("r", "acted") == []
        await on.rt.approve(item, by="bob", groups=("security", "board"))
        await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == ["acted a"]


async def test_somebody_who_is_in_the_groups_of_two_rules_counts_for_both(folder: Path) -> None:
    rules = (ask("act", groups=["finance"]), ask("a*", groups=["security", "board"]))
    async with stage(folder, guarded(*rules)) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        item = await asked(on, run)
        assert on.rt is not None
        await on.rt.approve(item, by="bob", groups=("finance", "board"))
        await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == ["acted a"]


async def test_who_started_the_run_may_not_approve_it_but_may_refuse(folder: Path) -> None:
    async with stage(folder, guarded(ask("act", not_requester=True))) as on:
        run = await on.start(script("r", does(act("a"), act("b")), says("done")), by="ann")
        await on.rest(run, "waiting")
        assert on.rt is not None
        first, second = (await run.state()).interrupts
        with pytest.raises(NotAllowed, match="started this run"):
            await on.rt.approve(first.id, by="ann")
        await on.rt.approve(first.id, by="bob")
        await on.rt.deny(second.id, by="ann")
        await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == ["acted a"]


# For what, and for how long


async def test_an_approval_for_the_run_covers_exactly_these_arguments_and_no_other_run(folder: Path) -> None:
    replies = (does(act("a")), does(act("a")), does(act("b")), says("done"))
    async with stage(folder, guarded(ask("act"))) as on:
        run = await on.start(script("r", *replies))
        item = await asked(on, run)
        assert on.rt is not None
        await on.rt.approve(item, by="ann", scope="run")
        await on.until(lambda: "model asked 2" in on.ledger.lines("r"))
        item = await asked(on, run)
        [shown] = (await run.state()).interrupts
        assert shown.call is not None and shown.call.arguments["name"] == "b"
        assert on.ledger.lines("r", "acted") == ["acted a", "acted a"]
        await on.rt.deny(item, by="ann")
        await on.rest(run, "completed")
        other = await on.start(script("other", *replies))
        await asked(on, other)
        assert on.ledger.lines("other", "act") == []


async def test_an_approval_once_is_for_one_call(folder: Path) -> None:
    async with stage(folder, guarded(ask("act"))) as on:
        run = await on.start(script("r", does(act("a")), does(act("a")), says("done")))
        assert on.rt is not None
        await on.rt.approve(await asked(on, run), by="ann")
        await on.until(lambda: "acted a" in on.ledger.lines("r"))
        await on.until(lambda: "model asked 1" in on.ledger.lines("r"))
        await asked(on, run)
        assert on.ledger.lines("r", "acted") == ["acted a"]


async def test_an_approval_that_is_too_old_when_the_call_starts_is_asked_for_again(folder: Path) -> None:
    async with stage(folder, guarded(ask("act", valid_for=3600))) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        item = await asked(on, run)
        assert on.rt is not None
        await run.pause(by="ann")
        await on.rt.approve(item, by="ann")
        on.clock.advance(3601)
        await run.resume(by="ann")
        again = await asked(on, run)
        assert again != item
        assert on.ledger.lines("r", "act") == []
        await on.rt.approve(again, by="ann")
        await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == ["acted a"]


async def test_an_approval_that_is_not_too_old_holds_over_a_pause(folder: Path) -> None:
    async with stage(folder, guarded(ask("act", valid_for=3600))) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        item = await asked(on, run)
        assert on.rt is not None
        await run.pause(by="ann")
        await on.rt.approve(item, by="ann")
        on.clock.advance(3000)
        await run.resume(by="ann")
        await on.rest(run, "completed")
        assert len([x for x in await on.records("r") if isinstance(x, Asked)]) == 1


# If nobody decides


async def test_people_are_reminded_until_they_decide(folder: Path) -> None:
    async with stage(folder, guarded(ask("act", remind_every=600))) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        item = await asked(on, run)
        began = on.clock.now()
        await on.until(lambda: on.clock.now() > began + 3100, hurry=100)
        reminded = [x for x in await on.records("r") if isinstance(x, Reminded)]
        assert 4 <= len(reminded) <= 5
        gaps = [b.at - a.at for a, b in zip(reminded, reminded[1:], strict=False)]
        assert all(gap >= 600 for gap in gaps)
        assert {x.i for x in reminded} == {item.partition(":")[2]}
        assert on.rt is not None
        await on.rt.approve(item, by="ann")
        await on.rest(run, "completed")
        count = len(await on.records("r"))
        on.clock.advance(5000)
        await asyncio.sleep(0.05)
        assert len(await on.records("r")) == count


async def test_an_approval_that_expires_is_an_expiry_and_not_a_denial(folder: Path) -> None:
    async with stage(folder, guarded(ask("act", expires_in=60))) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        item = await asked(on, run)
        on.clock.advance(61)
        assert on.rt is not None
        with pytest.raises(InterruptClosed, match="expired"):
            await on.rt.approve(item, by="ann")
        with pytest.raises(InterruptClosed, match="expired"):
            await on.rt.deny(item, by="ann")
        await on.rest(run, "completed")
        records = await on.records("r")
        assert [x.why for x in records if isinstance(x, Closed)] == ["expired"]
        assert not [x for x in records if isinstance(x, Decided | Intended)]
        [told] = [m for m in on.ledger.requests("r")[-1] if m["type"] == "result"]
        assert "expired" in told["content"] and "denied" not in told["content"]
        assert on.ledger.lines("r", "act") == []


async def test_a_deadline_passes_also_while_the_run_is_paused_and_is_recorded_when_it_goes_on(folder: Path) -> None:
    async with stage(folder, guarded(ask("act", expires_in=60))) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        item = await asked(on, run)
        await run.pause(by="ann")
        on.clock.advance(61)
        assert on.rt is not None
        with pytest.raises(InterruptClosed, match="expired"):
            await on.rt.approve(item, by="ann")
        await asyncio.sleep(0.05)
        assert not [x for x in await on.records("r") if isinstance(x, Closed)]
        await run.resume(by="ann")
        await on.rest(run, "completed")
        assert [x.why for x in await on.records("r") if isinstance(x, Closed)] == ["expired"]


async def test_an_expiry_may_cancel_the_run_and_what_was_done_is_undone(folder: Path) -> None:
    rule = ask("act", when={"name": "b"}, expires_in=60, on_expiry="cancel")
    async with stage(folder, guarded(rule)) as on:
        run = await on.start(script("r", does(act("a"), act("b")), says("done")))
        await asked(on, run)
        on.clock.advance(61)
        assert await on.rest(run, "cancelled", "completed") == "cancelled"
        assert on.ledger.lines("r", "acted", "undone") == ["acted a", "undone a"]
        assert [x.by for x in await on.records("r") if isinstance(x, CancelAsked)] == ["@expiry"]


async def test_an_expiry_may_ask_again_as_an_escalation_with_as_much_time(folder: Path) -> None:
    async with stage(folder, guarded(ask("act", expires_in=60, on_expiry="escalate"))) as on:
        run = await on.start(script("r", does(act("a")), says("done")))
        first = await asked(on, run)
        on.clock.advance(61)
        await on.until(lambda: asyncio.get_running_loop().time() > 0)
        async with asyncio.timeout(LIMIT):
            while [i.id for i in (await run.state()).interrupts] in ([first], []):
                await asyncio.sleep(0.002)
        [item] = (await run.state()).interrupts
        assert item.expires_at is not None
        assert 50 < item.expires_at - on.clock.now() < 60.01
        assert on.rt is not None
        with pytest.raises(InterruptClosed):
            await on.rt.approve(first, by="ann")
        on.clock.advance(40)
        await on.rt.approve(item.id, by="the boss")
        await on.rest(run, "completed")
        assert on.ledger.lines("r", "acted") == ["acted a"]
        assert [x.escalated for x in await on.records("r") if isinstance(x, Asked)] == [False, True]


@pytest.mark.parametrize("on_expiry", ["deny", "cancel"])
async def test_a_question_that_nobody_answers_in_time_expires_too(folder: Path, on_expiry: str) -> None:
    @tool
    async def wonder_briefly(ctx: ToolContext) -> None:
        """Ask, for a minute."""
        ctx.pause_for("question", "?", expires_in=60, on_expiry=on_expiry)

    agent = Agent("asker", model=Play(Ledger(folder / "ledger")), tools=[*TOOLS, wonder_briefly])
    async with stage(folder, agent) as on:
        run = await on.start(script("r", does(act("a"), call("wonder_briefly")), says("done")))
        item = await asked(on, run)
        on.clock.advance(61)
        assert on.rt is not None
        with pytest.raises(InterruptClosed, match="expired"):
            await on.rt.answer(item, "too late", by="ann")
        assert await on.rest(run, "completed", "cancelled") == ("completed" if on_expiry == "deny" else "cancelled")
        assert on.ledger.lines("r", "undone") == ([] if on_expiry == "deny" else ["undone a"])
        assert [x.why for x in await on.records("r") if isinstance(x, Closed)] == ["expired"]
        if on_expiry == "deny":
            assert "expired" in on.ledger.requests("r")[-1][-1]["content"]


async def test_the_time_a_person_takes_is_not_the_tools_time(folder: Path) -> None:
    async with stage(folder) as on:
        run = await on.start(script("r", does(call("half", name="a")), says("done")))
        item = await asked(on, run)
        on.clock.advance(30 * 24 * 3600)
        assert on.rt is not None
        await on.rt.answer(item, "yes", by="ann")
        await on.rest(run, "completed")
        from adjourn.core.records import Returned

        [returned] = [x for x in await on.records("r") if isinstance(x, Returned)]
        assert (returned.value, returned.error) == ("yes", "")
        assert returned.took < 60


# Everybody at once


async def test_g20_of_a_hundred_approvers_in_three_processes_one_wins_and_all_are_in_the_audit(office: Office) -> None:
    run = await office.start("solo", script("hundred", does(call("pay", name="a")), says("done")))
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    [item] = outcome.interrupts
    desks = await asyncio.gather(*(Process.begin(office.db, office.ledger) for _ in range(2)))
    try:
        for k, desk in enumerate(desks):
            desk.tell("decide", decisions=[(item.id, "approve" if n % 2 else "deny", f"p{k}-{n}") for n in range(33)])
        here = (said(office.desk.approve(item.id, by=f"q{n}")) for n in range(17))
        there = (said(office.desk.deny(item.id, by=f"r{n}")) for n in range(17))
        answers: list[Any] = [*await asyncio.gather(*here, *there)]
        answers += [answer for desk in desks for answer in await desk.hear()]
    finally:
        for desk in desks:
            await desk.kill()
    won = [a for a in answers if isinstance(a, int)]
    lost = [a for a in answers if isinstance(a, dict)]
    assert (len(won), len(lost)) == (1, 99)
    assert Counter(a["error"] for a in lost) == {"AlreadyDecided": 99}
    attempts = [x for x in await run.audit(limit=1000) if x.verb == "answer"]
    assert len({x.by for x in attempts}) == 100
    [winner] = [x for x in attempts if not x.refused]
    assert all(f"{winner.by} has already" in a["text"] for a in lost)
    assert len({x.origin for x in attempts}) == 3
    assert isinstance(await run.wait(LIMIT), Completed)
    assert office.ledger.lines("hundred", "acted") == (["acted a"] if winner.verdict == "approve" else [])
    assert await office.desk.verify() == []


async def test_a_decision_must_be_one_and_have_a_name(office: Office) -> None:
    run = await office.start("solo", script("named", does(call("pay", name="a")), says("done")))
    assert isinstance(outcome := await run.wait(LIMIT), Paused)
    [item] = outcome.interrupts
    for answer in ("yes", 1, {"approved": True}, None):
        with pytest.raises(InvalidAnswer):
            await office.desk.answer(item.id, answer, by="ann")
    with pytest.raises(InvalidAnswer):
        await office.desk.answer(item.id, Decision.value(True), by="ann")
    assert [i.id for i in await office.desk.inbox(run="named")] == [item.id]
    await run.cancel(by="ann")
    assert isinstance(await run.wait(LIMIT), Cancelled)
    with pytest.raises(InterruptClosed, match="cancelled"):
        await office.desk.approve(item.id, by="ann")
