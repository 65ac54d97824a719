"""A tool of another framework as a tool of ours."""

import functools
import inspect
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from typing import Any, TypeVar, cast, get_type_hints

from adjourn.agent.dict_tool import DictTool
from adjourn.agent.tool import PolicyName
from adjourn.bodies.body import Unrecorded
from adjourn.bodies.secret_types import secret_in
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.codec import text_of
from adjourn.core.effect import EffectName
from adjourn.core.secret_places import has_secrets
from adjourn.errors import InvalidDefinition

T = TypeVar("T")

Body = Callable[[ToolContext, dict[str, Any]], Awaitable[Any]]
"""Runs a tool of the framework with these arguments; what it gives is recorded as JSON."""


class GuestToolTerms:
    """What whoever adopts an agent says of its tools, by their names."""

    def __init__(
        self,
        effects: Mapping[str, EffectName],
        undo: Mapping[str, Callable[..., Any]],
        verify: Mapping[str, Callable[..., Any]],
    ) -> None:
        self.effects, self.undo, self.verify = dict(effects), dict(undo), dict(verify)

    @property
    def named(self) -> set[str]:
        """The tools that are spoken of."""
        return {*self.effects, *self.undo, *self.verify}

    @property
    def reads(self) -> frozenset[str]:
        """The tools that are said to change nothing."""
        return frozenset(name for name, effect in self.effects.items() if effect == "read")

    def tool(
        self,
        name: str,
        description: str,
        schema: dict[str, Any],
        body: Body,
        policy: PolicyName | None = None,
        *,
        timeout: float | None = None,
    ) -> "GuestTool":
        """The tool of that name, on these terms. `policy`: what the framework's own mark says.

        What nothing is said of counts as unsafe. Raises `InvalidDefinition` for a tool that takes a
        secret: the framework's own history would have it in clear.
        """
        if has_secrets(schema):
            raise InvalidDefinition(
                f"tool {name!r} takes a secret, and the history of an adopted agent is recorded as it is",
                advice="let it take a str that adjourn.secrets.seal made, and open that in its body with "
                "adjourn.secrets.unseal",
            )
        default: EffectName = "verifiable" if name in self.verify else "unsafe"
        return GuestTool(
            name,
            description,
            schema,
            body,
            effect=self.effects.get(name, default),
            undo=self.undo.get(name),
            verify=self.verify.get(name),
            policy=policy,
            timeout=timeout,
        )


def check_result(name: str, *says: Any) -> None:
    """Raise `InvalidDefinition` for a tool whose result is marked as a secret: nothing would seal
    it, neither for the framework's own history nor for ours.

    Args:
        name: the tool.
        says: what tells of the result: functions that give it, or JSON Schemas of it.
    """
    for one in says:
        if callable(one):
            secret = secret_in(_result_of(one)) is not None
        else:
            secret = has_secrets(one)
        if secret:
            raise InvalidDefinition(
                f"tool {name!r} gives a secret, and the history of an adopted agent is recorded as it is",
                advice="let it give a str that adjourn.secrets.seal made, for a tool that opens it with "
                "adjourn.secrets.unseal",
            )


def _result_of(function: Any) -> Any:
    """The type of what a function gives, as far as it says."""
    function = inspect.unwrap(function)
    while isinstance(function, functools.partial):
        function = cast("functools.partial[Any]", function).func
    if not inspect.isroutine(function):  # an object that can be called
        function = type(function).__call__
    try:
        return get_type_hints(function, include_extras=True).get("return")
    except Exception:  # a name that is not defined
        return getattr(function, "__annotations__", {}).get("return")


def recorded(turn: Callable[[], Any]) -> Any:
    """What a tool that has run gave, as it is recorded; or that it cannot be.

    Args:
        turn: makes JSON of it.
    """
    try:
        return turn()
    except Exception as error:
        return Unrecorded(text_of(error))


class GuestTool(DictTool):
    """A tool of another framework."""


def without_waiting(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives that never really waits. Raises `InvalidDefinition` if it does."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    coroutine.close()
    raise InvalidDefinition("the agent's tools can only be found while it runs")
