"""What time does to a run that waits: reminders, expiries, escalations. Any number of them may be due in one plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

import msgspec

from adjourn.core.authority import gate_of
from adjourn.core.records import Asked, CancelAsked, Closed, Reminded, Suspended

if TYPE_CHECKING:
    from adjourn.core.plan import Plan
    from adjourn.core.state import State


def due(p: Plan, state: State, now: float) -> None:
    """Add what is due, and look again when the next is. A cancel is asked for once, whatever else is over, and leaves
    nobody to be reminded or asked again."""
    over = [opened.record for opened in state.open.values() if _is_over(opened.record, now)]
    cancelling = [x.i for x in over if _ends_in(x) == "cancel"]
    for x in over:
        ends = _ends_in(x)
        if ends == "due":
            p.moves.append(Closed(i=x.i, why="due"))
        elif ends == "escalate" and isinstance(x, Asked):
            p.moves += [] if cancelling else [Closed(i=x.i, why="void"), escalated(state, x, now)]
        else:
            p.moves.append(Closed(i=x.i, why="expired"))
    if cancelling:
        p.moves.append(CancelAsked(by="@expiry", reason=f"{', '.join(cancelling)} expired"))
        return
    for opened in state.open.values():
        x = opened.record
        if x.expires > now:
            p.wake_at(x.expires)
        if isinstance(x, Asked) and x.remind_every and not _is_over(x, now):
            at = (opened.reminded or x.at) + x.remind_every
            if at <= now:
                p.moves.append(Reminded(i=x.i))
            else:
                p.wake_at(at)


def _is_over(x: Asked | Suspended, now: float) -> bool:
    return 0 < x.expires <= now


def _ends_in(x: Asked | Suspended) -> str:
    """What the end of its time means for a question."""
    if isinstance(x, Suspended) and x.kind == "timer":
        return "due"
    if x.on_expiry == "escalate":
        return "escalate" if isinstance(x, Asked) and not x.escalated else "deny"
    return x.on_expiry


def escalated(state: State, x: Asked, now: float) -> Asked:
    """The same question, asked once more of whoever it is escalated to, with as much time as there was before.

    Who has agreed so far has: the same is shown.
    """
    of = x.call or x.step
    asked = msgspec.structs.replace(
        x, i=state.next_interrupt(of), expires=round(now + x.expires - x.at, 3), escalated=True, at=0.0,
        carries=(*x.carries, x.i),
    )  # fmt: skip
    groups = sorted({group for slot in gate_of(asked) for group in slot.groups})
    return msgspec.structs.replace(asked, groups=tuple(groups))
