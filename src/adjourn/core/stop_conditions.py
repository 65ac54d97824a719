"""Stop conditions: small, composable with `|` and `&`; the leaf that tripped is recorded."""

import math
from collections.abc import Container
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Literal, Self

import msgspec

from adjourn.core.codec import is_finite
from adjourn.core.duration import Duration, seconds
from adjourn.core.ids import is_within
from adjourn.core.thread import SpokenText, Thread
from adjourn.core.usage import Usage
from adjourn.errors import InvalidDefinition

if TYPE_CHECKING:
    from adjourn.core.state import State


class Progress(msgspec.Struct, frozen=True, gc=False):
    """All a condition may look at."""

    steps: int
    tokens: int
    cost: float
    elapsed: float
    text: Container[str]
    called: frozenset[str]
    flags: frozenset[str] = frozenset()
    waited: float = 0.0


class Tripped(msgspec.Struct, frozen=True):
    """A condition came true: the leaf, and what is to happen."""

    leaf: "Leaf"
    action: Literal["stop", "pause"]


class Stop:
    """A stop condition. It cannot be changed, and equals another of its class that says the
    same."""

    def _say(self, **parts: Any) -> None:
        """What it says, once, when it is made."""
        self.__dict__.update(parts)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(
            f"a stop condition cannot be changed: make another one instead of setting {name!r}"
        )

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and repr(other) == repr(self) and vars(other) == vars(self)

    def __hash__(self) -> int:
        return hash((type(self), *vars(self).values()))

    def check(self, progress: Progress, extended: dict[str, float]) -> Tripped | None:
        """The leaf that makes it true, or None. `extended` is what people added to limits, by
        leaf."""
        raise NotImplementedError

    def leaves(self) -> "list[Leaf]":
        """All leaves, left to right."""
        raise NotImplementedError

    def remaining(self, progress: Progress, extended: dict[str, float]) -> float:
        """Seconds until time alone makes it true: 0 if it is true now, infinite if never."""
        raise NotImplementedError

    def bounds_steps(self) -> bool:
        """Whether it comes true after some number of steps, whatever else happens."""
        raise NotImplementedError

    def __or__(self, other: "Stop") -> "Stop":
        return Either(self, _stop(other))

    def __and__(self, other: "Stop") -> "Stop":
        return Both(self, _stop(other))


def _stop(value: object) -> Stop:
    if not isinstance(value, Stop):
        raise InvalidDefinition(
            f"combine stop conditions with each other, for example MaxSteps(30) | "
            f"MaxCost(5), not with {value!r}"
        )
    return value


class _Two(Stop):
    """Two conditions."""

    left: Stop
    right: Stop

    def __init__(self, left: Stop, right: Stop) -> None:
        self._say(left=left, right=right)

    def leaves(self) -> "list[Leaf]":
        return self.left.leaves() + self.right.leaves()


class Either(_Two):
    """True when one of them is."""

    def check(self, progress: Progress, extended: dict[str, float]) -> Tripped | None:
        return self.left.check(progress, extended) or self.right.check(progress, extended)

    def remaining(self, progress: Progress, extended: dict[str, float]) -> float:
        return min(
            self.left.remaining(progress, extended), self.right.remaining(progress, extended)
        )

    def bounds_steps(self) -> bool:
        return self.left.bounds_steps() or self.right.bounds_steps()

    def __repr__(self) -> str:
        return f"({self.left!r} | {self.right!r})"


class Both(_Two):
    """True when both are; the right one is the leaf that tripped."""

    def check(self, progress: Progress, extended: dict[str, float]) -> Tripped | None:
        if self.left.check(progress, extended):
            return self.right.check(progress, extended)
        return None

    def remaining(self, progress: Progress, extended: dict[str, float]) -> float:
        return max(
            self.left.remaining(progress, extended), self.right.remaining(progress, extended)
        )

    def bounds_steps(self) -> bool:
        return self.left.bounds_steps() and self.right.bounds_steps()

    def __repr__(self) -> str:
        return f"({self.left!r} & {self.right!r})"


class Leaf(Stop):
    """A single condition. `.then("pause")` asks a person to extend it instead of ending the run."""

    action: Literal["stop", "pause"] = "stop"

    def then(self, action: Literal["stop", "pause"]) -> Self:
        """The same condition with another action.

        Args:
            action: what happens when it trips: `"stop"` (the default) or `"pause"`, which asks a
                person.
        """
        if action not in ("stop", "pause"):
            raise InvalidDefinition(f"then() needs 'stop' or 'pause', got {action!r}")
        other = object.__new__(type(self))
        other._say(**{**vars(self), "action": action})
        return other

    def leaves(self) -> "list[Leaf]":
        return [self]

    def check(self, progress: Progress, extended: dict[str, float]) -> Tripped | None:
        if self.true(progress, extended.get(self.name, 0.0)):
            return Tripped(self, self.action)
        return None

    def remaining(self, progress: Progress, extended: dict[str, float]) -> float:
        if self.true(progress, extended.get(self.name, 0.0)):
            return 0.0
        return math.inf

    def bounds_steps(self) -> bool:
        return False

    @property
    def name(self) -> str:
        """How it is recorded, for example `MaxSteps(30)`."""
        return repr(self)

    @property
    def budget(self) -> float:
        """The limit, for the kinds that have one."""
        return 0.0

    def true(self, progress: Progress, more: float) -> bool:
        """Whether it has tripped, with `more` added to its limit."""
        raise NotImplementedError


