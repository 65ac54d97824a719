"""A tool, as what runs it sees it."""

import logging
from collections.abc import Callable, Coroutine
from typing import Any

from adjourn.agent.tool import Tool
from adjourn.bodies.body import Work
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.call import Call
from adjourn.core.codec import plain
from adjourn.core.effect import Effect
from adjourn.core.records import Fact, Returned
from adjourn.driver.program import StepHandle
from adjourn.errors import NotJSON

log = logging.getLogger("adjourn.tool")


class ToolBody:
    """See `bodies.body.Body`. What a tool's body gives, or the text of its error, is for the model
    to read."""

    def __init__(self, tool: Tool, call: Call) -> None:
        self.tool, self.call = tool, call

    @property
    def name(self) -> str:
        return self.tool.name

    @property
    def function(self) -> Callable[..., Any]:
        return self.tool.run

    @property
    def effect(self) -> Effect:
        return self.tool.effect

    @property
    def timeout(self) -> float | None:
        return self.tool.timeout

    @property
    def settle(self) -> float:
        return self.tool.settle

    @property
    def retries(self) -> int:
        return self.tool.retries

    @property
    def backoff(self) -> float:
        return self.tool.backoff

    @property
    def undo(self) -> Callable[..., Any] | None:
        return self.tool.undo

    @property
    def verify(self) -> Callable[..., Any] | None:
        return self.tool.verify

    def context(self, desk: StepHandle, call: Call) -> ToolContext:
        return ToolContext(desk, call)

    def work(self, context: ToolContext) -> Work | Coroutine[Any, Any, Any]:
        values, args = self.tool.read(self.call.args)
        if self.tool.isolate:
            from adjourn.bodies.isolation import (
                run_isolated,  # brings multiprocessing, which few need
            )

            return run_isolated(self.tool, args, context, self.call)
        return Work(self.tool.run, *self.tool.bind(args, context, values))

    def arguments(self) -> dict[str, Any]:
        return self.tool.validate(self.call.args)

    def returned(self, context: ToolContext, value: Any, took: float, desk: StepHandle) -> Fact:
        try:
            return Returned(call=self.call.id, value=plain(value, "result"), took=took)
        except NotJSON as e:
            log.error("tool %s ran, but its result cannot be recorded: %s", self.name, e)
            text = f"it ran, but its result cannot be recorded: {e}"
            return Returned(call=self.call.id, error=text, why="unrecorded", took=took)

    def failed(self, fact: Returned, error: BaseException, desk: StepHandle) -> Fact:
        return fact

    def paused(self, fact: Fact, context: ToolContext, desk: StepHandle) -> Fact:
        return fact
