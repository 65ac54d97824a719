"""What is approved runs once and exactly so; edits are new actions; expiry is not a denial; every decision is on record."""

from typing import Any

import pytest
from tests.agent.words import calls, last, results

from adjourn import (
    Agent,
    Cancelled,
    Checkpoint,
    Decision,
    InterruptClosed,
    InvalidAnswer,
    Outcome,
    Paused,
    Policy,
    Verdict,
    allow,
    ask,
    deny,
    gt,
    is_paused,
    pause_for,
    tool,
)
from adjourn.core.action_digest import action_digest
from adjourn.core.authority import shown_digest
from adjourn.core.record_codec import dump, parse
from adjourn.core.records import Asked, CancelAsked, Closed, Decided, Intended, Parked, Returned
from adjourn.testing import FakeClock, ScriptedModel, call

ran: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


@tool
async def refund(order: str, cents: int, note: str = "") -> dict[str, Any]:
    """Refund an order."""
    ran.append((order, cents, note))
    return {"refunded": cents}


def make(*rules: Any, default: Any = "allow", cents: int = 500, tools: Any = (refund,)) -> Agent:
    policy = Policy(rules or [ask("refund", reason="money")], default=default)
    model = ScriptedModel([call("refund", order="1", cents=cents)], last, last)
    return Agent("refunds", model=model, tools=tools, policy=policy)


async def paused(agent: Agent) -> Paused:
    outcome = await agent.run("go")
    assert is_paused(outcome)
    return outcome


def records(outcome: Outcome[Any] | Paused, kind: type) -> list[Any]:
    return [r for r in outcome.checkpoint.records if isinstance(r, kind)]


# The gate


async def test_the_call_waits_before_anything_runs_and_shows_what_would() -> None:
    outcome = await paused(make())
    [interrupt] = outcome.interrupts
    assert (interrupt.kind, interrupt.type) == ("approval", "approval")
    assert interrupt.call is not None
    assert (interrupt.call.tool, interrupt.call.arguments) == ("refund", {"order": "1", "cents": 500, "note": ""})
    assert (interrupt.call.reason, interrupt.call.rule) == ("money", "ask refund")
    assert interrupt.call.description == "Refund an order."
    assert interrupt.run_id == outcome.run_id
    assert interrupt.id.startswith(outcome.run_id)
    assert interrupt.opened_at > 0
    assert ran == []
    assert not records(outcome, Intended)


@pytest.mark.parametrize(
    ("policy", "tool_policy", "verdict"),
    [
        (None, None, Verdict.ALLOW),
        (None, "ask", Verdict.ASK),
        (None, "deny", Verdict.DENY),
        (Policy([allow("*")]), "ask", Verdict.ASK),
        (Policy([allow("*")]), "deny", Verdict.DENY),
        (Policy([deny("*")]), "allow", Verdict.DENY),
        (Policy([ask("*")]), "allow", Verdict.ASK),
        (Policy([]), None, Verdict.ASK),
        (Policy([], default="deny"), None, Verdict.DENY),
        (Policy([], default="allow"), None, Verdict.ALLOW),
    ],
)
async def test_the_strictest_of_policy_and_tool_decides(policy: Any, tool_policy: Any, verdict: Verdict) -> None:
    @tool(policy=tool_policy)
    async def work() -> str:
        """Work."""
        ran.append("work")
        return "worked"

    outcome = await Agent("a", model=ScriptedModel([call("work")], last), tools=[work], policy=policy).run("go")
    assert is_paused(outcome) == (verdict == Verdict.ASK)
    assert ran == (["work"] if verdict == Verdict.ALLOW else [])
    if verdict == Verdict.DENY:
        assert outcome.output.startswith("not allowed: ")


async def test_a_rule_that_cannot_be_judged_denies_with_its_reason() -> None:
    def broken(args: dict[str, Any]) -> bool:
        raise KeyError("amount")

    done = await make(allow("refund", when=broken)).run("go")
    assert "failed (KeyError" in done.output
    assert ran == []


