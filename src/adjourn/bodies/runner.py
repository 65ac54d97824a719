"""Running a body, of a tool or a chunk alike: in the loop or in a thread, with a timeout, telling
apart every way it can end."""

import asyncio
import inspect
import logging
import os
from collections.abc import Coroutine
from typing import Any, cast

from adjourn.bodies.async_or_sync import awaited, is_async
from adjourn.bodies.body import Body, Work
from adjourn.bodies.loop_watch import watched
from adjourn.bodies.retries import REFUSES, again, retry_at
from adjourn.bodies.signature import ArgumentError
from adjourn.bodies.tool_context import ToolContext, YieldRequest, done_by, enter, lost_by
from adjourn.core.call import had_begun
from adjourn.core.codec import legible, text_of
from adjourn.core.effect import Effect
from adjourn.core.records import Doubted, Fact, Faulted, Returned, Stepped, Suspended, Yielded
from adjourn.driver import unfinished_bodies as flights
from adjourn.driver.located_run import LocatedCall, located_work
from adjourn.driver.process_identity import end_if_forked
from adjourn.driver.program import StepHandle
from adjourn.driver.threads import Flight
from adjourn.errors import InDoubt, LeaseLost, PauseRequest, StoreError, ToolFailed

log = logging.getLogger("adjourn.tool")

READ_AGAIN = 3
"""Attempts of a `read` that something else than the run interrupts."""


async def run_body(body: Body, desk: StepHandle) -> Fact:
    """Run a body for its call; the fact that ends it. One that is still at work here is waited for,
    not repeated."""
    if (earlier := await joined(body, desk)) is not None:
        return earlier
    context = body.context(desk, body.call)
    started, process = desk.now(), os.getpid()
    try:
        work = body.work(context)
    except ArgumentError as e:
        error = f"invalid arguments: {e}{had_begun(body.call.memo)}"
        ran = bool(body.call.memo)  # it had begun, and paused: what it did stands
        return Returned(call=body.call.id, error=error, why="invalid", ran=ran)
    limit = asyncio.timeout(None)
    value, error = None, None
    try:
        value = await _run(body, work, context, limit, desk)
    except BaseException as e:
        end_if_forked(process)
        error = e
    end_if_forked(process)
    cut = isinstance(error, TimeoutError) and limit.expired()
    fact = ended(body, context, value, error, round(desk.now() - started, 4), desk, cut=cut)
    await _note_failures(fact, body, context, desk)
    return await body.after(fact, desk)


async def _note_failures(fact: Fact, body: Body, context: ToolContext, desk: StepHandle) -> None:
    """A body that waits runs again: it must find the steps that have failed, or it would execute
    them once more."""
    if not context.failures or not isinstance(fact, Suspended | Yielded):
        return
    from adjourn.bodies.step_failure import noted

    for key, error in context.failures.items():
        value = noted(error, context.hidden, quiet=body.redacts)
        await desk.record(Stepped(call=body.call.id, key=key, value=value))


async def _run(
    body: Body,
    work: Work | Coroutine[Any, Any, Any],
    context: ToolContext,
    limit: asyncio.Timeout,
    desk: StepHandle,
) -> Any:
    desk.settle = body.settle
    flight = None
    if isinstance(work, Work) and not is_async(work.function):
        flight = flight_of(work, context)
        if body.effect != Effect.READ:
            flights.took_off(located_work(desk.place, body.call), flight, context)
            value = await _until_ended(body, flight.start(), desk)
            if not inspect.isawaitable(value):
                return value
            flight, work = None, awaited(value)
    async with limit:
        if body.timeout is not None:
            limit.reschedule(desk.loop.time() + body.timeout)
        if flight is not None:  # a `read`: it may be left alone
            value = await flight.start().wait()
            if inspect.isawaitable(value):
                return await value
            return value
        if not isinstance(work, Work):
            return await work
        enter(context)
        return await watched(work.function(*work.positional, **work.named), context.name)


def flight_of(work: Work, context: ToolContext) -> Flight:
    """A sync function for a thread of its own."""
    return Flight(lambda: (enter(context), work.function(*work.positional, **work.named))[1])


async def run_function(
    work: Work,
    context: ToolContext,
    place: LocatedCall,
    timeout: float,
    desk: StepHandle,
    *,
    asks: bool = False,
) -> Any:
    """Run an undo or a verify. One in a thread that did not end in time is waited for again, never
    run beside itself.

    Args:
        work: the function and its arguments.
        context: what `pause_for` finds.
        place: what it is, and of which run; the same for every attempt.
        timeout: seconds after which `TimeoutError` is raised.
        desk: of the step.
        asks: it does nothing but look, so it may look again.
    """
    async with asyncio.timeout(timeout):
        if is_async(work.function):
            enter(context)
            return await watched(work.function(*work.positional, **work.named), context.name)
        flight = flights.unread(place)
        if flight is None or (asks and flight.ended):  # what it said then is old
            flight = flight_of(work, context)
            flights.keep(place, flight)
            flight.start()
        value = await flight.wait(read=lambda: flights.read(place))
        if inspect.isawaitable(value):
            return await value
        return value


