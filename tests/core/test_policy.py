"""A policy is a pure question: same call, same verdict, with its reason; and no error ever loosens it."""

import itertools
from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn import InvalidDefinition, Policy, Verdict, allow, ask, deny, eq, ge, gt, le, lt, matches, ne, one_of, under
from adjourn.core.argument_conditions import Condition
from adjourn.core.policy import Judgement, strictest
from adjourn.core.policy_rule import Rule, ToolTraits

REFUND = {"order": "123", "cents": 500, "urgent": False}


def verdict(*rules: Rule, tool: str = "refund", args: dict[str, Any] | None = None, default: Any = "allow") -> Verdict:
    return Policy(rules, default=default).judge(tool, REFUND if args is None else args).verdict


# Globs


@pytest.mark.parametrize(
    ("pattern", "tool", "hit"),
    [
        ("refund", "refund", True),
        ("refund", "refund_all", False),
        ("refund", "Refund", False),
        ("db_*", "db_drop", True),
        ("db_*", "db_", True),
        ("db_*", "mydb_drop", False),
        ("*", "anything.at-all", True),
        ("db_?", "db_x", True),
        ("db_?", "db_xy", False),
        ("db_[ab]", "db_a", True),
        ("db_[!ab]", "db_a", False),
        ("a.b", "axb", False),
    ],
)
def test_a_pattern_is_a_glob_over_the_whole_name(pattern: str, tool: str, hit: bool) -> None:
    assert verdict(deny(pattern), tool=tool) == (Verdict.DENY if hit else Verdict.ALLOW)


@pytest.mark.parametrize("pattern", ["", None, 3])
def test_a_rule_without_a_pattern_is_refused_when_it_is_made(pattern: Any) -> None:
    with pytest.raises(InvalidDefinition, match="pattern"):
        deny(pattern)


# Conditions


@pytest.mark.parametrize(
    ("condition", "yes", "no"),
    [
        (eq(5), [5, 5.0], [4, "5", True]),
        (eq(1), [1], [True]),
        (eq(0), [0], [False, None]),
        (eq(True), [True], [1]),
        (eq("a"), ["a"], ["A", "a "]),
        (eq(None), [None], [0, "", False]),
        (ne(1), [2, True, "1"], [1]),
        (gt(10), [11, 10.5], [10, 9]),
        (ge(10), [10, 11], [9.99]),
        (lt(10), [9, -1], [10, 11]),
        (le(10), [10, 9], [10.01]),
        (gt("2024-01-01"), ["2024-01-02"], ["2023-12-31"]),
        (one_of("EUR", "USD"), ["EUR"], ["eur", "GBP"]),
        (one_of(1, 2), [1, 2], [3, True]),
        (one_of(), [], [1, None]),
        (matches(r"[A-Z]{3}-\d+"), ["ABC-1"], ["ABC-1 or so", "xABC-1", "ABC-1\n"]),
        (under("/matter/acme"), ["/matter/acme/draft.docx", "/matter/acme", "/matter/x/../acme/a"], []),
        (under("/matter/acme"), [], ["/matter/acmeX/a", "/matter/acme/../other", "/etc/passwd", "/matter"]),
        (under("/etc"), ["//etc/passwd", "/etc//passwd", "/./etc/passwd", "/tmp/../etc/passwd"], ["/tmp/etc/passwd"]),
        (under("drafts"), ["drafts/a", "./drafts/a", "drafts"], ["other/a", "draftsX/a", "drafts/../secret"]),
        (under("/"), ["/", "/a", "/a/../b"], []),
    ],
)
def test_a_condition_says_yes_and_no(condition: Condition, yes: list[Any], no: list[Any]) -> None:
    rule = deny("refund", when={"x": condition})
    assert [verdict(rule, args={"x": value}) for value in yes] == [Verdict.DENY] * len(yes)
    assert [verdict(rule, args={"x": value}) for value in no] == [Verdict.ALLOW] * len(no)


