"""The plan as a table: for what is in a journal and how a program judges it, what is moved, what is started, how the run rests."""

from typing import Any

import pytest
from msgspec.structs import replace

from adjourn.core.call import Call
from adjourn.core.done_calls import LEFT
from adjourn.core.doubt import AGAIN
from adjourn.core.messages import ToolCall
from adjourn.core.plan import HOLD, UNDO_ATTEMPTS, Ask, Go, Judged, Plan, Refuse, plan
from adjourn.core.records import (
    AnyRecord,
    Asked,
    CancelAsked,
    Claimed,
    Doubted,
    Faulted,
    Intended,
    Parked,
    PauseAsked,
    Replied,
    Returned,
    RunCancelled,
    RunCompleted,
    Started,
    Stepped,
    Suspended,
    Yielded,
)
from adjourn.core.state import State

NOW = 1000.0
CALL = "1.0"
BEGUN: list[AnyRecord] = [
    Started(run="r", kind="agent", program="refunds", input="go"),
    Claimed(epoch=1),
    Replied(parts=(ToolCall(id="c", tool="pay"),)),
]
ASKED = Asked(i="1.0?0", kind="approval", call=CALL, tool="pay")


def intent(effect: str = "unsafe", **more: Any) -> Intended:
    return Intended(call=CALL, tool="pay", effect=effect, **more)


class Judge:
    """A program that says the same about every call, and has nothing of its own to do."""

    name = "refunds"

    def __init__(self, judged: Judged) -> None:
        self.judged = judged

    def judge(self, state: State, call: Call, now: float) -> Judged:
        return self.judged

    def next(self, state: State, now: float, plan: Plan) -> None:
        pass


def planned(judged: Judged, *records: AnyRecord, halts: frozenset[str] = frozenset()) -> Plan:
    state = State().fold_all(enumerate([*BEGUN, *records], 1))
    return plan(state, Judge(judged), NOW, halts)


def told(found: Plan) -> tuple[list[str], list[str], list[str]]:
    """Its facts, its moves and what it starts, each as one word."""
    facts = [type(fact).__name__ for fact in found.facts]
    moves = [getattr(move, "kind", "") or type(move).__name__ for move in found.moves]
    return facts, moves, [step.kind for step in found.start]


GO, ASK, REFUSE = Go(intent()), Ask(ASKED), Refuse("denied", "policy")
READ, GATED = Go(intent("read")), Go(intent("read"), gated=True)
SAME_KEY = Go(intent("idempotent"), key_ttl=60.0)
NESTED = Go(intent(agent="child", input="x"))
TRANSIENT = Faulted(step=CALL, error="x", transient=True, retry_at=NOW - 1)
DOUBTED = Doubted(call=CALL, why="timeout", at=NOW - 10)
INTENDED_AGAIN = Intended(call=CALL, tool="pay", effect="idempotent", attempt=2, at=NOW - 20)
UNDONE: list[AnyRecord] = [intent(undo=True), Returned(call=CALL, value=1), CancelAsked(by="ana")]
UNDO = Intended(call="1.0!undo", tool="pay", effect="idempotent", why="undo")
UNDO_FAILED = Faulted(step="1.0!undo", error="x", retry_at=NOW - 1)
UNDO_DOUBTED = Doubted(call="1.0!undo", why="timeout", at=NOW - 10)

