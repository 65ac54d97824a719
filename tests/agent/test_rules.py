"""Rules in a run: what each of the reported ways around a policy comes to now, and what a redeployed policy does."""

from typing import Any

import pytest
from tests.agent.words import last

from adjourn import (
    Agent,
    Decision,
    Paused,
    Policy,
    ProgramChanged,
    allow,
    ask,
    deny,
    email_in,
    gt,
    host_in,
    is_paused,
    matches,
    path_under,
    tool,
)
from adjourn.core.policy_rule import Rule
from adjourn.core.records import Asked
from adjourn.testing import ScriptedModel, call

ran: list[Any] = []


@pytest.fixture(autouse=True)
def fresh() -> None:
    ran.clear()


@tool
async def send(to: str) -> str:
    """Send a message."""
    ran.append(to)
    return "sent"


@tool
async def refund(order: str, cents: int) -> str:
    """Refund an order."""
    ran.append((order, cents))
    return "refunded"


def agent(*rules: Rule, default: Any = "allow", order: str = "A", cents: int = 200) -> Agent:
    model = ScriptedModel([call("refund", order=order, cents=cents)], last, last)
    return Agent("refunds", model=model, tools=[refund], policy=Policy(rules, default=default))


async def paused(one: Agent) -> Paused:
    outcome = await one.run("go", by="eve")
    assert is_paused(outcome)
    return outcome


# A string that a model chooses


OUTSIDE = ask("send", when={"to": ~email_in("example.com")})
BADLY = ask("send", when={"to": matches(r".*@evil\.com")})


@pytest.mark.parametrize(
    ("rule", "to"),
    [
        *((rule, to) for rule in (OUTSIDE, BADLY) for to in ("eve@evil.com", "\neve@evil.com")),
        *((OUTSIDE, to) for to in ("eve@evil.com\n", "eve@evil.com\r\n", "eve@evil.com,ana@example.com", "ana@еxample.com")),
        (deny("send", when={"to": matches(r"rm .*")}), "rm -rf /\n"),
        (ask("send", when={"to": ~host_in("example.com")}), "https://example.com@evil.net"),
        (ask("send", when={"to": ~host_in("example.com")}), "https://evil.net\\.example.com"),
        (ask("send", when={"to": ~path_under("/srv/public")}), "/srv/public/../secret"),
        (ask("send", when={"to": ~path_under("/srv/public")}), "/srv/public/%2e%2e/secret"),
    ],
)  # fmt: skip
async def test_no_spelling_is_sent_unasked(rule: Rule, to: str) -> None:
    model = ScriptedModel([call("send", to=to)], last)
    await Agent("a", model=model, tools=[send], policy=Policy([rule], default="allow")).run("go")
    assert ran == []


async def test_what_is_allowed_is_sent() -> None:
    model = ScriptedModel([call("send", to="ana@example.com")], last)
    await Agent("a", model=model, tools=[send], policy=Policy([OUTSIDE], default="allow")).run("go")
    assert ran == ["ana@example.com"]


# A function


def over(limit: int) -> Any:
    return lambda args: args["cents"] > limit  # pyright: ignore[reportUnknownLambdaType, reportUnknownVariableType]


@pytest.mark.parametrize(
    "small_and_large",
    [
        (over(100), over(10_000)),
        (lambda args: args["cents"] > 100, lambda args: args["cents"] > 10_000),  # pyright: ignore
        ({"cents": gt(100)}, {"cents": gt(10_000)}),
    ],
)
async def test_an_edit_does_not_walk_into_a_rule_that_nobody_was_asked_about(small_and_large: Any) -> None:
    small, large = small_and_large
    one = agent(ask("refund", when=small), ask("refund", when=large))
    outcome = await paused(one)
    edit = Decision.approve(edit={"order": "EVE", "cents": 1_000_000})
    again = await one.resume(outcome.checkpoint, edit, by="cleo")
    assert is_paused(again)
    assert ran == []


# A policy that was deployed anew


STRICTER: list[Rule] = [
    ask("refund", approvers=2),
    ask("refund", groups=("finance",)),
    ask("refund", not_requester=True),
    ask("refund", valid_for=60),
    ask("refund", reason="now with a reason"),
]


@pytest.mark.parametrize("rule", STRICTER)
async def test_a_stricter_rule_asks_again_and_strands_nobody(rule: Rule) -> None:
    outcome = await paused(agent(ask("refund")))
    again = await agent(rule).resume(outcome.checkpoint, True, by="ana")
    assert is_paused(again)
    assert ran == []
    assert len([x for x in again.checkpoint.records if isinstance(x, Asked)]) == 2


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        (ask("refund", approvers=2), ask("refund"), "1 instead of 2"),
        (ask("refund", groups=("finance",)), ask("refund"), "must agree of finance"),
        (ask("refund", not_requester=True), ask("refund"), "the requester may agree"),
        (ask("refund", valid_for=60), ask("refund", valid_for=600), "holds longer"),
    ],
)
async def test_a_weaker_rule_is_refused_by_name(then: Rule, now: Rule, why: str) -> None:
    outcome = await paused(agent(then))
    with pytest.raises(ProgramChanged, match=f"«ask refund» is weaker: .*{why}"):
        await agent(now).resume(outcome.checkpoint, True, by="ana")
    assert ran == []


async def test_a_run_that_goes_on_under_a_weaker_rule_is_asked_about_again() -> None:
    outcome = await paused(agent(ask("refund", valid_for=60)))
    with pytest.warns(UserWarning, match="is weaker"):
        again = await agent(ask("refund")).resume(outcome.checkpoint, True, by="ana", on_change="warn")
    assert is_paused(again)
    assert ran == []


async def test_the_same_policy_made_again_asks_nothing_again() -> None:
    def make() -> Agent:
        return agent(ask("refund", when=over(100), reason="money"), allow("*"))

    outcome = await paused(make())
    assert (await make().resume(outcome.checkpoint.to_json(), True, by="ana")).status == "completed"
    assert ran == [("A", 200)]


async def test_whom_an_escalation_is_for_stands_with_the_question() -> None:
    outcome = await paused(agent(ask("refund", expires_in=60, on_expiry="escalate", escalate_to=("board",))))
    [asked] = [x for x in outcome.checkpoint.records if isinstance(x, Asked)]
    assert asked.escalate_to == ("board",)
