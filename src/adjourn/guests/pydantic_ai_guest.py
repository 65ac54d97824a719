"""A Pydantic AI agent as a model that wants tools: its own loop runs until it does.

A capability around its tools defers every call, so that its loop ends where a tool would begin.
What it added to its message history is the reply's `details`; the results come back as the parts of
its next request.
"""

from collections.abc import AsyncIterator, Iterator, Mapping
from typing import Any, NoReturn, cast

from pydantic_ai import messages as theirs
from pydantic_ai.agent import AbstractAgent
from pydantic_ai.capabilities import (
    AbstractCapability,
    CapabilityOrdering,
    CombinedCapability,
    Hooks,
    WrapperCapability,
)
from pydantic_ai.exceptions import ApprovalRequired, CallDeferred, ModelRetry
from pydantic_ai.exceptions import ToolFailed as TheirToolFailed
from pydantic_ai.models import Model as TheirModel
from pydantic_ai.models import infer_model
from pydantic_ai.models.test import TestModel
from pydantic_ai.run import AgentRunResultEvent
from pydantic_ai.tool_manager import ToolManager
from pydantic_ai.tools import DeferredToolRequests, RunContext, ToolDefinition
from pydantic_ai.toolsets import (
    AbstractToolset,
    ApprovalRequiredToolset,
    CombinedToolset,
    ExternalToolset,
    FunctionToolset,
    PrefixedToolset,
    RenamedToolset,
    SetMetadataToolset,
    ToolsetTool,
)
from pydantic_ai.usage import RunUsage
from pydantic_core import ValidationError, to_jsonable_python

from adjourn.agent.toolset import ToolsetContext
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.files import File, parts_of
from adjourn.core.messages import (
    Delta,
    ModelRequest,
    Reply,
    ReplyPart,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolCall,
    ToolResult,
)
from adjourn.core.usage import Usage
from adjourn.errors import AdjournError, InvalidDefinition, ToolFailed
from adjourn.guests.adopt import Guest
from adjourn.guests.guest_files import file_of, made_parts, stowed, with_made
from adjourn.guests.guest_tool import (
    GuestTool,
    GuestToolTerms,
    check_result,
    recorded,
    without_waiting,
)
from adjourn.guests.hot_history import HeardHistory, HotHistory, as_text
from adjourn.models.pydantic_ai import messages as translate
from adjourn.models.pydantic_ai.files import check_taken, contents, refusal

YES_OR_NO = {"type": "boolean"}
HANDED_ON = (
    AbstractCapability.handle_deferred_tool_calls,
    CombinedCapability.handle_deferred_tool_calls,
    WrapperCapability.handle_deferred_tool_calls,
)
"""What handles no deferred call by itself."""
History = list[theirs.ModelMessage]


def read(agent: AbstractAgent[Any, Any], terms: GuestToolTerms, *, deps: Any = None) -> Guest:
    """Take an agent apart. `deps`: what its tools and prompts get as `ctx.deps`."""
    if _answers_for_itself(agent):
        raise InvalidDefinition(
            f"the agent {agent.name!r} has a handler of deferred tool calls, which would "
            "answer its calls without asking a person",
            advice=(
                "remove it: a call that waits for approval is an approval in the inbox, and a "
                "call of an external tool is a question there"
            ),
        )
    tools = PydanticAITools(agent, deps)
    return Guest(
        name=agent.name or "",
        model=PydanticAIGuest(agent, deps),
        tools=tuple(tools.ours(terms)),
        output_type=_output_type(agent.output_type),
        ungoverned=_native(agent),
    )


class HoldTools(AbstractCapability[Any]):
    """Defers every tool call, before any hook of the agent's own around its execution."""

    def get_ordering(self) -> CapabilityOrdering:
        return CapabilityOrdering(position="outermost")

    async def wrap_tool_execute(
        self, ctx: Any, *, call: Any, tool_def: Any, args: Any, handler: Any
    ) -> NoReturn:
        raise CallDeferred