async def _until_ended(body: Body, flight: Flight, desk: StepHandle) -> Any:
    """A thread cannot be stopped: until it has ended, its call is in flight."""
    timer = None
    if body.timeout is not None:
        timer = desk.loop.call_later(body.timeout, _overdue, body, desk)
    desk.in_thread = True
    try:
        return await flight.wait()
    finally:
        desk.in_thread = False
        if timer is not None:
            timer.cancel()


def _overdue(body: Body, desk: StepHandle) -> None:
    why = f"it did not end within {body.timeout:g} s, and its thread is still running"
    log.warning(
        "run %s: tool %s (%s): %s; its result will settle the call",
        desk.run_id,
        body.name,
        body.call.id,
        why,
    )
    desk.post(Doubted(call=body.call.id, why=why, running=True))


async def joined(body: Body, desk: StepHandle) -> Fact | None:
    """How a body of this call that is still at work in this process has ended; None if there is
    none."""
    if not flights.are_any():
        return None
    place = located_work(desk.place, body.call)
    if found := flights.in_thread(place):
        flight, context = found
        started, value, error = desk.now(), None, None
        try:
            value = await _until_ended(body, flight, desk)
        except BaseException as e:
            error = e
        fact = ended(body, context, value, error, round(desk.now() - started, 4), desk)
        await _note_failures(fact, body, context, desk)
        return await body.after(fact, desk)
    if task := flights.as_task(place):
        await asyncio.wait({task})
        if not task.cancelled() and not task.exception():
            fact = task.result()
            if isinstance(fact, Returned | Faulted):
                return fact
    return None


def ended(
    body: Body,
    context: ToolContext,
    value: Any,
    error: BaseException | None,
    took: float,
    desk: StepHandle,
    *,
    cut: bool = False,
) -> Fact:
    """The fact for a body that has ended with a value or an error. `cut`: its own timeout ended
    it."""
    if context.hidden and isinstance(error, Exception) and not cut:
        error = _unsaying(error, context)
    if _went_on(body, context, error):
        return _silent(_caught(body, context, value, error, took, desk), context)
    if error is None:
        error = context.refused or context.paused  # perhaps it was swallowed on its way out
    # a task group wraps it, or something else took its place
    elif not isinstance(error, asyncio.CancelledError):
        error = context.refused or context.paused or error
    if error is not None:
        return _silent(_ended_badly(body, context, error, desk, cut=cut), context)
    if left := context.leftover():
        return _changed(body, f"left recorded work unused ({', '.join(left)})")
    return _silent(body.returned(context, value, took, desk), context)


def _went_on(body: Body, context: ToolContext, error: BaseException | None) -> bool:
    """Whether a body that would run again after its pause, and may not do its work twice, ended
    with something else than that pause: it caught it, and may have done its work."""
    paused = context.paused
    if paused is None or context.refused is not None or body.effect not in REFUSES:
        return False
    again = isinstance(paused, YieldRequest) or paused.fields["resume_to"] == "self"
    return again and not isinstance(error, asyncio.CancelledError) and not _is_pause(error)


def _is_pause(error: BaseException | None) -> bool:
    if isinstance(error, BaseExceptionGroup):
        parts = cast("BaseExceptionGroup[BaseException]", error).exceptions
        return any(map(_is_pause, parts))
    return isinstance(error, PauseRequest | YieldRequest)


def _caught(
    body: Body,
    context: ToolContext,
    value: Any,
    error: BaseException | None,
    took: float,
    desk: StepHandle,
) -> Doubted:
    """It is in doubt: a person, or the world, says whether it has done its work."""
    if error is not None:
        how, fact = "ended with", Returned(call=body.call.id, error=_text(error))
    else:
        how, fact = "returned", body.returned(context, value, took, desk)
    fact = _silent(fact, context)  # before it is shortened
    ended = ""
    if isinstance(fact, Returned) and not body.redacts:
        ended = f", and {how} {fact.error or repr(fact.value):.400}"
    why = f"its body caught its own pause and continued{ended}; it must let BaseException pass"
    log.error(
        "run %s: tool %s (%s) caught its own pause and continued: the call is in doubt; the body "
        "must let BaseException pass",
        desk.run_id,
        body.name,
        body.call.id,
    )
    return Doubted(call=body.call.id, why=legible(why))


def _changed(body: Body, how: str) -> Faulted:
    """The answer and what was recorded stay: no model is told that the call has failed, or it would
    begin all of it again."""
    text = f"{body.name} {how}: it is not the body that recorded it; restore it and resume"
    return Faulted(step=body.call.id, error=text, kind="changed")


