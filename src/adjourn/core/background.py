"""Model calls that a provider works on while nothing of the run is alive: what is known of them,
and what the plan makes of that.

A call is recorded before it is submitted, and the provider's id before anything else happens. Then
the run waits, by a timer that the provider's event may ring early.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from adjourn.core import records as r
from adjourn.core.action_digest import digest
from adjourn.core.ids import CHOSEN, again_id, model_step
from adjourn.core.record_parts import RINGS
from adjourn.core.status import Status

if TYPE_CHECKING:
    from adjourn.core.conversation_effects import Submission
    from adjourn.core.plan import Plan
    from adjourn.core.state import State

TYPE = "response"
"""The type of the interrupt while a provider works."""
TRIES = 3
"""So many times a provider is asked to withdraw what nobody wants any more."""
_NAME = re.compile(CHOSEN)
UNKNOWN = "its worker ended while it was being submitted: it may be at work at the provider, and be paid for"
_ENDS = (r.RunCompleted, r.RunCancelled)


# Records


def event_of(id: str) -> str:
    """The event by which a provider says that it has ended this."""
    return RINGS + id


def wait_of(id: str) -> str:
    """The local id of the first wait for this, by which its run is found."""
    if _NAME.fullmatch(id):
        return id
    return digest("response", id)


def _next_wait(id: str, polls: int) -> str:
    if polls:
        return again_id(wait_of(id), polls)
    return wait_of(id)


def wait_for(path: str, known: Submission, id: str, until: float) -> r.Suspended:
    """The record that the provider has this id for it, and that it is looked at again then."""
    return r.Suspended(
        call=model_step(path),
        i=_next_wait(id, known.polls),
        kind="timer",
        type=TYPE,
        payload={"model": known.of.model, "response": id},
        key=id,
        event=event_of(id),
        expires=until,
    )


# The plan


def withdraw(plan: Plan, state: State, now: float) -> None:
    """What nobody wants any more is withdrawn at the provider, before the run ends without it."""
    from adjourn.core.plan import Step

    cancelling = state.status == Status.CANCELLING
    ends = cancelling or isinstance(plan.rest, r.RunCompleted) or _has_end(plan)
    held = False
    for path, known in state.submitted.items():
        if known.left or (not ends and (not path or path in state.live)):
            continue
        if not known.id:  # if it is in flight, its answer is waited for
            held |= known.epoch == state.epoch
            continue
        held = True
        if known.wait in state.open and not cancelling:
            plan.moves.append(r.Closed(i=known.wait, why="void"))
        if known.again > now:
            plan.hold_until(known.again)
        else:
            under = state.agents_under(path)
            plan.start.append(
                Step(model_step(path), "withdraw", path, None, under, known.tries + 1)
            )
    if held:
        plan.moves = [move for move in plan.moves if not isinstance(move, _ENDS)]


def _has_end(plan: Plan) -> bool:
    return any(isinstance(move, _ENDS) for move in plan.moves)


def residue(state: State) -> list[dict[str, Any]]:
    """What may still be at work at a provider when the run is cancelled."""
    found: list[dict[str, Any]] = []
    for path, known in state.submitted.items():
        found.append(
            {
                "call": model_step(path),
                "tool": known.of.model,
                "arguments": {"response": known.id} if known.id else {"key": known.of.key},
                "why": known.left or UNKNOWN,
            }
        )
    return found