@pytest.mark.parametrize(
    ("condition", "value"),
    [
        (gt(10), "11"),
        (gt(10), None),
        (gt(10), True),
        (ge(10), [10]),
        (lt(10), {"a": 1}),
        (le(10), False),
        (matches("a"), 5),
        (matches("a"), None),
        (under("/etc"), 5),
        (under("/etc"), "passwd"),
        (under("/etc"), "../etc/passwd"),
        (under("drafts"), "/srv/drafts/a"),
        (under("drafts"), "../here/drafts/a"),
    ],
)
def test_a_condition_that_cannot_be_judged_denies_and_says_why(condition: Condition, value: Any) -> None:
    for rule in (allow("refund", when={"x": condition}), ask("refund", when={"x": condition})):
        judged = Policy([rule], default="allow").judge("refund", {"x": value})
        assert judged.verdict == Verdict.DENY
        assert rule.text in judged.reason
        assert "failed (" in judged.reason


def test_a_plain_value_in_when_means_equal() -> None:
    assert verdict(ask("refund", when={"urgent": False})) == Verdict.ASK
    assert verdict(ask("refund", when={"urgent": 0})) == Verdict.ALLOW


def test_all_conditions_of_a_rule_must_hold() -> None:
    rule = ask("refund", when={"cents": gt(100), "order": "123"})
    assert verdict(rule) == Verdict.ASK
    assert verdict(rule, args={**REFUND, "order": "124"}) == Verdict.ALLOW


PATH = {"type": "object", "properties": {"path": {"type": "string"}, "cents": {"type": "integer"}}}
NO_PATH = {"type": "object", "properties": {"cents": {"type": "integer"}}}


@pytest.mark.parametrize("schema", [PATH, True, {}, {"type": "object"}])
def test_a_condition_on_an_argument_that_was_not_given_but_could_have_been_asks(schema: Any) -> None:
    for rule in (ask("refund", when={"path": under("/etc")}), deny("*", when={"path": under("/etc")}, reason="no")):
        judged = Policy([rule], default="allow").judge("refund", REFUND, ToolTraits(schema))
        assert judged.verdict == Verdict.ASK
        assert judged.reason == f"«{rule.text}» depends on 'path', which is not given"
        assert [one.slots for one in judged.rules] == [rule.asking.slots]


def test_what_is_given_decides_before_what_is_not() -> None:
    rule = deny("refund", when={"path": under("/etc"), "cents": gt(1000)})
    assert Policy([rule], default="allow").judge("refund", {"cents": 5}, ToolTraits(PATH)).verdict == Verdict.ALLOW
    assert Policy([rule], default="allow").judge("refund", {"cents": 5000}, ToolTraits(PATH)).verdict == Verdict.ASK


def test_a_rule_that_allows_does_not_allow_what_it_cannot_see() -> None:
    rule = allow("refund", when={"path": under("/srv")})
    assert Policy([rule], default="deny").judge("refund", {}, ToolTraits(PATH)).verdict == Verdict.DENY


def test_a_rule_about_an_argument_that_a_tool_does_not_have_is_not_about_that_tool() -> None:
    assert Policy([deny("*", when={"path": under("/etc")})], default="allow").judge(
        "x", {}, ToolTraits(NO_PATH)
    ).verdict == (Verdict.ALLOW)


def test_a_callable_judges_the_whole_call() -> None:
    seen: list[dict[str, Any]] = []

    def large(args: dict[str, Any]) -> bool:
        seen.append(args)
        return args["cents"] > 400

    assert verdict(ask("refund", when=large)) == Verdict.ASK
    assert verdict(ask("refund", when=large), args={"cents": 1}) == Verdict.ALLOW
    assert seen == [REFUND, {"cents": 1}]


@pytest.mark.parametrize("answer", [1, 0, None, "yes", [], "", {"approved": True}])
def test_a_callable_that_does_not_say_true_or_false_denies(answer: Any) -> None:
    def vague(args: dict[str, Any]) -> bool:
        return answer

    for rule in (allow("refund", when=vague), ask("refund", when=vague), deny("refund", when=vague)):
        assert verdict(rule) == Verdict.DENY


@pytest.mark.parametrize("error", [KeyError("cents"), ZeroDivisionError(), RecursionError(), AssertionError("no")])
def test_a_callable_that_raises_denies(error: Exception) -> None:
    def broken(args: dict[str, Any]) -> bool:
        raise error

    judged = Policy([allow("refund", when=broken)], default="allow").judge("refund", REFUND)
    assert judged.verdict == Verdict.DENY
    assert type(error).__name__ in judged.reason


