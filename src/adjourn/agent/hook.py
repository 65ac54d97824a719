"""Hooks: functions of an agent that are asked before a tool runs, see what it gave before anything
else does, or judge what the agent is told and what it says."""

import fnmatch
import functools
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Concatenate, Literal, ParamSpec, Protocol, TypeVar, cast, overload

import msgspec

from adjourn.agent.tool import Tool
from adjourn.core.duration import Duration, seconds
from adjourn.core.effect import is_function
from adjourn.core.ids import checked_name
from adjourn.errors import InvalidDefinition

When = Literal["before", "after", "input", "output"]
TIMEOUT = 30.0
"""Seconds that a hook gets."""


class Veto(msgspec.Struct, frozen=True):
    """What a hook gives that stands against a call: the call does not run, and the model reads why.

    Args:
        reason: why, in a sentence for the model and for people.
    """

    reason: str

    def __post_init__(self) -> None:
        _check_reason("Veto(reason)", self.reason, "the model reads")


class AskPerson(msgspec.Struct, frozen=True):
    """What a hook of an input or an output gives that lets a person decide whether it passes.

    Args:
        reason: why, in a sentence for that person.
    """

    reason: str

    def __post_init__(self) -> None:
        _check_reason("AskPerson(reason)", self.reason, "a person reads")


def _check_reason(what: str, reason: Any, reader: str) -> None:
    if not isinstance(reason, str) or not reason:
        raise InvalidDefinition(f"{what} needs a sentence that {reader}, got {reason!r:.80}")


class HookedText(msgspec.Struct, frozen=True):
    """What people said to an agent and its model has not read, or the output that it would give.

    Attributes:
        run_id: the run.
        agent: the agent.
        text: the words; of several messages, one per line. Of structured output, its JSON.
        value: the output, as JSON; None of an input.
        requesters: who shaped the run.
        session: the session of the run, or "".
        labels: the labels of the run.
        resources: the live objects of the process that drives the run.
    """

    run_id: str
    agent: str
    text: str
    value: Any
    requesters: tuple[str, ...]
    session: str
    labels: Mapping[str, str]
    resources: Mapping[str, Any]


class HookedCall(msgspec.Struct, frozen=True):
    """A call, as a hook sees it. What is changed in it changes nothing.

    Attributes:
        run_id: the run.
        call_id: the call, unique in its run.
        agent: the agent that calls.
        tool: the tool's name.
        arguments: what it would run with, or ran with. Of a secret, only that there is one.
        effect: read, idempotent, verifiable or unsafe.
        undo: whether it can be undone.
        requesters: who shaped the run.
        session: the session of the run, or "".
        labels: the labels of the run.
        calls: of each tool, how many calls that are not reads the run has made before.
        resources: the live objects of the process that drives the run.
    """

    run_id: str
    call_id: str
    agent: str
    tool: str
    arguments: dict[str, Any]
    effect: str
    undo: bool
    requesters: tuple[str, ...]
    session: str
    labels: Mapping[str, str]
    calls: Mapping[str, int]
    resources: Mapping[str, Any]


class HookedResult(msgspec.Struct, frozen=True):
    """What came of a call, as JSON. Nothing has recorded it yet.

    Attributes:
        value: what the tool gave; None if it failed.
        error: the text of its error, or "".
        of: what gave it: the tool itself (`"call"`), its `"undo"`, or its `"verify"`.
    """

    value: Any = None
    error: str = ""
    of: Literal["call", "undo", "verify"] = "call"

    def replace(self, value: Any) -> "HookedResult":
        """The same with another value; of a failure, with another text.

        Args:
            value: any JSON value. For a failure: a string.
        """
        if self.error:
            return msgspec.structs.replace(self, error=value)
        return msgspec.structs.replace(self, value=value)


class Hook(msgspec.Struct, frozen=True):
    """A function that an agent asks. Made by `before_tool`, `after_tool`, `check_input` and
    `check_output`.

    Attributes:
        when: `"before"` or `"after"` a tool, or for an `"input"` or an `"output"`.
        function: what is asked.
        name: what it is known by.
        tools: a tool's name or a glob; "" if it is not about tools.
        timeout: seconds that it gets.
    """

    when: When
    function: Callable[..., Any]
    name: str
    tools: str
    timeout: float

    @property
    def text(self) -> str:
        """The hook as people read it."""
        return f"{self.when} {self.tools}".strip() + f": {self.name}"


