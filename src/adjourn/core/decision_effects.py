"""What a person's decision means for a run, by the kind of interrupt it answers."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from adjourn.core import records as r
from adjourn.core.action_digest import action_digest, question_digest
from adjourn.core.approval_votes import gate_of, is_filled, votes_of
from adjourn.core.call import Call, Phase, UndoState, VerifyAnswer, answers_of, had_begun
from adjourn.core.conversation_effects import refused
from adjourn.core.decision import INSTEAD, LARGEST_EXTENSION, chosen, is_instead, says_yes
from adjourn.core.ids import StepId
from adjourn.core.record_parts import CancelCause
from adjourn.core.standing_decision import StandingDecision, terms_of, under

if TYPE_CHECKING:
    from adjourn.core.state import State


LOST = {
    "expired": "nobody answered in time: the question expired",
    "abandoned": "the question was dropped",
}
"""Why a question has no answer, by how it was closed."""


def memo_of(asked: r.Suspended, value: Any, lost: str) -> dict[str, Any]:
    """What a body that runs again finds in the place of its question: the answer, and what it was
    an answer to."""
    if lost:
        memo: dict[str, Any] = {"expired": lost}
    else:
        memo = {"value": value}
    if asked.kind == "timer":
        return memo
    of = question_digest(asked.type, asked.payload)
    return {**memo, "type": asked.type, "payload": asked.payload, "of": of}


def is_settled(state: State, asked: r.Asked, decided: r.Decided) -> bool:
    """Whether the interrupt is closed by this decision: a yes closes it only with the last one that
    is needed."""
    grant = state.grants.get(asked.i)
    if grant is None or not says_yes(asked, decided):
        return True
    state.open[decided.i].votes[decided.by] = decided.note
    grant.decisions += (decided,)
    return is_filled(gate_of(asked), votes_of(grant.decisions), state.requesters)


def _stands(state: State, record: r.Asked, decided: r.Decided) -> None:
    """What was decided stands for later calls, or follows a decision that does."""
    if standing := state.standing.get(under(decided)):
        standing.uses += 1
    made = [decided]
    if decided.verdict == "approve":
        made = list(state.grants[decided.i].decisions)
    if terms_of(made) is not None:
        state.standing[decided.i] = StandingDecision(record, made)


def approval(state: State, record: r.Asked, decided: r.Decided) -> None:
    _stands(state, record, decided)
    call = state.live.get(record.call)
    if call is None:
        return
    if is_instead(decided):
        # A body that had paused: what it did stands, and is undone with the rest.
        begun = call.begun
        result = {"given_by": decided.by or "a person", "result": chosen(decided)[INSTEAD]}
        state._finish(call, result, "", ran=begun, kept=begun)
        return
    if decided.verdict == "deny":
        note = f": {decided.note}" if decided.note else ""
        what = "It does not go on" if call.begun else "It was not run"
        _refused(state, call, f"denied by {decided.by or 'a person'}{note}. {what}", ".")
        return
    if decided.edit is not None:
        call.args, call.edited = decided.edit, True
    call.grant = decided.i
    if state.grants[decided.i].for_run:
        args = decided.edit if decided.edit is not None else record.args
        state.granted[action_digest(state.run, "", record.tool, record.definition, args)] = (
            decided.i
        )
    state._phase(call, Phase.APPROVED)


def lapsed(state: State, call: Call) -> None:
    """Nobody has decided about it in time."""
    what = "it does not go on" if call.begun else "it was not run"
    _refused(state, call, f"the approval expired: nobody decided in time, so {what}")


def _refused(state: State, call: Call, error: str, stop: str = "") -> None:
    """People do not let it run. Of a body that had paused, what it did stands."""
    error += had_begun(call.memo) + stop
    state._finish(call, None, error, ran=call.begun, kept=call.begun)


def question(state: State, record: r.Suspended, decided: r.Decided) -> None:
    call = state.live.get(record.call)
    if call is None:
        return
    if decided.verdict == "deny":
        state._unsuspend(call, record, "abandoned", None)
        return
    # the answer is that event; others that wait for it have their own
    if record.event and state.flow is not None:
        state.flow.emit(record.event, decided.value, taken=True)
        state._activate()
    state._unsuspend(call, record, "answer", decided.value)


def doubt(state: State, record: r.Asked, decided: r.Decided) -> None:
    call = state.live.get(record.call)
    choice = decided.value["choice"]
    if call is None:
        return
    if choice == "happened":
        state._finish(call, decided.value.get("result"), "", ran=True)
    elif choice == "run":
        call.verified, call.grant = VerifyAnswer.NOT_HAPPENED, decided.i
        state._phase(call, Phase.CLEARED)
    elif choice == "not":
        call.verified = VerifyAnswer.NOT_HAPPENED
        state._finish(call, None, "it did not happen", ran=False)
    elif choice == "leave":
        call.undone = UndoState.LEFT_IN_DOUBT
        state._effect(call)
        state._finish(call, None, "in doubt", ran=True)
    else:
        call.verified, state.gave_up = VerifyAnswer.GIVEN_UP, CancelCause.IN_DOUBT


def error(state: State, record: r.Asked, decided: r.Decided) -> None:
    if decided.value["choice"] == "cancel":
        state.gave_up = CancelCause.ERROR
    state.faults.pop(record.step, None)
    state.deaths = state.lost = 0
    if decided.value["choice"] == "ask" and (call := state.live.get(record.step)):
        for key in answers_of(call)[-1:]:  # its question is asked anew
            del call.memo[key]
    if call := state.live.get(record.step):
        state._phase(call, Phase.CLEARED)


def limit(state: State, record: r.Asked, decided: r.Decided) -> None:
    step = StepId.parse(record.step)
    thread = state.threads.get(step.path)
    if record.payload.get("hook") and thread is not None and thread.doubted is not None:
        if decided.value["choice"] == "stop":
            why = f"{record.payload['condition']}: {decided.by or 'a person'} stopped it"
            refused(state, thread, step.kind, why)
        else:
            thread.let_pass(thread.doubted)
    elif decided.value["choice"] == "stop":
        state.stop_now = record.step
    else:
        more = decided.value.get("amount") or record.payload.get("limit", 0)
        # Journals of earlier versions may hold an amount that no float can.
        more = min(more, LARGEST_EXTENSION)
        state.extended[record.step] = state.extended.get(record.step, 0.0) + more


def undo(state: State, record: r.Asked, decided: r.Decided) -> None:
    choice = decided.value["choice"]
    state.faults.pop(record.step, None)
    undo = state.live.get(record.step)
    if undo is None:
        return
    if choice == "retry":
        state._phase(undo, Phase.CLEARED)
        return
    state.live.pop(undo.id, None)
    state.owed.pop(undo.id, None)
    state._taken_back(undo.id, UndoState.UNDONE_BY_PERSON if choice == "done" else UndoState.LEFT)


DECIDED: dict[str, Callable[[State, Any, r.Decided], None]] = {
    "approval": approval,
    "question": question,
    "event": question,
    "in_doubt": doubt,
    "error": error,
    "limit": limit,
    "undo": undo,
}