def test_a_rule_that_cannot_be_judged_denies_wherever_it_stands() -> None:
    def broken(args: dict[str, Any]) -> bool:
        raise ValueError("no idea")

    for rules in itertools.permutations([allow("*"), ask("refund"), allow("refund", when=broken)]):
        assert verdict(*rules) == Verdict.DENY


def test_a_callable_cannot_change_the_arguments_that_are_shown_and_run() -> None:
    def sneaky(args: dict[str, Any]) -> bool:
        args["cents"] = 1
        args["items"].append("more")
        return False

    args: dict[str, Any] = {"cents": 500, "items": ["a"]}
    Policy([deny("refund", when=sneaky)]).judge("refund", args)
    assert args == {"cents": 500, "items": ["a"]}


@pytest.mark.parametrize("when", [5, "cents > 5", ["cents"], gt(5)])
def test_a_when_that_is_neither_conditions_nor_a_function_is_refused_when_it_is_made(when: Any) -> None:
    with pytest.raises(InvalidDefinition, match="when="):
        ask("refund", when=when)


def test_a_wrong_regular_expression_is_refused_when_it_is_made() -> None:
    with pytest.raises(InvalidDefinition, match="matches"):
        matches("(")


# The strictest wins


RULES = [allow("refund"), ask("refund", reason="large"), deny("refund", reason="no"), allow("*"), ask("other")]


def test_the_strictest_match_wins_whatever_the_order() -> None:
    for n in range(len(RULES) + 1):
        for chosen in itertools.permutations(RULES, n):
            hits = [r.verdict for r in chosen if r.pattern != "other"]
            assert verdict(*chosen, default="ask") == max(hits, default=Verdict.ASK)


def rule_of(make: Callable[..., Rule], pattern: str, limit: int | None) -> Rule:
    return make(pattern, when=None if limit is None else {"cents": gt(limit)})


rules = st.builds(
    rule_of,
    st.sampled_from([allow, ask, deny]),
    st.sampled_from(["refund", "ref*", "*", "other", "re[a-f]und"]),
    st.none() | st.integers(0, 1000),
)


@given(
    st.lists(rules, max_size=6), rules, st.integers(0, 6), st.sampled_from(["allow", "ask", "deny"]), st.integers(0, 99)
)
def test_adding_an_ask_or_a_deny_never_loosens(
    have: list[Rule], extra: Rule, place: int, default: Any, cents: int
) -> None:
    args = {"cents": cents * 10}
    before = Policy(have, default=default).judge("refund", args)
    more = Policy([*have[:place], extra, *have[place:]], default=default).judge("refund", args)
    if extra.verdict == Verdict.DENY or (extra.verdict == Verdict.ASK and (before.rules or default != "deny")):
        assert more.verdict >= before.verdict  # only a default of "deny" gives way: it is for what no rule names
    shuffled = Policy([*have[place:], extra, *have[:place]], default=default).judge("refund", args)
    assert shuffled.verdict == more.verdict


@given(st.lists(rules, max_size=6), st.integers(0, 1000))
def test_the_same_call_gets_the_same_judgement(have: list[Rule], cents: int) -> None:
    policy = Policy(have)
    assert policy.judge("refund", {"cents": cents}) == policy.judge("refund", {"cents": cents})


def test_the_reasons_of_all_winning_rules_reach_the_approver() -> None:
    policy = Policy([allow("*", reason="fine"), ask("refund", reason="large"), ask("ref*", reason="money")])
    judged = policy.judge("refund", REFUND)
    assert judged.reason == "large; money"
    assert [r.text for r in judged.rules] == ["ask refund", "ask ref*"]


def test_what_no_rule_matches_gets_the_default_and_says_so() -> None:
    judged = Policy([deny("other")]).judge("refund", REFUND)
    assert (judged.verdict, judged.rules) == (Verdict.ASK, ())
    assert "default is ask" in judged.reason


def test_of_several_policies_the_strictest_wins_and_equals_are_taken_together() -> None:
    one, two = Judgement(Verdict.ASK, "a", (ask("x"),)), Judgement(Verdict.ASK, "b", (ask("y"),))
    no = Judgement(Verdict.DENY, "no", (deny("x"),))
    assert strictest([]).verdict == Verdict.ALLOW
    assert strictest([one, two]) == Judgement(Verdict.ASK, "a; b", (ask("x"), ask("y")))
    for order in itertools.permutations([one, no, Judgement(Verdict.ALLOW, "sure")]):
        assert strictest(order) == no


