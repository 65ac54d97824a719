"""A call of which nobody knows whether it happened: how it comes into doubt, and what the world says about it."""

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

_MAY_HAVE_BEGUN = frozenset({Phase.NEW, Phase.APPROVED, Phase.CLEARED, Phase.INTENDED, Phase.FAULTED, Phase.ASKED})
AGAIN = 5
"""So many times a call may come into doubt before a person is asked, whatever its effect allows."""


def claimed(state: State, _seq: int, x: r.Claimed) -> None:
    """Another worker has the run: what was in flight is in doubt, and no body is left at work."""
    state.epoch = x.epoch
    state.parked = None
    if state.resting:
        state.waited, state.resting = state.waited + max(0.0, x.at - state.resting), 0.0
    quarantine.claimed(state, lost=x.lost)
    why = quarantine.SILENT if x.lost else quarantine.GONE
    for call in state.live.values():
        call.left = False
        if call.phase == Phase.INTENDED and call.id not in state.threads:
            _in_doubt(state, call, why, 0.0, x.at)


def restored(state: State, _seq: int, x: r.Restored) -> None:
    """The journal is a past. What it was about to do may have been done since; it waits until a person has looked.

    A run that was being cancelled goes on with that: it starts nothing new, and undoing twice is harmless. A question other
    than an approval stays with the people who were asked.
    """
    state.epoch = x.epoch
    quarantine.cleared(state)
    cancelling = state.status != Status.PAUSED
    approvals = {o.record.call: i for i, o in state.open.items() if o.record.kind == "approval"}
    for call in state.live.values():
        if call.id in state.threads or not _may_have_begun(state, call, approvals, cancelling=cancelling):
            continue
        call.left = False
        if not call.attempt:
            call.at, call.lost = x.since, True
        _in_doubt(state, call, x.reason, 0.0, x.at)
    if cancelling:
        return
    for i in approvals.values():
        del state.open[i]
    state.pause, state.parked = r.PauseAsked(by=x.by, reason=x.reason, at=x.at), None
    state.resting = state.resting or x.at


def _may_have_begun(state: State, call: Call, approvals: Mapping[str, str], *, cancelling: bool) -> bool:
    """Whether the time that was lost may have begun this call, or begun it again, without a question that is still open."""
    if cancelling or is_undo(call.id):
        return call.phase == Phase.INTENDED
    if call.phase == Phase.ASKED:
        return call.id in approvals
    fault = state.faults.get(call.id)
    return call.phase in _MAY_HAVE_BEGUN and not (call.phase == Phase.FAULTED and fault is not None and fault.asked)


def doubted(state: State, _seq: int, x: r.Doubted) -> None:
    """A body has ended in doubt, or has not ended: then it stays in flight, unless a cancel has left it."""
    state.deaths = state.lost = 0
    call = state.live[x.call]
    call.lost = False
    if x.effect:
        call.effect, call.undo, call.attempt = x.effect, x.undo, max(1, call.attempt)
    if x.running:
        call.doubt = x.why
        return
    call.left = x.left
    _in_doubt(state, call, x.why, x.settle, x.at)


def _in_doubt(state: State, call: Call, why: str, settle: float, at: float) -> None:
    call.doubt, call.verified, call.denied = why, VerifyAnswer.NONE, False
    call.doubts += 1
    call.settle, call.settles = settle, at + settle if settle else 0.0
    state._phase(call, Phase.DOUBT)


def verified(state: State, _seq: int, x: r.Verified) -> None:
    """What the world says. After a timeout a first "not" may only mean "not yet": it is asked once more."""
    call, answer = state.live[x.call], VerifyAnswer(x.answer)
    if answer == VerifyAnswer.HAPPENED:
        call.verified = answer
        state._finish(call, x.value, "", ran=True)
    elif answer == VerifyAnswer.NOT_HAPPENED and call.settle and not call.denied:
        call.denied, call.settles = True, x.at + call.settle
        state._phase(call, Phase.DOUBT)
    else:
        call.verified = answer
        again = answer == VerifyAnswer.NOT_HAPPENED and call.doubts < AGAIN
        state._phase(call, Phase.CLEARED if again else Phase.DOUBT)


def late(state: State, _seq: int, x: r.Late) -> None:
    """A body that a cancel had left at work has ended."""
    state.late[x.call] = x


def left_behind(state: State) -> list[dict[str, Any]]:
    """What stayed when the run was cancelled; a body that ended afterwards with what became of it, as `late`."""
    residue = state.ended.residue if isinstance(state.ended, r.RunCancelled) else ()
    return [_with_late(state, item) for item in residue]


def _with_late(state: State, item: dict[str, Any]) -> dict[str, Any]:
    found = state.late.get(item.get("call", ""))
    if found is None:
        return item
    return {**item, "late": {"error": found.error} if found.error else {"value": found.value}}
