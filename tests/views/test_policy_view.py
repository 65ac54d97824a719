"""Which rules asked how often: from the definitions and the audit, the same on every store."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from adjourn import Agent, Cancelled, Completed, Policy, Runtime, allow, ask, tool
from adjourn.core.decision import Decision
from adjourn.core.standing_decision import Standing
from adjourn.testing import ScriptedModel, call
from adjourn.testing.env import env
from adjourn.views.policy_view import RuleUse, parts_of, policies, rules_of

ASK, LIMIT = "ask pay", 60.0


@tool(effect="unsafe")
async def pay(cents: int) -> str:
    """Pay an invoice."""
    return f"paid {cents}"


def payer() -> Agent[str]:
    rules = [ask("pay", expires_in=60), allow("look*")]
    return Agent(
        "payer", model=ScriptedModel(lambda _: call("pay", cents=1), "done"), tools=[pay], policy=Policy(rules)
    )


def other(name: str, calls: int, approvers: int = 1) -> Agent[str]:
    model = ScriptedModel(*[call("pay", cents=number) for number in range(calls)], "done")
    return Agent(name, model=model, tools=[pay], policy=Policy([ask("pay", approvers=approvers)]))


@pytest.fixture(params=["memory", "sqlite"])
async def rt(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Runtime]:
    address = "memory://" if request.param == "memory" else f"sqlite:///{tmp_path / 'runs.db'}"
    async with Runtime(address, [payer(), other("often", 3), other("careful", 1, approvers=2)]) as runtime:
        yield runtime


async def waiting(rt: Runtime) -> None:
    run = await rt.start(rt.programs["payer"], "go")
    await run.wait(LIMIT)


async def uses(rt: Runtime, since: float = 0.0) -> dict[str, RuleUse]:
    found = await policies(rt.store, rules_of(rt.programs), since)
    return {use.rule: use for use in found.rules}


async def test_every_rule_is_listed_and_what_came_of_its_questions_counted(rt: Runtime) -> None:
    before = await uses(rt)
    asking = next(rule for rule in before if rule.startswith(ASK))
    assert {use.asked for use in before.values()} == {0} and all(use.is_defined for use in before.values())
    assert any(rule.startswith("allow look*") for rule in before) and "default ask" in before
    for _ in range(4):
        await waiting(rt)
    items = await rt.inbox()
    await rt.deny(items[0], by="ana")
    await rt.deny(items[1], by="ana")
    await rt.answer(items[2], Decision.instead("by hand"), by="ana")
    use = (await uses(rt))[asking]
    assert (use.denied, use.answered, use.approved, use.expired) == (2, 1, 0, 0)
    assert (use.open, use.asked) == (1, 4)


async def test_a_standing_decision_asked_once_and_what_it_answers_is_counted_apart(rt: Runtime) -> None:
    run = await rt.start(rt.programs["often"], "go")
    await run.wait(LIMIT)
    [item] = await rt.inbox()
    await rt.answer(item, Decision.approve(stands=Standing(where=("*",))), by="ana")
    assert isinstance(await run.wait(LIMIT), Completed)
    found = await policies(rt.store, rules_of(rt.programs), 0.0)
    [use] = [use for use in found.rules if use.agent == "often" and use.asked]
    assert (use.asked, use.approved, use.stood, found.counted) == (1, 1, 2, 1)


async def test_one_vote_of_two_is_no_decision(rt: Runtime) -> None:
    run = await rt.start(rt.programs["careful"], "go")
    await run.wait(LIMIT)
    [item] = await rt.inbox()
    await rt.approve(item, by="ana")
    found = await policies(rt.store, rules_of(rt.programs), 0.0)
    [use] = [use for use in found.rules if use.agent == "careful" and use.asked]
    assert (use.asked, use.approved, use.open, found.counted) == (1, 0, 1, 0)
    await run.cancel(by="ana")
    assert isinstance(await run.wait(LIMIT), Cancelled)
    assert {use.approved for use in (await uses(rt)).values()} == {0}, "it came to nothing"


async def test_only_what_was_decided_since_then_is_counted(rt: Runtime) -> None:
    await waiting(rt)
    [item] = await rt.inbox()
    await rt.deny(item, by="ana")
    found = await policies(rt.store, {}, rt.store.now() + 60)
    assert (found.counted, sum(use.denied for use in found.rules)) == (0, 0)
    again = await policies(rt.store, {}, 0.0)
    [use] = [use for use in again.rules if use.denied]
    assert (again.counted, use.agent, use.is_defined, again.complete) == (1, "payer", False, True)


async def test_an_expiry_is_counted_as_one() -> None:
    agent = payer()
    async with env([agent]) as e:
        run = await e.runtime.start(agent, "go")
        await run.wait(LIMIT)
        await e.skip(60)
        assert isinstance(await run.wait(LIMIT), Completed)
        use = next(use for rule, use in (await uses(e.runtime)).items() if rule.startswith(ASK))
        assert (use.expired, use.asked) == (1, 1)


@pytest.mark.parametrize(
    ("rule", "verdict", "matches"),
    [
        ("ask pay", "ask", "pay"),
        ("allow look* when n <= 3", "allow", "look* when n <= 3"),
        ("deny *", "deny", "*"),
        ("default deny", "deny", ""),
        ("pay: two people", "ask", "pay: two people"),
    ],
)
def test_a_rule_is_given_in_parts_so_that_nobody_reads_its_words(rule: str, verdict: str, matches: str) -> None:
    assert parts_of(rule) == (verdict, matches)