# Definitions


def test_a_rule_reads_like_it_was_written() -> None:
    assert ask("refund", when={"cents": gt(10_000), "currency": "EUR"}).text == (
        "ask refund when cents > 10000 and currency == 'EUR'"
    )
    assert deny("db_*").text == "deny db_*"
    assert deny("rm", when={"path": under("/etc")}).text == "deny rm when path under '/etc'"


@pytest.mark.parametrize(
    "make",
    [
        lambda: Policy(cast("Any", ["deny refund"])),
        lambda: Policy(default=cast("Any", "maybe")),
        lambda: ask("x", on_expiry=cast("Any", "approve")),
        lambda: ask("x", approvers=0),
        lambda: ask("x", approvers=cast("Any", True)),
        lambda: ask("x", groups="finance"),
        lambda: ask("x", expires_in=-1),
        lambda: ask("x", expires_in=0),
        lambda: ask("x", expires_in=float("nan")),
        lambda: ask("x", expires_in=float("inf")),
        lambda: ask("x", expires_in=cast("Any", "1h")),
        lambda: ask("x", expires_in=timedelta(seconds=-1)),
        lambda: ask("x", expires_in=cast("Any", True)),
        lambda: ask("x", valid_for=0),
        lambda: ask("x", remind_every=0),
    ],
)
def test_a_definition_that_cannot_work_is_refused_when_it_is_made(make: Callable[[], object]) -> None:
    with pytest.raises(InvalidDefinition):
        make()


def test_durations_are_seconds_or_a_timedelta() -> None:
    assert ask("x", expires_in=timedelta(hours=1)).expires_in == ask("x", expires_in=3600).expires_in == 3600.0


# What a tool does


UNSAFE, SAFE = ToolTraits(effect="unsafe"), ToolTraits(effect="idempotent")
UNDOABLE = ToolTraits(effect="unsafe", undo=True)


@pytest.mark.parametrize(
    ("rule", "traits", "applies"),
    [
        (ask(effect="unsafe", undo=False), UNSAFE, True),
        (ask(effect="unsafe", undo=False), UNDOABLE, False),
        (ask(effect="unsafe", undo=False), SAFE, False),
        (ask(effect="unsafe"), UNDOABLE, True),
        (ask(undo=False), SAFE, True),
        (ask(undo=True), UNDOABLE, True),
        (ask(undo=True), UNSAFE, False),
        (ask("ref*", effect="unsafe"), UNSAFE, True),
        (ask("other", effect="unsafe"), UNSAFE, False),
        (ask("refund", effect="unsafe", when={"cents": gt(10**9)}), UNSAFE, False),
        (deny(effect="unsafe"), UNSAFE, True),
        (deny(undo=False), UNDOABLE, False),
        (ask(), SAFE, True),
    ],
)
def test_a_rule_may_be_about_what_a_tool_does(rule: Rule, traits: ToolTraits, applies: bool) -> None:
    expected = rule.verdict if applies else Verdict.ALLOW
    assert Policy([rule], default="allow").judge("refund", REFUND, traits).verdict == expected


def test_of_a_tool_that_nobody_describes_the_worst_is_assumed() -> None:
    assert Policy([ask(effect="unsafe", undo=False)], default="allow").judge("x", {}).verdict == Verdict.ASK


def test_what_a_rule_says_of_a_tool_is_in_its_text() -> None:
    assert ask(effect="unsafe", undo=False).text == "ask unsafe * without undo"
    assert deny("db_*", undo=True).text == "deny db_* with undo"
    assert ask("refund", edits=False, when={"cents": gt(5)}).text == "ask refund as it is when cents > 5"


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (
            lambda: ask(effect=cast("Any", "harmless")),
            "effect= must be one of 'read', 'idempotent', 'verifiable', 'unsafe', got 'harmless'",
        ),
        (lambda: deny(undo=cast("Any", "no")), "undo= must be True, False or None, got 'no'"),
        (lambda: ask(edits=cast("Any", "no")), "edits= is True or False"),
    ],
)
def test_what_no_tool_can_be_is_refused(make: Callable[[], Rule], said: str) -> None:
    with pytest.raises(InvalidDefinition, match=said):
        make()
