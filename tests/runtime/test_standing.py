"""A decision that stands answers later calls of its run: no more of them than it says, no longer, and no others."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adjourn import Agent, Completed, Decision, Paused, Policy, Runtime, Standing, ask, tool
from adjourn.core.interrupt import Interrupt
from adjourn.core.journal_authority import violations
from adjourn.core.records import AnyRecord, Asked, Decided, Intended
from adjourn.core.standing_decision import under
from adjourn.errors import InvalidAnswer, NotAllowed, Refused
from adjourn.testing.scripted import ScriptedModel, call
from adjourn.views.decision_view import decision_line
from adjourn.views.standing_view import StandingState
from adjourn.views.timeline import Timeline

LIMIT = 60.0
ran: list[str] = []


@tool(effect="unsafe")
async def pay(to: str, cents: int) -> str:
    """Pay somebody."""
    ran.append(f"{to} {cents}")
    return f"paid {cents}"


def payer(name: str, *wanted: tuple[str, int], **rule: Any) -> Agent[str]:
    """It pays one after the other."""
    turns = [[call("pay", to=to, cents=cents)] for to, cents in wanted]
    policy = Policy([ask("pay", **rule)], default="allow")
    return Agent(name, model=ScriptedModel(*turns, "done"), tools=[pay], policy=policy)


FOUR = (("ana", 5), ("abe", 6), ("ada", 7), ("amy", 8))
ROW = payer("row", *FOUR)
MIXED = payer("mixed", ("ana", 5), ("bo", 6), ("ada", 7), ("amy", 800))
SAME = payer("same", ("ana", 5), ("ana", 5), ("ana", 6))
BOTH = payer("both", *FOUR[:2], approvers=2)
OTHER = payer("other", *FOUR[:2], not_requester=True)
LATER = payer("later", ("ana", 5), ("bo", 6), ("ada", 7), not_requester=True)
GROUPED = payer("grouped", *FOUR[:2], groups=("finance",))
STRICT = payer("strict", ("ana", 5), ("ana", 5), ("abe", 5), edits=False)
TOGETHER = Agent(
    "together",
    model=ScriptedModel([call("pay", to=to, cents=cents) for to, cents in FOUR], "done"),
    tools=[pay],
    policy=Policy([ask("pay")]),
)
AGENTS = (ROW, MIXED, SAME, BOTH, OTHER, LATER, GROUPED, STRICT, TOGETHER)
ANY = Standing(where=("*",))


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:  # pyright: ignore[reportUnusedFunction]
    ran.clear()


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    if request.param == "postgres":
        return request.getfixturevalue("postgres").fresh()
    return {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'runs.db'}"}[request.param]


@pytest.fixture
async def rt(place: str) -> AsyncIterator[Runtime]:
    async with Runtime(place, AGENTS) as runtime:
        yield runtime


async def first(rt: Runtime, agent: Agent[Any]) -> Interrupt:
    run = await rt.start(agent, "go", by="cleo")
    return await waits(rt, run.id)


async def waits(rt: Runtime, run_id: str) -> Interrupt:
    outcome = await (await rt.get(run_id)).wait(LIMIT)
    assert isinstance(outcome, Paused)
    return outcome.interrupts[0]


async def records(rt: Runtime, run_id: str) -> list[AnyRecord]:
    return [record for _, record in await rt.store.load(run_id)]


async def ended(rt: Runtime, run_id: str) -> list[AnyRecord]:
    """The run has ended, every call in it is lawful, and the rows are as the journal says."""
    outcome = await (await rt.get(run_id)).wait(LIMIT)
    assert isinstance(outcome, Completed)
    journal = await records(rt, run_id)
    assert list(violations(journal)) == []
    assert list(await rt.store.verify()) == []
    return journal


def uses(journal: list[AnyRecord]) -> list[Decided]:
    return [record for record in journal if isinstance(record, Decided) and under(record)]


async def test_later_calls_that_fit_run_without_a_question_and_each_names_who_decided(rt: Runtime) -> None:
    item = await first(rt, ROW)
    await rt.approve(item, by="ben", note="small", stands=Standing(where=("to=a*", "cents<=100")))
    journal = await ended(rt, item.run_id)
    assert ran == ["ana 5", "abe 6", "ada 7", "amy 8"]
    assert [(use.by, under(use)) for use in uses(journal)] == [("ben", item.local)] * 3
    gated = [record for record in journal if isinstance(record, Intended)]
    assert [record.standing for record in gated] == ["", item.local, item.local, item.local]
    lines = [line.entry for line in await rt.store.audit(item.run_id) if line.entry["verb"] == "answer"]
    assert "to=a* and cents<=100" in lines[0]["stands"]
    assert [(line["by"], line["verdict"], line["under"]) for line in lines[1:]] == [("ben", "approve", item.local)] * 3
    step = Timeline.of(enumerate(journal, 1)).call("2.0")
    assert step is not None and step.decision is not None
    assert decision_line(step.decision) == f"approved by ben, standing decision {item.local}: small"


async def test_a_call_that_does_not_fit_is_asked(rt: Runtime) -> None:
    item = await first(rt, MIXED)
    await rt.approve(item, by="ben", stands=Standing(where=("to=a*", "cents<=100")))
    other = await waits(rt, item.run_id)
    assert other.call is not None and other.call.arguments["to"] == "bo"
    await rt.deny(other, by="ben")
    dear = await waits(rt, item.run_id)
    assert dear.call is not None and dear.call.arguments["cents"] == 800
    assert ran == ["ana 5", "ada 7"]


async def test_it_answers_no_more_calls_than_it_says(rt: Runtime) -> None:
    item = await first(rt, ROW)
    await rt.approve(item, by="ben", stands=Standing(where=("*",), times=3))
    last = await waits(rt, item.run_id)
    assert (last.call and last.call.arguments["to"], ran) == ("amy", ["ana 5", "abe 6", "ada 7"])
    [view] = await rt.standing(item.run_id)
    assert (view.uses, view.times, view.state, view.by) == (3, 3, StandingState.USED_UP, ("ben",))
    await rt.deny(last, by="ben")
    await ended(rt, item.run_id)


async def test_questions_that_wait_are_answered_as_well_up_to_the_count(rt: Runtime) -> None:
    item = await first(rt, TOGETHER)
    await rt.approve(item, by="ben", stands=Standing(where=("*",), times=3))
    left = await waits(rt, item.run_id)
    outcome = await (await rt.get(item.run_id)).wait(LIMIT)
    assert isinstance(outcome, Paused) and len(outcome.interrupts) == 1
    assert len(ran) == 3
    await rt.deny(left, by="ben")
    await ended(rt, item.run_id)


async def test_without_conditions_it_is_for_the_same_arguments(rt: Runtime) -> None:
    item = await first(rt, SAME)
    await rt.approve(item, by="ben", stands=Standing())
    other = await waits(rt, item.run_id)
    assert other.call is not None and other.call.arguments["cents"] == 6
    assert ran == ["ana 5", "ana 5"]


async def test_a_revoked_one_answers_nothing_and_everybody_sees_who_revoked_it(rt: Runtime) -> None:
    item = await first(rt, MIXED)
    await rt.approve(item, by="ben", stands=Standing(where=("to=a*",)))
    other = await waits(rt, item.run_id)
    await rt.revoke(item, by="dan", note="enough")
    await rt.deny(other, by="ben")
    again = await waits(rt, item.run_id)
    assert (again.call and again.call.arguments["to"], ran) == ("ada", ["ana 5"])
    [view] = await rt.standing(item.run_id)
    assert view.state == StandingState.REVOKED
    [line] = [line.entry for line in await rt.store.audit(item.run_id) if line.entry["verb"] == "revoke"]
    assert (line["by"], line["interrupt"], line["note"]) == ("dan", item.local, "enough")
    with pytest.raises(Refused, match="revoked already"):
        await rt.revoke(item, by="dan")
    with pytest.raises(Refused, match="does not stand"):
        await rt.revoke(other, by="dan")
    with pytest.raises(NotAllowed):
        await rt.revoke(again, by="mixed")


async def test_a_standing_denial_refuses_later_calls_and_wins(rt: Runtime) -> None:
    item = await first(rt, MIXED)
    await rt.approve(item, by="ben", stands=Standing(where=("to=a*",)))
    other = await waits(rt, item.run_id)
    await rt.deny(other, by="dan", note="frozen", stands=ANY)
    journal = await ended(rt, item.run_id)
    assert ran == ["ana 5"]
    assert [(use.by, use.verdict, use.note) for use in uses(journal)] == [("dan", "deny", "frozen")] * 2
    assert "denied by dan: frozen" in str(await (await rt.get(item.run_id)).messages())


async def test_where_two_must_agree_two_must_let_it_stand(rt: Runtime) -> None:
    item = await first(rt, BOTH)
    await rt.approve(item, by="ben", stands=ANY)
    with pytest.raises(InvalidAnswer, match="needs the same terms from every approver"):
        await rt.approve(item, by="dan", stands=Standing(where=("to=a*",)))
    await rt.approve(item, by="dan")
    await waits(rt, item.run_id)
    assert (ran, await rt.standing(item.run_id)) == (["ana 5"], [])
    other = await first(rt, BOTH)
    await rt.approve(other, by="ben", stands=ANY)
    await rt.approve(other, by="dan", stands=ANY)
    journal = await ended(rt, other.run_id)
    assert [use.by for use in uses(journal)] == ["ben", "dan"]
    [view] = await rt.standing(other.run_id)
    assert (view.uses, view.by, view.state) == (2, ("ben", "dan"), StandingState.ENDED)


async def test_whoever_may_not_approve_lets_nothing_stand(rt: Runtime) -> None:
    own = await first(rt, OTHER)
    with pytest.raises(NotAllowed):
        await rt.approve(own, by="cleo", stands=ANY)
    grouped = await first(rt, GROUPED)
    with pytest.raises(NotAllowed):
        await rt.approve(grouped, by="ben", stands=ANY)
    await rt.approve(grouped, by="ben", groups=("finance",), stands=ANY)
    await ended(rt, grouped.run_id)
    assert ran == ["ana 5", "abe 6"]


async def test_whoever_has_shaped_the_run_since_lets_nothing_more_run_where_a_rule_forbids_that(rt: Runtime) -> None:
    item = await first(rt, LATER)
    await rt.approve(item, by="ben", stands=Standing(where=("to=a*",)))
    other = await waits(rt, item.run_id)
    await rt.deny(other, by="ben", note="ben shapes the run with this")
    again = await waits(rt, item.run_id)
    assert (again.call and again.call.arguments["to"], ran) == ("ada", ["ana 5"])
    assert uses(await records(rt, item.run_id)) == []


async def test_where_nobody_may_edit_it_stands_for_the_same_arguments_only(rt: Runtime) -> None:
    item = await first(rt, STRICT)
    with pytest.raises(InvalidAnswer, match="same arguments only"):
        await rt.approve(item, by="ben", stands=Standing(where=("to=a*",)))
    await rt.approve(item, by="ben", stands=Standing())
    other = await waits(rt, item.run_id)
    assert (other.call and other.call.arguments["to"], ran) == ("abe", ["ana 5", "ana 5"])


async def test_conditions_must_fit_the_call_that_is_decided(rt: Runtime) -> None:
    item = await first(rt, ROW)
    for where in (("to=b*",), ("cents>5",), ("nothing=1",)):
        with pytest.raises(InvalidAnswer, match="does not match this call"):
            await rt.approve(item, by="ben", stands=Standing(where=where))
    with pytest.raises(InvalidAnswer, match="without an edit"):
        Decision.approve(edit={"to": "ana", "cents": 1}, stands=ANY)


async def test_a_fork_and_another_run_inherit_none(rt: Runtime) -> None:
    item = await first(rt, MIXED)
    await rt.approve(item, by="ben", stands=Standing(where=("to=a*",)))
    await waits(rt, item.run_id)
    fork = await (await rt.get(item.run_id)).fork(by="ben")
    assert await rt.standing(fork.id) == []
    waiting = await waits(rt, fork.id)
    await rt.deny(waiting, by="ben")
    again = await waits(rt, fork.id)
    assert (again.call and again.call.arguments["to"], ran) == ("ada", ["ana 5"])
    assert [record for record in await records(rt, fork.id) if isinstance(record, Asked)][-1].i == again.local
