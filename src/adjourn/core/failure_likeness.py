"""Which failures are like one another: a person who has looked at one may have all of them tried
again.

Only what has failed and can be tried again is like anything: an approval is for one call, and a
call in doubt may have happened.
"""

from typing import Any, cast

import msgspec

from adjourn.core.ids import POISON, StepId, StepIdKind, question_of
from adjourn.core.interrupt import Interrupt

UNAUTHORISED = "unauthorised"
"""The kind of an error about who may let a call run: looked at one by one."""


class Likeness(msgspec.Struct, frozen=True):
    """What two failures have in common that are like one another: the program, what failed, and
    how.

    `step` is `model`, `poison`, `call` or a step of the program's own; `what` is the agent whose
    model failed, or the tool or chunk; `error` is the kind of the error, never its text.
    """

    program: str
    step: str
    what: str
    error: str


def likeness(program: str, interrupt: Interrupt) -> Likeness | None:
    """What an interrupt of a run of `program` is compared by; None for one that nothing else is
    decided with."""
    if interrupt.kind != "error" or "retry" not in interrupt.choices:
        return None
    given: Any = interrupt.payload
    payload = cast("dict[str, Any]", given) if isinstance(given, dict) else {}
    error, tool = str(payload.get("kind", "")), str(payload.get("tool", ""))
    if error == UNAUTHORISED:
        return None
    step = question_of(interrupt.local)
    if step == POISON:
        return Likeness(program, POISON, tool, error)
    if StepId.parse(step).kind in (StepIdKind.MODEL, StepIdKind.SUMMARY):
        return Likeness(program, "model", str(payload.get("agent", "")), error)
    return Likeness(program, "call" if tool else step, tool, error)