Before = Callable[[HookedCall], Any]
After = Callable[[HookedCall, HookedResult], Any]
TextCheck = Callable[[HookedText], Any]
Function_contra = TypeVar("Function_contra", contravariant=True)
Options = ParamSpec("Options")


class HookMaker(Protocol[Function_contra, Options]):
    """Makes a hook of a function, or, without one, a decorator that does."""

    @overload
    def __call__(
        self, function: Function_contra, /, *args: Options.args, **options: Options.kwargs
    ) -> Hook: ...
    @overload
    def __call__(
        self, *args: Options.args, **options: Options.kwargs
    ) -> Callable[[Function_contra], Hook]: ...


def _also_as_decorator(
    make: Callable[Concatenate[Function_contra, Options], Hook],
) -> HookMaker[Function_contra, Options]:
    @functools.wraps(make)
    def either(function: Any = None, /, *args: Options.args, **options: Options.kwargs) -> Any:
        if function is None:

            def decorate(given: Function_contra) -> Hook:
                return make(given, *args, **options)

            return decorate
        return make(function, *args, **options)

    return either


@_also_as_decorator
def before_tool(
    function: Before, /, *, tools: str = "*", name: str | None = None, timeout: Duration = TIMEOUT
) -> Hook:
    """A hook that may veto a call: it gives None, or `Veto(reason)`.

    It is asked before a person is, and again right before the call begins. It cannot let anything
    run that the policy does not. If it raises, takes too long or gives something else, the call does
    not run.

    Args:
        function: takes a `HookedCall`; sync (run in a thread) or async. Left out for a decorator.
        tools: a tool's name or a glob.
        name: what it is known by in records and errors; without one, the function's.
        timeout: seconds, or a `timedelta`, that it gets.
    """
    return _made("before", 1, function, tools, name, timeout)


@_also_as_decorator
def after_tool(
    function: After, /, *, tools: str = "*", name: str | None = None, timeout: Duration = TIMEOUT
) -> Hook:
    """A hook that sees what a tool gave before anything is recorded: it gives that `HookedResult`,
    or `result.replace(…)`.

    What it replaces is in no record, event or log, and neither the model nor an undo gets it. If it
    raises, takes too long or gives something else, the result is withheld; that the tool ran is
    recorded all the same.

    Args:
        function: takes a `HookedCall` and a `HookedResult`; sync (run in a thread) or async. Left
            out for a decorator.
        tools: a tool's name or a glob.
        name: what it is known by in records and errors; without one, the function's.
        timeout: seconds, or a `timedelta`, that it gets.
    """
    return _made("after", 2, function, tools, name, timeout)


@_also_as_decorator
def check_input(
    function: TextCheck, /, *, name: str | None = None, timeout: Duration = TIMEOUT
) -> Hook:
    """A guardrail on what an agent is told: its input, and what people say to it later. It gives
    None, `Veto(reason)`, which stops the run, or `AskPerson(reason)`.

    No model reads what has not passed. If it raises or takes too long, the run has failed there, and
    asks it again when it is resumed.

    Args:
        function: takes a `HookedText`; sync (run in a thread) or async. Left out for a decorator.
        name: what it is known by in records and errors; without one, the function's.
        timeout: seconds, or a `timedelta`, that it gets.
    """
    return _made("input", 1, function, None, name, timeout)


@_also_as_decorator
def check_output(
    function: TextCheck, /, *, name: str | None = None, timeout: Duration = TIMEOUT
) -> Hook:
    """A guardrail on the output of an agent. It gives None, `Veto(reason)`, which stops the run
    without an output, or `AskPerson(reason)`.

    Args:
        function: takes a `HookedText`; sync (run in a thread) or async. Left out for a decorator.
        name: what it is known by in records and errors; without one, the function's.
        timeout: seconds, or a `timedelta`, that it gets.
    """
    return _made("output", 1, function, None, name, timeout)


