"""Which arguments fit the conditions of a standing decision: exactly those that they say, and nothing that cannot be told."""

from datetime import timedelta
from typing import Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from adjourn.core.records import Asked, Decided, Restored, Revoked, Started
from adjourn.core.standing_decision import Standing, StandingDecision, fits, read_terms, stands
from adjourn.core.state import State
from adjourn.errors import InvalidAnswer

YES = True
NO = False


@pytest.mark.parametrize(
    ("where", "args", "fit"),
    [
        (("a=x",), {"a": "x"}, YES),
        (("a=x",), {"a": "X"}, NO),
        (("a=x",), {"a": " x"}, NO),
        (("a=x",), {"a": ["x"]}, NO),
        (("a=x",), {}, NO),
        (("a=5",), {"a": 5}, YES),
        (("a=5",), {"a": 5.5}, NO),
        (("a=5",), {"a": "5"}, YES),
        (("a=5",), {"a": "05"}, NO),
        (('a="5"',), {"a": "5"}, YES),
        (('a="5"',), {"a": 5}, NO),
        (('a="4*"',), {"a": "4*"}, YES),
        (('a="4*"',), {"a": "44"}, NO),
        (("a=true",), {"a": True}, YES),
        (("a=1",), {"a": True}, NO),
        (("a=null",), {"a": None}, YES),
        (("a=",), {"a": ""}, YES),
        (("a=44*",), {"a": "4417"}, YES),
        (("a=44*",), {"a": "44"}, YES),
        (("a=44*",), {"a": "144"}, NO),
        (("a=44*",), {"a": 4417}, NO),
        (("a=*@b.c",), {"a": "x@b.c"}, YES),
        (("a=*@b.c",), {"a": "x@b.c.evil"}, NO),
        (("a=ab*ba",), {"a": "aba"}, NO),
        (("a=a*b*c",), {"a": "a-b-c"}, YES),
        (("a=a*b*c",), {"a": "acb"}, NO),
        (("a=[ab]*",), {"a": "a"}, NO),
        (("a<=100",), {"a": 100}, YES),
        (("a<=100",), {"a": 100.01}, NO),
        (("a<100",), {"a": 100}, NO),
        (("a>-1",), {"a": 0}, YES),
        (("a>=0.5",), {"a": 0.5}, YES),
        (("a<=100",), {"a": "5"}, NO),
        (("a<=100",), {"a": True}, NO),
        (("a<=100",), {"a": None}, NO),
        (("a<=100",), {"a": float("nan")}, NO),
        (("a <= 100", "b = x"), {"a": 1, "b": "x"}, YES),
        (("a<=100", "b=x"), {"a": 1, "b": "y"}, NO),
        (("a.b=x",), {"a": {"b": "x"}}, YES),
        (("a.b=x",), {"a": "x"}, NO),
        (("*",), {}, YES),
        ((), {"a": 1}, NO),
        ((), {"a": 5}, YES),
    ],
)
def test_arguments_fit_or_do_not(where: tuple[str, ...], args: Any, fit: bool) -> None:
    assert fits(where, {"a": 5}, args) is fit
    Standing(where=where)


@pytest.mark.parametrize(
    "text", ["", "a", "=x", "a<x", "a<=", "a<1e3", "a<NaN", "a<=01", 'a="x', "a==" + "x" * 500, "<5"]
)
def test_what_is_no_condition_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        Standing(where=(text,))


@pytest.mark.parametrize(
    "wrong", [{"times": 1}, {"times": -1}, {"times": 10_001}, {"lasts": -1.0}, {"lasts": 1e9}, {"where": ("*", "a=1")}]
)
def test_what_says_nothing_or_too_much_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        Standing(**wrong)


@given(st.text(max_size=8), st.lists(st.text(max_size=4), max_size=4))
def test_a_star_is_any_characters_and_nothing_else_is_special(text: str, parts: list[str]) -> None:
    plain = [part.replace("*", "").strip() for part in parts]
    said = "a=" + "*".join(plain)
    if "*" not in said or said.startswith('a="') or said[2:] == "*":
        return
    assert fits((said,), None, {"a": text.join(plain)})
    assert not fits((said,), None, {"a": [text]})


def made(**says: Any) -> StandingDecision:
    decided = Decided(i="1.0?0", verdict="approve", by="ana", at=100.0, value={"stands": says})
    return StandingDecision(Asked(i="1.0?0", kind="approval"), [decided])


def test_its_time_is_counted_from_the_decision_and_never_longer_than_the_rule_allows() -> None:
    assert made(lasts=60.0).until == 160.0
    assert (made(lasts=60.0).over(159.9), made(lasts=60.0).over(160.0)) == ("", "expired")
    standing = made(lasts=60.0)
    standing.made = Asked(i="1.0?0", kind="approval", valid_for=10.0)
    assert standing.until == 110.0


def test_decisions_that_do_not_say_the_same_do_not_stand() -> None:
    standing = made(times=3)
    standing.decisions.append(Decided(i="1.0?0", verdict="approve", by="bo", value={"stands": {"times": 4}}))
    assert standing.says is None
    assert standing.over(0.0) == "not agreed to by all"
    standing.decisions[1] = Decided(i="1.0?0", verdict="approve", by="bo")
    assert standing.says is None


@pytest.mark.parametrize("record", [Restored(epoch=9), Revoked(i="1.0?0", by="bo")], ids=["restored", "revoked"])
def test_a_restore_and_a_revocation_end_it(record: Restored | Revoked) -> None:
    state = State().fold_all([(1, Started(run="r", kind="agent", program="a"))])
    state.standing["1.0?0"] = made()
    state.fold(2, record)
    assert state.standing["1.0?0"].over(0.0)


@pytest.mark.parametrize("given", [{"times": 0}, {"lasts": 0}, {"lasts": 0.0, "times": 3}])
def test_a_zero_that_somebody_gives_is_never_without_a_limit(given: dict[str, Any]) -> None:
    with pytest.raises(InvalidAnswer, match="lasts= must be seconds|times= must be a number"):
        read_terms(given)


@pytest.mark.parametrize("times", [0, 1, -1, True, 2.5, "3", 10_001])
def test_a_number_of_times_is_at_least_two_or_none(times: Any) -> None:
    with pytest.raises(ValueError, match="times="):
        Standing(times=times)


@pytest.mark.parametrize("lasts", [0, 0.0, -1, True, "8h", float("nan"), 1e9])
def test_how_long_it_stands_is_seconds_or_a_timedelta(lasts: Any) -> None:
    with pytest.raises(ValueError, match="seconds or a timedelta"):
        Standing(lasts=lasts)
    assert Standing(lasts=cast(Any, timedelta(hours=8))) == Standing(lasts=28_800.0)
    assert Standing(lasts=None, times=None) == Standing()


def test_a_record_that_says_zero_for_no_limit_is_read_as_it_was_meant() -> None:
    old = Decided(i="1.0?0", verdict="approve", value={"stands": {"where": ["*"], "lasts": 0.0, "times": 0}})
    assert stands(old) == Standing(where=("*",))