async def test_a_denial_is_the_tools_result_with_its_note_and_the_loop_goes_on() -> None:
    agent = make()
    done = await agent.resume((await paused(agent)).checkpoint, Decision.deny(note="too much"), by="ada")
    assert done.output == "denied by ada: too much. It was not run."
    assert ran == []
    assert not records(done, Returned)


async def test_what_was_not_set_is_not_written_and_is_read_as_it_was_where_it_is() -> None:
    outcome = await paused(make())
    [asked], [parked] = records(outcome, Asked), records(outcome, Parked)
    written = dump(asked) + dump(parked)
    assert not [name for name in ("valid_for", "remind_every", "expires", "wake_at") if name in written]
    before = dump(asked)[:-1] + ',"valid_for":0.0,"remind_every":0.0,"expires":0.0}'
    assert parse(before) == asked


async def test_an_approval_is_for_one_call() -> None:
    model = ScriptedModel([call("refund", order="1", cents=5)], [call("refund", order="1", cents=5)], last)
    agent = Agent("refunds", model=model, tools=[refund], policy=Policy([ask("refund")]))
    second = await agent.resume((await paused(agent)).checkpoint.to_json(), True)
    assert is_paused(second)
    assert len(ran) == 1
    assert (await agent.resume(second.checkpoint.to_json(), True)).status == "completed"
    assert len(ran) == 2


async def test_a_decision_may_be_widened_to_this_run_for_these_exact_arguments() -> None:
    same, other = call("refund", order="1", cents=5), call("refund", order="1", cents=6)
    agent = Agent(
        "refunds", model=ScriptedModel([same], [same], [other], last), tools=[refund], policy=Policy([ask("refund")])
    )
    outcome = await agent.resume((await paused(agent)).checkpoint.to_json(), Decision.approve(scope="run"))
    assert is_paused(outcome)
    assert [c[1] for c in ran] == [5, 5]
    assert [i.call.arguments["cents"] for i in outcome.interrupts if i.call] == [6]


# The record


async def test_a_decision_records_who_why_when_and_both_digests() -> None:
    agent = make()
    outcome = await paused(agent)
    [interrupt] = outcome.interrupts
    assert interrupt.call is not None
    done = await agent.resume(outcome.checkpoint.to_json(), Decision.approve(note="fine"), by="ada")
    [decided], [intended], [asked] = records(done, Decided), records(done, Intended), records(done, Asked)
    assert (decided.by, decided.note, decided.verdict) == ("ada", "fine", "approve")
    assert decided.at >= asked.at > 0
    assert decided.digest == asked.digest == interrupt.call.digest == shown_digest(done.run_id, asked)
    assert intended.digest == asked.action != asked.digest
    assert intended.digest == action_digest(
        done.run_id, interrupt.call.call_id, "refund", refund.exact, {"order": "1", "cents": 500, "note": ""}
    )


async def test_a_call_that_nobody_must_agree_to_is_not_compared_with_anything_and_has_no_digest() -> None:
    done = await make(allow("refund")).run("go")
    assert [intended.digest for intended in records(done, Intended)] == [""]


async def test_the_digest_names_the_run_the_call_and_the_arguments() -> None:
    digests: set[str] = set()
    for cents in (500, 501, 500):
        [interrupt] = (await paused(make(cents=cents))).interrupts
        assert interrupt.call is not None
        digests.add(interrupt.call.digest)
    assert len(digests) == 3


# Edits


async def test_an_edit_is_the_same_call_with_new_arguments_and_a_new_digest() -> None:
    agent = make()
    outcome = await paused(agent)
    edit = {"order": "1", "cents": 400, "note": "less"}
    done = await agent.resume(outcome.checkpoint.to_json(), Decision.approve(edit=edit), by="ada")
    assert ran == [("1", 400, "less")]
    assert done.output == str({"ran_with_edited_arguments": edit, "result": {"refunded": 400}})
    [decided], [intended], [asked] = records(done, Decided), records(done, Intended), records(done, Asked)
    assert decided.edit == edit
    assert decided.digest == asked.digest != intended.digest
    assert intended.call == asked.call
    assert intended.digest == action_digest(done.run_id, asked.call, "refund", refund.exact, edit)
    [original] = calls(done.checkpoint.messages[1])
    assert original.args == {"order": "1", "cents": 500}


