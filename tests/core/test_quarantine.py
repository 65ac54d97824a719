"""Poison is a property of a run, not of bad weather: what counts as a death, what clears it, and when a person is asked.

One table over what a run was doing when its worker went away.
"""

from typing import Any

import pytest

from adjourn.core.messages import Text, ToolCall
from adjourn.core.quarantine import LOST, is_executing, is_poisoned, is_suspect, question
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Claimed,
    Decided,
    Faulted,
    Intended,
    Parked,
    Released,
    Replied,
    Returned,
    Started,
    Stepped,
    Suspended,
    Verified,
)
from adjourn.core.state import State
from adjourn.core.usage import Usage

STARTED = Started(run="r", kind="agent", program="a", input="go")
REPLIED = Replied(parts=(ToolCall(id="c", tool="pay"),))
INTENDED = Intended(call="1.0", tool="pay", effect="idempotent")

DOING: dict[str, tuple[list[AnyRecord], bool]] = {
    "nothing yet": ([], False),
    "waiting for a model": ([Released()], False),
    "a body": ([REPLIED, INTENDED], True),
    "a body that needs no intent": ([REPLIED], True),
    "a body that has ended": ([REPLIED, INTENDED, Returned(call="1.0", value=1)], False),
    "a nested agent's model": ([REPLIED, Intended(call="1.0", tool="child", agent="child", input="x")], False),
    "waiting to try again": ([REPLIED, INTENDED, Faulted(step="1.0", error="x", transient=True, retry_at=9e9)], False),
    "a body in doubt, to be verified": ([REPLIED, INTENDED, Claimed(epoch=2)], True),
    "a question": ([REPLIED, INTENDED, Suspended(call="1.0", i="1.0?0")], False),
    "an approval": ([REPLIED, Asked(i="1.0?0", kind="approval", call="1.0", tool="pay")], False),
}


def folded(*records: AnyRecord) -> State:
    return State().fold_all(enumerate([STARTED, Claimed(epoch=1), *records], 1))


@pytest.mark.parametrize("doing", DOING)
def test_a_death_counts_only_against_a_run_whose_body_was_executing(doing: str) -> None:
    records, executing = DOING[doing]
    state = folded(*records)
    assert is_executing(state) == executing
    state.fold(99, Claimed(epoch=3, lost=True))
    assert (state.deaths, state.lost) == (int(executing), 1)


@pytest.mark.parametrize("doing", DOING)
def test_a_hand_back_counts_nothing_however_often(doing: str) -> None:
    state = folded(*DOING[doing][0])
    for epoch in range(3, 200):
        state.fold(epoch * 2, Released(why="the worker closes"))
        state.fold(epoch * 2 + 1, Claimed(epoch=epoch))
    assert (state.deaths, state.lost) == (0, 0)
    assert not is_poisoned(state, 1)


def dead(times: int) -> State:
    """A run whose body was executing each time its worker died."""
    state = folded(REPLIED)
    for epoch in range(times):
        state.fold(10 + 2 * epoch, INTENDED)
        state.fold(11 + 2 * epoch, Claimed(epoch=epoch + 2, lost=True))
    return state


@pytest.mark.parametrize(
    "record",
    [
        Returned(call="1.0", value=1),
        Stepped(call="1.0", key="step:a", value=1),
        Faulted(step="1.0", error="x"),
        Suspended(call="1.0", i="1.0?0"),
        Parked(),
    ],
)
def test_what_the_run_records_clears_it(record: AnyRecord) -> None:
    state = dead(2)
    assert is_suspect(state)
    state.fold(50, INTENDED)
    state.fold(51, record)
    assert (state.deaths, state.lost, is_suspect(state)) == (0, 0, False)


def test_what_the_world_says_about_it_does_not_clear_it() -> None:
    state = dead(2)
    state.fold(50, Verified(call="1.0", answer="not"))
    assert state.deaths == 2


def test_a_person_who_says_retry_clears_it() -> None:
    state = dead(3)
    asked = question(state)
    state.fold(50, asked)
    state.fold(51, Parked())
    assert is_poisoned(state, 3), "asking alone clears nothing"
    state.fold(52, Decided(i=asked.i, verdict="value", value={"choice": "retry"}, by="ana"))
    assert not is_poisoned(state, 3)


@pytest.mark.parametrize("most", [1, 3, 7])
def test_the_number_is_a_setting(most: int) -> None:
    assert not is_poisoned(dead(most - 1), most)
    assert is_poisoned(dead(most), most)


def test_the_question_names_what_ran() -> None:
    payload: Any = question(dead(3)).payload
    assert payload["error"].startswith("3 workers in a row died while pay ran")
    assert payload["kind"] == "poison"


def test_a_run_that_is_lost_again_and_again_without_any_body_is_asked_about_in_the_end() -> None:
    state = folded()
    for epoch in range(LOST):
        assert not is_poisoned(state, 3)
        state.fold(10 + epoch, Claimed(epoch=epoch + 2, lost=True))
    assert is_poisoned(state, 3)
    assert "100 workers in a row were lost" in question(state).payload["error"]


def test_what_was_cut_off_for_a_hand_back_is_paid_for_and_is_no_step() -> None:
    state = folded(Released(usage=Usage(1, 100, 20, cost=0.5, estimated=True)))
    assert (state.usage.total_tokens, state.usage.cost, state.steps) == (120, 0.5, 0)
    state.fold(50, Replied(parts=(Text(text="hi"),), usage=Usage(1, 1, 1)))
    assert (state.usage.requests, state.steps) == (2, 1)
