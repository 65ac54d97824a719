"""A step of a call, performed: its body, its undo, or its question to the world."""

from adjourn.bodies.body import Body
from adjourn.bodies.compensations import forget
from adjourn.bodies.runner import run_body
from adjourn.bodies.undo import undo_body, verify_body
from adjourn.core.plan import Step
from adjourn.core.records import Fact, Returned
from adjourn.core.status import Status
from adjourn.driver.program import StepHandle


async def perform_body(body: Body, step: Step, desk: StepHandle) -> Fact:
    """The fact that ends the step."""
    if step.kind == "undo":
        return await undo_body(body, step, desk)
    fact = await (verify_body(body, desk) if step.kind == "verify" else run_body(body, desk))
    if isinstance(fact, Returned) and not _is_compensated(body.call.id, desk):
        forget(desk.place, body.call)
    return fact


def _is_compensated(id: str, desk: StepHandle) -> bool:
    """Whether the run was cancelled before this call has ended: what it registered is run then."""
    call = desk.state.live.get(id)
    return desk.state.status == Status.CANCELLING and call is not None and bool(call.compensations)
