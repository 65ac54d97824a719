"""A tool or a chunk as its author declared it, and as the runner sees it for one call: the one
difference between the two is behind this."""

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, TypedDict, Unpack

import msgspec

from adjourn.bodies.retries import checked_retries
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.call import Call
from adjourn.core.duration import Duration, seconds
from adjourn.core.effect import Effect, EffectName, RunsAsStep
from adjourn.core.records import Fact, Returned
from adjourn.driver.program import StepHandle
from adjourn.errors import InvalidDefinition


class Work(NamedTuple):
    """A function with its arguments."""

    function: Callable[..., Any]
    positional: list[Any]
    named: dict[str, Any]


class Unrecorded(msgspec.Struct, frozen=True):
    """What a body of another framework gives that has done its work, and whose result cannot be
    recorded: `why`. An error would say that nothing was done."""

    why: str


class BodyOptions(TypedDict, total=False):
    """What the author of a tool and of a chunk may say of its function; see `Tool`."""

    effect: EffectName
    undo: Callable[[Any, Any, Any], Any] | None
    verify: Callable[[Any, Any], Any] | None
    timeout: Duration | None
    settle: Duration | None
    key_ttl: Duration | None
    retries: int
    backoff: Duration


class Declared(RunsAsStep):
    """A tool or a chunk: a function, and what its author says of it."""

    name: str
    run: Callable[..., Any]
    effect: Effect
    undo: Callable[..., Any] | None
    verify: Callable[..., Any] | None
    timeout: float | None
    settle: float
    key_ttl: float
    retries: int
    backoff: float

    def _declare(self, what: str, **options: Unpack[BodyOptions]) -> None:
        """Take what was said, or raise `InvalidDefinition`. `what`: whose it is, for the message."""
        effect, timeout = options.get("effect", "unsafe"), options.get("timeout")
        settle, key_ttl = options.get("settle"), options.get("key_ttl")
        try:
            self.effect = Effect(effect)
        except ValueError:
            raise InvalidDefinition(
                f"{what}: effect= must be read, idempotent, verifiable or unsafe, got {effect!r}"
            ) from None
        self.undo, self.verify = options.get("undo"), options.get("verify")
        for option, function in (("undo", self.undo), ("verify", self.verify)):
            if function is not None and not callable(function):
                raise InvalidDefinition(f"{what}: {option}= must be a function, got {function!r}")
        if (self.effect == Effect.VERIFIABLE) != (self.verify is not None):
            raise InvalidDefinition(f"{what}: effect='verifiable' and verify= go together")
        self.timeout = None if timeout is None else seconds(timeout, "timeout")
        self.settle = (self.timeout or 0.0) if settle is None else seconds(settle, "settle")
        self.key_ttl = 0.0 if key_ttl is None else seconds(key_ttl, "key_ttl")
        self.retries = checked_retries(what, options.get("retries", 0), self.effect)
        self.backoff = seconds(options.get("backoff", 0.5), "backoff")

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the function itself, outside of any run."""
        return self.run(*args, **kwargs)


class Body:
    """A tool or a chunk, for one call."""

    def __init__(self, declared: Declared, call: Call) -> None:
        self.declared, self.call, self.name = declared, call, declared.name
        self.timeout, self.settle = declared.timeout, declared.settle

    @property
    def effect(self) -> Effect:
        """What it does to the world."""
        return self.declared.effect

    @property
    def undo(self) -> Callable[..., Any] | None:
        """What takes it back."""
        return self.declared.undo

    @property
    def verify(self) -> Callable[..., Any] | None:
        """What asks the world whether it happened."""
        return self.declared.verify

    @property
    def redacts(self) -> bool:
        """Whether what it says may be changed before anybody reads it: then no log has it."""
        return False

    def context(self, desk: StepHandle, call: Call) -> ToolContext:
        """What the body, its undo (`call` is then the undo's) or its verify may use."""
        return ToolContext(desk, call)

    def work(self, context: ToolContext) -> Work | Coroutine[Any, Any, Any]:
        """What is to run; raises `ArgumentError` if the arguments do not fit."""
        raise NotImplementedError

    def arguments(self) -> Any:
        """What `undo` and `verify` are given."""
        return self.call.args

    def returned(self, context: ToolContext, value: Any, took: float, desk: StepHandle) -> Fact:
        """The body has ended with this value."""
        raise NotImplementedError

    def failed(self, fact: Returned, error: BaseException, desk: StepHandle) -> Fact:
        """The body has failed, as `fact` says."""
        return fact

    async def after(self, fact: Fact, desk: StepHandle) -> Fact:
        """The fact as it is to be recorded, of the body, its undo or its verify."""
        return fact

    def paused(self, fact: Fact, context: ToolContext, desk: StepHandle) -> Fact:
        """The body has stopped to wait, as `fact` says."""
        return fact
