"""A call of which nobody knows whether it happened: how it comes into doubt, and what the world
says about it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from adjourn.core import quarantine
from adjourn.core import records as r
from adjourn.core.call import Call, Phase, VerifyAnswer
from adjourn.core.ids import is_undo
from adjourn.core.status import Status

if TYPE_CHECKING:
    from adjourn.core.state import State

_MAY_HAVE_BEGUN = frozenset(
    {Phase.NEW, Phase.APPROVED, Phase.CLEARED, Phase.INTENDED, Phase.FAULTED, Phase.ASKED}
)
AGAIN = 5
"""So many times a call may come into doubt before a person is asked, whatever its effect allows."""


def restored(state: State, _seq: int, record: r.Restored) -> None:
    """The journal is a past. What it was about to do may have been done since; it waits until a
    person has looked.

    A run that was being cancelled goes on with that: it starts nothing new, and undoing twice is
    harmless. A question other than an approval stays with the people who were asked.
    """
    state.epoch = record.epoch
    quarantine.cleared(state)
    for standing in state.standing.values():  # how often it was used since then is not known
        standing.ended = standing.ended or "made before the store was restored"
    cancelling = state.status != Status.PAUSED
    approvals: dict[str, str] = {}  # call → interrupt
    for asked in state.open_records():
        if asked.kind == "approval":
            approvals[asked.call] = asked.i
    for call in state.live.values():
        if call.id in state.threads or not _may_have_begun(
            state, call, approvals, cancelling=cancelling
        ):
            continue
        call.left = False
        if not call.attempt:
            call.at, call.lost = record.since, True
        into_doubt(state, call, record.reason, 0.0, record.at)
    if cancelling:
        return
    for interrupt in approvals.values():
        del state.open[interrupt]
    state.pause, state.parked = r.PauseAsked(by=record.by, reason=record.reason, at=record.at), None
    state.resting = state.resting or record.at


def _may_have_begun(
    state: State, call: Call, approvals: Mapping[str, str], *, cancelling: bool
) -> bool:
    """Whether the time that was lost may have begun this call, or begun it again, without a
    question that is still open."""
    if cancelling or is_undo(call.id):
        return call.phase == Phase.INTENDED
    if call.phase == Phase.ASKED:
        return call.id in approvals
    fault = state.faults.get(call.id)
    return call.phase in _MAY_HAVE_BEGUN and not (
        call.phase == Phase.FAULTED and fault is not None and fault.asked
    )


def doubted(state: State, _seq: int, record: r.Doubted) -> None:
    """A body has ended in doubt, or has not ended: then it stays in flight, unless a cancel has
    left it."""
    state.deaths = state.lost = 0
    call = state.live[record.call]
    call.lost = False
    if record.effect:
        call.effect, call.undo, call.attempt = record.effect, record.undo, max(1, call.attempt)
    if record.running:
        call.doubt = record.why
        return
    call.left = record.left
    into_doubt(state, call, record.why, record.settle, record.at)


def into_doubt(state: State, call: Call, why: str, settle: float, at: float) -> None:
    call.doubt, call.verified, call.denied = why, VerifyAnswer.NONE, False
    call.doubts += 1
    call.settle, call.settles = settle, at + settle if settle else 0.0
    state._phase(call, Phase.DOUBT)


def verified(state: State, _seq: int, record: r.Verified) -> None:
    """What the world says. After a timeout a first "not" may only mean "not yet": it is asked once
    more."""
    call, answer = state.live[record.call], VerifyAnswer(record.answer)
    if answer == VerifyAnswer.HAPPENED:
        call.verified = answer
        state._finish(call, record.value, "", ran=True)
    elif answer == VerifyAnswer.NOT_HAPPENED and call.settle and not call.denied:
        call.denied, call.settles = True, record.at + call.settle
        state._phase(call, Phase.DOUBT)
    else:
        call.verified = answer
        again = answer == VerifyAnswer.NOT_HAPPENED and call.doubts < AGAIN
        state._phase(call, Phase.CLEARED if again else Phase.DOUBT)


def late(state: State, _seq: int, record: r.Late) -> None:
    """A body that a cancel had left at work has ended."""
    state.late[record.call] = record


def left_behind(state: State) -> list[dict[str, Any]]:
    """What stayed when the run was cancelled; a body that ended afterwards with what became of it,
    as `late`."""
    if isinstance(state.ended, r.RunCancelled):
        return [_left(state, item) for item in state.ended.residue]
    return []


def as_read(call: str = "", **item: Any) -> dict[str, Any]:
    """An item of a `cancelled` record as people read it: there, `call_id` is `call`."""
    return {"call_id": call, **item}


def _left(state: State, item: dict[str, Any]) -> dict[str, Any]:
    left = as_read(**item)
    if late := state.late.get(left["call_id"]):
        left["late"] = {"error": late.error} if late.error else {"value": late.value}
    return left


_SETTLED = (VerifyAnswer.NOT_HAPPENED, VerifyAnswer.GIVEN_UP)


def doubtful(call: Call) -> bool:
    """Whether nobody knows if it happened, also if a person was asked already and has not
    answered."""
    asked = call.phase == Phase.ASKED and bool(call.doubt) and call.verified not in _SETTLED
    return (call.phase == Phase.DOUBT and call.verified != VerifyAnswer.NOT_HAPPENED) or asked
