"""A rule is everything that it says. Two that differ in anything have different identities; two that cannot be told apart
are not accepted."""

import functools
import json
import operator
import subprocess
import sys
import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from adjourn import InvalidDefinition, Policy, Verdict, allow, ask, deny, eq, ge, gt, lt, matches, one_of, under
from adjourn.core.function_identity import identify
from adjourn.core.policy import Judgement
from adjourn.core.policy_rule import Rule

LIMIT = 100
Args = dict[str, Any]


def large(args: Args) -> bool:
    return args["cents"] > LIMIT


# Every field counts


OTHER: dict[str, Any] = {
    "verdict": Verdict.DENY,
    "pattern": "refun*",
    "when": {"cents": gt(101)},
    "reason": "very large",
    "expires_in": 61.0,
    "on_expiry": "cancel",
    "escalate_to": ("board",),
    "remind_every": 6.0,
    "approvers": 3,
    "groups": ("finance",),
    "each": True,
    "not_requester": True,
    "queue": True,
    "valid_for": 11.0,
    "name": "large",
    "effect": "unsafe",
    "undo": False,
    "edits": False,
    "run": {"session": "vip"},
}
BASE = Rule(
    Verdict.ASK, "refund", {"cents": gt(100)}, "large", expires_in=60.0, on_expiry="escalate", escalate_to=("leads",),
    remind_every=5.0, approvers=2, groups=("finance", "leads"), valid_for=10.0,
)  # fmt: skip


def test_a_rule_of_an_earlier_version_is_still_the_same_rule() -> None:
    """Approvals of stored runs are bound to it."""
    assert BASE.identity == "959d218d55dfbe38d4096ebc"


def test_the_table_of_changes_has_every_field() -> None:
    assert set(OTHER) == {*Rule.__struct_fields__}


@pytest.mark.parametrize("field", OTHER)
def test_another_value_of_any_field_is_another_rule(field: str) -> None:
    assert replace(BASE, **{field: OTHER[field]}).identity != BASE.identity


@given(st.sets(st.sampled_from(sorted(OTHER)), min_size=1), st.sets(st.sampled_from(sorted(OTHER)), min_size=1))
def test_two_rules_are_one_only_if_they_say_the_same(one: set[str], other: set[str]) -> None:
    first, second = (replace(BASE, **{field: OTHER[field] for field in changed}) for changed in (one, other))
    assert (first.identity == second.identity) == (one == other)


def test_the_order_of_groups_says_nothing_and_everything_else_does() -> None:
    assert ask("x", groups=("a", "b")).identity == ask("x", groups=("b", "a")).identity
    assert ask("x", groups=("a", "b"), each=True).identity != ask("x", groups=("a", "b")).identity


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ({"a": eq(1)}, {"a": eq(1.0)}),
        ({"a": eq(1)}, {"a": eq(True)}),
        ({"a": eq("1")}, {"a": eq(1)}),
        ({"a": gt(1)}, {"a": ge(1)}),
        ({"a": gt(1)}, {"a": ~gt(1)}),
        ({"a": gt(1)}, {"b": gt(1)}),
        ({"a": gt(1)}, {"a": gt(1), "b": lt(2)}),
        ({"a": one_of("x", "y")}, {"a": one_of("x, y")}),
        ({"a": matches("b")}, {"a": eq("b")}),
        ({"a": under("/x")}, {"a": under("/x/y")}),
        ({}, None),
        ({"a": eq(None)}, {}),
    ],
)
def test_conditions_that_differ_in_anything_make_different_rules(one: Any, other: Any) -> None:
    assert ask("x", when=one).identity != ask("x", when=other).identity


def test_a_plain_value_is_the_condition_that_it_stands_for() -> None:
    assert ask("x", when={"a": 5}).identity == ask("x", when={"a": eq(5)}).identity


def test_what_is_done_to_the_dict_afterwards_does_not_change_the_rule() -> None:
    when: dict[str, Any] = {"cents": gt(100)}
    rule = ask("refund", when=when)
    before = rule.identity
    when["cents"] = gt(1_000_000)
    assert rule.identity == before == ask("refund", when={"cents": gt(100)}).identity
    assert Policy([rule], default="allow").judge("refund", {"cents": 500}).verdict == Verdict.ASK
    with pytest.raises(TypeError):
        rule.when["cents"] = gt(5)  # type: ignore[index]  # pyright: ignore


def test_an_identity_is_made_once() -> None:
    rule = ask("refund", when=large)
    assert rule.identity is rule.identity
    assert rule.slots is rule.slots
    assert Policy([rule], default="allow").judge("refund", {"cents": 500}).rules[0].slots is rule.slots


