"""What attacks found in the first version, each as the promise that it broke. Only effects count: what was paid, sent, undone.

Everything here goes by the public API, so that a test fails for its reason, on whatever version it is tried.
"""

import contextlib
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from tests.authority.desks import (
    DIRECTORS,
    TWO_DIRECTORS,
    Approval,
    Charges,
    Payments,
    Refunds,
    Wire,
    agree,
    choose,
    client,
    items,
    one,
    orders,
    rest,
)

from adjourn import (
    AdjournError,
    Agent,
    Checkpoint,
    NotAllowed,
    Policy,
    Run,
    Runtime,
    ToolContext,
    UnknownRun,
    ask,
    pause_for,
    tool,
)
from adjourn.core.records import Decided
from adjourn.server import Users
from adjourn.stores.memory import MemoryStore
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock, ScriptedModel, call, env


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(params=["memory", "sqlite"])
async def rt(request: pytest.FixtureRequest, clock: FakeClock, tmp_path: Path) -> AsyncIterator[Runtime]:
    store = SQLiteStore(str(tmp_path / "runs.db"), now=clock.now) if request.param == "sqlite" else None
    async with env(store=store or MemoryStore(now=clock.now), clock=clock, on_change="warn", grace=0.0) as opened:
        yield opened.runtime
    if store is not None:
        await store.close()


# Security 1: one answer, four payments


CHANGED: dict[str, dict[str, Any]] = {
    "as it is": {}, "another input": {"input": "refund EVE-9"}, "an instruction": {"instruction": "the order is EVE-9"},
}  # fmt: skip


@pytest.mark.parametrize("changed", CHANGED)
async def test_sec_1_one_answer_pays_once_however_often_its_run_is_forked(rt: Runtime, changed: str) -> None:
    desk = Refunds()
    run = await rt.start(desk.agent, "refund 123", by="eve")
    await rest(run)
    await rt.answer((await one(rt, run)).id, {"approved": True}, by="ana")
    await rest(run)
    assert desk.paid == ["123"]
    answered = next(n for n, x in await rt.store.load(run.id) if isinstance(x, Decided))
    forks = [await run.fork(answered, by="olga", **CHANGED[changed]) for _ in range(2)]
    await rest(*forks)
    assert desk.paid == ["123"], "nobody has answered in the forks"
    for fork in forks:
        await rt.answer((await one(rt, fork)).id, {"approved": True}, by="ana")
    await rest(*forks)
    assert desk.paid == ["123"] * 3


async def test_sec_1_an_operator_cannot_carry_an_answer_over(rt: Runtime) -> None:
    desk, users = Refunds(), Users()
    run = await rt.start(desk.agent, "refund 123", by="eve")
    await rest(run)
    await rt.answer((await one(rt, run)).id, {"approved": True}, by="ana")
    await rest(run)
    async with client(rt, users, "olga", "operator") as olga:
        for body in ({}, {"at": 6}, {"answers": "keep"}, {"at": 6, "input": "refund EVE-9"}, {"instruction": "EVE-9"}):
            await olga.post(f"runs/{run.id}/fork", json=body)
    await rest(*[await rt.get(row.id) for row in await rt.runs()])
    assert desk.paid == ["123"]
    users.close()


# Security 2: ids that only begin alike


async def test_sec_2_a_message_about_one_order_ships_no_other(rt: Runtime) -> None:
    shipped: list[str] = []
    flow = orders(shipped)
    runs = [await rt.start(flow, id, run_id=id, by="eve") for id in ("order-12", "parcel-12")]
    await rest(*runs)
    for beginning in ("order-1", "order-", "o", "parcel"):
        with pytest.raises(UnknownRun):
            await (await rt.get(beginning)).emit("paid", {}, by="ana")
    await rest(*runs)
    assert shipped == []
    await (await rt.get("order-12")).emit("paid", {}, by="ana")
    await rest(runs[0])
    assert shipped == ["order-12"]