def _silent(fact: Fact, context: ToolContext) -> Fact:
    """A body that was given secrets says none of them."""
    if not context.hidden:
        return fact
    from adjourn.bodies.sealed_arguments import fact_without

    return fact_without(fact, context.hidden)


def _unsaying(error: Exception, context: ToolContext) -> Exception:
    from adjourn.bodies.sealed_arguments import unsaying

    return unsaying(error, context.hidden)


def _ended_badly(
    body: Body, context: ToolContext, error: BaseException, desk: StepHandle, *, cut: bool
) -> Fact:
    call = body.call
    if error is context.refused:
        return _changed(body, f"takes a different path now ({text_of(error)})")
    if isinstance(error, PauseRequest | YieldRequest):
        return body.paused(_pause_of(body, context, desk), context, desk)
    if isinstance(error, InDoubt):
        return Doubted(
            call=call.id, why=text_of(error) or "the tool cannot tell whether it happened"
        )
    if lost_by(context) is not None and isinstance(error, LeaseLost | StoreError):
        if desk.lost is not None:
            raise error
        return _doubted(body, "its run was handed back while it was running")
    if isinstance(error, asyncio.CancelledError) and desk.cut:
        raise error
    if cut and body.effect != Effect.READ:
        return _doubted(body, f"it did not end within {body.timeout:g} s")
    if (
        desk.cut
        and _is_cancelled()
        and body.effect != Effect.READ
        and not isinstance(error, ToolFailed)
    ):
        return _doubted(body, f"it was interrupted, and ended with {type(error).__name__}")
    if interruption := _interruption(error):
        return _interrupted(body, error, interruption, desk)
    return _failed(body, context, error, desk, cut=cut)


def _doubted(body: Body, why: str) -> Doubted:
    return Doubted(call=body.call.id, why=why, settle=body.settle)


def _failed(
    body: Body, context: ToolContext, error: BaseException, desk: StepHandle, *, cut: bool
) -> Fact:
    """An error of the body's own. Whoever reads it is told what was done before."""
    if not isinstance(error, ToolFailed):
        shown = None if body.redacts else error
        log.info("tool %s raised %s", body.name, type(error).__name__, exc_info=shown)
    if cut:
        text = f"{body.name} did not end within {body.timeout:g} s"
    else:
        text = _text(error)
    if (once_more := again(body, error, text, desk)) is not None:
        return once_more
    if body.effect != Effect.READ:
        text += done_by(context)
    return body.failed(Returned(call=body.call.id, error=text), error, desk)


def _interruption(error: BaseException) -> str:
    """What came between, if somebody else than the run and the body did; "" for an error of the
    body's own."""
    if isinstance(error, KeyboardInterrupt):
        return "it was interrupted (KeyboardInterrupt)"
    if isinstance(error, asyncio.CancelledError) and _is_cancelled():
        return "its task was cancelled, but not by the run"
    return ""


def _is_cancelled() -> bool:
    """Whether somebody has cancelled the task that this body runs in; nobody can cancel a
    thread."""
    task = asyncio.current_task()
    return task is None or task.cancelling() > 0


def _interrupted(body: Body, error: BaseException, why: str, desk: StepHandle) -> Fact:
    """A body that was ended in the middle: in doubt; a `read` is tried again, a few times."""
    call = body.call
    log.warning("run %s: tool %s (%s): %s", desk.run_id, body.name, call.id, why)
    if body.effect != Effect.READ:
        return _doubted(body, why)
    fault = desk.state.faults.get(call.id)
    count = 1 + (fault.count if fault else 0)
    if count >= READ_AGAIN:
        return body.failed(Returned(call=call.id, error=f"{why} ({count} times)"), error, desk)
    return Faulted(
        step=call.id,
        error=why,
        kind="interrupted",
        transient=True,
        retry_at=retry_at(desk.now(), count),
    )


def _text(error: BaseException) -> str:
    """An error as the model reads it."""
    text = text_of(error) or type(error).__name__
    if isinstance(error, ToolFailed):
        return text
    if isinstance(error, asyncio.CancelledError):
        return "it was cancelled from inside"
    return f"{type(error).__name__}: {text}"


def _pause_of(body: Body, context: ToolContext, desk: StepHandle) -> Fact:
    call = body.call
    if not isinstance(context.paused, PauseRequest):
        return Yielded(call=call.id)
    fields = dict(context.paused.fields)
    if given := fields.get("i"):
        if given in desk.state.ids:
            return Returned(
                call=call.id,
                error=f"interrupt id {given!r} is already used in this run; choose another",
            )
        # now: a sibling may pause under the same id before this is folded
        desk.state.ids.add(given)
    fields["i"] = given or desk.state.next_interrupt(call.id)
    return Suspended(call=call.id, **fields)
