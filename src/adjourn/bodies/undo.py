"""Taking a call back, and asking the world about one: of a tool and of a chunk alike."""

import asyncio
from typing import Any

from adjourn.bodies.body import Body, Work
from adjourn.bodies.compensations import compensation, forget
from adjourn.bodies.retries import retry_at
from adjourn.bodies.runner import joined, run_function
from adjourn.core.call import Call
from adjourn.core.codec import error_text, plain, text_of
from adjourn.core.ids import compensation_number, verify_step
from adjourn.core.plan import Step
from adjourn.core.records import Fact, Faulted, Returned, Verified
from adjourn.driver.located_run import located_work
from adjourn.driver.program import StepHandle
from adjourn.errors import LeaseLost, Misused, NotJSON, PauseRequest, StoreError

UNDO_TIMEOUT = 60.0
"""Seconds for an undo or a verify whose tool has no timeout of its own."""


async def undo_body(body: Body, step: Step, desk: StepHandle) -> Fact:
    """Run a call's undo, or what its body itself registered. Its key is its own and stays the
    same."""
    call = body.call
    context = body.context(
        desk,
        Call(
            step.id, call.tool, call.args, call.path, kind=call.kind, of=call.of, began=call.began
        ),
    )
    try:
        work = _undo_of(body, step, desk, context)
        at = located_work(desk.place, call, step.id)
        value = await run_function(work, context, at, body.timeout or UNDO_TIMEOUT, desk)
    except BaseException as e:
        text = own_failure(e, desk, quiet=body.redacts)
        again = retry_at(desk.now(), step.attempt)
        fault = Faulted(step=step.id, error=text, transient=True, retry_at=again)
        return await body.after(fault, desk)
    if len(call.compensations) <= 1:
        forget(desk.place, call)
    try:
        fact = Returned(call=step.id, value=plain(value, "result"))
    except NotJSON:  # what it gives back is only for people to read
        return Returned(call=step.id)
    return await body.after(fact, desk)


def _undo_of(body: Body, step: Step, desk: StepHandle, context: Any) -> Work:
    number = compensation_number(step.id)
    if number is None:
        assert body.undo is not None
        return Work(body.undo, [context, body.arguments(), body.call.value], {})
    named = desk.state.trust is None
    function, args = compensation(desk.place, body.call, number, body.declared.run, by_name=named)
    return Work(function, args, {})


async def verify_body(body: Body, desk: StepHandle) -> Fact:
    """`verify(ctx, args)` says: True or ("happened", result), False, or None for unknown.

    Nothing is asked while a body of the call is still at work here: its own result is better than
    any answer.
    """
    if (earlier := await joined(body, desk)) is not None:
        return earlier
    call = body.call
    if body.verify is None:  # it was waited for, and cannot be read any more
        return Verified(call=call.id, answer="unknown")
    context = body.context(desk, call)
    try:
        work = Work(body.verify, [context, body.arguments()], {})
        at = located_work(desk.place, call, verify_step(call.id))
        limit = body.timeout or UNDO_TIMEOUT
        answer = await run_function(work, context, at, limit, desk, asks=True)
        fact = verified(call, answer)
    except BaseException as e:
        text = own_failure(e, desk, quiet=body.redacts)
        fact = Verified(call=call.id, answer="unknown", value=text)
    return await body.after(fact, desk)


def own_failure(error: BaseException, desk: StepHandle, *, quiet: bool = False) -> str:
    """What went wrong inside an undo or a verify, in words. What is not its own (we are being
    stopped) is raised. `quiet`: the error itself is for nobody."""
    ours = isinstance(error, asyncio.CancelledError) and desk.cut
    if ours or (desk.lost is not None and isinstance(error, LeaseLost | StoreError)):
        raise error
    if isinstance(error, PauseRequest):
        error = Misused(
            "undo and verify functions cannot wait for a person: only tools and chunks can"
        )
    elif isinstance(error, asyncio.CancelledError):
        error = RuntimeError("it was cancelled, but not by the run")
    elif isinstance(error, TimeoutError) and not text_of(error):
        error = TimeoutError("it did not end in time")
    if not quiet:
        desk.failed(error)
    return error_text(error)


def verified(call: Call, answer: Any) -> Verified:
    """What a `verify` said, as a record."""
    if answer is None or answer == "unknown":
        return Verified(call=call.id, answer="unknown")
    if answer is False or answer == "not":
        return Verified(call=call.id, answer="not")
    if isinstance(answer, tuple) and len(answer) == 2 and answer[0] == "happened":  # pyright: ignore[reportUnknownArgumentType]
        return Verified(call=call.id, answer="happened", value=plain(answer[1], "verified result"))
    return Verified(
        call=call.id,
        answer="happened",
        value=None if answer is True else plain(answer, "verified result"),
    )