TABLE: dict[str, tuple[Judged, list[AnyRecord], tuple[list[str], list[str], list[str]]]] = {
    "a new call that may go is intended, then begun": (GO, [], ([], ["Intended"], ["call"])),
    "a read begins without an intent": (READ, [], ([], [], ["call"])),
    "a read that people agreed to has one": (GATED, [], ([], ["Intended"], ["call"])),
    "a nested agent is intended and has no body": (NESTED, [], ([], ["Intended"], [])),
    "a new call that needs a yes is asked about": (ASK, [], ([], ["approval"], [])),
    "a new call that may not run has its result": (REFUSE, [], (["Returned"], [], [])),
    "a call that is asked about waits": (GO, [ASKED], ([], [], [])),
    "a call in flight is left alone": (GO, [intent()], ([], [], [])),
    "a call that waits for an answer is left alone": (GO, [intent(), Suspended(call=CALL, i="1.0?0")], ([], [], [])),
    "a call that gave its place away goes on": (GO, [intent(), Yielded(call=CALL)], ([], ["Intended"], ["call"])),
    "a read in doubt is read again": (READ, [intent("read"), DOUBTED], ([], [], ["call"])),
    "an idempotent call in doubt runs again": (
        SAME_KEY, [intent("idempotent", at=NOW - 20), DOUBTED], ([], ["Intended"], ["call"]),
    ),
    "unless its key is forgotten": (SAME_KEY, [intent("idempotent", at=NOW - 90), DOUBTED], ([], ["in_doubt"], [])),
    "a verifiable call in doubt asks the world": (GO, [intent("verifiable"), DOUBTED], ([], [], ["verify"])),
    "an unsafe call in doubt asks a person": (GO, [intent(), DOUBTED], ([], ["in_doubt"], [])),
    "a transient error is tried again": (GO, [intent(), TRANSIENT], ([], ["Intended"], ["call"])),
    "another error asks a person": (GO, [intent(), Faulted(step=CALL, error="x")], ([], ["error"], [])),
    "so does one that may not be tried again": (REFUSE, [intent(), TRANSIENT], ([], ["error"], [])),
    "a paused run starts nothing": (GO, [PauseAsked(by="ana")], ([], [], [])),
    "a cancelled run that did nothing ends": (GO, [CancelAsked(by="ana")], ([], ["RunCancelled"], [])),
    "a cancelled run waits for what is in flight": (GO, [intent(), CancelAsked(by="ana")], ([], [], [])),
    "a cancelled run undoes what it did": (
        GO, [intent(undo=True), Returned(call=CALL, value=1), CancelAsked(by="ana")], ([], ["Intended"], ["undo"]),
    ),
    "a retry that is due just now is made": (GO, [intent(), replace(TRANSIENT, retry_at=NOW)], ([], ["Intended"], ["call"])),
    "a transient error of what needs a yes now is asked about": (ASK, [intent(), TRANSIENT], ([], ["approval"], [])),
    "a key that is just not forgotten": (SAME_KEY, [intent("idempotent", at=NOW - 60), DOUBTED], ([], ["Intended"], ["call"])),
    "the last doubt in which an idempotent call runs again": (
        SAME_KEY, [intent("idempotent", at=NOW - 20), *[DOUBTED, INTENDED_AGAIN] * (AGAIN - 2), DOUBTED], ([], ["Intended"], ["call"]),
    ),
    "and the first in which it does not": (
        SAME_KEY, [intent("idempotent", at=NOW - 20), *[DOUBTED, INTENDED_AGAIN] * (AGAIN - 1), DOUBTED], ([], ["in_doubt"], []),
    ),
    "the world has its time before it is asked": (GO, [intent("verifiable"), replace(DOUBTED, settle=11.0)], ([], [], [])),
    "and is asked when that is over": (GO, [intent("verifiable"), replace(DOUBTED, settle=10.0)], ([], [], ["verify"])),
    "an undo in flight is left alone": (GO, [*UNDONE, UNDO], ([], [], [])),
    "an undo in doubt is tried again": (GO, [*UNDONE, UNDO, UNDO_DOUBTED], ([], ["Intended"], ["undo"])),
    "an undo in doubt too often asks a person": (GO, [*UNDONE, replace(UNDO, attempt=AGAIN), UNDO_DOUBTED], ([], ["undo"], [])),
    "an undo that failed is tried again": (GO, [*UNDONE, UNDO, UNDO_FAILED], ([], ["Intended"], ["undo"])),
    "but not before its time": (GO, [*UNDONE, UNDO, replace(UNDO_FAILED, retry_at=NOW + 1)], ([], [], [])),
    "at its time": (GO, [*UNDONE, UNDO, replace(UNDO_FAILED, retry_at=NOW)], ([], ["Intended"], ["undo"])),
    "an undo that failed too often asks a person": (
        GO, [*UNDONE, *[UNDO, UNDO_FAILED] * UNDO_ATTEMPTS], ([], ["undo"], []),
    ),
    "one time less, and it is tried again": (
        GO, [*UNDONE, *[UNDO, UNDO_FAILED] * (UNDO_ATTEMPTS - 1)], ([], ["Intended"], ["undo"]),
    ),
    "what ended plans nothing": (GO, [Returned(call=CALL), RunCompleted()], ([], [], [])),
}  # fmt: skip


@pytest.mark.parametrize("row", TABLE)
def test_every_row(row: str) -> None:
    judged, records, expected = TABLE[row]
    assert told(planned(judged, *records)) == expected


