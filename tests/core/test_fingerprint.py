"""What changed between a run's program and today's, in words that name it."""

from typing import Any

import pytest

from adjourn.core.fingerprint import changes

THEN: dict[str, Any] = {
    "name": "refunds",
    "tools": {"refund": "aaaa", "lookup": "bbbb"},
    "policy": ["allow lookup", "ask refund", "default ask"],
    "output": "",
    "agents": {"helper": {"name": "helper", "tools": {"search": "cccc"}, "policy": [], "output": ""}},
}


def now(**other: Any) -> dict[str, Any]:
    return {**THEN, **other}


def test_the_same_definition_has_no_changes() -> None:
    assert changes("refunds", THEN, now()) == []


@pytest.mark.parametrize(
    ("today", "said"),
    [
        (now(name="payouts"), ["the run is of 'refunds', not of 'payouts'"]),
        (now(output="dddd"), ["the output type is another"]),
        (now(tools={"refund": "aaaa"}), ["tool 'lookup' is gone"]),
        (now(tools={"refund": "zzzz", "lookup": "bbbb"}), ["tool 'refund' has another schema or effect"]),
        (
            now(tools={"refund": "aaaa", "find": "bbbb"}),
            ["tool 'lookup' is gone", "new: 'find' (renamed?)"],
        ),
        (now(policy=["allow lookup", "default ask"]), ["the policy's «ask refund» is gone"]),
        (now(policy=[*THEN["policy"], "allow refund"]), ["the policy's «allow refund» is new"]),
        (
            now(policy=["allow lookup", "ask refund", "default allow"]),
            ["the policy's «default ask» is gone", "the policy's «default allow» is new"],
        ),
        (now(policy=[]), [f"the policy's «{rule}» is gone" for rule in THEN["policy"]]),
        (now(agents={}), ["agent 'helper' is gone"]),
        (
            now(agents={"helper": {**THEN["agents"]["helper"], "tools": {"search": "xxxx"}}}),
            ["agent 'helper': tool 'search' has another schema or effect"],
        ),
    ],
)
def test_a_change_is_named(today: dict[str, Any], said: list[str]) -> None:
    assert changes("refunds", THEN, today) == said


@pytest.mark.parametrize(
    "today",
    [
        now(tools={**THEN["tools"], "more": "eeee"}),
        now(policy=[*THEN["policy"], "deny wire*", "ask *"]),
        now(agents={**THEN["agents"], "second": {"name": "second"}}),
    ],
)
def test_an_addition_that_loosens_nothing_is_not_a_change(today: dict[str, Any]) -> None:
    assert changes("refunds", THEN, today) == []


def test_all_changes_are_named_at_once() -> None:
    assert len(changes("refunds", THEN, now(output="x", tools={}, policy=[]))) == 6


def test_a_flows_checkpoint_given_to_an_agent_says_what_it_is() -> None:
    assert changes("g", {"kind": "flow", "name": "f"}, {"name": "g"}) == [
        "the run is of the flow 'f', and 'g' is an agent"
    ]
    assert changes("f", {"name": "g"}, {"kind": "flow", "name": "f"}) == [
        "the run is of the agent 'g', and 'f' is a flow"
    ]