@given(st.integers(0, 200), st.booleans())
def test_judging_twice_gives_the_same(cents: int, given_: bool) -> None:
    policy = Policy([ask("refund", when={"cents": gt(100)}), deny("refund", when={"order": eq("x")})], default="allow")
    args: Args = {"cents": cents, "order": "y"} if given_ else {"cents": cents}

    def gates(judged: Judgement) -> list[Any]:
        return [judged.verdict, judged.reason, [rule.slots for rule in judged.rules]]

    assert gates(policy.judge("refund", args)) == gates(policy.judge("refund", args))


# Functions


def over(limit: Any, start: Any = 0) -> Callable[[Args], bool]:
    return lambda args: args["cents"] + start > limit


def negated(function: Callable[[Args], bool]) -> Callable[[Args], bool]:
    @functools.wraps(function)
    def other(args: Args) -> bool:
        return not function(args)

    return other


def over_given(limit: Any, args: Args) -> bool:
    return args["cents"] > limit


class Over:
    factor = 1

    def __init__(self, limit: Any) -> None:
        self.limit = limit

    def __call__(self, args: Args) -> bool:
        return self.is_over(args)

    def is_over(self, args: Args) -> bool:
        return args["cents"] * self.factor > self.limit


class OverTwice(Over):
    factor = 2


class Slotted:
    __slots__ = ("limit",)

    def __init__(self, limit: Any) -> None:
        self.limit = limit

    def __call__(self, args: Args) -> bool:
        return args["cents"] > self.limit


@dataclass(frozen=True)
class Limits:
    cents: int

    def exceeded(self, args: Args) -> bool:
        return args["cents"] > self.cents


def compiled(source: str, **space: Any) -> Callable[[Args], bool]:
    """A function as another version of a module would have it."""
    names: dict[str, Any] = {"__name__": "app.policy", **space}
    exec(source, names)
    return names["check"]


SAME_NAME = [
    "def check(args): return args['cents'] > 100",
    "def check(args): return args['cents'] > 101",
    "def check(args): return args['cents'] >= 100",
    "def check(args): return args['order'] > 100",
    "def check(args): return args['cents'] > max(100, 1)",
    "def check(args): return args['cents'] in {100, 101}",
    "def check(args): return args['cents'] in {100, 102}",
    "def check(args, limit=100): return args['cents'] > limit",
    "def check(args, limit=101): return args['cents'] > limit",
    "def check(args, *, limit=101): return args['cents'] > limit",
    "def check(args): return any(x > 100 for x in args.values())",
    "def check(args): return any(x > 101 for x in args.values())",
    "def check(args):\n  try: return args['cents'] > 100\n  except KeyError: return True",
    "def check(args):\n  try: return args['cents'] > 100\n  except ValueError: return True",
    "def check(args): return args['cents'] > LIMIT",
    "def check(args): return args['cents'] > LOWER",
    "def check(args): return is_large(args)",
]


def test_a_function_with_other_code_is_another_rule() -> None:
    found = [identify(compiled(source, LIMIT=100, LOWER=100)).digest for source in SAME_NAME]
    assert len(set(found)) == len(SAME_NAME)


@pytest.mark.parametrize("limit", [101, 100.0, "100", None, [100], (100,), {100}, {"a": 100}, True])
def test_a_global_that_its_code_names_belongs_to_it(limit: Any) -> None:
    source = "def check(args): return [args['cents'] > LIMIT for _ in (1,)][0]"
    assert identify(compiled(source, LIMIT=100)).digest != identify(compiled(source, LIMIT=limit)).digest
    assert identify(compiled(source, LIMIT=100)).digest == identify(compiled(source, LIMIT=100, UNUSED=limit)).digest


def test_a_function_that_it_calls_belongs_to_it() -> None:
    body = "def check(args): return is_large(args)\n"
    one, two, three = (
        compiled(body + f"def is_large(args): return args['cents'] {op}") for op in ("> 100", "> 100", "> 101")
    )
    assert identify(one) == identify(two)
    assert identify(one).digest != identify(three).digest


def test_a_comment_a_line_and_the_name_of_a_local_change_nothing() -> None:
    one = compiled("def check(args):\n    cents = args['cents']\n    return cents > 100")
    two = compiled(
        "\n\n# about cents\ndef check(args):\n    money = args['cents']  # in cents\n\n    return money > 100"
    )
    assert identify(one) == identify(two)