async def test_an_edit_may_leave_out_what_has_a_default() -> None:
    agent = make()
    done = await agent.resume((await paused(agent)).checkpoint, Decision.approve(edit={"order": "2", "cents": 1}))
    assert done.status == "completed"
    assert ran == [("2", 1, "")]


@pytest.mark.parametrize(
    "edit", [{}, {"order": "1"}, {"order": "1", "cents": "much"}, {"order": "1", "cents": 1, "more": 2}, {"cents": 5}]
)
async def test_an_edit_that_does_not_fit_is_refused_before_it_is_recorded(edit: dict[str, Any]) -> None:
    agent = make()
    saved = (await paused(agent)).checkpoint.to_json()
    with pytest.raises(InvalidAnswer, match="nothing was recorded"):
        await agent.resume(saved, Decision.approve(edit=edit))
    assert ran == []
    assert (await agent.resume(saved, True)).status == "completed"


async def test_the_editors_decision_satisfies_the_rule_that_asked() -> None:
    agent = make(ask("refund"), ask("refund", when={"cents": gt(10_000)}), cents=20_000)
    outcome = await paused(agent)
    edit = {"order": "1", "cents": 15_000}
    done = await agent.resume(outcome.checkpoint, Decision.approve(edit=edit))
    assert done.status == "completed"
    assert ran == [("1", 15_000, "")]


async def test_another_rule_asks_again_about_what_was_edited() -> None:
    agent = make(ask("refund"), ask("refund", when={"cents": gt(10_000)}, reason="large"))
    half = await agent.resume(
        (await paused(agent)).checkpoint.to_json(), Decision.approve(edit={"order": "1", "cents": 20_000}), by="ada"
    )
    assert is_paused(half)
    assert ran == []
    [interrupt] = half.interrupts
    assert interrupt.call is not None
    assert interrupt.call.arguments == {"order": "1", "cents": 20_000, "note": ""}
    assert interrupt.call.reason == "large"
    done = await agent.resume(half.checkpoint.to_json(), True, by="bob")
    assert ran == [("1", 20_000, "")]
    assert [d.by for d in records(done, Decided)] == ["ada", "bob"]


async def test_the_default_of_a_policy_asks_again_like_any_other_rule() -> None:
    agent = make(ask("refund", when={"cents": gt(100)}), allow("other*"), default="ask")
    half = await agent.resume(
        (await paused(agent)).checkpoint.to_json(), Decision.approve(edit={"order": "1", "cents": 50})
    )
    assert is_paused(half)
    [interrupt] = half.interrupts
    assert interrupt.call is not None
    assert interrupt.call.rule == "default ask"
    assert (await agent.resume(half.checkpoint.to_json(), True)).status == "completed"
    assert ran == [("1", 50, "")]


async def test_a_deny_refuses_what_was_edited() -> None:
    agent = make(ask("refund"), deny("refund", when={"cents": gt(10_000)}, reason="never so much"))
    done = await agent.resume((await paused(agent)).checkpoint, Decision.approve(edit={"order": "1", "cents": 20_000}))
    assert done.output == "not allowed: never so much"
    assert ran == []


async def test_a_policy_that_became_stricter_is_judged_when_the_call_would_run() -> None:
    saved = (await paused(make())).checkpoint.to_json()
    stricter = make(ask("refund", reason="money"), deny("refund", when={"cents": gt(100)}, reason="frozen"))
    done = await stricter.resume(saved, True)
    assert done.output == "not allowed: frozen"
    assert ran == []


# Expiry