async def test_sec_2_over_http_a_beginning_is_no_run(rt: Runtime) -> None:
    run = await rt.start(orders([]), "12", run_id="order-12", by="eve")
    await rest(run)
    users = Users()
    key = users.run_key("order-1")
    async with client(rt, users, "ada", "admin") as ada:
        for verb in ("cancel", "pause", "say", "emit", "fork"):
            answer = await ada.post(
                f"runs/order-1/{verb}", json={"say": {"text": "x"}, "emit": {"event": "paid"}}.get(verb, {})
            )
            assert answer.status_code == 404, verb
        for view in ("", "/messages", "/records", "/checkpoint"):
            answer = await ada.get(f"runs/order-1{view}", headers={"Authorization": f"Bearer {key}"})
            assert answer.status_code == 404, view
    assert await run.status() == "waiting"
    users.close()


# Security 4: rules told apart by functions


async def test_sec_4_an_edit_is_judged_by_every_rule_also_by_functions(rt: Runtime) -> None:
    """Two lambdas are two rules, though they have one name: a clerk's edit walks into that of the directors."""
    paid: list[int] = []

    @tool(effect="unsafe")
    async def refund(cents: int) -> str:
        """Pay back."""
        paid.append(cents)
        return "refunded"

    rules = [
        ask("refund", when=lambda args: bool(args["cents"] > 100), groups=("clerks",)),
        ask("refund", when=lambda args: bool(args["cents"] > 10_000), **TWO_DIRECTORS),
    ]
    wanted = [call("refund", cents=200), call("refund", cents=300)]
    policy = Policy(rules, default="allow")
    run = await rt.start(Agent("clerk", model=ScriptedModel(wanted, "done"), tools=[refund], policy=policy), by="eve")
    await rest(run)
    for item in await items(rt, run):
        await rt.approve(item.id, by="cleo", groups=("clerks",), edit={"cents": 1_000_000})
    await rest(run)
    assert paid == []
    await agree(rt, run, "dan", "dora", groups=("directors", "clerks"))
    assert paid == [1_000_000] * 2


# Security 5: in doubt, and nobody of the gate


async def test_sec_5_a_call_in_doubt_runs_again_only_by_those_who_may_let_it_run(rt: Runtime) -> None:
    desk = Wire()
    run = await desk.in_doubt(rt)
    for item in await items(rt, run, "in_doubt"):
        assert not await choose(rt, item, "nora", {"choice": "run"}), "somebody of no group"
        assert not await choose(rt, item, "eve", {"choice": "run"}, DIRECTORS)
        assert await choose(rt, item, "dan", {"choice": "run"}, DIRECTORS)
    await rest(run)
    assert len(desk.sent) == 2
    for item in await items(rt, run, "in_doubt"):
        assert await choose(rt, item, "dora", {"choice": "run"}, DIRECTORS)
    await rest(run)
    assert sorted(desk.sent) == ["ann", "ann", "bob", "bob"]


async def test_sec_5_what_came_of_a_call_in_doubt_is_for_its_people_to_say(rt: Runtime) -> None:
    desk = Wire()
    run = await desk.in_doubt(rt)
    happened = {"choice": "happened", "result": "CONFIRMED #42"}
    for item, by in zip(await items(rt, run, "in_doubt"), ("dan", "dora"), strict=True):
        assert not await choose(rt, item, "nora", happened)
        assert not await choose(rt, item, "eve", happened, DIRECTORS)
        assert await choose(rt, item, by, happened, DIRECTORS)
    await rest(run)
    assert len(desk.sent) == 2


async def test_sec_5_an_agreement_has_a_life_also_in_doubt(rt: Runtime, clock: FakeClock) -> None:
    """What they choose is their agreement from then on; when its life is over, they are asked again."""
    desk = Wire(valid_for=60)
    run = await desk.in_doubt(rt)
    await run.pause(by="ada")
    for item in await items(rt, run, "in_doubt"):
        for by in ("dan", "dora"):
            await choose(rt, item, by, {"choice": "run"}, DIRECTORS)
    clock.advance(61)
    await run.resume(by="ada")
    await rest(run)
    assert len(desk.sent) == 2
    assert len(await items(rt, run)) == 2


# Security 6: an event that decides


