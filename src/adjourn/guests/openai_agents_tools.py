"""The function tools of the OpenAI Agents SDK, run as its runner would run them: with its
guardrails, hooks and context."""

import inspect
import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any, cast

from agents import Agent as TheirAgent
from agents import (
    FunctionTool,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    ToolOutputFileContent,
    ToolOutputImage,
    ToolOutputText,
)
from agents.tool_context import ToolContext as TheirToolContext
from agents.tool_guardrails import ToolInputGuardrailData, ToolOutputGuardrailData
from pydantic_core import to_jsonable_python

from adjourn.bodies.body import Unrecorded
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.codec import text_of
from adjourn.core.policy_rule import Rule, ask
from adjourn.errors import InvalidDefinition, ToolFailed
from adjourn.guests.guest_files import file_of
from adjourn.guests.guest_tool import GuestTool, GuestToolTerms, check_result, without_waiting

WHY = "the tool's needs_approval"


class TheirFunctionTool:
    """One tool of one agent."""

    def __init__(
        self,
        tool: FunctionTool,
        agent: TheirAgent[Any],
        context: Any,
        run_config: RunConfig | None,
        hooks: RunHooks[Any] | None,
    ) -> None:
        self._tool, self._agent, self._context = tool, agent, context
        self._run_config, self._hooks = run_config, hooks
        # An error must stay one: by default the SDK makes it a result that only reads like an
        # error.
        self._raising = replace(
            tool, _failure_error_function=None, _use_default_failure_error_function=False
        )

    def ours(self, name: str, terms: GuestToolTerms) -> GuestTool:
        """As a tool of ours, by this name."""
        tool = self._tool
        marked = "ask" if tool.needs_approval is True else None
        check_result(name, tool.output_json_schema, _function_of(tool))
        return terms.tool(
            name,
            tool.description,
            dict(tool.params_json_schema),
            self._body,
            marked,
            timeout=tool.timeout_seconds,
        )

    async def _body(self, ours: ToolContext, args: dict[str, Any]) -> Any:
        raw = json.dumps(args)
        context = TheirToolContext(
            context=self._context,
            tool_name=self._tool.name,
            tool_call_id=ours.idempotency_key,
            tool_arguments=raw,
            agent=self._agent,
            run_config=self._run_config,
        )
        await self._check_input(context)
        await self._tell("on_tool_start", context)
        try:
            value = await self._raising.on_invoke_tool(context, raw)
        except Exception as error:
            raise await self._error(context, error) from error
        try:
            value = await self._checked_output(context, value)
            await self._tell("on_tool_end", context, value)
            return recordable(value)
        except Exception as error:  # it has run
            return Unrecorded(text_of(error))

    async def _error(self, context: Any, error: Exception) -> Exception:
        """The error, in the words of the tool's own `failure_error_function` if it has one."""
        formatter = getattr(self._tool, "_failure_error_function", None)
        if formatter is None or getattr(self._tool, "_use_default_failure_error_function", True):
            return error
        said = formatter(context, error)
        return ToolFailed(await said if inspect.isawaitable(said) else said)

    async def _check_input(self, context: TheirToolContext[Any]) -> None:
        for guardrail in self._tool.tool_input_guardrails or ():
            found = await guardrail.run(ToolInputGuardrailData(context, self._agent))
            _obey(found.behavior, guardrail.get_name())

    async def _checked_output(self, context: TheirToolContext[Any], value: Any) -> Any:
        for guardrail in self._tool.tool_output_guardrails or ():
            found = await guardrail.run(ToolOutputGuardrailData(context, self._agent, output=value))
            # it ran: only what the model reads of it changes
            if found.behavior["type"] == "reject_content":
                value = found.behavior["message"]
            else:
                _obey(found.behavior, guardrail.get_name())
        return value

    async def _tell(self, event: str, context: Any, *more: Any) -> None:
        for hooks in (self._hooks, self._agent.hooks):
            if hooks is not None:
                await getattr(hooks, event)(context, self._agent, self._tool, *more)


def _function_of(tool: FunctionTool) -> Callable[..., Any]:
    """The function that was made a tool; or what runs the tool, if that was given itself."""
    runs: Any = getattr(tool.on_invoke_tool, "_invoke_tool_impl", tool.on_invoke_tool)
    code = getattr(runs, "__code__", None)
    if code is None or "the_func" not in code.co_freevars:
        return runs
    return runs.__closure__[code.co_freevars.index("the_func")].cell_contents


def _obey(behaviour: Any, guardrail: str) -> None:
    """What a guardrail of a tool wants."""
    if behaviour["type"] == "reject_content":
        raise ToolFailed(behaviour["message"])
    if behaviour["type"] == "raise_exception":
        raise ToolFailed(f"the guardrail {guardrail} refused it")


def mark_of(tool: FunctionTool, name: str, context: Any) -> list[Rule]:
    """A function as `needs_approval=`, as a rule that asks. Where it cannot tell at once, a person
    is asked."""
    wanted = tool.needs_approval
    if not callable(wanted):
        return []
    return [
        ask(name, when=_needed(wanted, context), reason=WHY, name=f"{name}: needs_approval"),
    ]


def agent_mark_of(tool: FunctionTool, name: str, context: Any) -> list[Rule]:
    """The `needs_approval=` of a tool that is an agent, as a rule that asks."""
    if tool.needs_approval is True:
        return [ask(name, reason=WHY, name=f"{name}: needs_approval")]
    return mark_of(tool, name, context)


def _needed(wanted: Callable[..., Any], context: Any) -> Callable[[dict[str, Any]], bool]:
    def needs_approval(arguments: dict[str, Any]) -> bool:
        try:
            answer = wanted(RunContextWrapper(context), arguments, "")
            if inspect.iscoroutine(answer):
                answer = without_waiting(answer)
        except Exception:
            return True
        return answer is not False

    return needs_approval


def nested_agent(tool: FunctionTool) -> TheirAgent[Any] | None:
    """The agent behind a tool that was made with `agent.as_tool()`, if it takes one string as its
    input. Raises `InvalidDefinition` for one that takes something else and does more than speak."""
    agent: Any = getattr(tool, "_agent_instance", None)
    if not getattr(tool, "_is_agent_tool", False) or not isinstance(agent, TheirAgent):
        return None
    properties = tool.params_json_schema.get("properties", {})
    if set(properties) == {"input"} and properties["input"].get("type") == "string":
        return cast("TheirAgent[Any]", agent)
    if _acts(cast("Any", agent)):
        raise InvalidDefinition(
            f"the agent {agent.name!r} is a tool with parameters=, so that the SDK would run its "
            "tools by itself",
            advice="let it take a string: as_tool() without parameters=",
        )
    return None


def _acts(agent: Any) -> bool:
    """Whether an agent does more than speak."""
    return bool(agent.tools or agent.mcp_servers or agent.handoffs)


def recordable(value: Any) -> Any:
    """A result as JSON, and its images and files as ours."""
    if isinstance(value, ToolOutputText):
        return value.text
    if isinstance(value, ToolOutputImage) and (file := file_of(value.image_url)):
        return file
    if isinstance(value, ToolOutputFileContent):
        file = file_of(value.file_data, name=value.filename or "")
        return file or to_jsonable_python(value)
    if isinstance(value, list | tuple):
        return list(map(recordable, cast("list[Any]", value)))
    return to_jsonable_python(value, fallback=str)
