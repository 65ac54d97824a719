"""An agent of the Microsoft Agent Framework as a model that wants tools: its tools are declared to
it and never given.

The framework's loop ends where a declared tool is called. The messages that it added are the
reply's `details`; the results come back as messages of the tool.
"""

import copy
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from typing import Any, cast

from agent_framework import (
    AgentResponse,
    BaseAgent,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    HistoryProvider,
    Message,
)
from agent_framework._middleware import FunctionMiddlewarePipeline, categorize_middleware
from pydantic_core import to_jsonable_python

from adjourn.agent.tool import Tool
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.files import File, parts_of
from adjourn.core.messages import (
    Delta,
    ModelRequest,
    Reply,
    ReplyPart,
    Result,
    Text,
    TextDelta,
    ThinkingDelta,
    ToolCall,
)
from adjourn.core.policy_rule import Rule, ask
from adjourn.core.usage import Usage
from adjourn.errors import AdjournError, InvalidDefinition, ModelError
from adjourn.guests.adopt import Guest, adopted
from adjourn.guests.guest_files import bytes_of, file_of, made_parts, stowed, with_made
from adjourn.guests.guest_tool import GuestToolTerms, check_result, recorded
from adjourn.guests.hot_history import HeardHistory, HotHistory, as_text
from adjourn.guests.provider_errors import failure
from adjourn.guests.pump import pumped


def read(
    agent: Any,
    terms: GuestToolTerms,
    *,
    function_invocation_kwargs: Mapping[str, Any] | None = None,
) -> Guest:
    """Take an agent apart. `function_invocation_kwargs` are what its tools get beside their
    arguments."""
    _check(agent)
    tools: list[Tool] = []
    inputs: dict[str, str] = {}
    marks: list[Rule] = []
    ungoverned: list[str] = []
    for tool in agent.default_options.get("tools", ()):
        if not isinstance(tool, FunctionTool):
            ungoverned.append(_hosted(tool))
            continue
        nested = _nested_agent(tool)
        if nested is not None:
            [inputs[tool.name]] = tool.parameters()["properties"]
            given = {"function_invocation_kwargs": function_invocation_kwargs}
            inner = adopted(read(nested, terms, **given), name=nested.name or tool.name)
            tools.append(inner.as_tool(tool.name, tool.description))
            if tool.approval_mode == "always_require":
                marks.append(ask(tool.name, reason="the tool's approval_mode"))
        else:
            tools.append(TheirFunction(tool, agent, function_invocation_kwargs or {}).ours(terms))
    return Guest(
        name=agent.name or "",
        model=AgentFrameworkGuest(agent, inputs),
        tools=tuple(tools),
        output_type=_output_type(agent),
        marks=tuple(marks),
        ungoverned=tuple(ungoverned),
    )


def _check(agent: Any) -> None:
    """Raise `InvalidDefinition` for an agent whose tools cannot be held."""
    if not isinstance(getattr(agent, "default_options", None), dict):
        raise InvalidDefinition(
            f"adopt takes an Agent of the framework, not your own {type(agent).__name__}"
        )
    if getattr(agent, "mcp_tools", None):
        raise InvalidDefinition(
            "the agent has MCP tools, which the framework would run by itself: give it functions instead"
        )
    if any(isinstance(one, HistoryProvider) for one in agent.context_providers):
        raise InvalidDefinition(
            "the agent has a history provider",
            advice="the conversation is kept in the journal: remove the provider",
        )


def _hosted(tool: Any) -> str:
    """What the provider runs by itself is declared to it as plain data."""
    if isinstance(tool, Mapping):
        given = cast("Mapping[str, Any]", tool)
        return str(given.get("name") or given.get("type") or "hosted")
    return type(tool).__name__


def _nested_agent(tool: FunctionTool) -> Any:
    """The agent behind a tool that was made with `agent.as_tool()`."""
    function = tool.func
    code = getattr(function, "__code__", None)
    if code is None or function is None or "self" not in code.co_freevars:
        return None
    found = cast("Any", function).__closure__[code.co_freevars.index("self")].cell_contents
    if isinstance(found, BaseAgent) and len(tool.parameters().get("properties", {})) == 1:
        return found
    return None