PAIRS: list[tuple[Any, Any]] = [
    (over(100), over(10_000)),
    (over(100), over(100, start=1)),
    (over(100), over("100")),
    (over({"a", "b"}), over({"a", "c"})),
    (over([1, [2]]), over([1, [3]])),
    (functools.partial(over_given, 100), functools.partial(over_given, 101)),
    (functools.partial(over_given, limit=100), functools.partial(over_given, limit=101)),
    (functools.partial(over_given, 100), functools.partial(large)),
    (Over(100), Over(101)),
    (Over(100), OverTwice(100)),
    (Slotted(100), Slotted(101)),
    (Limits(100).exceeded, Limits(101).exceeded),
    (large, negated(large)),
    (negated(large), negated(negated(large))),
    (over(over(100)), over(over(101))),
]


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_functions_that_hold_something_else_are_different_rules_and_both_are_taken(one: Any, other: Any) -> None:
    first, second = ask("refund", when=one), ask("refund", when=other)
    assert first.identity != second.identity
    Policy([first, second])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (over(100), over(100)),
        (over({"a", "b", "c"}), over({"c", "b", "a"})),
        (over({"x": 1, "y": 2}), over({"y": 2, "x": 1})),
        (functools.partial(over_given, 100), functools.partial(over_given, 100)),
        (Over(100), Over(100)),
        (Limits(100).exceeded, Limits(100).exceeded),
        (negated(large), negated(large)),
    ],
)
def test_functions_made_twice_alike_are_one_rule_and_both_are_taken(one: Any, other: Any) -> None:
    assert ask("refund", when=one).identity == ask("refund", when=other).identity
    Policy([ask("refund", when=one), ask("refund", when=other)])


class Opaque:
    """Neither JSON nor a function."""

    def __init__(self, limit: int) -> None:
        self.limit = limit


MAKERS: list[Callable[[int], Any]] = [
    lambda n: over(Opaque(n)),
    lambda n: functools.partial(over_given, Opaque(n)),
    lambda n: Over(Opaque(n)),
    lambda n: operator.itemgetter("urgent" if n == 1 else "late"),
    lambda n: over(threading.Lock()),
    lambda n: over([Opaque(n)]),
    lambda n: over({"limit": Opaque(n)}),
]


@pytest.mark.parametrize("make", MAKERS)
@pytest.mark.parametrize("rule", [ask, deny, allow])
def test_functions_that_cannot_be_told_apart_are_refused_with_the_way_out(rule: Any, make: Any) -> None:
    one, other = make(1), make(2)
    with pytest.raises(InvalidDefinition, match="cannot be told apart.*name="):
        Policy([rule("refund", when=one), rule("refund", when=other)])
    Policy([rule("refund", when=one), rule("refund", when=one)])  # one function twice is one rule
    Policy([rule("refund", when=one, reason="a"), rule("refund", when=other, reason="b")])
    named = Policy([rule("refund", when=one, name="one"), rule("refund", when=other, name="two")])
    assert len({one.identity for one in named.rules}) == 2


def test_two_functions_under_one_name_are_refused() -> None:
    with pytest.raises(InvalidDefinition, match="the same name='large'"):
        Policy([ask("refund", when=over(100), name="large"), ask("refund", when=over(10_000), name="large")])


def test_a_name_stands_for_the_function() -> None:
    assert ask("refund", when=over(1), name="large").identity == ask("refund", when=over(2), name="large").identity
    assert ask("refund", when=over(1), name="large").text == "ask refund when large"


def test_what_holds_itself_has_an_end() -> None:
    items: list[Any] = []
    items.append(items)

    def again(args: Args) -> bool:
        return again(args) if items else False

    assert identify(again) == identify(again)
    assert identify(over(items)).digest


def test_a_cell_that_is_still_empty_is_no_error() -> None:
    def make() -> Rule:
        rule = ask("refund", when=lambda args: args["cents"] > later)
        assert rule.identity
        later = 5
        return rule

    assert make().identity


SCRIPT = """
import json, sys
sys.path.insert(0, sys.argv[1])
from tests.core import test_rule_identity as t
functions = [f for pair in t.PAIRS for f in pair]
print(json.dumps([t.ask("refund", when=f).identity for f in functions]))
"""


def test_an_identity_is_the_same_in_every_process() -> None:
    root = str(Path(__file__).parents[2])
    found: set[str] = set()
    for seed in ("0", "1", "4711"):
        done = subprocess.run(
            [sys.executable, "-c", SCRIPT, root], capture_output=True, text=True, timeout=60, check=False,
            env={"PYTHONHASHSEED": seed, "PATH": ""},
        )  # fmt: skip
        assert done.returncode == 0, done.stderr
        found.add(done.stdout)
    assert len(found) == 1
    assert len(json.loads(found.pop())) == 2 * len(PAIRS)
