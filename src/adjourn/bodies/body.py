"""What the runner needs of a tool or a chunk: the one difference between the two is behind this."""

from collections.abc import Callable, Coroutine
from typing import Any, NamedTuple, Protocol

import msgspec

from adjourn.bodies.tool_context import ToolContext
from adjourn.core.call import Call
from adjourn.core.effect import Effect
from adjourn.core.records import Fact, Returned
from adjourn.driver.program import StepHandle


class Work(NamedTuple):
    """A function with its arguments."""

    function: Callable[..., Any]
    positional: list[Any]
    named: dict[str, Any]


class Unrecorded(msgspec.Struct, frozen=True):
    """What a body of another framework gives that has done its work, and whose result cannot be
    recorded: `why`. An error would say that nothing was done."""

    why: str


class Body(Protocol):
    """A tool or a chunk, for one call."""

    call: Call

    @property
    def name(self) -> str:
        """The tool's or the chunk's."""
        ...

    @property
    def function(self) -> Callable[..., Any]:
        """What its author wrote."""
        ...

    @property
    def effect(self) -> Effect:
        """What it does to the world."""
        ...

    @property
    def timeout(self) -> float | None:
        """Seconds after which it is cut, or, in a thread, overdue."""
        ...

    @property
    def settle(self) -> float:
        """Seconds that the world gets after a body was cut, before `verify` is asked."""
        ...

    @property
    def retries(self) -> int:
        """How often it is tried again after it raised."""
        ...

    @property
    def backoff(self) -> float:
        """Seconds before the first of those, twice as many before each that follows."""
        ...

    @property
    def undo(self) -> Callable[..., Any] | None:
        """What takes it back."""
        ...

    @property
    def redacts(self) -> bool:
        """Whether what it says may be changed before anybody reads it: then no log has it."""
        ...

    @property
    def verify(self) -> Callable[..., Any] | None:
        """What asks the world whether it happened."""
        ...

    def context(self, desk: StepHandle, call: Call) -> ToolContext:
        """What the body, its undo (`call` is then the undo's) or its verify may use."""
        ...

    def work(self, context: ToolContext) -> Work | Coroutine[Any, Any, Any]:
        """What is to run; raises `ArgumentError` if the arguments do not fit."""
        ...

    def arguments(self) -> Any:
        """What `undo` and `verify` are given."""
        ...

    def returned(self, context: ToolContext, value: Any, took: float, desk: StepHandle) -> Fact:
        """The body has ended with this value."""
        ...

    def failed(self, fact: Returned, error: BaseException, desk: StepHandle) -> Fact:
        """The body has failed, as `fact` says."""
        ...

    async def after(self, fact: Fact, desk: StepHandle) -> Fact:
        """The fact as it is to be recorded, of the body, its undo or its verify."""
        ...

    def paused(self, fact: Fact, context: ToolContext, desk: StepHandle) -> Fact:
        """The body has stopped to wait, as `fact` says."""
        ...
