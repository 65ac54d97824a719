"""What time does to a run that waits: reminders, expiries, escalations. Any number of them may be
due in one plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from adjourn.core.approval_votes import gate_of, groups_of
from adjourn.core.record_parts import CancelCause
from adjourn.core.records import Asked, CancelAsked, Closed, Reminded, Suspended

if TYPE_CHECKING:
    from adjourn.core.plan import Plan
    from adjourn.core.state import State


def due(plan: Plan, state: State, now: float) -> None:
    """Add what is due, and look again when the next is. A cancel is asked for once, whatever else
    is over, and leaves nobody to be reminded or asked again."""
    over = [record for record in state.open_records() if _is_over(record, now)]
    cancelling = [record.i for record in over if _ends_in(record) == "cancel"]
    for record in over:
        ends = _ends_in(record)
        if ends == "due":
            plan.moves.append(Closed(i=record.i, why="due"))
        elif ends == "escalate" and isinstance(record, Asked):
            if not cancelling:
                plan.moves += [Closed(i=record.i, why="void"), escalated(state, record, now)]
        else:
            plan.moves.append(Closed(i=record.i, why="expired"))
    if cancelling:
        plan.moves.append(
            CancelAsked(by=CancelCause.EXPIRY.value, reason=f"{', '.join(cancelling)} expired")
        )
        return
    for opened in state.open.values():
        record = opened.record
        if record.expires > now:
            plan.wake_at(record.expires)
        if isinstance(record, Asked) and record.remind_every and not _is_over(record, now):
            at = (opened.reminded or record.at) + record.remind_every
            if at <= now:
                plan.moves.append(Reminded(i=record.i))
            else:
                plan.wake_at(at)


def _is_over(record: Asked | Suspended, now: float) -> bool:
    return 0 < record.expires <= now


def _ends_in(record: Asked | Suspended) -> str:
    """What the end of its time means for a question."""
    if isinstance(record, Suspended) and record.kind == "timer":
        return "due"
    if record.on_expiry == "escalate":
        if isinstance(record, Asked) and not record.escalated:
            return "escalate"
        return "deny"
    return record.on_expiry


def escalated(state: State, first: Asked, now: float) -> Asked:
    """The same question, asked once more of whoever it is escalated to, with as much time as there
    was before.

    Who has agreed so far has: the same is shown.
    """
    of = first.call or first.step
    asked = msgspec.structs.replace(
        first,
        i=state.next_interrupt(of),
        expires=round(now + first.expires - first.at, 3),
        escalated=True,
        at=0.0,
        carries=(*first.carries, first.i),
    )
    return msgspec.structs.replace(asked, groups=groups_of(gate_of(asked)))