class PydanticAIGuest:
    """See `Model`."""

    takes_files = True

    def __init__(self, agent: AbstractAgent[Any, Any], deps: Any) -> None:
        self._agent, self._deps = agent, deps
        model = agent.model
        self._streams = not isinstance(model, TheirModel) or translate.streams(model)
        self._history = HotHistory[History]("pydantic-ai", list, _add, _hear)
        self._output = _outputs(agent.output_type)

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return f"pydantic-ai:{self._agent.name or 'agent'}"

    async def file_refusal(self, ref: dict[str, Any], data: bytes) -> str:
        """See `Model`. A model that the agent has by its name shows only when it is asked."""
        if not isinstance(self._agent.model, TheirModel):
            return ""
        return refusal(translate.leaves_of(self._agent.model), ref, data, self.name)

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `Model.request`: what the agent thinks until it wants tools or has its output."""
        history, heard = self._history.take(request)
        if request.files and isinstance(self._agent.model, TheirModel):
            check_taken(translate.leaves_of(self._agent.model), request, self.name)
        prompt = None
        if history:
            _hear(history, heard)
        else:
            prompt = _prompt(heard)  # with the first prompt come the agent's own system prompts
        result: Any = None
        try:
            async for item in self._think(prompt, history, request):
                if isinstance(item, TextDelta | ThinkingDelta):
                    yield item
                else:
                    result = item
        except AdjournError:
            raise
        except Exception as e:
            raise translate.failure(self.name, e) from e
        made = list(_made(result))
        dumped = stowed(_dumped(result.new_messages()), with_made(request.files, made))
        details = {"guest": "pydantic-ai", "messages": dumped}
        self._history.keep(request, details, list(result.all_messages()))
        parts = (*_parts(result), *made_parts(made))
        yield Reply(parts, _usage(result), result.response.model_name or self.name, details)

    async def _think(
        self, prompt: Any, history: History, request: ModelRequest
    ) -> AsyncIterator[Any]:
        """Pieces of text as they come, then the result."""
        options: dict[str, Any] = {
            "message_history": history or None,
            "deps": self._deps,
            "capabilities": [HoldTools()],
            "output_type": self._output,
            "run_id": f"{request.run or 'run'}:{request.path}:{request.index}",
            "conversation_id": request.session or request.run or None,
            "infer_name": False,
        }
        if self._streams:
            try:
                async with self._agent.run_stream_events(prompt, **options) as events:
                    async for event in events:
                        if isinstance(event, AgentRunResultEvent):
                            yield event.result
                        elif (delta := translate.delta(event)) is not None:
                            yield delta
                return
            except NotImplementedError:  # its model cannot stream
                self._streams = False
        result = await self._agent.run(prompt, **options)
        if text := _text(result.response):
            yield TextDelta(text)
        yield result


def _add(history: History, details: dict[str, Any]) -> None:
    history.extend(theirs.ModelMessagesTypeAdapter.validate_python(details["messages"]))


def _hear(history: History, heard: HeardHistory) -> None:
    """Put results and words into the request that answers the last response, which may have begun
    already."""
    if not history or not heard:
        return
    parts: list[theirs.ModelRequestPart] = [_result(result, heard) for result in heard.results]
    if heard.said:
        parts.append(theirs.UserPromptPart(_prompt(heard)))
    last = history[-1]
    # it has what the framework itself answered, such as invalid arguments
    if isinstance(last, theirs.ModelRequest):
        history[-1] = theirs.ModelRequest(parts=[*last.parts, *parts])
    else:
        history.append(theirs.ModelRequest(parts=parts))


def _prompt(heard: HeardHistory) -> Any:
    """What it is told, with the files where they stood."""
    if not heard.parts:
        return heard.said
    return contents(heard.parts, heard.files)


def _result(result: ToolResult, heard: HeardHistory) -> theirs.ToolReturnPart[Any]:
    outcome = "failed" if result.error else "success"
    content = result.content
    if result.files:
        content = contents(parts_of(content), heard.files)
    return theirs.ToolReturnPart(result.tool, content, result.call_id, outcome=outcome)


def _made(result: Any) -> Iterator[File]:
    """The files that the model made in this turn."""
    for message in result.new_messages():
        for part in message.parts if isinstance(message, theirs.ModelResponse) else ():
            if isinstance(part, theirs.FilePart):
                made = file_of(part.content.data, part.content.media_type)
                if made is not None:
                    yield made


def _dumped(messages: History) -> list[Any]:
    """What the agent added to its history, as JSON. Its instructions are left out: it gives them
    anew with each request."""
    dumped = theirs.ModelMessagesTypeAdapter.dump_python(
        messages, mode="json", exclude_none=True, warnings=False
    )
    for message in dumped:
        message.pop("instructions", None)
        message.pop("run_id", None)
        message.pop("conversation_id", None)
    return dumped


def _parts(result: Any) -> tuple[ReplyPart, ...]:
    """The words and the calls that the agent ended with; else its output, as text."""
    output = result.output
    if isinstance(output, theirs.BinaryContent):
        return ()
    if not isinstance(output, DeferredToolRequests):
        return (Text(text=as_text(output)),)
    parts: list[ReplyPart] = []
    if text := _text(result.response):
        parts.append(Text(text=text))
    for call in (*output.calls, *output.approvals):
        parts.append(ToolCall(id=call.tool_call_id, tool=call.tool_name, args=call.args_as_dict()))
    return tuple(parts)


def _text(response: theirs.ModelResponse) -> str:
    return "".join(part.content for part in response.parts if isinstance(part, theirs.TextPart))


def _usage(result: Any) -> Usage:
    """What all its model requests of this turn used."""
    responses = [
        message for message in result.new_messages() if isinstance(message, theirs.ModelResponse)
    ]
    return sum(map(translate.usage, responses), Usage())


def _outputs(output_type: Any) -> list[Any]:
    """What a run of the agent may end with: its own output, or calls."""
    if isinstance(output_type, list | tuple):
        own = list(cast("list[Any]", output_type))
    else:
        own = [output_type]
    return [*own, DeferredToolRequests]


def _output_type(output_type: Any) -> Any:
    """The type of the agent's output, as far as a type says it; `Any` for output functions and
    markers."""
    own = [one for one in _outputs(output_type) if one is not DeferredToolRequests]
    if own == [str]:
        return str
    if len(own) == 1 and isinstance(own[0], type):
        return own[0]
    return Any


def _native(agent: AbstractAgent[Any, Any]) -> tuple[str, ...]:
    """Tools that the provider runs by itself. Searching for a tool of the agent's own does nothing
    in the world."""
    native = agent.root_capability.get_native_tools()
    found: list[str] = []
    for one in native:
        name = str(getattr(one, "kind", getattr(one, "__name__", "native")))
        if name != "tool_search":
            found.append(name)
    return tuple(found)


class PydanticAITools:
    """The tools of an agent, run as the framework would run them: with its validation, its hooks
    and its dependencies."""

    def __init__(self, agent: AbstractAgent[Any, Any], deps: Any) -> None:
        self._agent, self._deps = agent, deps
        self._toolset: AbstractToolset[Any] = CombinedToolset(agent.toolsets)
        self._terms = GuestToolTerms({}, {}, {})

    def ours(self, terms: GuestToolTerms) -> "list[GuestTool | PydanticAITools]":
        """Each as a tool of ours, if they are known now; else this, which finds them when they are
        needed."""
        self._terms = terms
        if not all(map(_is_known, self._agent.toolsets)) or _prepares(self._agent):
            return [self]
        found: list[GuestTool | PydanticAITools] = []
        for toolset in self._agent.toolsets:
            tools = without_waiting(toolset.get_tools(self._context()))
            found += self._all(tools)
        return found

    @property
    def name(self) -> str:
        """See `Toolset.name`."""
        return f"toolsets of {self._agent.name}"

    async def tools(self, context: ToolsetContext) -> list[GuestTool]:
        """See `Toolset.tools`."""
        run = self._context()
        async with self._toolset:
            found = (
                await ToolManager(self._toolset, self._agent.root_capability).for_run_step(run)
            ).tools or {}
        return self._all(found)

    def _all(self, tools: Mapping[str, ToolsetTool[Any]]) -> list[GuestTool]:
        return [self._tool(tool.tool_def, self._terms) for tool in tools.values()]

    def _tool(self, definition: ToolDefinition, terms: GuestToolTerms) -> GuestTool:
        name = definition.name

        async def body(context: ToolContext, args: dict[str, Any]) -> Any:
            return await self._call(definition, args, context)

        marked = "ask" if definition.kind == "unapproved" else None
        check_result(name, definition.return_schema)
        schema = dict(definition.parameters_json_schema)
        return terms.tool(name, definition.description or "", schema, body, marked)

    async def _call(
        self, definition: ToolDefinition, args: dict[str, Any], context: ToolContext
    ) -> Any:
        if definition.kind == "external":
            context.pause_for("external", {"tool": definition.name, "arguments": args})
        try:
            return await self._run(definition.name, args, context, context.approved)
        except ApprovalRequired:  # the tool itself wants to be asked about these arguments
            question = {
                "question": f"May {definition.name} run?",
                "tool": definition.name,
                "arguments": args,
            }
            answer = context.pause_for(
                "approval", question, resume_to="self", answer_schema=YES_OR_NO
            )
        # the tool has handed it to somebody else, who will say what came of it
        except CallDeferred:
            context.pause_for("external", {"tool": definition.name, "arguments": args})
        if answer is not True:
            raise ToolFailed("not allowed: a person denied it")
        return await self._run(definition.name, args, context, True)

    async def _run(
        self, name: str, args: dict[str, Any], context: ToolContext, approved: bool
    ) -> Any:
        run = self._context(context, name, approved)
        async with self._toolset:
            tools = await ToolManager(self._toolset, self._agent.root_capability).for_run_step(run)
            call = theirs.ToolCallPart(name, args, tool_call_id=context.idempotency_key)
            try:
                value = await tools.handle_call(
                    call, approved=approved, wrap_validation_errors=False
                )
            except (ModelRetry, TheirToolFailed, ValidationError) as e:
                raise ToolFailed(str(e)) from e
        return recorded(lambda: _recordable(value))

    def _context(
        self, context: ToolContext | None = None, name: str = "", approved: bool = False
    ) -> RunContext[Any]:
        return RunContext(
            deps=self._deps,
            model=_model(self._agent),
            usage=RunUsage(),
            agent=cast("Any", self._agent),
            tool_name=name or None,
            tool_call_id=context.idempotency_key if context else None,
            tool_call_approved=approved,
            run_id=context.run_id if context else None,
            run_step=1,
        )


def _is_known(toolset: AbstractToolset[Any]) -> bool:
    """Whether the tools of a toolset are the same whenever one looks."""
    if isinstance(
        toolset, PrefixedToolset | RenamedToolset | ApprovalRequiredToolset | SetMetadataToolset
    ):
        return _is_known(toolset.wrapped)
    if isinstance(toolset, FunctionToolset):
        return all(tool.prepare is None for tool in toolset.tools.values())
    return isinstance(toolset, ExternalToolset)


def _prepares(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether one of the agent's capabilities chooses tools while it runs."""
    found: list[bool] = []
    agent.root_capability.apply(
        lambda one: found.append(type(one).prepare_tools is not AbstractCapability.prepare_tools)
    )
    return any(found)