@pytest.mark.parametrize("row", TABLE)
def test_a_plan_is_the_same_again(row: str) -> None:
    judged, records, _ = TABLE[row]
    assert planned(judged, *records) == planned(judged, *records)


@pytest.mark.parametrize("halt", ["*", "agent:refunds", "tool:pay"])
def test_what_is_halted_neither_moves_nor_starts_and_the_run_says_why_it_rests(halt: str) -> None:
    found = planned(GO, halts=frozenset({halt, "tool:other"}))
    assert told(found) == ([], [], [])
    assert found.rest == Parked(blocked=(halt,))


def test_a_halt_of_something_else_changes_nothing() -> None:
    assert planned(GO, halts=frozenset({"tool:other"})) == planned(GO)


def test_a_refusal_and_a_question_are_not_halted() -> None:
    assert told(planned(REFUSE, halts=frozenset({"*"}))) == (["Returned"], [], [])
    assert told(planned(ASK, halts=frozenset({"tool:other"}))) == ([], ["approval"], [])


@pytest.mark.parametrize(("wait", "kept"), [(HOLD, True), (HOLD + 0.1, False)])
def test_a_run_is_kept_for_a_short_wait_and_given_back_for_a_long_one(wait: float, kept: bool) -> None:
    found = planned(GO, intent(), Faulted(step=CALL, error="x", transient=True, retry_at=NOW + wait))
    assert told(found) == ([], [], [])
    assert (found.hold, found.wake) == ((NOW + wait, 0.0) if kept else (0.0, NOW + wait))
    assert found.rest == Parked(wake_at=found.wake)


def test_a_pause_that_does_not_wait_cuts_off_the_model_and_one_that_does_lets_it_end() -> None:
    assert planned(GO, PauseAsked(by="ana", now=True)).abort == {"model"}
    assert planned(GO, PauseAsked(by="ana")).abort == frozenset()


def test_two_calls_are_two_moves_and_two_steps() -> None:
    two = Replied(parts=(ToolCall(id="c", tool="pay"), ToolCall(id="d", tool="pay")))
    state = State().fold_all(enumerate([*BEGUN[:2], two], 1))

    class Each(Judge):
        def judge(self, state: State, call: Call, now: float) -> Judged:
            return Go(Intended(call=call.id, tool=call.tool))

    found = plan(state, Each(GO), NOW, frozenset())
    assert [step.id for step in found.start] == ["1.0", "1.1"]
    assert told(found) == ([], ["Intended", "Intended"], ["call", "call"])


# What a body registered, and a cancel that came before it ended

LEFT_AT_WORK = Doubted(call=CALL, why="it did not stop", left=True)


def holding(*names: str, undo: bool = False) -> list[AnyRecord]:
    """A call that is in flight, and has registered these."""
    memos = [Stepped(call=CALL, key=f"undo:{n}", value={"fn": "void", "args": [name]}) for n, name in enumerate(names)]
    return [intent(undo=undo), *memos]


def compensated(*numbers: int) -> list[AnyRecord]:
    done: list[AnyRecord] = []
    for n in numbers:
        done += [Intended(call=f"{CALL}!cancel{n}", tool="pay"), Returned(call=f"{CALL}!cancel{n}")]
    return done


def cancels(*records: AnyRecord, at_work: frozenset[str] = frozenset()) -> tuple[list[str], RunCancelled | None]:
    """What a cancelling run undoes next, or how it ends."""
    state = State().fold_all(enumerate([*BEGUN, *records], 1))
    moves = plan(state, Judge(GO), NOW, frozenset(), at_work=at_work).moves
    end = [move for move in moves if isinstance(move, RunCancelled)]
    return [move.call for move in moves if isinstance(move, Intended)], end[0] if end else None


WHENEVER_TOLD = pytest.mark.parametrize("told_last", [False, True])


