"""What a run does or waits for now, as data: those who show it put it into words."""

from collections.abc import Sequence
from typing import Any

import msgspec

from adjourn.core.call import OWING, Phase
from adjourn.core.codec import encode
from adjourn.core.ids import is_undo
from adjourn.core.interrupt import Interrupt
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.record_codec import UNREADABLE
from adjourn.core.records import RunCancelled, RunCompleted
from adjourn.core.state import State
from adjourn.core.status import RunStatus
from adjourn.stores.fleet import Misfit
from adjourn.stores.protocol import Halt
from adjourn.stores.run_row import RunRow
from adjourn.views.words import ActivityVerb, payload_line

LINE = 400
"""Characters of a string; the run itself has all of it."""


class Activity(msgspec.Struct, frozen=True, kw_only=True):
    """What a run does now.

    `tools`: what runs, is finished or undone, or is asked about (none: a model call). Of a run that
        waits, `kind`,
    `type`, `text`, `agent` and `interrupt_ref` are those of what is due first, and `more` is how
    many others are open. `scope`, `by` and `reason` say which halt holds it, who paused it, why no
    worker takes it, or which limit stopped it. Of one that has ended, `text` is its output and
    `more` how much was not undone. `since` and `until`: since when it waits, and when that expires.
    """

    verb: ActivityVerb
    tools: tuple[str, ...]
    agent: str
    kind: str
    type: str
    interrupt_ref: str
    by: str
    reason: str
    scope: str
    text: str
    more: int
    since: float
    until: float | None


def activity_of(
    row: RunRow,
    state: State,
    status: RunStatus,
    halts: Sequence[Halt],
    misfit: Misfit | None = None,
) -> Activity:
    """What a run does now.

    Args:
        row: the run's row.
        state: its folded journal.
        status: the status that people see.
        halts: the halts that are on.
        misfit: the last note of a worker that could not advance it.
    """
    since = row.updated_at
    if row.seq and not state.seq and not row.erased:
        return _activity(ActivityVerb.QUEUED, since, reason=UNREADABLE)
    match status:
        case RunStatus.HELD:
            halt = next(halt for halt in halts if halt.scope in row.blocked)
            return _activity(
                ActivityVerb.HELD,
                since,
                tools=_owing(state),
                scope=halt.scope,
                by=halt.by,
                reason=halt.reason,
            )
        case RunStatus.WAITING | RunStatus.FAILED | RunStatus.STUCK:
            return _waiting(state, since)
        case RunStatus.RUNNING:
            tools = _in_progress(state)
            return _activity(
                ActivityVerb.RUNNING if tools else ActivityVerb.CALLING_MODEL, since, tools=tools
            )
        case RunStatus.PAUSING:
            return _activity(ActivityVerb.FINISHING, since, tools=_in_progress(state))
        case RunStatus.PAUSED:
            by, reason = (state.pause.by, state.pause.reason) if state.pause else ("", "")
            return _activity(ActivityVerb.PAUSED, since, by=by, reason=reason)
        case RunStatus.CANCELLING:
            return _activity(ActivityVerb.UNDOING, since, tools=_in_progress(state, undo=True))
        case RunStatus.READY:
            if misfit is None:
                return _activity(ActivityVerb.QUEUED, since)
            verb = ActivityVerb.QUEUED if misfit.queued else ActivityVerb.UNFIT
            return _activity(verb, since, reason=misfit.why)
        case _:
            return _ended(state, since)


def _activity(verb: ActivityVerb, since: float, **known: Any) -> Activity:
    fields: dict[str, Any] = {
        "tools": (),
        "agent": "",
        "kind": "",
        "type": "",
        "interrupt_ref": "",
        "by": "",
        "reason": "",
        "scope": "",
        "text": "",
        "more": 0,
        "until": None,
    }
    fields.update(known)
    for name in ("type", "reason", "text"):
        fields[name] = fields[name][:LINE]
    return Activity(verb=verb, since=since, **fields)


def _in_progress(state: State, *, undo: bool = False) -> tuple[str, ...]:
    calls = [
        call
        for call in state.live.values()
        if call.id not in state.threads and (not undo or is_undo(call.id))
    ]
    intended = tuple(call.tool for call in calls if call.phase == Phase.INTENDED)
    if intended:
        return intended
    # a read is not announced before it starts
    return tuple(call.tool for call in calls if call.phase in OWING)


def _owing(state: State) -> tuple[str, ...]:
    return tuple(
        call.tool
        for call in state.live.values()
        if call.id not in state.threads and call.phase in OWING
    )


def _waiting(state: State, since: float) -> Activity:
    found = state.interrupts
    if not found:
        return _activity(ActivityVerb.SLEEPING, since)
    first = min(found, key=_urgency)
    call, text = first.call, ""
    if first.kind in ("question", "error", "limit"):
        about = payload_line(first.payload)
        text = about if isinstance(about, str) else ""
    thread = state.threads.get(first.path) if first.path else None
    return _activity(
        ActivityVerb.SLEEPING if first.kind == "timer" else ActivityVerb.WAITING,
        first.opened_at,
        tools=(call.tool,) if call else (),
        agent=thread.agent if thread else "",
        kind=first.kind,
        type=first.type,
        interrupt_ref=first.ref,
        reason=call.reason if call else "",
        text=text,
        more=len(found) - 1,
        until=first.expires_at,
    )


def _urgency(interrupt: Interrupt) -> tuple[bool, float, float]:
    """What a person must decide comes first, then what expires first, then what has waited
    longest."""
    waits_alone = interrupt.kind in NOT_FOR_PEOPLE
    return waits_alone, interrupt.expires_at or float("inf"), interrupt.opened_at


def _ended(state: State, since: float) -> Activity:
    ended = state.ended
    if state.erased is not None:
        return _activity(ActivityVerb.ENDED, since, by=state.erased.by, reason=state.erased.reason)
    if isinstance(ended, RunCancelled):
        return _activity(ActivityVerb.ENDED, since, more=len(ended.residue))
    if not isinstance(ended, RunCompleted):
        return _activity(ActivityVerb.ENDED, since)
    if isinstance(ended.output, str):
        output = ended.output
    else:
        output = encode(ended.output).decode()
    return _activity(
        ActivityVerb.ENDED, since, reason=ended.stopped, text="" if ended.stopped else output
    )
