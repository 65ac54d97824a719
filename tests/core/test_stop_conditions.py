"""Stop conditions compose, and the leaf that tripped is known."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any, cast

import pytest

from adjourn import External, InvalidDefinition, MaxCost, MaxSteps, MaxTime, MaxTokens, TextMention, ToolCalled
from adjourn.core.stop_conditions import Leaf, Progress, Stop, Tripped

START = Progress(steps=0, tokens=0, cost=0.0, elapsed=0.0, text="", called=frozenset())


def at(**changes: Any) -> Progress:
    fields: dict[str, Any] = {name: getattr(START, name) for name in START.__struct_fields__}
    return Progress(**{**fields, **changes})


def tripped(stop: Stop, progress: Progress, **extended: float) -> str | None:
    found = stop.check(progress, extended)
    return found.leaf.name if found else None


@pytest.mark.parametrize(
    ("leaf", "before", "after"),
    [
        (MaxSteps(3), at(steps=2), at(steps=3)),
        (MaxTokens(100), at(tokens=99), at(tokens=100)),
        (MaxCost(0.5), at(cost=0.49), at(cost=0.5)),
        (MaxTime(60), at(elapsed=59.9), at(elapsed=60)),
        (MaxTime(timedelta(minutes=1)), at(elapsed=59.9), at(elapsed=61)),
        (TextMention("DONE"), at(text="done"), at(text="all DONE.")),
        (ToolCalled("refund"), at(called=frozenset({"refund_all"})), at(called=frozenset({"a", "refund"}))),
        (External(), at(flags=frozenset({"other"})), at(flags=frozenset({"stop"}))),
        (External("enough"), at(flags=frozenset({"stop"})), at(flags=frozenset({"enough"}))),
    ],
)
def test_a_leaf_trips_at_its_limit_and_not_before(leaf: Leaf, before: Progress, after: Progress) -> None:
    assert leaf.check(before, {}) is None
    assert leaf.check(after, {}) == Tripped(leaf, "stop")


def test_the_leaf_that_tripped_is_named() -> None:
    stop = MaxSteps(30) | MaxTokens(200_000) | (TextMention("DONE") & MaxSteps(3))
    assert tripped(stop, START) is None
    assert tripped(stop, at(steps=30)) == "MaxSteps(30)"
    assert tripped(stop, at(tokens=200_000)) == "MaxTokens(200000)"
    assert tripped(stop, at(text="DONE", steps=2)) is None
    assert tripped(stop, at(text="DONE", steps=3)) == "MaxSteps(3)"
    assert tripped(stop, at(steps=3)) is None


def test_the_leftmost_leaf_that_is_true_is_the_one() -> None:
    both = at(steps=9, tokens=9)
    assert tripped(MaxSteps(1) | MaxTokens(1), both) == "MaxSteps(1)"
    assert tripped(MaxTokens(1) | MaxSteps(1), both) == "MaxTokens(1)"


def test_and_or_nest_to_any_depth() -> None:
    stop = (MaxSteps(1) & (MaxTokens(1) | MaxCost(1))) | (ToolCalled("a") & TextMention("b") & External("c"))
    assert tripped(stop, at(steps=1)) is None
    assert tripped(stop, at(steps=1, cost=2.0)) == "MaxCost(1)"
    assert tripped(stop, at(called=frozenset({"a"}), text="b")) is None
    assert tripped(stop, at(called=frozenset({"a"}), text="b", flags=frozenset({"c"}))) == "External('c')"
    assert [leaf.name for leaf in stop.leaves()] == [
        "MaxSteps(1)", "MaxTokens(1)", "MaxCost(1)", "ToolCalled('a')", "TextMention('b')", "External('c')",
    ]  # fmt: skip


def test_a_condition_reads_like_it_was_written() -> None:
    assert (
        repr(MaxSteps(30) | (TextMention("DONE") & MaxCost(5))) == "(MaxSteps(30) | (TextMention('DONE') & MaxCost(5)))"
    )


@pytest.mark.parametrize("leaf", [MaxSteps(1), MaxTokens(1), MaxCost(1), MaxTime(1), TextMention("x"), ToolCalled("x")])
def test_then_pause_asks_instead_of_stopping(leaf: Leaf) -> None:
    pausing = leaf.then("pause")
    everything = at(steps=9, tokens=9, cost=9.0, elapsed=9.0, text="x", called=frozenset({"x"}))
    assert pausing.check(everything, {}) == Tripped(pausing, "pause")
    assert leaf.check(everything, {}) == Tripped(leaf, "stop")
    assert pausing.name == leaf.name
    assert pausing.then("stop") == leaf


def test_then_keeps_its_limit_inside_a_composition() -> None:
    stop = MaxCost(5).then("pause") | MaxSteps(50)
    found = stop.check(at(cost=5.0), {})
    assert found is not None
    assert (found.leaf.name, found.action, found.leaf.budget) == ("MaxCost(5)", "pause", 5)


def test_what_people_added_to_a_limit_counts() -> None:
    stop = MaxSteps(3).then("pause")
    assert tripped(stop, at(steps=3), **{"MaxSteps(3)": 2.0}) is None
    assert tripped(stop, at(steps=5), **{"MaxSteps(3)": 2.0}) == "MaxSteps(3)"
    assert tripped(stop, at(steps=3), **{"MaxSteps(4)": 2.0}) == "MaxSteps(3)"


@pytest.mark.parametrize("make", [MaxSteps, MaxTokens, MaxCost, MaxTime])
@pytest.mark.parametrize("limit", [0, -1, 0.0, float("nan"), float("inf"), -float("inf"), True, "5", None])
def test_a_limit_that_limits_nothing_is_refused_when_it_is_made(make: Callable[[Any], Stop], limit: Any) -> None:
    with pytest.raises(InvalidDefinition, match="greater than 0"):
        make(limit)


def test_a_time_limit_of_zero_is_refused_also_as_a_timedelta() -> None:
    for wrong in (timedelta(0), timedelta(seconds=-5)):
        with pytest.raises(InvalidDefinition):
            MaxTime(wrong)


@pytest.mark.parametrize("make", [TextMention, ToolCalled, External])
@pytest.mark.parametrize("text", ["", None, 5])
def test_a_condition_on_nothing_is_refused_when_it_is_made(make: Callable[[Any], Stop], text: Any) -> None:
    with pytest.raises(InvalidDefinition, match="needs a non-empty string"):
        make(text)


@pytest.mark.parametrize("leaf", [MaxSteps(1), TextMention("x")])
def test_then_takes_two_words_only(leaf: Leaf) -> None:
    with pytest.raises(InvalidDefinition, match="'stop' or 'pause'"):
        leaf.then(cast("Any", "explode"))


@pytest.mark.parametrize("other", [5, None, "MaxSteps(5)", MaxSteps])
def test_conditions_combine_with_conditions_only(other: Any) -> None:
    with pytest.raises(InvalidDefinition, match="combine"):
        _ = MaxSteps(1) | other
    with pytest.raises(InvalidDefinition, match="combine"):
        _ = MaxSteps(1) & other


@pytest.mark.parametrize(
    "stop", [MaxSteps(3), MaxTime(3, waiting=False), TextMention("DONE"), External() & ToolCalled("a")]
)
def test_a_stop_condition_cannot_be_changed(stop: Stop) -> None:
    for name in vars(stop):
        with pytest.raises(AttributeError, match="cannot be changed"):
            setattr(stop, name, 5)


def test_conditions_that_say_the_same_are_equal() -> None:
    def made() -> list[Stop]:
        leaves = [MaxSteps(3), MaxTokens(3), MaxTime(3), MaxTime(3, waiting=False), TextMention("a"), ToolCalled("a")]
        return [*leaves, MaxSteps(3).then("pause"), leaves[0] | leaves[1], leaves[1] | leaves[0], leaves[0] & leaves[1]]

    assert made() == made()
    assert [hash(stop) for stop in made()] == [hash(stop) for stop in made()]
    assert len({*made()}) == len(made()), "no two of them are equal"
