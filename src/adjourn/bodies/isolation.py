"""A tool's body in a process of its own, which can be ended whatever it does.

It starts from a clean environment: no keys or secrets of the worker's are handed to it. That is
all: it runs as the same user, with the same files and network. It is a kill switch, not a sandbox.
"""

import asyncio
import contextlib
import importlib
import inspect
import multiprocessing
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from multiprocessing import connection, spawn
from typing import Any, Protocol

from adjourn.bodies.signature import Signature
from adjourn.bodies.tool_context import ToolContext, enter
from adjourn.core.call import Call
from adjourn.core.codec import plain, text_of
from adjourn.core.records import Fact
from adjourn.core.request_digest import Outgoing
from adjourn.core.state import State
from adjourn.driver.located_run import NOWHERE, LocatedRun
from adjourn.driver.threads import in_thread
from adjourn.driver.worker_mark import MARK
from adjourn.errors import AdjournError, InDoubt, Misused, PauseRequest, ToolFailed

NOT_ISOLATED = "ctx.step, ctx.save and ctx.on_cancel are not available in a tool with isolate=True"


class IsolatedTool(Protocol):
    """What is needed of a tool whose body runs in another process."""

    name: str
    env: tuple[str, ...]
    run: Callable[..., Any]


@dataclass
class IsolatedStep:
    """What is left of a desk in another process: enough to know the call and to pause."""

    run_id: str
    epoch: int
    place: LocatedRun = field(default_factory=lambda: LocatedRun(NOWHERE, ""))
    state: State = field(default_factory=State)
    resources: Mapping[str, Any] = field(default_factory=dict[str, Any])
    loop: Any = None
    request: Any = ()
    upto: int = 0
    heard: tuple[str, ...] = ()
    outgoing: Outgoing = field(default_factory=Outgoing)
    cut: bool = False
    lost: BaseException | None = None
    in_thread: bool = False
    settle: float = 0.0
    partial: str = ""
    first_word: float = 0.0
    process: int = field(default_factory=os.getpid)

    def now(self) -> float:
        return time.time()

    def failed(self, error: BaseException) -> None:
        raise error

    def post(self, fact: Fact) -> None:
        raise Misused("nothing is recorded in a tool with isolate=True")

    async def fence(self) -> None:
        raise Misused(NOT_ISOLATED)

    async def files(self, digests: Collection[str]) -> dict[str, bytes]:
        raise Misused(NOT_ISOLATED)

    async def record(self, fact: Fact) -> None:
        raise Misused(NOT_ISOLATED)

    def publish(self, item: Any, *, path: str | None = None, thinking: bool = False) -> None:
        raise Misused("ctx.publish is not available in a tool with isolate=True")


KEPT = frozenset(
    {
        "PATH",
        "HOME",
        "USER",
        "LOGNAME",
        "SHELL",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "TEMP",
        "TMP",
        "SYSTEMROOT",
        "VIRTUAL_ENV",
        "SSL_CERT_FILE",
        "SSL_CERT_DIR",
        "REQUESTS_CA_BUNDLE",
        MARK,
    }
)
"""What of the worker's environment an isolated body gets, besides `LC_*`, `PYTHON*` and what its
tool names in `env=`."""


def clean_environment(also: Iterable[str] = ()) -> dict[str, str]:
    """The environment of an isolated body.

    Args:
        also: names of further variables that it may have.
    """
    kept = KEPT.union(also)
    return {
        name: value
        for name, value in os.environ.items()
        if name in kept or name.startswith(("LC_", "PYTHON"))
    }


