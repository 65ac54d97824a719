"""What changed between a run's program and today's, in words that name it."""

import itertools
from typing import Any

import pytest

from adjourn import Policy, ask
from adjourn.core.approval_votes import Vote, is_filled
from adjourn.core.policy_rule import Rule
from adjourn.core.program_changes import changes

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
        (now(output="dddd"), ["the output type is different"]),
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


# Rules that still ask


def said(then: Rule, *now: Rule) -> list[str]:
    """What is said about a policy that had one rule and now has these."""

    def fingerprint(*rules: Rule) -> dict[str, Any]:
        policy = Policy(rules)
        return {"name": "a", "policy": policy.fingerprint, "strictness": policy.strictness}

    return changes("a", fingerprint(then), fingerprint(*now))


@pytest.mark.parametrize(
    ("then", "now", "why"),
    [
        (ask("x", approvers=2), ask("x"), "1 instead of 2 must agree"),
        (ask("x", groups=["a"]), ask("x"), "0 instead of 1 must agree of a"),
        (ask("x", groups=["a"]), ask("x", groups=["a", "b"]), "0 instead of 1 must agree of a"),
        (ask("x", groups=["a"]), ask("x", groups=["b"]), "0 instead of 1 must agree of a"),
        (ask("x", groups=["a", "b"], each=True), ask("x", groups=["a", "b"]), "0 instead of 1 must agree of a"),
        (ask("x", groups=["a", "b"], each=True), ask("x", groups=["a", "c"], each=True), "0 instead of 1 must agree of b"),
        (ask("x", groups=["a", "b"], each=True, approvers=2), ask("x", groups=["a", "b"], each=True), "1 instead of 2 must agree of a"),
        (ask("x", not_requester=True), ask("x"), "the requester may agree"),
        (ask("x", valid_for=60), ask("x", valid_for=61), "an approval holds longer"),
        (ask("x", valid_for=60), ask("x"), "an approval holds longer"),
        (ask("x", approvers=2), ask("x", groups=["a"], not_requester=True), "1 instead of 2 must agree"),
    ],
)  # fmt: skip
def test_a_rule_that_became_weaker_is_named_like_one_that_is_gone(then: Rule, now: Rule, why: str) -> None:
    assert said(then, now) == [f"the policy's «ask x» is weaker: {why}"]


@pytest.mark.parametrize(
    ("then", "now"),
    [
        (ask("x"), ask("x", approvers=2)),
        (ask("x"), ask("x", groups=["a"])),
        (ask("x"), ask("x", groups=["a", "b"], each=True)),
        (ask("x", groups=["a", "b"]), ask("x", groups=["b"])),
        (ask("x", groups=["a", "b"]), ask("x", groups=["a", "b"], each=True)),
        (ask("x", approvers=2), ask("x", groups=["a", "b"], each=True)),
        (ask("x"), ask("x", not_requester=True)),
        (ask("x"), ask("x", valid_for=60)),
        (ask("x", valid_for=60), ask("x", valid_for=59)),
        (ask("x"), ask("x", reason="other", expires_in=5, on_expiry="cancel", queue=True, name="new")),
        (ask("x", expires_in=5), ask("x")),
    ],
)
def test_a_rule_that_became_stricter_strands_nobody(then: Rule, now: Rule) -> None:
    assert said(then, now) == []


def test_of_two_rules_with_one_text_each_needs_one_that_is_as_strict() -> None:
    two, finance = ask("x", approvers=2), ask("x", groups=["finance"])
    assert said(two, two, finance) == []
    assert said(two, finance, two) == []
    assert said(two, finance) == ["the policy's «ask x» is weaker: 1 instead of 2 must agree"]


def test_a_run_from_before_there_was_strictness_has_none_to_compare() -> None:
    policy = Policy([ask("refund", approvers=1), ask("lookup")])
    then = {**THEN, "policy": policy.fingerprint}
    assert changes("refunds", then, {**then, "strictness": policy.strictness}) == []


GATES = [
    ask("x", approvers=approvers, groups=groups, each=each)
    for groups in ([], ["a"], ["b"], ["a", "b"])
    for approvers in (1, 2)
    for each in ((False, True) if len(groups) > 1 else (False,))
]
PEOPLE = [Vote(f"{'+'.join(of)}{n}", of) for of in ((), ("a",), ("b",), ("a", "b")) for n in range(2)]
CROWDS = [crowd for size in range(1, 5) for crowd in itertools.combinations(PEOPLE, size)]


def satisfies(rule: Rule) -> set[int]:
    """The crowds that fill the rule's seats."""
    return {n for n, crowd in enumerate(CROWDS) if is_filled(rule.slots, crowd, frozenset())}


def test_a_rule_is_weaker_exactly_if_some_crowd_satisfies_it_that_did_not_satisfy_the_old_one() -> None:
    """Over every pair of gates and every crowd of up to four of eight people."""
    satisfied = [satisfies(rule) for rule in GATES]
    for (then, old), (now, new) in itertools.product(zip(GATES, satisfied, strict=True), repeat=2):
        assert bool(said(then, now)) == bool(new - old), (then, now)