@WHENEVER_TOLD
@pytest.mark.parametrize("undo", [False, True])
@pytest.mark.parametrize("error", ["", "it failed"])
def test_what_a_body_registered_is_run_after_it_last_first_once_also_by_another_worker(
    undo: bool, error: str, told_last: bool
) -> None:
    """And wherever in the journal the cancel stands: the facts alone say that the body ended after it."""
    cancel = CancelAsked(by="ana")
    ended: list[AnyRecord] = [LEFT_AT_WORK, Returned(call=CALL, value=1, error=error)]
    begun = [*holding("a", "b", undo=undo), *([*ended, cancel] if told_last else [cancel, *ended])]
    for another in ([], [Claimed(epoch=2)]):
        records: list[AnyRecord] = [*begun, *another]
        assert cancels(*records) == ([f"{CALL}!cancel1"], None)
        assert cancels(*records, *compensated(1)) == ([f"{CALL}!cancel0"], None)
        records += compensated(1, 0)
        if undo and not error:
            assert cancels(*records) == ([f"{CALL}!undo"], None)
            records += [Intended(call=f"{CALL}!undo", tool="pay"), Returned(call=f"{CALL}!undo")]
        assert cancels(*records) == ([], RunCancelled(undone=(CALL,)))


def test_what_a_call_that_ended_before_the_cancel_registered_is_not_run() -> None:
    moves, end = cancels(*holding("a", "b"), Returned(call=CALL, value=1), CancelAsked(by="ana"))
    assert (moves, [item["why"] for item in end.residue] if end else None) == ([], ["it has no undo"])


@pytest.mark.parametrize("undo", [False, True])
def test_a_body_that_was_left_is_residue_whatever_was_compensated(undo: bool) -> None:
    records = [*holding("a", "b", undo=undo), CancelAsked(by="ana"), LEFT_AT_WORK]
    assert cancels(*records) == ([f"{CALL}!cancel1"], None)
    moves, end = cancels(*records, *compensated(1, 0))
    assert (moves, end and end.undone) == ([], ())
    assert end and [item["why"] for item in end.residue] == [LEFT]


@pytest.mark.parametrize("ran", [1, 2])
@pytest.mark.parametrize("undo", [False, True])
def test_a_body_that_ends_after_a_compensation_has_run_is_undone_by_its_undo_or_listed(undo: bool, ran: int) -> None:
    """The rest of what it registered is run nevertheless, and none of it twice."""
    before, after = compensated(*[1, 0][:ran]), compensated(*[1, 0][ran:])
    records = [*holding("a", "b", undo=undo), CancelAsked(by="ana"), LEFT_AT_WORK, *before]
    records += [Returned(call=CALL, value=1)]
    if ran == 1:
        assert cancels(*records) == ([f"{CALL}!cancel0"], None)
    moves, end = cancels(*records, *after)
    if undo:
        assert (moves, end) == ([f"{CALL}!undo"], None)
    else:
        assert end and (moves, end.undone) == ([], ())
        assert [item["why"] for item in end.residue] == [LEFT]


def test_a_compensation_that_is_in_flight_when_its_body_ends_came_too_soon() -> None:
    first, done = compensated(0)
    records = [*holding("a"), CancelAsked(by="ana"), LEFT_AT_WORK, first, Returned(call=CALL, value=1), done]
    moves, end = cancels(*records)
    assert end and (moves, end.undone, [item["why"] for item in end.residue]) == ([], (), [LEFT])


def test_a_body_that_was_left_and_compensated_is_in_doubt_for_whoever_takes_the_run_then() -> None:
    """Its process is gone: nobody knows how far it came."""
    records = [*holding("a", "b"), CancelAsked(by="ana"), LEFT_AT_WORK, *compensated(1, 0), Claimed(epoch=2)]
    moves, end = cancels(*records)
    assert end and (moves, end.undone, [item["why"] for item in end.residue]) == ([], (), ["in doubt"])


def test_a_body_that_is_at_work_here_is_joined_before_it_is_compensated() -> None:
    records = [*holding("a", "b"), Claimed(epoch=2), CancelAsked(by="ana")]
    assert cancels(*records, at_work=frozenset({CALL})) == ([], None)
    assert cancels(*records) == ([f"{CALL}!cancel1"], None)
    left = [*records, LEFT_AT_WORK]
    assert cancels(*left, at_work=frozenset({CALL})) == ([f"{CALL}!cancel1"], None), "nobody waits for it any more"


def test_an_old_journal_that_calls_a_body_undone_that_was_left_ends_as_it_did() -> None:
    end = RunCancelled(undone=(CALL,))
    records = [*holding("a"), CancelAsked(by="ana"), LEFT_AT_WORK, *compensated(0), end]
    state = State().fold_all(enumerate([*BEGUN, *records], 1))
    assert (state.view, state.ended) == ("cancelled", end)
