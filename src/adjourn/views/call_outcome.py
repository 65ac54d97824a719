"""What came of a call that people were asked about."""

from typing import Any

import msgspec

from adjourn.views.filled_view import filled
from adjourn.views.timeline_step import TimelineStep
from adjourn.views.words import DecisionKind, OutcomeState, StepKind, StepStatus

CALLS = (StepKind.TOOL, StepKind.AGENT, StepKind.CHUNK)
_STATES = {
    StepStatus.READY: OutcomeState.DUE,
    StepStatus.RUNNING: OutcomeState.RUNNING,
    StepStatus.COMPLETED: OutcomeState.RAN,
    StepStatus.FAILED: OutcomeState.FAILED,
    StepStatus.DENIED: OutcomeState.NOT_RUN,
    StepStatus.EXPIRED: OutcomeState.NOT_RUN,
    StepStatus.CANCELLED: OutcomeState.NOT_RUN,
}


class CallOutcome(msgspec.Struct, frozen=True, kw_only=True):
    """What came of a call. `since`: when it began; `took` is null until it has ended."""

    state: OutcomeState
    attempt: int
    since: float
    took: float | None
    error: str
    result: Any


def outcome_of(step: TimelineStep | None) -> CallOutcome | None:
    """What came of a call; None while it waits, and for what is no call."""
    if step is None or step.kind not in CALLS:
        return None
    state = _STATES.get(step.status)
    if state is None or step.in_doubt:
        return None
    if step.decision and step.decision.verdict == DecisionKind.INSTEAD and not step.ran:
        state = OutcomeState.NOT_RUN
    if step.is_undone and state == OutcomeState.RAN:
        state = OutcomeState.UNDONE
    if state == OutcomeState.NOT_RUN and step.ran:
        state = OutcomeState.FAILED
    took = None
    if state in (OutcomeState.RAN, OutcomeState.FAILED, OutcomeState.UNDONE):
        took = step.took
    return filled(CallOutcome, step, state=state, took=took)
