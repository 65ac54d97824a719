"""Rules that look at the run: who asked for it, its session and labels, and what it has done so far."""

from itertools import product
from typing import Any

import pytest

from adjourn import Agent, Completed, Paused, Policy, Runtime, allow, ask, deny, tool
from adjourn.core.policy_rule import RunTraits
from adjourn.errors import InvalidDefinition
from adjourn.policy import eq, ge, le, lt, matches, ne, one_of
from adjourn.testing import ScriptedModel, call

EU = RunTraits(("ana",), "vip-7", {"team": "eu"}, {"refund": 2})


def verdict(policy: Policy, facts: RunTraits | None) -> str:
    return policy.judge("refund", {"cents": 5}, facts=facts).verdict.name


@pytest.mark.parametrize(
    ("run", "fits"),
    [
        ({"requester": "ana"}, True),
        ({"requester": "ben"}, False),
        ({"session": matches("vip-.*")}, True),
        ({"session": ""}, False),
        ({"label.team": one_of("eu", "us")}, True),
        ({"label.team": ne("eu")}, False),
        ({"label.shop": ne("oslo")}, True),
        ({"calls.refund": ge(2)}, True),
        ({"calls.refund": ge(3)}, False),
        ({"calls.mail": ge(1)}, False),
        ({"label.team": "eu", "calls.refund": lt(2)}, False),
        ({"label.team": "eu", "requester": "ana", "calls.refund": 2}, True),
    ],
)
def test_a_rule_is_about_runs_that_fit_all_of_it(run: dict[str, Any], fits: bool) -> None:
    for make, found in ((ask, "ASK"), (deny, "DENY")):
        assert verdict(Policy([make("refund", run=run)], default="allow"), EU) == (found if fits else "ALLOW")
    assert verdict(Policy([allow("refund", run=run)]), EU) == ("ALLOW" if fits else "ASK")


def test_of_several_who_shaped_a_run_all_must_fit_what_is_allowed_and_one_what_is_not() -> None:
    both = RunTraits(("ana", "mallory"))
    assert verdict(Policy([allow(run={"requester": one_of("ana", "ben")})]), both) == "ASK"
    assert verdict(Policy([deny(run={"requester": "mallory"})], default="allow"), both) == "DENY"
    assert verdict(Policy([ask(run={"requester": ne("ana")})], default="allow"), both) == "ASK"
    assert verdict(Policy([allow(run={"requester": ne("mallory")})]), both) == "ASK"


def test_of_a_run_that_nobody_describes_the_worst_is_assumed() -> None:
    run = {"label.team": "eu"}
    assert verdict(Policy([allow(run=run)]), None) == "ASK"
    assert verdict(Policy([deny(run=run)], default="allow"), None) == "DENY"
    assert verdict(Policy([allow(run=run)]), RunTraits()) == "ASK"


def test_what_it_says_of_runs_is_part_of_a_rule() -> None:
    runs = (None, {"label.team": "eu"}, {"label.team": "us"}, {"session": "eu"}, {"label.team": ne("eu")})
    rules = [ask("refund", run=run) for run in runs]
    assert len({rule.identity for rule in rules}) == len({rule.text for rule in rules}) == len(runs)
    assert rules[1].text == "ask refund in runs with label.team == 'eu'"
    same = [ask(run={"session": "a", "label.b": "c"}), ask(run={"label.b": "c", "session": "a"})]
    assert same[0].identity == same[1].identity


@pytest.mark.parametrize("run", [{}, "eu", {"team": "eu"}, {"label.": "eu"}, {"calls": 1}, {3: 4}])
def test_what_is_no_condition_on_a_run_is_refused(run: Any) -> None:
    for make in (allow, ask, deny):
        with pytest.raises(InvalidDefinition, match="run="):
            make("refund", run=run)


def test_a_count_of_a_tool_that_there_is_not_is_refused() -> None:
    with pytest.raises(InvalidDefinition, match=r"no.* tool 'refnud'. Did you mean 'refund'"):
        clerk(Policy([ask("refund", run={"calls.refnud": ge(2)})]))


paid: list[int] = []


@tool
def refund(cents: int) -> str:
    """Pay money back."""
    paid.append(cents)
    return "paid"


def clerk(policy: Policy, *steps: Any) -> Agent[Any]:
    return Agent("clerk", model=ScriptedModel(*steps, "done"), tools=[refund], policy=policy)


TWICE = Policy([allow("refund"), ask("refund", run={"calls.refund": ge(2)}, reason="the third refund")])


async def test_the_third_of_three_refunds_is_asked_for_one_after_another_or_at_once() -> None:
    refunds = [call("refund", cents=n) for n in (1, 2, 3)]
    for steps in ((refunds,), tuple([one] for one in refunds)):
        paid.clear()
        async with Runtime("memory://") as rt:
            run = await rt.start(clerk(TWICE, *steps), "go")
            outcome = await run.wait()
            assert isinstance(outcome, Paused) and sorted(paid) == [1, 2]
            [item] = await rt.inbox(run=run.id)
            assert item.call is not None and item.call.arguments == {"cents": 3}
            await rt.approve(item.id, by="ann")
            assert isinstance(await run.wait(), Completed) and sorted(paid) == [1, 2, 3]


async def test_who_asks_and_for_whom_decides_whether_a_person_is_asked() -> None:
    policy = Policy([allow("refund", run={"requester": "ana", "label.team": "eu", "session": "s"})])
    for by, team, session in product(("ana", "ben"), ("eu", "us"), ("s", "t")):
        async with Runtime("memory://") as rt:
            agent = clerk(policy, [call("refund", cents=1)])
            run = await rt.start(agent, "go", by=by, labels={"team": team}, session=session)
            free = (by, team, session) == ("ana", "eu", "s")
            assert isinstance(await run.wait(), Completed if free else Paused)


@pytest.mark.parametrize(
    "run",
    [
        {"requester": ["ana"]},
        {"session": None},
        {"label.team": 7},
        {"calls.refund": "2"},
        {"calls.refund": True},
        {"calls.refund": one_of("2", "3")},
        {"requester": ~eq(["ana"])},
    ],
)
def test_a_condition_that_could_never_be_true_is_refused(run: dict[str, Any]) -> None:
    with pytest.raises(InvalidDefinition, match="compares"):
        deny("refund", run=run)


def test_conditions_of_the_right_type_are_taken() -> None:
    deny("refund", run={"requester": one_of("ana", "bo"), "label.team": matches("e.*"), "calls.refund": ~le(2)})
