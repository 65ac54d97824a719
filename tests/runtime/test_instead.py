"""A person gives the result of a call in the place of its tool, or drops a question: nothing runs, and it is recorded."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from adjourn import Agent, Completed, Decision, Paused, Policy, Runtime, ToolContext, ask, ask_human, tool
from adjourn.core.interrupt import Interrupt
from adjourn.core.journal_authority import violations
from adjourn.core.messages import ToolCall
from adjourn.core.records import AnyRecord, Asked, Claimed, Decided, Intended, Replied, Started, Suspended
from adjourn.core.state import State
from adjourn.errors import AlreadyDecided, Halted, InvalidAnswer, NotAllowed, StaleDecision
from adjourn.testing.scripted import ScriptedModel, call
from adjourn.views.call_outcome import outcome_of
from adjourn.views.timeline import Timeline

LIMIT = 60.0
ran: list[str] = []


async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    """Take a payment back."""
    ran.append(f"undo {args['to']}")


@tool(effect="unsafe", undo=take_back)
async def pay(to: str, cents: int) -> str:
    """Pay somebody."""
    ran.append(f"pay {to} {cents}")
    return f"paid {cents}"


def payer(name: str, *calls: Any, **rule: Any) -> Agent[str]:
    wanted = calls or (call("pay", to="ana", cents=5),)
    policy = Policy([ask("pay", **rule)], default="allow")
    return Agent(name, model=ScriptedModel(list(wanted), "done"), tools=[pay], policy=policy)


TWO = payer("two", call("pay", to="ana", cents=5), call("pay", to="bo", cents=6))
GROUPED = payer("grouped", groups=("finance",))
BOTH = payer("both", approvers=2)
OTHER = payer("other", not_requester=True)
STRICT = payer("strict", edits=False)
QUEUED = payer("queued", queue=True)
TWICE = Agent(
    "twice",
    model=ScriptedModel([call("pay", to="ana", cents=5)], [call("pay", to="bo", cents=6)], "done"),
    tools=[pay],
    policy=Policy([ask("pay", not_requester=True)]),
)
ASKER = Agent(
    "asker",
    model=ScriptedModel([call("ask_human", question="one?"), call("ask_human", question="two?")], "done"),
    tools=[ask_human],
)
AGENTS = (TWO, GROUPED, BOTH, OTHER, STRICT, QUEUED, TWICE, ASKER)


@pytest.fixture(autouse=True)
def _nothing_ran() -> None:  # pyright: ignore[reportUnusedFunction]
    ran.clear()


@pytest.fixture(params=["memory", "sqlite"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    return {"memory": "memory://", "sqlite": f"sqlite:///{tmp_path / 'runs.db'}"}[request.param]


@pytest.fixture
async def rt(place: str) -> AsyncIterator[Runtime]:
    async with Runtime(place, AGENTS) as runtime:
        yield runtime


async def asked(rt: Runtime, agent: Agent[Any]) -> tuple[Interrupt, ...]:
    outcome = await (await rt.start(agent, "go", by="cleo")).wait(LIMIT)
    assert isinstance(outcome, Paused)
    return tuple(outcome.interrupts)


async def done(rt: Runtime, item: Interrupt) -> str:
    """The run has ended, and no call in it ran that nobody agreed to. What its model was told."""
    run = await rt.get(item.run_id)
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Completed)
    assert list(violations([record for _, record in await rt.store.load(item.run_id)])) == []
    assert list(await rt.store.verify()) == [], "rows are as the journal says"
    return str(await run.messages())


async def test_the_tool_does_not_run_and_the_model_reads_what_the_person_gave(rt: Runtime) -> None:
    one, two = await asked(rt, TWO)
    await rt.answer(one, Decision.instead({"paid": "by hand"}, "the bank is down"), by="ben")
    await rt.approve(two, by="ben")
    told = await done(rt, one)
    assert ran == ["pay bo 6"]
    assert "'given_by': 'ben'" in told and "by hand" in told
    records = [record for _, record in await rt.store.load(one.run_id)]
    assert [record.call for record in records if isinstance(record, Intended)] == [two.call and two.call.call_id]
    [decided] = [record for record in records if isinstance(record, Decided) and record.i == one.local]
    assert (decided.verdict, decided.note, decided.value) == (
        "deny",
        "the bank is down",
        {"instead": {"paid": "by hand"}},
    )
    step = Timeline.of(enumerate(records, 1)).call("1.0")
    outcome = outcome_of(step)
    assert step is not None and outcome is not None
    assert (step.status, outcome.state, step.result) == ("completed", "not_run", {"paid": "by hand"})
    assert step.note == "result given instead by ben: the bank is down"


async def test_there_is_nothing_to_undo(rt: Runtime) -> None:
    one, two = await asked(rt, TWO)
    await rt.answer(one, Decision.instead("by hand"), by="ben")
    run = await rt.get(one.run_id)
    preview = await run.cancel_preview()
    assert list(preview.undo) == []
    await run.cancel(by="ben")
    await run.wait(LIMIT)
    assert ran == []
    assert (await rt.interrupt(two.ref)).local == two.local


async def test_another_process_goes_on_from_what_was_given(tmp_path: Path) -> None:
    place = f"sqlite:///{tmp_path / 'runs.db'}"
    async with Runtime(place, AGENTS) as first:
        one, two = await asked(first, TWO)
    async with Runtime(place) as desk:
        for item in (one, two):
            await desk.answer(item, Decision.instead(None), by="ben")
    async with Runtime(place, AGENTS) as second:
        assert "'result': None" in await done(second, one)
    assert ran == []


async def test_it_is_for_those_who_may_agree(rt: Runtime) -> None:
    [item] = await asked(rt, GROUPED)
    with pytest.raises(NotAllowed):
        await rt.answer(item, Decision.instead(1), by="ben", groups=["sales"])
    await rt.answer(item, Decision.instead(1), by="ben", groups=["finance"])
    await done(rt, item)
    [item] = await asked(rt, OTHER)
    with pytest.raises(NotAllowed):
        await rt.answer(item, Decision.instead(1), by="cleo")
    await rt.answer(item, Decision.instead(1), by="ben")
    await done(rt, item)
    assert ran == []


async def test_where_two_must_agree_one_of_them_may_give_the_result_and_the_others_yes_is_void(rt: Runtime) -> None:
    [item] = await asked(rt, BOTH)
    await rt.approve(item, by="ana")
    await rt.answer(item, Decision.instead("by hand"), by="ben")
    with pytest.raises(AlreadyDecided):
        await rt.approve(item, by="dora")
    await done(rt, item)
    assert ran == []


async def test_who_gave_a_result_has_shaped_the_run(rt: Runtime) -> None:
    [first] = await asked(rt, TWICE)
    await rt.answer(first, Decision.instead("pay bo as well"), by="ben")
    outcome = await (await rt.get(first.run_id)).wait(LIMIT)
    assert isinstance(outcome, Paused)
    [second] = outcome.interrupts
    with pytest.raises(NotAllowed):
        await rt.approve(second, by="ben")
    await rt.approve(second, by="dora")
    await done(rt, second)
    assert ran == ["pay bo 6"]


async def test_it_is_about_what_was_seen(rt: Runtime) -> None:
    one, _ = await asked(rt, TWO)
    with pytest.raises(StaleDecision):
        await rt.answer(one.ref, Decision.instead(1), by="ben", digest="0" * 64)
    blind = Decided(i=one.local, verdict="deny", value={"instead": 1}, by="ben")
    with pytest.raises(StaleDecision):
        await rt.store.deliver(one.run_id, blind)
    assert ran == []


async def test_a_rule_without_edits_takes_no_result_and_a_halt_neither(rt: Runtime) -> None:
    [strict] = await asked(rt, STRICT)
    with pytest.raises(InvalidAnswer, match="does not allow a result instead"):
        await rt.answer(strict, Decision.instead(1), by="ben")
    one, two = await asked(rt, TWO)
    await rt.halt("tool:pay", by="ana", reason="not now")
    with pytest.raises(Halted):
        await rt.answer(one, Decision.instead(1), by="ben")
    await rt.deny(two, by="ben")
    assert [item.ref for item in await rt.inbox(run=one.run_id)] == [one.ref]


async def test_a_result_comes_alone(rt: Runtime) -> None:
    one, _ = await asked(rt, TWO)
    for value, edit in (({"instead": 1, "dismissed": True}, None), ({"instead": 1}, {"to": "eve", "cents": 1})):
        odd = Decided(i=one.local, verdict="deny", value=value, edit=edit, by="ben", digest=one.digest)
        with pytest.raises(InvalidAnswer):
            await rt.store.deliver(one.run_id, odd)
    assert ran == []


async def test_a_queued_call_is_told_as_not_run(rt: Runtime) -> None:
    run = await rt.start(
        Agent(
            "later",
            model=ScriptedModel([call("pay", to="ana", cents=5)], "so far", "with it"),
            tools=[pay],
            policy=Policy([ask("pay", queue=True)]),
        ),
        "go",
        by="cleo",
    )
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Paused)
    [item] = outcome.interrupts
    await rt.answer(item, Decision.instead("by hand"), by="ben")
    told = await done(rt, item)
    assert "The queued call pay was not run; a person gave its result" in told
    assert ran == []


async def test_a_fork_is_cut_before_a_result_that_somebody_gave(rt: Runtime) -> None:
    one, two = await asked(rt, TWO)
    for item in (one, two):
        await rt.answer(item, Decision.instead("by hand"), by="ben")
    await done(rt, one)
    [seq, *_] = [n for n, record in await rt.store.load(one.run_id) if isinstance(record, Decided)]
    fork = await (await rt.get(one.run_id)).fork(by="dora")
    outcome = await fork.wait(LIMIT)
    assert isinstance(outcome, Paused) and len(outcome.interrupts) == 2
    copied = [record for n, record in await rt.store.load(fork.id) if n <= seq]
    assert not [record for record in copied if isinstance(record, Decided)]
    assert [record.kind for record in copied if isinstance(record, Asked)][:2] == ["approval", "approval"]


async def test_one_question_is_dismissed_and_the_other_stays(rt: Runtime) -> None:
    one, two = await asked(rt, ASKER)
    await rt.answer(one, Decision.dismiss("not now"), by="ben")
    assert [item.ref for item in await rt.inbox(run=one.run_id)] == [two.ref]
    with pytest.raises(AlreadyDecided):
        await rt.answer(one, "late", by="dora")
    await rt.answer(two, "yes", by="ben")
    told = await done(rt, one)
    assert "the question was dropped" in told
    step = Timeline.of(await rt.store.load(one.run_id)).call("1.0")
    assert step is not None and step.decision is not None and step.decision.verdict == "dismissed"


async def test_what_does_not_fit_is_refused(rt: Runtime) -> None:
    one, _ = await asked(rt, TWO)
    question, _ = await asked(rt, ASKER)
    for item, decision in ((one, Decision.dismiss()), (question, Decision.instead(1))):
        with pytest.raises(InvalidAnswer):
            await rt.answer(item, decision, by="ben")
    for item, value in ((one, {"dismissed": True}), (question, {"instead": 1}), (question, None)):
        odd = Decided(i=item.local, verdict="deny", value=value, by="ben", digest=one.digest)
        with pytest.raises((InvalidAnswer, StaleDecision)):
            await rt.store.deliver(item.run_id, odd)
    assert ran == []


async def test_several_are_approved_or_denied_each_as_it_was_seen(rt: Runtime) -> None:
    one, two = await asked(rt, TWO)
    three, four = await asked(rt, TWO)
    await rt.deny(three, by="dora")
    done_here = await rt.decide_all([one, two, three, one], Decision.approve("all fine"), by="ben")
    assert [(x.interrupt.ref, bool(x.seq)) for x in done_here] == [(one.ref, True), (two.ref, True), (three.ref, False)]
    assert isinstance(done_here[2].refused, AlreadyDecided)
    await done(rt, one)
    assert sorted(ran) == ["pay ana 5", "pay bo 6"]
    again = await rt.decide_all([one, two], Decision.approve("all fine"), by="ben")
    assert [x.seq for x in again] == [x.seq for x in done_here[:2]], "the same again is the same"
    [last] = await rt.decide_all([four], Decision.deny(), by="ben")
    assert last.seq
    await done(rt, three)


@pytest.mark.parametrize(
    "decision",
    [
        Decision.approve(edit={"to": "eve", "cents": 1}),
        Decision.approve(scope="run"),
        Decision.instead(1),
        Decision.value(1),
    ],
)
async def test_what_cannot_be_the_same_for_several_decides_nothing(rt: Runtime, decision: Decision) -> None:
    one, two = await asked(rt, TWO)
    with pytest.raises(InvalidAnswer):
        await rt.decide_all([one, two], decision, by="ben")
    assert len(await rt.inbox(run=one.run_id)) == 2


def test_what_a_body_did_before_it_paused_stands_and_is_undone_with_the_rest() -> None:
    """It was begun, asked about again, and a person gave its result: a cancel has something to undo."""
    begun: list[AnyRecord] = [
        Started(run="r", kind="agent", program="two"),
        Claimed(worker="w", epoch=1),
        Replied(parts=(ToolCall(id="c1", tool="pay", args={"to": "ana", "cents": 5}),)),
        Intended(call="1.0", tool="pay", attempt=1, effect="unsafe", undo=True),
        Suspended(call="1.0", i="1.0?0", key="k", resume_to="self"),
        Decided(i="1.0?0", verdict="value", value=1, by="ana"),
        Asked(i="1.0?1", kind="approval", call="1.0", tool="pay"),
    ]
    given = Decided(i="1.0?1", verdict="deny", value={"instead": "by hand"}, by="ben")
    state = State().fold_all(enumerate([*begun, given], 1))
    assert list(state.effects) == ["1.0"] and not state.live
    never = [*begun[:3], Asked(i="1.0?1", kind="approval", call="1.0", tool="pay"), given]
    assert not State().fold_all(enumerate(never, 1)).effects