async def test_sec_6_an_event_that_answers_is_an_answer(rt: Runtime) -> None:
    desk, users = Approval(), Users()
    run = await rt.start(desk.flow, "go", by="eve")
    await rest(run)
    item = await one(rt, run)
    async with client(rt, users, "olga", "operator") as olga, client(rt, users, "ana", "admin") as ana:
        word = {"event": "approved", "value": {"approved": True, "by": "the CFO"}}
        assert (await olga.post(f"runs/{run.id}/emit", json=word)).status_code == 403
        await rest(run)
        assert desk.committed == []
        assert (await ana.post(f"runs/{run.id}/emit", json=word)).status_code == 200
        await rest(run)
        assert len(desk.committed) == 1
        seen = (await ana.get(f"interrupts/{quote(item.id, safe='')}")).json()
        assert seen["closed"]["by"] == "ana"
    users.close()


@pytest.mark.parametrize("name", ["approval", "Approval", "@approval"])
async def test_sec_6_a_run_does_not_answer_itself_with_an_event(rt: Runtime, name: str) -> None:
    desk = Approval()
    run = await rt.start(desk.flow, "go", by="eve")
    await rest(run)
    for by in (name, run.id):
        with pytest.raises(NotAllowed):
            await run.emit("approved", True, by=by)
    assert desk.committed == []


# Security 14: the requester


async def test_sec_14_where_nobody_is_known_to_have_asked_nobody_approves(rt: Runtime) -> None:
    desk = Payments()
    with contextlib.suppress(AdjournError):  # refused when it starts, or when somebody would approve
        await desk.refuses(rt, await _started(rt, desk), "eve")
    assert desk.paid == []


async def _started(rt: Runtime, desk: Payments) -> Run[Any]:
    run = await rt.start(desk.agent, "go")
    await rest(run)
    assert await items(rt, run, "approval")
    return run


async def test_sec_14_who_answered_does_not_approve_what_came_of_it(rt: Runtime) -> None:
    desk = Payments([call("ask_operator", question="whom?")], [call("pay", cents=5), call("pay", cents=6)])
    run = await rt.start(desk.agent, "go", by="olga")
    await rest(run)
    await rt.answer((await one(rt, run)).id, "REFUND EVE", by="eve")
    await rest(run)
    await desk.refuses(rt, run, "eve")
    await agree(rt, run, "ana")
    assert desk.paid == [5, 6]


async def test_sec_14_who_started_a_run_does_not_approve_in_a_colleagues_fork_of_it(rt: Runtime) -> None:
    desk = Payments()
    run = await rt.start(desk.agent, "go", by="eve")
    await rest(run)
    forks = [await run.fork(by="carl") for _ in range(2)]
    await rest(*forks)
    for fork in forks:
        await desk.refuses(rt, fork, "eve")
        await desk.refuses(rt, fork, "carl")
    await agree(rt, forks[0], "ana")
    assert desk.paid == [5, 6]


# Security 15: what is tightened while it waits


