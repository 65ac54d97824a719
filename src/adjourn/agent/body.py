"""Running a tool's body: in the loop or in a thread, with a timeout, telling apart every way it can end."""

import asyncio
import contextvars
import inspect
import logging
import threading
from collections.abc import Callable
from typing import Any

from adjourn.agent.context import ToolContext, Yield, enter
from adjourn.agent.signature import ArgumentError
from adjourn.agent.tool import Tool
from adjourn.core.codec import plain
from adjourn.core.effect import Effect
from adjourn.core.plan import interrupt_id
from adjourn.core.records import Doubted, Fact, Faulted, Returned, Suspended, Yielded
from adjourn.core.state import Call
from adjourn.driver.program import Desk
from adjourn.errors import InDoubt, LeaseLost, NotJSON, PauseRequest, StoreError, ToolFailed

log = logging.getLogger("adjourn.tool")


async def call_body(tool: Tool, call: Call, desk: Desk) -> Fact:
    """Run a tool's body for a call; the fact that ends it."""
    context = ToolContext(desk, call)
    started = desk.now()
    try:
        args = tool.validate(call.args)
        positional, named = tool.bind(args, context)
    except ArgumentError as e:
        return Returned(call=call.id, error=f"invalid arguments: {e}", why="invalid", ran=False)
    try:
        value = await asyncio.wait_for(run_function(tool.run, context, positional, named), tool.timeout)
    except BaseException as e:
        return _ended_badly(tool, call, context, _unwrapped(e, context), desk)
    if context.paused is not None:  # swallowed on its way out; it counts all the same
        return _paused(call, context, desk)
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


def _unwrapped(error: BaseException, context: ToolContext) -> BaseException:
    """A pause that a task group wrapped, or that something else took the place of, is still a pause."""
    if context.paused is not None and not isinstance(error, asyncio.CancelledError):
        return context.paused
    return error


def _ended_badly(tool: Tool, call: Call, context: ToolContext, error: BaseException, desk: Desk) -> Fact:
    if isinstance(error, PauseRequest | Yield):
        return _paused(call, context, desk)
    if isinstance(error, InDoubt):
        return Doubted(call=call.id, why=str(error) or "the tool cannot tell whether it happened")
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
    text = str(error) or type(error).__name__
    return Returned(call=call.id, error=text if isinstance(error, ToolFailed) else f"{type(error).__name__}: {text}")


def _is_ours(error: TimeoutError) -> bool:
    """`wait_for` raises from a cancellation; a TimeoutError of the body's own is an ordinary error."""
    return isinstance(error.__cause__, asyncio.CancelledError)


def _paused(call: Call, context: ToolContext, desk: Desk) -> Fact:
    if isinstance(context.paused, PauseRequest):
        fields = dict(context.paused.fields)
        fields["i"] = fields.pop("i", "") or interrupt_id(desk.state, call.id)
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


async def in_thread(work: Callable[[], Any]) -> Any:
    """Run `work` in a new daemon thread. If the waiter is cancelled, the thread goes on by itself."""
    loop = asyncio.get_running_loop()
    future: asyncio.Future[Any] = loop.create_future()
    inside = contextvars.copy_context()

    def settle(value: Any, error: BaseException | None) -> None:
        if future.done():
            return
        if error is None:
            future.set_result(value)
        else:
            future.set_exception(_Raised(error) if isinstance(error, StopIteration) else error)

    def run() -> None:
        value, error = None, None
        try:
            value = inside.run(work)
        except BaseException as e:
            error = e
        try:
            loop.call_soon_threadsafe(settle, value, error)
        except RuntimeError:  # the loop is closed: nobody waits
            log.warning("a tool ended after its run was handed back; its result is lost, the call is in doubt")

    threading.Thread(target=run, name="adjourn-tool", daemon=True).start()
    return await future


class _Raised(RuntimeError):
    """StopIteration cannot travel through a future."""

    def __init__(self, error: BaseException) -> None:
        super().__init__(f"{type(error).__name__}: {error}")
