"""Hooks: a veto before a tool runs, and what a tool gave before anybody reads it."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from adjourn import (
    Agent,
    Cancelled,
    Completed,
    InDoubt,
    InvalidDefinition,
    Paused,
    Policy,
    ProgramChanged,
    Runtime,
    ToolContext,
    allow,
    ask,
    deny,
    is_paused,
    pause_for,
    tool,
)
from adjourn.core.done_calls import LEFT
from adjourn.core.plan import Go
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Checked,
    Claimed,
    Doubted,
    Faulted,
    Intended,
    Late,
    Returned,
    Verified,
)
from adjourn.core.state import State
from adjourn.hooks import Hook, HookedCall, HookedResult, Veto, after_tool, before_tool
from adjourn.testing import FakeClock, ScriptedModel, call, crash_points
from adjourn.views.audit_words import sentence
from adjourn.views.timeline import Timeline

CARD = "4111-1111-1111-1111"
LIMIT = 30.0


class Bank:
    """What really happened."""

    def __init__(self) -> None:
        self.paid: list[int] = []
        self.undone: list[Any] = []

    def tools(self, effect: Any = "unsafe", **options: Any) -> Any:
        async def undo(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
            self.undone.append(result)

        @tool(effect=effect, undo=undo, **options)
        async def pay(cents: int) -> dict[str, Any]:
            """Pay."""
            self.paid.append(cents)
            return {"card": CARD, "paid": cents}

        return pay


def payer(bank: Bank, *hooks: Hook, policy: Policy | None = None, turns: Any = None, **options: Any) -> Agent[str]:
    model = ScriptedModel(*(turns or [[call("pay", cents=5)]]), "done")
    return Agent("payer", model=model, tools=[bank.tools(**options)], policy=policy, hooks=hooks)


def seen(result: HookedResult) -> HookedResult:
    if result.error:
        return result.replace(result.error.replace(CARD, "•"))
    return result.replace({**result.value, "card": "•"} if result.value else None)


def hide(hooked: HookedCall, result: HookedResult) -> HookedResult:
    return seen(result)


def raises(error: BaseException) -> Callable[..., Any]:
    def hook(*given: Any) -> Any:
        raise error

    return hook


def never(hooked: HookedCall) -> Veto:
    return Veto("never")


def records(outcome: Any, kind: type[Any] = object) -> list[Any]:
    return [record for record in outcome.checkpoint.records if isinstance(record, kind)]


# Before.


async def test_a_veto_is_read_by_the_model_and_recorded_with_the_name_of_its_hook(place: str) -> None:
    bank = Bank()

    async def small(hooked: HookedCall) -> Veto | None:
        if hooked.arguments["cents"] > 100:
            return Veto("more than 100 needs a contract")
        return None

    agent = payer(bank, before_tool(small, tools="pa*"), turns=[[call("pay", cents=500), call("pay", cents=5)]])
    async with Runtime(place, [agent]) as rt:
        run = await rt.start(agent, "go", by="cleo")
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Completed) and bank.paid == [5]
        [veto] = [record for record in records(outcome, Checked) if record.verdict == "veto"]
        assert (veto.step, veto.hooks, veto.tool) == ("check:1.0", ("small",), "pay")
        [returned] = [record for record in records(outcome, Returned) if record.call == "1.0"]
        assert returned.error == "not allowed: the hook small says: more than 100 needs a contract"
        assert (returned.why, returned.ran) == ("vetoed", False)
        timeline = Timeline.of(await rt.store.load(run.id))
        step = timeline.call("1.0")
        assert step is not None and step.status == "denied"
        assert step.note == "vetoed by the hook small: more than 100 needs a contract"
        lines = await rt.store.recent(limit=50)
        assert "the hook small vetoed pay: “more than 100 needs a contract”" in [str(sentence(line)) for line in lines]


async def test_nobody_is_asked_about_what_a_hook_vetoes() -> None:
    bank = Bank()
    outcome = await payer(bank, before_tool(never), policy=Policy([ask("pay")])).run("go")
    assert isinstance(outcome, Completed) and not bank.paid and not records(outcome, Asked)


async def test_a_hook_is_asked_again_when_the_approved_call_begins(place: str) -> None:
    bank, blocked = Bank(), list[int]()

    def account_is_open(hooked: HookedCall) -> Veto | None:
        return Veto("the account was closed meanwhile") if blocked else None

    agent = payer(bank, before_tool(account_is_open), policy=Policy([ask("pay")]))
    async with Runtime(place, [agent]) as rt:
        run = await rt.start(agent, "go")
        outcome = await run.wait(LIMIT)
        assert is_paused(outcome)
        blocked.append(1)
        await rt.approve(outcome.interrupts[0], by="ana")
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Completed) and not bank.paid and not records(outcome, Intended)
        step = Timeline.of(await rt.store.load(run.id)).call("1.0")
        assert step is not None and step.note.startswith("vetoed by the hook account_is_open")


async def test_what_passes_is_recorded_right_before_the_intent() -> None:
    bank = Bank()
    outcome = await payer(bank, before_tool(lambda hooked: None, name="passes")).run("go")
    kinds = [type(record).__name__ for record in records(outcome)]
    assert kinds[kinds.index("Checked") + 1] == "Intended" and kinds.count("Checked") == 1


@pytest.mark.parametrize(
    ("hook", "said"),
    [
        (raises(RuntimeError("no connection")), "it could not be asked (RuntimeError: no connection)"),
        (raises(asyncio.CancelledError()), "it could not be asked (CancelledError)"),
        (lambda hooked: "no", "it gave str, not None or Veto(reason)"),  # pyright: ignore
        (lambda hooked: False, "it gave bool, not None or Veto(reason)"),  # pyright: ignore
        (lambda hooked: pause_for("question"), "it could not be asked ("),  # pyright: ignore
        (lambda hooked: hooked.arguments.clear(), ""),  # pyright: ignore
    ],
    ids=["raises", "cancelled", "text", "false", "waits", "changes"],
)
async def test_what_goes_wrong_in_a_hook_lets_nothing_run(hook: Any, said: str) -> None:
    bank = Bank()
    outcome = await payer(bank, before_tool(hook, name="odd")).run("go")
    assert isinstance(outcome, Completed)
    [returned] = records(outcome, Returned)
    assert said in returned.error and bank.paid == ([] if said else [5])


async def test_a_hook_that_takes_too_long_lets_nothing_run() -> None:
    bank = Bank()

    async def slow(hooked: HookedCall) -> None:
        await asyncio.Event().wait()

    outcome = await payer(bank, before_tool(slow, timeout=0.02)).run("go")
    assert isinstance(outcome, Completed) and not bank.paid
    assert "it did not end within 0.02 s" in records(outcome, Returned)[0].error


async def test_a_hook_sees_the_run_and_its_resources(place: str) -> None:
    bank, saw = Bank(), list[HookedCall]()
    agent = payer(bank, before_tool(saw.append, name="looks"), turns=[[call("pay", cents=1)], [call("pay", cents=2)]])
    async with Runtime(place, [agent], resources={"fraud": "service"}) as rt:
        run = await rt.start(agent, "go", by="cleo", session="s1", labels={"team": "eu"})
        await run.wait(LIMIT)
    assert [hooked.arguments for hooked in saw] == [{"cents": 1}, {"cents": 2}]
    first, second = saw
    assert (first.requesters, first.session, first.labels) == (("cleo",), "s1", {"team": "eu"})
    assert (first.effect, first.undo, first.agent, first.tool) == ("unsafe", True, "payer", "pay")
    assert (first.calls, second.calls) == ({}, {"pay": 1}) and first.resources == {"fraud": "service"}


async def test_hooks_of_the_agent_above_hold_for_the_tools_below_and_are_asked_first() -> None:
    bank, asked = Bank(), list[str]()

    def note(name: str) -> Hook:
        def hook(hooked: HookedCall) -> None:
            asked.append(f"{name} {hooked.agent} {hooked.tool}")

        return before_tool(hook, name=name)

    child = Agent(
        "child", model=ScriptedModel([call("pay", cents=5)], "paid"), tools=[bank.tools()], hooks=[note("own")]
    )
    parent = Agent(
        "parent",
        model=ScriptedModel([call("child", input="pay")], "done"),
        tools=[child.as_tool()],
        hooks=[note("above")],
    )
    outcome = await parent.run("go")
    assert isinstance(outcome, Completed) and bank.paid == [5]
    assert asked == ["above parent child", "above child pay", "own child pay"]


async def test_a_veto_against_an_agent_keeps_it_from_beginning() -> None:
    child = Agent("child", model=ScriptedModel("never said"))
    parent = Agent(
        "parent",
        model=ScriptedModel([call("child", input="x")], "done"),
        tools=[child.as_tool()],
        hooks=[before_tool(never)],
    )
    outcome = await parent.run("go")
    assert isinstance(outcome, Completed) and "never said" not in outcome.checkpoint.to_json()


async def test_a_veto_against_a_body_that_has_waited_keeps_what_it_did() -> None:
    undone: list[Any] = []
    closed: list[int] = []

    async def undo(ctx: ToolContext, args: dict[str, Any], result: Any) -> None:
        undone.append(args)

    @tool(effect="unsafe", undo=undo)
    async def book(room: str) -> str:
        """Book."""
        pause_for("question", {"question": "sure?"}, resume_to="self")
        return "booked"

    agent = Agent(
        "booker",
        model=ScriptedModel([call("book", room="7")], "done", "again"),
        tools=[book],
        hooks=[before_tool(lambda hooked: Veto("closed") if closed else None, name="open")],
    )
    async with Runtime("memory://", [agent]) as rt:
        run = await rt.start(agent, "go")
        outcome = await run.wait(LIMIT)
        assert is_paused(outcome)
        closed.append(1)
        await rt.answer(outcome.interrupts[0], "yes", by="ana")
        outcome = await run.wait(LIMIT)
        [returned] = records(outcome, Returned)
        assert returned.ran and "closed" in returned.error
        state = await run.state()
        assert [done.call_id for done in state.effects] == ["1.0"]  # a cancel would have undone it


async def test_a_call_that_is_tried_again_is_judged_again_and_a_veto_bothers_nobody(clock: FakeClock) -> None:
    tries: list[int] = []

    @tool(effect="idempotent", retries=3, backoff=0.0)
    async def put() -> str:
        """Put."""
        tries.append(1)
        raise ConnectionError("away")

    def twice(hooked: HookedCall) -> Veto | None:
        return Veto("enough") if len(tries) == 2 else None

    agent = Agent("putter", model=ScriptedModel([call("put")], "done"), tools=[put], hooks=[before_tool(twice)])
    outcome = await agent.run("go")
    assert isinstance(outcome, Completed) and len(tries) == 2
    assert "enough" in records(outcome, Returned)[0].error and "away" in records(outcome, Returned)[0].error


POLICIES = {
    "allow": Policy([allow("pay")], default="deny"),
    "ask": Policy([ask("pay")], default="deny"),
    "deny": Policy([deny("pay")], default="allow"),
    "none": None,
}
ANSWERS: dict[str, Any] = {
    "pass": lambda hooked: None,  # pyright: ignore
    "veto": lambda hooked: Veto("no"),  # pyright: ignore
    "true": lambda hooked: True,  # pyright: ignore
    "raises": raises(ValueError("odd")),
}


@settings(max_examples=40, deadline=None)
@given(
    policy=st.sampled_from(sorted(POLICIES)),
    answers=st.lists(st.sampled_from(sorted(ANSWERS)), max_size=3),
    agreed=st.booleans(),
)
def test_hooks_only_tighten_whatever_the_policy_and_whoever_agrees(
    policy: str, answers: list[str], agreed: bool
) -> None:
    """The law: a call runs if, and only if, it would without hooks, and all of them pass."""

    async def runs(hooks: list[Hook]) -> tuple[list[int], bool]:
        bank = Bank()
        agent = payer(bank, *hooks, policy=POLICIES[policy])
        outcome = await agent.run("go")
        asked = is_paused(outcome)
        if is_paused(outcome):
            outcome = await agent.resume(outcome.checkpoint, approved=agreed)
        assert isinstance(outcome, Completed)
        return bank.paid, asked

    async def both() -> None:
        hooks = [before_tool(ANSWERS[answer], name=f"{answer}{number}") for number, answer in enumerate(answers)]
        without, asked_without = await runs([])
        within, asked = await runs(hooks)
        passes = all(answer == "pass" for answer in answers)
        assert within == (without if passes else [])
        assert asked == (asked_without and passes)

    asyncio.run(both())


# After.


async def test_what_a_hook_hides_is_in_no_record_event_log_or_file(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    bank, fails = Bank(), list[int]()

    @tool(effect="read", retries=1, backoff=0.0)
    async def look() -> str:
        """Look."""
        fails.append(1)
        raise ValueError(f"no account for {CARD}")

    @tool(effect="unsafe")
    def doubt() -> str:
        """Doubt."""
        raise InDoubt(f"the line broke while {CARD} was charged")

    agent = Agent(
        "payer",
        model=ScriptedModel([call("pay", cents=5), call("look"), call("doubt")], "done"),
        tools=[bank.tools(), look, doubt],
        hooks=[after_tool(hide)],
    )
    events: list[Any] = []
    with caplog.at_level(logging.DEBUG):
        async with Runtime(f"sqlite:///{tmp_path}/runs.db", [agent]) as rt:
            run = await rt.start(agent, "go")

            async def watch() -> None:
                async for event in run.watch():
                    events.append(event)

            watching = asyncio.ensure_future(watch())
            outcome = await run.wait(LIMIT)
            assert is_paused(outcome) and len(fails) == 2  # somebody must say whether `doubt` happened
            await run.cancel(by="ana")
            ended = await run.wait(LIMIT)
            await asyncio.wait_for(watching, LIMIT)
            shown = [events, ended, await rt.runs(), await run.state(), await rt.store.load(run.id), await rt.audit()]
            for file in tmp_path.iterdir():
                assert CARD.encode() not in file.read_bytes(), file.name
    assert isinstance(ended, Cancelled) and events
    assert records(outcome, Faulted) and records(outcome, Doubted)
    assert CARD not in repr(shown) and CARD not in caplog.text and "•" in repr(shown)
    assert bank.undone == [{"card": "•", "paid": 5}]  # the undo gets what is recorded


@pytest.mark.parametrize(
    "hook",
    [
        raises(ValueError(CARD)),
        raises(asyncio.CancelledError()),
        raises(KeyboardInterrupt()),
        lambda hooked, result: None,  # pyright: ignore
        lambda hooked, result: result.value,  # pyright: ignore
        lambda hooked, result: result.replace(object()),  # pyright: ignore
        lambda hooked, result: HookedResult(error="made up"),  # pyright: ignore
    ],
    ids=["raises", "cancelled", "interrupted", "nothing", "value", "no-json", "failure"],
)
async def test_a_call_whose_hook_fails_has_run_once_is_withheld_and_can_be_undone(
    hook: Any, place: str, caplog: pytest.LogCaptureFixture
) -> None:
    bank = Bank()
    agent = payer(
        bank, after_tool(hook, name="odd"), effect="idempotent", turns=[[call("pay", cents=5)], [call("wait")]]
    )

    @tool(effect="read")
    async def wait() -> None:
        """Wait."""
        pause_for("question")

    agent = Agent("payer", model=agent.model, tools=[bank.tools("idempotent"), wait], hooks=agent.hooks)
    async with Runtime(place, [agent]) as rt:
        run = await rt.start(agent, "go")
        outcome = await run.wait(LIMIT)
        assert is_paused(outcome) and bank.paid == [5]
        [returned] = records(outcome, Returned)
        assert returned.ran and returned.why == "withheld" and "it ran, but its result is withheld" in returned.error
        await run.cancel(by="ana")
        assert isinstance(await run.wait(LIMIT), Cancelled)
        assert bank.paid == [5] and bank.undone == [None]
        assert CARD not in repr(await rt.store.load(run.id)) and CARD not in caplog.text


async def test_a_hook_that_takes_too_long_withholds_the_result() -> None:
    bank = Bank()

    async def slow(hooked: HookedCall, result: HookedResult) -> HookedResult:
        await asyncio.Event().wait()
        return result

    outcome = await payer(bank, after_tool(slow, timeout=0.02)).run("go")
    assert isinstance(outcome, Completed) and bank.paid == [5]
    assert "the hook slow failed (TimeoutError)" in records(outcome, Returned)[0].error


async def test_a_cancel_does_not_cut_a_hook_that_looks_at_what_has_happened(place: str) -> None:
    bank, inside, go = Bank(), asyncio.Event(), asyncio.Event()

    async def looks(hooked: HookedCall, result: HookedResult) -> HookedResult:
        inside.set()
        await go.wait()
        return seen(result)

    agent = payer(bank, after_tool(looks))
    async with Runtime(place, [agent]) as rt:
        run = await rt.start(agent, "go")
        await asyncio.wait_for(inside.wait(), LIMIT)
        await run.cancel(by="ana")
        go.set()
        ended = await run.wait(LIMIT)
        assert isinstance(ended, Cancelled) and bank.undone == [{"card": "•", "paid": 5}]
        assert not [record for _, record in await rt.store.load(run.id) if isinstance(record, Doubted)]


async def test_a_hook_that_a_cancel_does_not_wait_for_is_left_and_what_it_leaves_comes_late() -> None:
    bank, inside, go = Bank(), asyncio.Event(), asyncio.Event()

    async def looks(hooked: HookedCall, result: HookedResult) -> HookedResult:
        inside.set()
        await go.wait()
        return seen(result)

    agent = payer(bank, after_tool(looks))
    async with Runtime("memory://", [agent], grace=0.0) as rt:
        run = await rt.start(agent, "go")
        await asyncio.wait_for(inside.wait(), LIMIT)
        await run.cancel(by="ana")
        ended = await run.wait(LIMIT)
        assert isinstance(ended, Cancelled) and ended.residue[0]["why"] == LEFT
        go.set()
        async for _, record in _recorded(rt, run.id):
            if isinstance(record, Late):
                assert record.value == {"card": "•", "paid": 5}
                break


async def _recorded(rt: Runtime, run: str) -> AsyncIterator[tuple[int, AnyRecord]]:
    """What is recorded, as it comes."""
    rings, seq = asyncio.Event(), 0
    unsubscribe = rt.store.subscribe(run, rings.set)
    try:
        while True:
            rings.clear()
            for number, record in await rt.store.load(run, after=seq):
                seq = number
                yield number, record
            await asyncio.wait_for(rings.wait(), LIMIT)
    finally:
        unsubscribe()


async def test_hooks_see_what_the_ones_before_left_the_nearest_first() -> None:
    bank, order = Bank(), list[Any]()

    def adds(name: str) -> Hook:
        def hook(hooked: HookedCall, result: HookedResult) -> HookedResult:
            order.append(name)
            return result.replace({**result.value, name: True})

        return after_tool(hook, tools="pay", name=name)

    child = Agent(
        "child",
        model=ScriptedModel([call("pay", cents=5)], "paid"),
        tools=[bank.tools()],
        hooks=[adds("first"), adds("second")],
    )
    parent = Agent(
        "parent",
        model=ScriptedModel([call("child", input="go")], "done"),
        tools=[child.as_tool()],
        hooks=[adds("above")],
    )
    outcome = await parent.run("go")
    [returned] = [record for record in records(outcome, Returned) if record.call == "1.0/1.0"]
    assert order == ["first", "second", "above"]
    assert returned.value == {"card": CARD, "paid": 5, "first": True, "second": True, "above": True}


async def test_what_a_verify_found_is_seen_as_well() -> None:
    happened: list[int] = []

    async def verify(ctx: ToolContext, args: dict[str, Any]) -> Any:
        return ("happened", {"card": CARD, "paid": 5}) if happened else False

    @tool(effect="verifiable", verify=verify)
    async def pay(cents: int) -> dict[str, Any]:
        """Pay."""
        happened.append(cents)
        raise InDoubt(f"nobody knows about {CARD}")

    agent = Agent("payer", model=ScriptedModel([call("pay", cents=5)], "done"), tools=[pay], hooks=[after_tool(hide)])
    outcome = await agent.run("go")
    assert isinstance(outcome, Completed) and happened == [5]
    assert records(outcome, Verified)[0].value == {"card": "•", "paid": 5}
    assert CARD not in outcome.checkpoint.to_json()
    agent = Agent(
        "payer",
        model=ScriptedModel([call("pay", cents=5)], "done"),
        tools=[pay],
        hooks=[after_tool(raises(ValueError(CARD)), name="odd")],
    )
    outcome = await agent.run("go")
    assert isinstance(outcome, Completed) and happened == [5, 5]  # once for each run
    assert records(outcome, Returned)[0].why == "withheld" and CARD not in outcome.checkpoint.to_json()


# Crashes.


@pytest.mark.parametrize("effect", ["unsafe", "idempotent"])
async def test_wherever_a_worker_dies_the_call_runs_once_and_nothing_leaks(effect: str) -> None:
    points = 0
    for point in crash_points():
        bank = Bank()
        agent = payer(
            bank,
            before_tool(lambda hooked: Veto("no") if hooked.arguments["cents"] > 100 else None, name="small"),
            after_tool(hide),
            policy=Policy([ask("pay")]),
            effect=effect,
            turns=[[call("pay", cents=5), call("pay", cents=500)]],
        )

        def person(interrupt: Any, bank: Bank = bank) -> Any:
            if interrupt.kind == "in_doubt":
                return {"choice": "happened", "result": "it did"} if bank.paid else {"choice": "run"}
            return True

        outcome = await point.run(agent, "go", answer=person)
        assert isinstance(outcome, Completed), point
        assert set(bank.paid) == {5}, point
        if effect == "unsafe":
            assert bank.paid == [5], point
        assert CARD not in outcome.checkpoint.to_json(), point
        vetoed = [record for record in records(outcome, Returned) if record.why == "vetoed"]
        assert [record.call for record in vetoed] == ["1.1"], point
        _intents_follow_a_pass(records(outcome))
        points += 1
    assert points > 10


def _intents_follow_a_pass(found: list[AnyRecord]) -> None:
    """Between a question, or the taking of the run, and an intent, hooks have let it pass."""
    passed: set[str] = set()
    for record in found:
        if isinstance(record, Checked) and record.verdict == "pass":
            passed.add(record.step)
        elif isinstance(record, Claimed):
            passed.clear()
        elif isinstance(record, Asked):
            passed.discard(f"check:{record.call}")
        elif isinstance(record, Intended):
            assert f"check:{record.call}" in passed


async def test_a_pass_is_for_the_worker_that_heard_it() -> None:
    bank = Bank()
    agent = payer(bank, before_tool(lambda hooked: None, name="passes"))
    done = records(await agent.run("go"))
    upto = next(place for place, record in enumerate(done) if isinstance(record, Intended))
    state = State().fold_all(enumerate(done[:upto], 1))
    judged = agent.program.judge(state, state.live["1.0"], 0.0)
    assert isinstance(judged, Go) and not judged.unchecked
    state.fold(upto + 1, Claimed(epoch=state.epoch + 1))
    judged = agent.program.judge(state, state.live["1.0"], 0.0)
    assert isinstance(judged, Go) and judged.unchecked


# Definitions.


async def test_a_run_does_not_continue_without_a_hook_it_began_with_and_takes_a_new_one() -> None:
    bank = Bank()
    waits = await payer(bank, before_tool(lambda hooked: None, name="small"), policy=Policy([ask("pay")])).run("go")
    assert isinstance(waits, Paused)
    with pytest.raises(ProgramChanged, match="hook «before \\*: small» was removed"):
        await payer(bank, policy=Policy([ask("pay")])).resume(waits.checkpoint, approved=True)
    hooks = [before_tool(lambda hooked: None, name="small"), after_tool(hide)]
    done = await payer(bank, *hooks, policy=Policy([ask("pay")])).resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and bank.paid == [5] and CARD not in done.checkpoint.to_json()


def two(a: Any, b: Any) -> None: ...


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: before_tool(lambda hooked: None), "pass name="),  # pyright: ignore
        (lambda: before_tool(two), "the function must take \\(call\\)"),  # pyright: ignore
        (lambda: after_tool(never), "the function must take \\(call, result\\)"),  # pyright: ignore
        (lambda: before_tool("never"), "takes a function"),  # pyright: ignore
        (lambda: before_tool(never, tools=""), "tools= must be a tool's name or a glob"),
        (lambda: before_tool(never, timeout=-1), "timeout"),
        (lambda: payer(Bank(), before_tool(never, tools="refund")), "has a tool 'refund'; the tools are: pay"),
        (
            lambda: payer(Bank(), before_tool(never), before_tool(never)),
            "two before_tool hooks that are named 'never'",
        ),
        (lambda: Agent("a", model="test", hooks=[never]), "made by before_tool"),  # pyright: ignore
        (lambda: Agent("a", model="test", hooks=before_tool(never)), "must be a list"),  # pyright: ignore
        (
            lambda: Agent(
                "a", model="test", tools=[Agent("b", model="test").as_tool()], hooks=[after_tool(hide, tools="b")]
            ),
            "'b' is an agent",
        ),
        (lambda: Veto(""), "needs a sentence"),
    ],
)
def test_what_cannot_be_a_hook_is_refused_with_what_to_do(make: Callable[[], Any], says: str) -> None:
    with pytest.raises(InvalidDefinition, match=says):
        make()


def test_a_hook_may_be_made_with_a_decorator() -> None:
    @before_tool(tools="pay")
    def small(hooked: HookedCall) -> None: ...

    assert isinstance(small, Hook) and small.text == "before pay: small"
