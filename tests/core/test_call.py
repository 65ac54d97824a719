"""The phases of a call, cell by cell: what each record makes of a call in each phase."""

from enum import StrEnum

import msgspec
import pytest

from adjourn.core.call import OWING, Call, Phase, UndoState, VerifyAnswer
from adjourn.core.flow_events import FlowClosing
from adjourn.core.ids import natural_key, undo_target
from adjourn.core.messages import ToolCall
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Claimed,
    Closed,
    Decided,
    Doubted,
    Faulted,
    Intended,
    Replied,
    Returned,
    Started,
    Suspended,
    Verified,
    Yielded,
)
from adjourn.core.state import State

CALL = "1.0"
BEGUN: list[AnyRecord] = [
    Started(run="r", kind="agent", program="a", input="go"),
    Claimed(epoch=1),
    Replied(parts=(ToolCall(id="c", tool="pay"),)),
]
ASKED = Asked(i="1.0?0", kind="approval", call=CALL, tool="pay")
YES = Decided(i="1.0?0", verdict="approve", by="ana")
INTENDED = Intended(call=CALL, tool="pay", effect="verifiable")
SUSPENDED = Suspended(call=CALL, i="1.0?0", key="?0", resume_to="self")

# How a call comes into each phase, from its reply on.
WAY: dict[Phase, list[AnyRecord]] = {
    Phase.NEW: [],
    Phase.ASKED: [ASKED],
    Phase.APPROVED: [ASKED, YES],
    Phase.CLEARED: [INTENDED, Yielded(call=CALL)],
    Phase.INTENDED: [INTENDED],
    Phase.SUSPENDED: [INTENDED, SUSPENDED],
    Phase.DOUBT: [INTENDED, Doubted(call=CALL, why="timeout")],
    Phase.FAULTED: [INTENDED, Faulted(step=CALL, error="x", transient=True)],
    Phase.RETURNED: [INTENDED, Returned(call=CALL, value=1)],
}

RECORDS: dict[str, AnyRecord] = {
    "asked": Asked(i="1.0?1", kind="approval", call=CALL, tool="pay"),
    "approve": YES,
    "deny": Decided(i="1.0?0", verdict="deny", by="ana"),
    "expired": Closed(i="1.0?0", why="expired"),
    "intended": INTENDED,
    "returned": Returned(call=CALL, value=1),
    "suspended": Suspended(call=CALL, i="1.0?1"),
    "yielded": Yielded(call=CALL),
    "faulted": Faulted(step=CALL, error="x"),
    "doubted": Doubted(call=CALL, why="x"),
    "happened": Verified(call=CALL, answer="happened"),
    "not": Verified(call=CALL, answer="not"),
    "unknown": Verified(call=CALL, answer="unknown"),
    "claimed": Claimed(epoch=2),
}

# "." never comes: neither the plan nor a person can write it then.
TABLE = """
          asked approve  deny     expired  intended returned suspended yielded faulted doubted happened not     unknown claimed
new       asked .        .        .        intended returned suspended cleared faulted doubt   .        .       .       new
asked     .     approved returned returned .        .        .         .       .       .       .        .       .       asked
approved  asked .        .        .        intended returned .         .       .       .       .        .       .       approved
cleared   asked .        .        .        intended returned suspended cleared faulted doubt   .        .       .       cleared
intended  .     .        .        .        .        returned suspended cleared faulted doubt   .        .       .       doubt
suspended .     .        .        cleared  .        .        .         .       .       .       .        .       .       suspended
doubt     asked .        .        .        intended returned .         .       .       .       returned cleared doubt   doubt
faulted   asked .        .        .        intended returned .         .       .       .       .        .       .       faulted
returned  .     .        .        .        .        .        .         .       .       .       .        .       .       returned
"""


def begun(phase: Phase) -> tuple[State, Call]:
    """A run whose call is in this phase."""
    state = State().fold_all(enumerate(BEGUN, 1))
    call = state.live[CALL]
    state.fold_all(enumerate(WAY[phase], 4))
    return state, call