def _output_type(agent: Any) -> Any:
    wanted = agent.default_options.get("response_format")
    if wanted is None:
        return str
    if isinstance(wanted, type):
        return wanted
    return Any


class NoToolsHere(FunctionMiddleware):
    """The framework runs no tool by itself, also not one that something has given it while it
    runs."""

    async def process(self, context: FunctionInvocationContext, call_next: Any) -> None:
        """See `FunctionMiddleware`."""
        raise ModelError(
            f"the tool {context.function.name!r} appeared while the agent ran, and was not adopted with it"
        )


class AgentFrameworkGuest:
    """See `Model`. `inputs`: for tools that are agents, the name of their one argument."""

    takes_files = True

    def __init__(self, agent: Any, inputs: dict[str, str]) -> None:
        self._agent, self._inputs = _held(agent), inputs
        self._history = HotHistory[list[Message]]("agent-framework", list, _add, _hear)

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return f"agent-framework:{self._agent.name or 'agent'}"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `Model.request`: what the agent thinks until it wants tools or has its output."""
        messages, heard = self._history.take(request)
        _hear(messages, heard)
        response: Any = None
        try:
            async for item in pumped(self._think(messages)):
                if isinstance(item, TextDelta | ThinkingDelta):
                    yield item
                else:
                    response = item
        except AdjournError:
            raise
        except Exception as e:
            raise failure(self.name, e) from e
        made = list(_made(response.messages))
        dumped = stowed(list(map(_plain, response.messages)), with_made(request.files, made))
        details = {"guest": "agent-framework", "messages": dumped}
        messages += response.messages
        self._history.keep(request, details, messages)
        yield Reply(
            (*self._parts(response), *made_parts(made)),
            _usage(response),
            str(getattr(response, "model", None) or self.name),
            details,
        )

    async def _think(self, messages: list[Message]) -> AsyncIterator[Any]:
        """Pieces of text as they come, then the response."""
        stream = self._agent.run(list(messages), stream=True)
        async for update in stream:
            for content in update.contents:
                if content.type == "text" and content.text:
                    yield TextDelta(content.text)
                elif content.type == "text_reasoning" and content.text:
                    yield ThinkingDelta(content.text)
        yield await stream.get_final_response()

    def _parts(self, response: AgentResponse[Any]) -> tuple[ReplyPart, ...]:
        if any(content.type != "function_call" for content in response.user_input_requests):
            raise ModelError(
                f"{self.name}: the provider asks for approval of something that it runs itself"
            )
        calls = _unsettled(response.messages)
        parts: list[ReplyPart] = []
        if response.text or not calls:
            parts.append(Text(text=str(response.text)))
        parts += map(self._call, calls)
        return tuple(parts)

    def _call(self, content: Any) -> ToolCall:
        args: Any = content.arguments
        if not isinstance(args, dict):
            args = content.parse_arguments() if args else {}
        given = self._inputs.get(content.name)
        if given is not None and given in args:
            args = cast("Any", {"input": args[given]})
        return ToolCall(id=content.call_id, tool=content.name, args=args)


def _unsettled(messages: list[Message]) -> list[Content]:
    """The calls in these messages that have no result."""
    calls: list[Content] = []
    settled: set[str | None] = set()
    for message in messages:
        for content in message.contents:
            if content.type == "function_result":
                settled.add(content.call_id)
            elif content.type == "function_call":
                calls.append(content)
    return [call for call in calls if call.call_id not in settled]


def _held(agent: Any) -> Any:
    """A copy of the agent that only knows of its tools."""
    held = copy.copy(agent)
    tools = list(map(_declared, agent.default_options.get("tools", ())))
    held.default_options = {**agent.default_options, "tools": tools}
    held.context_providers = list(agent.context_providers)
    held.middleware = [*(agent.middleware or ()), NoToolsHere()]
    return held


def _declared(tool: Any) -> Any:
    """A function without its body; anything else as it is."""
    if not isinstance(tool, FunctionTool):
        return tool
    return FunctionTool(
        name=tool.name, description=tool.description, func=None, input_model=tool.parameters()
    )


def _plain(message: Message) -> dict[str, Any]:
    dumped = to_jsonable_python(message.to_dict(exclude={"raw_representation"}), fallback=str)
    return cast("dict[str, Any]", dumped)


def _add(messages: list[Message], details: dict[str, Any]) -> None:
    messages += map(Message.from_dict, details["messages"])


def _hear(messages: list[Message], heard: HeardHistory) -> None:
    if heard.results:
        results = [_result(result, heard) for result in heard.results]
        messages.append(Message(role="tool", contents=results))
    if heard.said:
        parts = heard.parts or (heard.said,)
        messages.append(Message(role="user", contents=_contents(parts, heard)))


def _contents(parts: Iterable[Any], heard: HeardHistory) -> list[Content]:
    found: list[Content] = []
    for part in parts:
        if isinstance(part, str):
            found.append(Content.from_text(part))
        else:
            data = bytes_of(part, heard.files)
            found.append(Content.from_data(data, part["type"], name=part.get("name")))
    return found


def _made(messages: Iterable[Message]) -> Iterator[File]:
    """Files that the model made."""
    for message in messages:
        for content in message.contents if message.role == "assistant" else ():
            if content.type == "data" and (made := _file(content)) is not None:
                yield made


def _file(content: Content) -> File | None:
    name = str((content.additional_properties or {}).get("name") or "")
    return file_of(content.uri, content.media_type or "", name)


def _recordable(value: Any) -> Any:
    """A result as JSON, and its files as ours."""
    if isinstance(value, Content):
        if value.type == "data" and (file := _file(value)) is not None:
            return file
        if value.type == "text":
            return value.text
    if isinstance(value, list | tuple):
        return list(map(_recordable, cast("list[Any]", value)))
    return to_jsonable_python(value, fallback=str)


def _result(result: Result, heard: HeardHistory) -> Content:
    if result.files:
        found = _contents(parts_of(result.content), heard)
        return Content.from_function_result(result.call_id, result=found)
    content = as_text(result.content)
    if result.error:
        return Content.from_function_result(
            result.call_id, result=f"error: {content}", exception=content
        )
    return Content.from_function_result(result.call_id, result=content)


def _usage(response: AgentResponse[Any]) -> Usage:
    used: Any = response.usage_details or {}
    return Usage(
        requests=1,
        input_tokens=used.get("input_token_count") or 0,
        output_tokens=used.get("output_token_count") or 0,
        cache_read_tokens=used.get("cache_read_input_token_count") or 0,
    )


class TheirFunction:
    """A function of the agent, run as the framework would run it: with its validation and its
    function middleware."""

    def __init__(self, tool: FunctionTool, agent: Any, given: Mapping[str, Any]) -> None:
        self._tool, self._given = tool, dict(given)
        self._middleware: Sequence[Any] = categorize_middleware(agent.middleware)["function"]

    def ours(self, terms: GuestToolTerms) -> Tool:
        """As a tool of ours."""
        tool = self._tool
        marked = "ask" if tool.approval_mode == "always_require" else None
        if tool.func is not None:
            check_result(tool.name, tool.func)
        return terms.tool(tool.name, tool.description, dict(tool.parameters()), self._body, marked)

    async def _body(self, ours: ToolContext, args: dict[str, Any]) -> Any:
        tool = self._tool
        if tool.declaration_only:
            ours.pause_for("external", {"tool": tool.name, "arguments": args})
        context = FunctionInvocationContext(function=tool, arguments=args, kwargs=self._given)

        async def run(context: FunctionInvocationContext) -> Any:
            return await tool.invoke(
                arguments=context.arguments,
                context=context,
                tool_call_id=ours.idempotency_key,
                skip_parsing=True,
            )

        value = await FunctionMiddlewarePipeline(*self._middleware).execute(context, run)
        return recorded(lambda: _recordable(value))
