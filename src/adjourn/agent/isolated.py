"""A tool's body in a process of its own, which can be ended whatever it does."""

import asyncio
import importlib
import inspect
import multiprocessing
import os
import threading
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from adjourn.agent.context import ToolContext, enter
from adjourn.agent.tool import Tool
from adjourn.core.call import Call
from adjourn.core.codec import plain
from adjourn.core.records import Fact
from adjourn.core.state import State
from adjourn.driver.threads import in_thread
from adjourn.errors import AdjournError, InDoubt, Misused, PauseRequest, ToolFailed


@dataclass
class ChildDesk:
    """What is left of a desk in another process: enough to know the call and to pause."""

    run_id: str
    epoch: int
    state: State = field(default_factory=State)
    resources: Mapping[str, Any] = field(default_factory=dict[str, Any])
    loop: Any = None
    request: Any = ()
    upto: int = 0
    heard: tuple[str, ...] = ()

    def now(self) -> float:
        return time.time()

    def failed(self, error: BaseException) -> None:
        raise error

    async def record(self, fact: Fact) -> None:
        raise Misused("ctx.step, ctx.save and ctx.on_cancel are not available in a tool with isolate=True")

    def publish(self, item: Any, *, path: str | None = None, thinking: bool = False) -> None:
        raise Misused("ctx.publish is not available in a tool with isolate=True")


async def run_isolated(tool: Tool, args: dict[str, Any], context: ToolContext, call: Call) -> Any:
    """Run the body in a new process and give its result. Cancelling ends the process at once."""
    spawn = multiprocessing.get_context("spawn")
    ours, theirs = spawn.Pipe()
    about = (context.run_id, context.epoch, call.id, tool.name, args, dict(call.memo))
    process = spawn.Process(
        target=_main,
        args=(theirs, tool.run.__module__, tool.run.__qualname__, about),
        daemon=True,
        name=f"adjourn:{tool.name}",
    )
    ended, answered = threading.Event(), False

    def begin() -> None:
        process.start()
        theirs.close()
        if ended.is_set():  # the call was cancelled while the process was being made
            process.kill()

    try:
        await in_thread(begin)
        kind, value = await in_thread(ours.recv)
        answered = True
    except EOFError:
        await in_thread(process.join)
        raise InDoubt(f"its process ended by itself (exit code {process.exitcode})") from None
    finally:
        ended.set()
        if process.pid is not None:
            if not answered:  # one that has answered puts its things away and ends by itself
                process.kill()
            threading.Thread(target=process.join, name="adjourn-reap", daemon=True).start()
        ours.close()
    if kind == "pause":
        context.paused = PauseRequest(**value)
        raise context.paused
    if kind == "doubt":
        raise InDoubt(value)
    if kind == "error":
        raise ToolFailed(value)
    return value


def _main(
    pipe: Any, module: str, qualname: str, about: tuple[str, int, str, str, dict[str, Any], dict[str, Any]]
) -> None:
    """In the other process."""
    answered = threading.Event()
    threading.Thread(target=_end_with_parent, args=(pipe, answered), daemon=True).start()
    answer = _answer(module, qualname, about)
    answered.set()
    pipe.send(answer)


def _end_with_parent(pipe: Any, answered: threading.Event) -> None:
    """A body must not outlive the process that would record its result. (Nothing is ever sent to it.)"""
    try:
        pipe.recv()
    except (EOFError, OSError):
        if not answered.is_set():
            os._exit(1)


def _answer(
    module: str, qualname: str, about: tuple[str, int, str, str, dict[str, Any], dict[str, Any]]
) -> tuple[str, Any]:
    run, epoch, call_id, name, args, memo = about
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    tool = found if isinstance(found, Tool) else Tool(name, "", None, found)
    context = ToolContext(ChildDesk(run, epoch), Call(call_id, name, args, memo=memo))
    try:
        enter(context)
        positional, named = tool.bind(args, context)
        value = tool.run(*positional, **named)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        if context.paused is not None:
            raise context.paused
        return "value", plain(value, "result")
    except PauseRequest as e:
        return "pause", e.fields
    except InDoubt as e:
        return "doubt", str(e)
    except Exception as e:
        return "error", str(e) if isinstance(e, AdjournError) else f"{type(e).__name__}: {e}"