def cells() -> list[tuple[Phase, str, str]]:
    head, *rows = [line.split() for line in TABLE.strip().splitlines()]
    return [(Phase(row[0]), record, cell) for row in rows for record, cell in zip(head, row[1:], strict=True)]


@pytest.mark.parametrize(("phase", "record", "to"), [cell for cell in cells() if cell[2] != "."])
def test_every_cell(phase: Phase, record: str, to: str) -> None:
    state, call = begun(phase)
    state.fold(99, RECORDS[record])
    assert call.phase == to


def test_the_table_of_this_test_is_complete() -> None:
    assert [(phase, record) for phase, record, _ in cells()] == [
        (phase, record) for phase in Phase for record in RECORDS
    ]


@pytest.mark.parametrize("phase", Phase)
def test_a_call_owes_the_plan_a_decision_in_these_phases_and_in_no_other(phase: Phase) -> None:
    state, call = begun(phase)
    assert call.phase == phase
    assert (CALL in state.owed) == (phase in OWING)
    assert (CALL in state.live) == (phase != Phase.RETURNED)


@pytest.mark.parametrize(("doubts", "to"), [(1, Phase.CLEARED), (4, Phase.CLEARED), (5, Phase.DOUBT)])
def test_a_call_that_comes_into_doubt_again_and_again_is_not_begun_for_ever(doubts: int, to: Phase) -> None:
    state, call = begun(Phase.INTENDED)
    for _ in range(doubts):
        state.fold(99, Doubted(call=CALL, why="timeout"))
    state.fold(99, Verified(call=CALL, answer="not"))
    assert call.phase == to


def test_after_a_timeout_the_first_no_of_the_world_is_asked_again() -> None:
    state, call = begun(Phase.INTENDED)
    state.fold(99, Doubted(call=CALL, why="timeout", settle=5.0, at=10.0))
    assert call.settles == 15.0
    state.fold(99, Verified(call=CALL, answer="not", at=20.0))
    assert (call.phase, call.settles) == (Phase.DOUBT, 25.0)
    state.fold(99, Verified(call=CALL, answer="not", at=30.0))
    assert call.phase == Phase.CLEARED


@pytest.mark.parametrize(("undo", "call"), [("2.0!undo", "2.0"), ("2.0/1.1!cancel0", "2.0/1.1"), ("2.0", "2.0")])
def test_an_undo_names_what_it_takes_back(undo: str, call: str) -> None:
    assert undo_target(undo) == call


def test_calls_are_ordered_as_people_count() -> None:
    assert sorted(["2.10", "2.9", "10.0", "2.9/1.0"], key=natural_key) == ["2.9", "2.9/1.0", "2.10", "10.0"]


STORED: list[tuple[type[StrEnum], list[str]]] = [
    (VerifyAnswer, ["", "happened", "not", "unknown", "given up"]),
    (UndoState, ["", "undone", "undone: a person says so", "left: its undo failed", "in doubt: left"]),
    (FlowClosing, ["", "wait", "cancel"]),
]
"""What snapshots and chapters that are written already have in these fields."""


@pytest.mark.parametrize(("kind", "words"), STORED)
def test_a_state_is_stored_as_the_string_it_always_was(kind: type[StrEnum], words: list[str]) -> None:
    assert [member.value for member in kind] == words
    for word in words:
        read = msgspec.msgpack.decode(msgspec.msgpack.encode(word), type=kind)
        assert read is kind(word) and bool(read) == bool(word)
        assert msgspec.msgpack.encode(read) == msgspec.msgpack.encode(word)
        assert msgspec.json.encode(read) == msgspec.json.encode(word)


def test_an_effect_is_gone_if_its_undo_was_done_by_us_or_by_a_person() -> None:
    assert [state for state in UndoState if state.is_undone] == [UndoState.UNDONE, UndoState.UNDONE_BY_PERSON]
