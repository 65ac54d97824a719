"""The plan as a table: for what is in a journal and how a program judges it, what is moved, what is started, how the run rests."""

from typing import Any

import pytest

from adjourn.core.call import Call
from adjourn.core.messages import ToolCall
from adjourn.core.plan import HOLD, Ask, Go, Judged, Plan, Refuse, plan
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
    RunCompleted,
    Started,
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