async def take_back(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
    """Take a payment back."""


TIGHTER: dict[str, dict[str, Any]] = {
    "a tighter rule": TWO_DIRECTORS,
    "more people": {"approvers": 2},
    "another description": {"description": "Pay ANYBODY, from the company's account.", "reason": "money"},
    "no undo": {"undo": None, "reason": "money"},
}


@pytest.mark.parametrize("change", TIGHTER)
async def test_sec_15_what_was_approved_under_a_weaker_version_is_asked_again(clock: FakeClock, change: str) -> None:
    store = MemoryStore(now=clock.now)
    before = Payments(undo=take_back, reason="money")
    changed: dict[str, Any] = {"undo": take_back, **TIGHTER[change]}
    after = Payments(**changed)
    async with env([before.agent], store=store, clock=clock) as opened:
        run = await opened.runtime.start(before.agent, "go", by="eve", run_id="r")
        await rest(run)
    async with env([after.agent], store=store, clock=clock, on_change="warn") as opened:
        rt = opened.runtime
        run = await rt.get("r")
        for item in await items(rt, run):
            with contextlib.suppress(AdjournError):  # where what waits has been put anew already
                await rt.approve(item.id, by="nora")
        await rest(run)
        assert (before.paid, after.paid) == ([], [])
        await agree(rt, run, "dan", *(["dora"] if "approvers" in TIGHTER[change] else []))
        assert after.paid == [5, 6]


# Core 1: a fork owns nothing of its original


async def test_core_1_a_fork_that_is_cancelled_undoes_nothing_of_its_original(rt: Runtime) -> None:
    desk = Charges()
    words = [call("charge", order="a"), call("charge", order="b")], [call("ask_operator", question="go on?")]
    run = await rt.start(desk.agent(*words), "go", by="eve")
    await rest(run)
    forks = [await run.fork(by="ada") for _ in range(2)]
    await rest(*forks)
    for fork in forks:
        assert not (await fork.cancel_preview()).undo
        await fork.cancel(by="ada")
    await rest(*forks)
    assert desk.world == ["charge a", "charge b"]
    await run.cancel(by="ada")
    await rest(run)
    assert desk.world[2:] == ["void b", "void a"], "its own run takes them back, once each"


async def test_core_1_a_body_that_waits_goes_on_in_its_own_run_alone(rt: Runtime) -> None:
    """A fork begins before that body did: what it sends it has set aside itself."""
    desk = Charges()
    run = await rt.start(desk.agent([call("wire", to="ann"), call("wire", to="bob")]), "go", by="eve")
    await rest(run)
    forks = [await run.fork(by="ada") for _ in range(2)]
    await rest(*forks)
    for item in [item for either in (run, *forks) for item in await items(rt, either, "question")]:
        await rt.answer(item.id, "yes", by="ana")
    await rest(run, *forks)
    for to in ("ann", "bob"):
        assert desk.world.count(f"wire {to}") == desk.world.count(f"reserve {to}") == 3


async def test_core_1_a_run_that_was_approved_and_then_paused_can_be_forked(clock: FakeClock) -> None:
    """Nobody was there to advance it, so that the approval is not used yet."""
    store, desk = MemoryStore(now=clock.now), Payments(reason="money")
    async with env([desk.agent], store=store, clock=clock) as opened:
        await rest(await opened.runtime.start(desk.agent, "go", by="eve", run_id="r"))
    async with env(store=store, clock=clock) as opened:
        rt = opened.runtime
        run = await rt.get("r")
        for item in await items(rt, run):
            await rt.approve(item.id, by="ana")
        await run.pause(by="ada")
    async with env([desk.agent], store=store, clock=clock) as opened:
        run = await opened.runtime.get("r")
        await rest(run)
        forks = [await run.fork(by="ada") for _ in range(2)]
        await rest(*forks)
        assert desk.paid == []
        assert [len(await items(opened.runtime, fork, "approval")) for fork in forks] == [2, 2]


# Core 9: a checkpoint of another history


async def test_core_9_a_checkpoint_of_another_history_of_the_same_length_is_refused(rt: Runtime) -> None:
    asked: list[str] = []

    @tool(effect="read")
    async def ask_operator(question: str) -> Any:
        """Ask an operator."""
        pause_for("question", {"question": question})

    def then(messages: Any) -> Any:
        question = "DELETE ALL DATA?" if "delete" in str(messages[-1]) else "Send a nice postcard?"
        asked.append(question)
        return [call("ask_operator", question=question)]

    def agent() -> Agent:
        return Agent(
            "clerk", model=ScriptedModel([call("ask_operator", question="what?")], then, "done"), tools=[ask_operator]
        )

    first = (await agent().run("go")).checkpoint
    other = (await agent().resume(first.to_json(), "postcard")).checkpoint
    await rest(await rt.start(agent(), "another run, so that the program is known here", by="bob"))
    run = await rt.resume(first.to_json(), "delete", by="bob")
    await rest(run)
    mine: Checkpoint = await run.checkpoint()
    assert (asked, mine.seq) == (["Send a nice postcard?", "DELETE ALL DATA?"], other.seq)
    with pytest.raises(AdjournError):
        await rt.resume(other.to_json(), "yes, of course", by="ana")
    assert await run.status() == "waiting"