async def test_an_expired_approval_is_not_a_denial_and_the_model_reads_so(clock: FakeClock) -> None:
    agent = make(ask("refund", expires_in=60))
    outcome = await paused(agent)
    assert outcome.interrupts[0].expires_at == clock.now() + 60
    clock.advance(60)
    saved = outcome.checkpoint.to_json()
    with pytest.raises(InterruptClosed, match="it expired"):
        await agent.resume(saved, True)
    done = await agent.resume(saved)
    assert "expired" in done.output
    assert "denied" not in done.output
    assert [c.why for c in records(done, Closed)] == ["expired"]
    assert not records(done, Decided)
    assert ran == []


async def test_before_its_deadline_an_approval_is_waited_for(clock: FakeClock) -> None:
    agent = make(ask("refund", expires_in=60))
    outcome = await paused(agent)
    clock.advance(59)
    assert (await agent.resume(outcome.checkpoint, True)).status == "completed"


async def test_on_expiry_cancel_ends_the_run_and_undoes(clock: FakeClock) -> None:
    async def give_back(ctx: Any, args: dict[str, Any], result: Any) -> None:
        ran.append(f"undo {args['n']}")

    @tool(undo=give_back)
    async def book(n: int) -> str:
        """Book."""
        return "booked"

    model = ScriptedModel([call("book", n=1)], [call("refund", order="1", cents=5)], last)
    policy = Policy([ask("refund", expires_in=60, on_expiry="cancel")], default="allow")
    agent = Agent("refunds", model=model, tools=[book, refund], policy=policy)
    outcome = await paused(agent)
    clock.advance(61)
    done = await agent.resume(outcome.checkpoint.to_json())
    assert isinstance(done, Cancelled)
    assert ran == ["undo 1"]
    assert [c.by for c in records(done, CancelAsked)] == ["@expiry"]


async def test_one_expired_question_does_not_keep_the_others_from_being_answered(clock: FakeClock) -> None:
    @tool
    async def ask_it(seconds: int) -> str:
        """Ask."""
        pause_for("question", seconds, expires_in=seconds)

    model = ScriptedModel([call("ask_it", seconds=10), call("ask_it", seconds=100)], lambda m: str(results(m)))
    agent = Agent("two", model=model, tools=[ask_it])
    outcome = await paused(agent)
    clock.advance(50)
    done = await agent.resume(outcome.checkpoint.to_json(), answers={outcome.interrupts[1].id: "yes"})
    assert done.output == "['nobody answered in time: the question expired', 'yes']"


@pytest.mark.parametrize("resume_to", ["next", "self"])
async def test_an_expired_question_is_an_error_the_body_or_the_model_can_read(clock: FakeClock, resume_to: Any) -> None:
    @tool
    async def ask_it() -> str:
        """Ask."""
        try:
            return pause_for("question", expires_in=10, resume_to=resume_to)
        except InterruptClosed as e:
            return f"went on without: {e.why}"

    agent = Agent("one", model=ScriptedModel([call("ask_it")], last), tools=[ask_it])
    outcome = await paused(agent)
    clock.advance(11)
    done = await agent.resume(outcome.checkpoint.to_json())
    assert "expired" in done.output
    assert done.output.startswith("went on without" if resume_to == "self" else "nobody answered in time")


async def test_an_approval_has_a_life_after_the_decision(clock: FakeClock) -> None:
    agent = make(ask("refund", valid_for=60))
    outcome = await paused(agent)
    async with agent.stream(checkpoint=outcome.checkpoint, approved=True) as run:
        await run.pause()
        rested = await run.wait()
    assert rested.status == "paused"
    assert ran == []
    saved = rested.checkpoint.to_json()
    assert Checkpoint.from_json(saved).interrupts == []
    clock.advance(61)
    again = await agent.resume(saved)
    assert is_paused(again)
    assert [i.kind for i in again.interrupts] == ["approval"]
    assert ran == []
    assert (await agent.resume(again.checkpoint.to_json(), True)).status == "completed"
