"""Running a tool's body: in the loop or in a thread, with a timeout, telling apart every way it can end."""

import asyncio
import inspect
import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol

from adjourn.agent.isolated import run_isolated
from adjourn.agent.tool import Tool
from adjourn.bodies.signature import ArgumentError
from adjourn.bodies.tool_context import ToolContext, Yield, enter
from adjourn.core.codec import legible, plain
from adjourn.core.effect import Effect
from adjourn.core.plan import interrupt_id
from adjourn.core.records import Doubted, Fact, Faulted, Returned, Suspended, Yielded
from adjourn.core.state import Call
from adjourn.driver.program import Desk
from adjourn.driver.threads import in_thread
from adjourn.errors import InDoubt, LeaseLost, NotJSON, PauseRequest, StoreError, ToolFailed

log = logging.getLogger("adjourn.tool")


async def call_body(tool: Tool, call: Call, desk: Desk) -> Fact:
    """Run a tool's body for a call; the fact that ends it."""
    context = ToolContext(desk, call)
    started = desk.now()
    try:
        values, args = tool.read(call.args)
        body = run_isolated(tool, args, context, call) if tool.isolate else _bound(tool, args, context, values)
    except ArgumentError as e:
        return Returned(call=call.id, error=f"invalid arguments: {e}", why="invalid", ran=False)
    try:
        value = await (body if tool.timeout is None else asyncio.wait_for(body, tool.timeout))
    except BaseException as e:
        return ended_badly(tool, call, context, unwrapped(e, context), desk)
    if context.refused is not None:  # swallowed on its way out; it counts all the same
        return ended_badly(tool, call, context, context.refused, desk)
    if context.paused is not None:
        return paused(call, context, desk)
    if left := context.leftover():
        text = f"{tool.name} left recorded work unused ({', '.join(left)}): it is not the body that recorded it; restore it and resume"
        return Faulted(step=call.id, error=text, kind="changed")
    took = round(desk.now() - started, 4)
    try:
        return Returned(call=call.id, value=plain(value, "result"), took=took)
    except NotJSON as e:
        log.error("tool %s ran, but its result cannot be recorded: %s", tool.name, e)
        return Returned(
            call=call.id, error=f"it ran, but its result cannot be recorded: {e}", why="unrecorded", took=took
        )


class Timed(Protocol):
    """What is needed of a tool or a chunk to say how its body ended."""

    name: str
    effect: Effect
    timeout: float | None


def _bound(
    tool: Tool, args: dict[str, Any], context: ToolContext, values: dict[str, Any] | None
) -> Coroutine[Any, Any, Any]:
    positional, named = tool.bind(args, context, values)
    return run_function(tool.run, context, positional, named)


def unwrapped(error: BaseException, context: ToolContext) -> BaseException:
    """A refusal or a pause that a task group wrapped, or that something else took the place of, is still one."""
    if context.refused is not None and not isinstance(error, asyncio.CancelledError):
        return context.refused
    if context.paused is not None and not isinstance(error, asyncio.CancelledError):
        return context.paused
    return error


def ended_badly(tool: Timed, call: Call, context: ToolContext, error: BaseException, desk: Desk) -> Fact:
    if isinstance(error, PauseRequest | Yield):
        return paused(call, context, desk)
    if isinstance(error, InDoubt):
        return Doubted(call=call.id, why=legible(str(error)) or "the tool cannot tell whether it happened")
    if isinstance(error, TimeoutError) and tool.timeout is not None and tool.effect != Effect.READ and _is_ours(error):
        return Doubted(call=call.id, why=f"it did not end within {tool.timeout:g} s")
    if isinstance(error, LeaseLost | StoreError):
        raise error
    if isinstance(error, asyncio.CancelledError):
        task = asyncio.current_task()
        if task is None or task.cancelling():
            raise error
        return Returned(call=call.id, error="it was cancelled from inside")
    if not isinstance(error, Exception):
        raise error
    if not isinstance(error, ToolFailed):
        log.info("tool %s raised %s", tool.name, type(error).__name__, exc_info=error)
    text = legible(str(error)) or type(error).__name__
    return Returned(call=call.id, error=text if isinstance(error, ToolFailed) else f"{type(error).__name__}: {text}")


def _is_ours(error: TimeoutError) -> bool:
    """`wait_for` raises from a cancellation; a TimeoutError of the body's own is an ordinary error."""
    return isinstance(error.__cause__, asyncio.CancelledError)


def paused(call: Call, context: ToolContext, desk: Desk) -> Fact:
    if isinstance(context.paused, PauseRequest):
        fields = dict(context.paused.fields)
        if given := fields.get("i"):
            if given in desk.state.ids:
                return Returned(
                    call=call.id, error=f"interrupt id {given!r} is used already in this run; choose another"
                )
            desk.state.ids.add(given)  # now: a sibling may pause under the same id before this is folded
        fields["i"] = given or interrupt_id(desk.state, call.id)
        return Suspended(call=call.id, **fields)
    return Yielded(call=call.id)


async def run_function(
    function: Callable[..., Any], context: ToolContext, positional: list[Any], named: dict[str, Any]
) -> Any:
    """Await an async function, or run a sync one in a thread of its own (a stuck one must not block the others)."""
    if inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(getattr(function, "__call__", None)):  # noqa: B004
        enter(context)
        return await function(*positional, **named)
    value = await in_thread(lambda: (enter(context), function(*positional, **named))[1])
    return await value if inspect.isawaitable(value) else value
