"""A tool of another framework as a tool of ours."""

import copy
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from functools import cached_property
from typing import Any, TypeVar

from adjourn.agent.tool import EffectName, PolicyName, Tool
from adjourn.bodies.tool_context import ToolContext
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

        What nothing is said of counts as unsafe.
        """
        if name in self.verify:
            default: EffectName = "verifiable"
        else:
            default = "unsafe"
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


class GuestTool(Tool):
    """A tool whose body takes the context and all the arguments as one dict, whatever they are
    called."""

    @cached_property
    def resources(self) -> dict[str, str]:
        return {}

    def bind(
        self, args: dict[str, Any], context: ToolContext, values: dict[str, Any] | None = None
    ) -> tuple[list[Any], dict[str, Any]]:
        return [context, copy.deepcopy(args)], {}  # what was shown is not for a body to change


def without_waiting(coroutine: Coroutine[Any, Any, T]) -> T:
    """What a coroutine gives that never really waits. Raises `InvalidDefinition` if it does."""
    try:
        coroutine.send(None)
    except StopIteration as ended:
        return ended.value
    coroutine.close()
    raise InvalidDefinition("the agent's tools can only be found while it runs")