MAKERS: dict[When, str] = {
    "before": "before_tool",
    "after": "after_tool",
    "input": "check_input",
    "output": "check_output",
}


def _made(when: When, takes: int, function: Any, tools: Any, name: Any, timeout: Duration) -> Hook:
    what = MAKERS[when]
    if not is_function(function) or inspect.isclass(function):
        raise InvalidDefinition(f"{what} takes a function, got {function!r:.80}")
    own = name if name is not None else getattr(function, "__name__", "")
    if own in ("", "<lambda>"):
        raise InvalidDefinition(f"{what}: the function has no name", advice="pass name=")
    checked_name(own, f"{what}: name=")
    if tools is not None and (not isinstance(tools, str) or not tools):
        raise InvalidDefinition(
            f"{what} {own!r}: tools= must be a tool's name or a glob, got {tools!r:.80}"
        )
    try:
        inspect.signature(function).bind(*[None] * takes)
    except TypeError as e:
        wanted = {"before": "(call)", "after": "(call, result)"}.get(when, "(text)")
        raise InvalidDefinition(f"{what} {own!r}: the function must take {wanted}: {e}") from None
    return Hook(when, function, own, tools or "", seconds(timeout, f"{what} {own!r}: timeout"))


def checked_hooks(agent: str, hooks: Any) -> tuple[Hook, ...]:
    """The hooks of an agent; raises `InvalidDefinition` for what is none, and for two of one name."""
    if isinstance(hooks, Hook) or not isinstance(hooks, Iterable):
        raise InvalidDefinition(
            f"agent {agent!r}: hooks= must be a list of before_tool(...), after_tool(...), "
            f"check_input(...) and check_output(...), got {hooks!r:.80}"
        )
    found: dict[tuple[str, str], Hook] = {}
    for hook in cast("Iterable[Any]", hooks):
        if not isinstance(hook, Hook):
            raise InvalidDefinition(
                f"agent {agent!r}: a hook is made by before_tool(...), after_tool(...), "
                f"check_input(...) or check_output(...), got {hook!r:.80}"
            )
        if (hook.when, hook.name) in found:
            raise InvalidDefinition(
                f"agent {agent!r} has two {MAKERS[hook.when]} hooks that are named {hook.name!r}",
                advice="give one a name= of its own",
            )
        found[hook.when, hook.name] = hook
    return tuple(found.values())


def check_tools(agent: str, hooks: Iterable[Hook], tools: Sequence[Tool]) -> None:
    """Raise `InvalidDefinition` for a hook of a tool that there is not, and for one that would see
    what an agent gave too late."""
    for hook in hooks:
        if not hook.tools or not set(hook.tools).isdisjoint("*?["):
            continue
        named = [tool for tool in tools if tool.name == hook.tools]
        if not named:
            known = ", ".join(sorted({tool.name for tool in tools})) or "none"
            raise InvalidDefinition(
                f"the hook «{hook.text}»: neither agent {agent!r} nor one below it has a tool "
                f"{hook.tools!r}; the tools are: {known}"
            )
        if hook.when == "after" and hasattr(named[0], "agent"):
            raise InvalidDefinition(
                f"the hook «{hook.text}»: {hook.tools!r} is an agent: its replies are recorded "
                "before it returns",
                advice="put the hook on the tools of that agent",
            )


class HookOwner(Protocol):
    """An agent, as far as its hooks go."""

    hooks: tuple[Hook, ...]


def heard_by(agents: Sequence[HookOwner], when: When, tool: str) -> tuple[Hook, ...]:
    """The hooks that a call of this tool meets, in the order in which they are asked.

    Args:
        agents: from the root down to the one that calls. Before a call the root is asked first;
            after it, last.
        when: before or after the call.
        tool: its name.
    """
    found: list[Hook] = []
    for agent in agents if when == "before" else reversed(agents):
        for hook in agent.hooks:
            if hook.when == when and fnmatch.fnmatchcase(tool, hook.tools):
                found.append(hook)
    return tuple(found)
