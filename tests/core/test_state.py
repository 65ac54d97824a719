"""The fold as a table: what people see of a run, for each journal; and what cannot follow is refused."""

from typing import Any

import pytest

from adjourn.core.messages import ToolCall
from adjourn.core.records import (
    AnyRecord,
    Asked,
    CancelAsked,
    Claimed,
    Decided,
    Faulted,
    Intended,
    Parked,
    PauseAsked,
    Replied,
    Resumed,
    Returned,
    RunCancelled,
    RunCompleted,
    Said,
    Started,
    Suspended,
)
from adjourn.core.state import State

CALL = "1.0"
BEGUN: list[AnyRecord] = [Started(run="r", kind="agent", program="a", input="go", by="ana"), Claimed(epoch=1)]
REPLIED = Replied(parts=(ToolCall(id="c", tool="pay"),))
INTENDED = Intended(call=CALL, tool="pay")
ASKED = Asked(i="1.0?0", kind="approval", call=CALL, tool="pay")
FAILED: list[AnyRecord] = [Faulted(step="model:", error="x"), Asked(i="model:?0", kind="error", step="model:")]


def folded(*records: AnyRecord) -> State:
    return State().fold_all(enumerate([*BEGUN, *records], 1))


# What people see, how many items wait for them, and which effects a cancel would have to take back.
SEEN: dict[str, tuple[list[AnyRecord], str, int, list[str]]] = {
    "at the beginning": ([], "ready", 0, []),
    "a call in flight": ([REPLIED, INTENDED], "ready", 0, []),
    "a call that returned": ([REPLIED, INTENDED, Returned(call=CALL, value=1)], "ready", 0, [CALL]),
    "a call that failed": ([REPLIED, INTENDED, Returned(call=CALL, error="no")], "ready", 0, []),
    "a read that returned": ([REPLIED, Returned(call=CALL, value=1)], "ready", 0, []),
    "an approval": ([REPLIED, ASKED, Parked()], "waiting", 1, []),
    "an approval given": ([REPLIED, ASKED, Parked(), Decided(i="1.0?0", verdict="approve")], "ready", 0, []),
    "a question": ([REPLIED, INTENDED, Suspended(call=CALL, i="1.0?0", resume_to="self"), Parked()], "waiting", 1, []),
    "only an error is open": ([*FAILED, Parked()], "failed", 1, []),
    "an error and an approval": ([REPLIED, ASKED, *FAILED, Parked()], "waiting", 2, []),
    "pausing": ([PauseAsked(by="ana")], "pausing", 0, []),
    "paused": ([PauseAsked(by="ana"), Parked()], "paused", 0, []),
    "resumed": ([PauseAsked(by="ana"), Parked(), Resumed(by="ana")], "ready", 0, []),
    "cancelling hides what its undoing does not need": ([REPLIED, ASKED, CancelAsked(by="ana")], "cancelling", 0, []),
    "cancelled": ([CancelAsked(by="ana"), RunCancelled()], "cancelled", 0, []),
    "completed": ([RunCompleted(output=1)], "completed", 0, []),
    "stopped": ([RunCompleted(stopped="max_steps")], "stopped", 0, []),
}


@pytest.mark.parametrize("journal", SEEN)
def test_every_journal(journal: str) -> None:
    records, view, waiting, effects = SEEN[journal]
    state = folded(*records)
    assert (state.view, len(state.interrupts), list(state.effects)) == (view, waiting, effects)


@pytest.mark.parametrize("journal", SEEN)
def test_a_fold_in_two_parts_is_the_fold(journal: str) -> None:
    records: list[Any] = [*enumerate([*BEGUN, *SEEN[journal][0]], 1)]
    whole = State().fold_all(records)
    for cut in range(len(records) + 1):
        assert State().fold_all(records[:cut]).fold_all(records[cut:]) == whole


@pytest.mark.parametrize(
    ("records", "late"),
    [
        ([RunCompleted()], Said(text="x")),
        ([RunCompleted()], Returned(call=CALL)),
        ([CancelAsked(by="ana"), RunCancelled()], Resumed(by="ana")),
        ([], Resumed(by="ana")),
        ([], Started(run="r", kind="agent", program="a")),
    ],
)
def test_what_cannot_follow_is_refused_and_changes_nothing(records: list[AnyRecord], late: AnyRecord) -> None:
    state, before = folded(*records), folded(*records)
    with pytest.raises(ValueError, match=f"a {type(late).__name__} cannot follow status"):
        state.fold(99, late)
    assert state == before


@pytest.mark.parametrize(
    ("record", "requesters"),
    [
        (Said(text="x", by="ben"), {"ana", "ben"}),
        (Said(text="x", by="ana"), {"ana"}),
        (PauseAsked(by="ben"), {"ana"}),
        (CancelAsked(by="ben"), {"ana"}),
    ],
)
def test_who_shapes_a_run_is_one_who_asked_for_what_it_does(record: AnyRecord, requesters: set[str]) -> None:
    assert folded(record).requesters == requesters


def test_an_answer_for_once_is_spent_and_one_for_the_run_stays() -> None:
    for scope, left in (("", []), ("run", ["1.0?0"])):
        yes = Decided(i="1.0?0", verdict="approve", by="ana", scope=scope)
        ran = Intended(call=CALL, tool="pay", grant="1.0?0")
        assert list(folded(REPLIED, ASKED, yes, ran, Returned(call=CALL)).grants) == left
