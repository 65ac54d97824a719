"""A tool, as what runs it sees it."""

import logging
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from adjourn.agent.tool import Tool
from adjourn.bodies.body import Body, Unrecorded, Work
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.call import Call
from adjourn.core.codec import legible, plain
from adjourn.core.records import Fact, Returned
from adjourn.driver.program import StepHandle
from adjourn.errors import NotJSON

if TYPE_CHECKING:
    from adjourn.agent.hook_step import AfterTool

log = logging.getLogger("adjourn.tool")


class ToolBody(Body):
    """What a tool's body gives, or the text of its error, is for the model to read."""

    def __init__(self, tool: Tool, call: Call, after: "AfterTool | None" = None) -> None:
        super().__init__(tool, call)
        self.tool, self._after = tool, after

    @property
    def undo(self) -> Callable[..., Any] | None:
        undo, mark = self.tool.undo, self.tool.secret_result
        if undo is not None and mark is not None:
            from adjourn.bodies.sealed_results import opening

            undo = opening(undo, mark)
        return self._shielded(undo)

    @property
    def verify(self) -> Callable[..., Any] | None:
        verify, mark = self.tool.verify, self.tool.secret_result
        if verify is not None and mark is not None:
            from adjourn.bodies.sealed_results import sealing

            verify = sealing(verify, mark)
        return self._shielded(verify)

    @property
    def redacts(self) -> bool:
        return self._after is not None

    async def after(self, fact: Fact, desk: StepHandle) -> Fact:
        if self._after is None:
            return fact
        return await self._after.seen(fact, desk)

    def work(self, context: ToolContext) -> Work | Coroutine[Any, Any, Any]:
        values, args = self.tool.read(self.call.args)
        if self.tool.isolate:
            from adjourn.bodies.isolation import (
                run_isolated,  # brings multiprocessing, which few need
            )

            return run_isolated(self.tool, args, context, self.call)
        if not self.tool.secrets and not self.tool.secret_resources:
            positional, named = self.tool.bind(args, context, values)
            return Work(self.tool.run, positional, named)
        from adjourn.bodies.sealed_arguments import shielded

        if values is None:  # a schema that was given: its arguments are bound as they are
            args = self.tool.opened(args)
        positional, named = self.tool.bind(args, context, values)
        if values is not None:
            named = self.tool.opened(named)
        context.hidden += self._hidden(context)
        return Work(shielded(self.tool.run, context.hidden), positional, named)

    def arguments(self) -> dict[str, Any]:
        return self.tool.opened(self.tool.validate(self.call.args))

    def _shielded(self, function: Callable[..., Any] | None) -> Any:
        """A function that gets the secrets of this call, and cannot say them."""
        if function is None or not self.tool.secrets:
            return function
        from adjourn.bodies.sealed_arguments import shielded

        return shielded(function, self._secrets())

    def _secrets(self) -> list[str]:
        """What is sealed in the arguments of this call."""
        opened = self.arguments()
        return [opened[name] for name in self.tool.secrets if opened.get(name) is not None]

    def _hidden(self, context: ToolContext) -> list[str]:
        """What the body is given and must not say: secrets among its arguments and its resources."""
        found = self._secrets()
        for resource in self.tool.secret_resources.values():
            value = context.resources.get(resource)
            if isinstance(value, str):
                found.append(value)
        return found

    def returned(self, context: ToolContext, value: Any, took: float, desk: StepHandle) -> Fact:
        if isinstance(value, Unrecorded):
            return self._unrecorded(value.why, took)
        try:
            result = plain(value, "result")
            if self.tool.secrets or self.tool.secret_resources:
                from adjourn.bodies.sealed_arguments import without

                result = without(result, self._hidden(context))
            if self.tool.secret_result is not None:
                from adjourn.bodies.sealed_results import sealed_result

                result = sealed_result(result, self.tool.secret_result)
            return Returned(call=self.call.id, value=result, took=took, agent=self.tool.hands_to)
        except NotJSON as e:
            return self._unrecorded(str(e), took)

    def _unrecorded(self, why: str, took: float) -> Returned:
        log.error("tool %s ran, but its result cannot be recorded: %s", self.name, why)
        text = legible(f"it ran, but its result cannot be recorded: {why}")
        return Returned(call=self.call.id, error=text, why="unrecorded", took=took)