class _Max(Leaf):
    """A limit that is a number: only `unit` and what is measured differ."""

    limit: float

    def __init__(self, limit: float, action: Literal["stop", "pause"] = "stop") -> None:
        if not is_finite(limit) or limit <= 0:
            raise InvalidDefinition(
                f"{type(self).__name__} takes a number greater than 0, not {limit!r:.80}"
            )
        self._say(limit=limit, action=action)

    @property
    def budget(self) -> float:
        return self.limit

    def measure(self, progress: Progress) -> float:
        """The number that is limited."""
        raise NotImplementedError

    def true(self, progress: Progress, more: float) -> bool:
        return self.measure(progress) >= self.limit + more

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.limit})"


class MaxSteps(_Max):
    """At most so many model calls, including those of nested agents and interrupted ones.

    Args:
        limit: how many.
        action: `"stop"`, or `"pause"` to ask a person; see `then`.
    """

    def measure(self, progress: Progress) -> float:
        return progress.steps

    def bounds_steps(self) -> bool:
        return True


class MaxTokens(_Max):
    """At most so many tokens, input and output together.

    Args:
        limit: how many.
        action: `"stop"`, or `"pause"` to ask a person; see `then`.
    """

    def measure(self, progress: Progress) -> float:
        return progress.tokens


class MaxCost(_Max):
    """At most so much money, in the currency of the provider's price list.

    Args:
        limit: how much.
        action: `"stop"`, or `"pause"` to ask a person; see `then`.
    """

    def measure(self, progress: Progress) -> float:
        return progress.cost


class MaxTime(_Max):
    """At most so long since the start, waiting included; with `waiting=False`, without the time in
    which it waited for people. A model call that is in flight then is cut off; a tool is not.

    Args:
        limit: seconds or a `timedelta`.
        action: `"stop"`, or `"pause"` to ask a person.
        waiting: whether the time counts in which the run was paused, or had nothing to do before
            a person decided.
    """

    waiting: bool

    def __init__(
        self, limit: Duration, action: Literal["stop", "pause"] = "stop", *, waiting: bool = True
    ) -> None:
        super().__init__(
            seconds(limit, "MaxTime") if isinstance(limit, timedelta) else limit, action
        )
        if not isinstance(waiting, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidDefinition(f"MaxTime: waiting= must be True or False, got {waiting!r:.80}")
        self._say(waiting=waiting)

    def measure(self, progress: Progress) -> float:
        if self.waiting:
            return progress.elapsed
        return progress.elapsed - progress.waited

    def remaining(self, progress: Progress, extended: dict[str, float]) -> float:
        left = self.limit + extended.get(self.name, 0.0) - self.measure(progress)
        return max(0.0, left)

    def __repr__(self) -> str:
        if self.waiting:
            return super().__repr__()
        return f"MaxTime({self.limit}, waiting=False)"


class TextMention(Leaf):
    """The model has said this string.

    Args:
        text: the string.
        action: `"stop"`, or `"pause"` to ask a person; see `then`.
    """

    text: str

    def __init__(self, text: str, action: Literal["stop", "pause"] = "stop") -> None:
        self._say(text=_named(self, text), action=action)

    def true(self, progress: Progress, more: float) -> bool:
        return self.text in progress.text

    def __repr__(self) -> str:
        return f"TextMention({self.text!r})"


class ToolCalled(Leaf):
    """The model has called this tool.

    Args:
        tool: its name.
        action: `"stop"`, or `"pause"` to ask a person; see `then`.
    """

    tool: str

    def __init__(self, tool: str, action: Literal["stop", "pause"] = "stop") -> None:
        self._say(tool=_named(self, tool), action=action)

    def true(self, progress: Progress, more: float) -> bool:
        return self.tool in progress.called

    def __repr__(self) -> str:
        return f"ToolCalled({self.tool!r})"


class External(Leaf):
    """This event was sent to the run: `await run.emit(event)`.

    Args:
        event: its name.
        action: `"stop"`, or `"pause"` to ask a person; see `then`.
    """

    event: str

    def __init__(self, event: str = "stop", action: Literal["stop", "pause"] = "stop") -> None:
        self._say(event=_named(self, event), action=action)

    def true(self, progress: Progress, more: float) -> bool:
        return self.event in progress.flags

    def __repr__(self) -> str:
        return f"External({self.event!r})"


def guarded(stop: Stop, guard: MaxSteps) -> Stop:
    """`stop`, and `guard` beside it unless it bounds the steps itself: another limit does not take
    the guard against endless loops away."""
    if stop.bounds_steps():
        return stop
    return stop | guard


def limits_cost(stop: Stop) -> bool:
    """Whether money is among its conditions."""
    return any(isinstance(leaf, MaxCost) for leaf in stop.leaves())


def is_timed(stop: Stop) -> bool:
    """Whether time is among its conditions."""
    return any(isinstance(leaf, MaxTime) for leaf in stop.leaves())


def _named(leaf: Leaf, value: str) -> str:
    if not isinstance(value, str) or not value:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidDefinition(f"{type(leaf).__name__} needs a non-empty string, got {value!r}")
    return value


def progress_below(state: "State", path: str, now: float) -> Progress:
    """How far a nested agent has come, with the agents below it."""
    below: list[Thread] = []
    for place, thread in reversed(state.threads.items()):  # what is below came later
        if is_within(place, path):
            below.append(thread)
        if place == path:
            break
    steps, usage = 0, Usage()
    called: set[str] = set()
    for thread in below:
        steps += thread.turn + thread.summaries
        usage += thread.usage
        called.update(thread.called)
    top = state.threads[path]
    return Progress(
        steps,
        usage.total_tokens,
        usage.cost,
        now - top.at,
        SpokenText(top),
        frozenset(called),
        state.flags,
        state.waited - top.waited,
    )