async def run_isolated(
    tool: IsolatedTool, args: dict[str, Any], context: ToolContext, call: Call
) -> Any:
    """Run the body in a new process and give its result. Cancelling ends the process at once."""
    ours, theirs = multiprocessing.get_context("spawn").Pipe()
    about = (context.run_id, context.epoch, call.id, tool.name, args, dict(call.memo), call.began)
    process: subprocess.Popen[bytes] | None = None
    ended, answered = threading.Event(), False

    def begin() -> None:
        nonlocal process
        command = [
            sys.executable,
            "-c",
            f"from adjourn.bodies.isolation import main; main({theirs.fileno()})",
        ]
        environment = clean_environment(tool.env) | {MARK: os.environ.get(MARK, str(os.getpid()))}
        process = subprocess.Popen(
            command,
            env=environment,
            pass_fds=(theirs.fileno(),),
            stdin=subprocess.DEVNULL,
            close_fds=True,
        )
        theirs.close()
        prepared = spawn.get_preparation_data(f"adjourn:{tool.name}")
        prepared.pop("authkey", None)  # not for a body
        with contextlib.suppress(OSError):  # it has ended already: that is seen below
            ours.send((prepared, tool.run.__module__, tool.run.__qualname__, about))
        if ended.is_set():  # the call was cancelled while the process was being made
            process.kill()

    try:
        await in_thread(begin)
        kind, value = await in_thread(ours.recv)
        answered = True
    except (EOFError, ConnectionError):
        assert process is not None
        code = await in_thread(process.wait)
        raise InDoubt(f"its process ended by itself (exit code {code})") from None
    finally:
        ended.set()
        if process is not None:
            if not answered:  # one that has answered puts its things away and ends by itself
                process.kill()
            threading.Thread(target=process.wait, name="adjourn-reap", daemon=True).start()
        ours.close()
    if kind == "caught":  # it ended with something else than its pause
        fields, (kind, value) = value
        context.paused = PauseRequest(**fields)
    if kind == "pause":
        context.paused = PauseRequest(**value)
        raise context.paused
    if kind == "doubt":
        raise InDoubt(value)
    if kind == "error":
        raise ToolFailed(value)
    return value


def main(descriptor: int) -> None:
    """In the other process: what to run comes through the pipe, and so does its result."""
    pipe = connection.Connection(descriptor)
    prepared, module, qualname, about = pipe.recv()
    spawn.prepare(prepared)
    answered = threading.Event()
    threading.Thread(target=_end_with_parent, args=(pipe, answered), daemon=True).start()
    answer = _answer(module, qualname, about)
    answered.set()
    pipe.send(answer)


def _end_with_parent(pipe: Any, answered: threading.Event) -> None:
    """A body must not outlive the process that would record its result. (Nothing is ever sent to
    it.)"""
    try:
        pipe.recv()
    except (EOFError, OSError):
        if not answered.is_set():
            os._exit(1)


def _answer(
    module: str,
    qualname: str,
    about: tuple[str, int, str, str, dict[str, Any], dict[str, Any], tuple[str, Any] | None],
) -> tuple[str, Any]:
    run, epoch, call_id, name, args, memo, began = about
    found: Any = importlib.import_module(module)
    for part in qualname.split("."):
        found = getattr(found, part)
    context = ToolContext(
        IsolatedStep(run, epoch), Call(call_id, name, args, memo=memo, began=began)
    )
    return _without(context, _ended(found, name, args, context))


def _without(context: ToolContext, answer: tuple[str, Any]) -> tuple[str, Any]:
    """What a body has come to, which does not say the secrets that it was given."""
    if not context.hidden:
        return answer
    from adjourn.bodies.sealed_arguments import without

    return answer[0], without(answer[1], context.hidden)


def _ended(found: Any, name: str, args: dict[str, Any], context: ToolContext) -> tuple[str, Any]:
    answer = _outcome(found, name, args, context)
    if isinstance(context.paused, PauseRequest) and answer[0] != "pause":
        return "caught", (context.paused.fields, answer)
    return answer


def _outcome(found: Any, name: str, args: dict[str, Any], context: ToolContext) -> tuple[str, Any]:
    try:
        enter(context)
        value = _called(found, name, args, context)
        if inspect.iscoroutine(value):
            value = asyncio.run(value)
        return "value", plain(value, "result")
    except PauseRequest as e:
        return "pause", e.fields
    except InDoubt as e:
        return "doubt", text_of(e)
    except BaseException as e:
        return "error", text_of(e) if isinstance(
            e, AdjournError
        ) else f"{type(e).__name__}: {text_of(e)}"


def _called(found: Any, name: str, args: dict[str, Any], context: ToolContext) -> Any:
    """Call what the name of the body stands for in its module: a tool that was made of it, or the
    function itself."""
    if hasattr(found, "bind"):
        positional, named = found.bind(args, context)
        return found.run(*positional, **named)
    signature = Signature.of(found, name, ToolContext)
    values, _ = signature.validate(args)
    if signature.context:
        values = {signature.context: context, **values}
    return found(**values)
