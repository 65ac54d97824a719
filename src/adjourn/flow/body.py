"""Running a chunk: its body, its undo, its question to the world."""

import asyncio
from typing import Any

import msgspec

from adjourn.agent.body import ended_badly, paused, run_function, unwrapped
from adjourn.agent.program import UNDO_TIMEOUT, retry_at, verified
from adjourn.bodies.compensations import compensation
from adjourn.core.call import Call
from adjourn.core.codec import legible, plain
from adjourn.core.flowing import Scope
from adjourn.core.plan import Step
from adjourn.core.records import Fact, Faulted, Returned, Suspended, Verified
from adjourn.driver.program import Desk
from adjourn.errors import LeaseLost, Misused, PauseRequest, StoreError
from adjourn.flow.chunk import Chunk
from adjourn.flow.context import FlowContext

NO_HANDLE = "no_handle"
"""The kind of fault of a chunk that paused although nobody can answer."""

PLAIN_CALLS = "; pause_for, emit and publish of the context are plain calls, without await"


class NoHandle(Misused):
    """`flow.start` came to a `pause_for`."""

    def __init__(self, chunk: str) -> None:
        super().__init__(
            f"chunk {chunk!r} uses pause_for, but flow.start() has no handle to answer with: use "
            f"flow.create_execution(), flow.start_execution() or a Runtime"
        )


async def run_chunk(chunk: Chunk, call: Call, desk: Desk, *, handle: bool = True) -> Fact:
    """Run a chunk's body for a call; the fact that ends it."""
    context = FlowContext(desk, call, _scope(desk, call))
    started = desk.now()
    error: BaseException | None
    try:
        value = await asyncio.wait_for(run_function(chunk.run, context, [context], {}), chunk.timeout)
        error = context.refused or context.paused  # perhaps it was swallowed on its way out
    except BaseException as e:
        value, error = None, unwrapped(e, context)
    if error is None:
        return _returned(chunk, call, context, value, round(desk.now() - started, 4), desk)
    if error is not context.paused:
        return _failed(call, ended_badly(chunk, call, context, error, desk), error, desk)
    if not handle and isinstance(error, PauseRequest) and error.fields.get("kind") != "timer":
        refusal = NoHandle(chunk.name)
        desk.failed(refusal)
        return Faulted(step=call.id, error=str(refusal), kind=NO_HANDLE)
    return _paused(call, context, desk)


def _scope(desk: Desk, call: Call) -> Scope:
    assert desk.state.flow is not None
    return desk.state.flow.scope_of(call.id)


def _returned(chunk: Chunk, call: Call, context: FlowContext, value: Any, took: float, desk: Desk) -> Fact:
    if left := context.leftover():
        text = f"{chunk.name} left recorded work unused ({', '.join(left)}): it is not the body that recorded it"
        return Faulted(step=call.id, error=text, kind="changed")
    if call.kind == "test" and not isinstance(value, bool):
        text = f"the condition {chunk.name!r} gave {type(value).__name__}, not True or False; wrap it in bool(…)"
        return Faulted(step=call.id, error=text)
    try:
        changes = context.state.changes()
        return Returned(
            call=call.id, value=plain(value, "result"), changes=changes, emits=context.emitted, took=took
        )  # fmt: skip
    except Exception as e:
        desk.failed(e)
        text = f"{chunk.name} ran, but what it made cannot be recorded: {e}"
        return Faulted(step=call.id, error=legible(text), kind="unrecorded")


def _failed(call: Call, fact: Fact, error: BaseException, desk: Desk) -> Fact:
    """A chunk that raises fails the run, which can be resumed; what runs beside it finishes."""
    if not isinstance(fact, Returned):
        return fact
    desk.failed(error)
    awaited = isinstance(error, TypeError) and "await" in str(error)
    return Faulted(step=call.id, error=fact.error + (PLAIN_CALLS if awaited else ""))


def _paused(call: Call, context: FlowContext, desk: Desk) -> Fact:
    fact = paused(call, context, desk)
    if isinstance(fact, Returned):  # its interrupt id is taken
        return _failed(call, fact, Misused(fact.error), desk)
    if not isinstance(fact, Suspended) or fact.resume_to == "self":
        return fact
    try:  # its body does not run again, so what it had changed and emitted stays
        return msgspec.structs.replace(fact, changes=context.state.changes(), emits=context.emitted)
    except Exception as e:
        desk.failed(e)
        text = f"it paused, but what it changed cannot be recorded: {e}"
        return Faulted(step=call.id, error=legible(text), kind="unrecorded")


async def undo_chunk(chunk: Chunk, step: Step, call: Call, desk: Desk) -> Fact:
    """A chunk's undo, or what its body registered with `on_cancel`. Its key is its own and stays the same."""
    context = FlowContext(desk, Call(step.id, chunk.name, call.args, call.path), _scope(desk, call))
    suffix = step.id.partition("!")[2]
    try:
        if suffix == "undo":
            assert chunk.undo is not None
            function, args = chunk.undo, [context, call.args, call.value]
        else:
            named, n = desk.state.belief.trust is None, int(suffix.removeprefix("cancel"))
            function, args = compensation(desk.run_id, call, n, chunk.run, by_name=named)
        value = await asyncio.wait_for(run_function(function, context, args, {}), chunk.timeout or UNDO_TIMEOUT)
        return Returned(call=step.id, value=plain(value, "result"))
    except (LeaseLost, StoreError):
        raise
    except Exception as e:
        desk.failed(e)
        text = legible(f"{type(e).__name__}: {e}")
        return Faulted(step=step.id, error=text, transient=True, retry_at=retry_at(desk.now(), step.attempt))


async def verify_chunk(chunk: Chunk, call: Call, desk: Desk) -> Fact:
    """`verify(ctx, input)` says: True or ("happened", result), False, or None for unknown."""
    assert chunk.verify is not None
    context = FlowContext(desk, call, _scope(desk, call))
    try:
        return verified(call, await run_function(chunk.verify, context, [context, call.args], {}))
    except (LeaseLost, StoreError):
        raise
    except Exception as e:
        desk.failed(e)
        return Verified(call=call.id, answer="unknown", value=legible(f"{type(e).__name__}: {e}"))