def _answers_for_itself(agent: AbstractAgent[Any, Any]) -> bool:
    """Whether one of the agent's capabilities handles deferred calls: every call of ours is one."""
    found: list[bool] = []

    def look(one: AbstractCapability[Any]) -> None:
        handles = type(one).handle_deferred_tool_calls
        if isinstance(one, Hooks) and handles is Hooks.handle_deferred_tool_calls:
            found.append(bool(one._get("handle_deferred_tool_calls")))  # pyright: ignore[reportPrivateUsage]
            return
        found.append(handles not in HANDED_ON)
        if isinstance(one, WrapperCapability):
            one.wrapped.apply(look)

    agent.root_capability.apply(look)
    return any(found)


def _model(agent: AbstractAgent[Any, Any]) -> TheirModel:
    """The model of the agent, for a tool that looks at it; it may have none that can be made
    here."""
    model = agent.model
    if isinstance(model, str):
        try:
            return infer_model(model)
        except Exception:
            return TestModel()
    return model or TestModel()


def _recordable(value: Any) -> Any:
    """A result as JSON, and its files as ours. What it says to the model beside the result is put
    beside it."""
    if isinstance(value, theirs.ToolReturn):
        returned = _recordable(value.return_value)
        if value.content is None:
            return returned
        return {"result": returned, "content": _recordable(value.content)}
    if isinstance(value, theirs.BinaryContent):
        return file_of(value.data, value.media_type) or to_jsonable_python(value)
    if isinstance(value, list | tuple):
        return list(map(_recordable, cast("list[Any]", value)))
    if isinstance(value, dict):
        return {key: _recordable(part) for key, part in cast("dict[Any, Any]", value).items()}
    return to_jsonable_python(value)
