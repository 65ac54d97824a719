"""An OpenAI Agents SDK agent as a model that wants tools: its own runner works until it does.

Every function tool of the agent, and of every agent it can hand over to, is held: the runner stops
where it would run one. What the runner added to its input is the reply's `details`, with the agent
who spoke last; the results come back as input items.
"""

import json
from collections.abc import AsyncIterator, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

from agents import Agent as TheirAgent
from agents import (
    CodeInterpreterTool,
    FileSearchTool,
    FunctionTool,
    Handoff,
    HostedMCPTool,
    ImageGenerationTool,
    RunConfig,
    RunContextWrapper,
    RunHooks,
    Runner,
    WebSearchTool,
)
from agents.items import ToolApprovalItem
from agents.result import RunResultStreaming
from pydantic_core import to_jsonable_python

from adjourn.agent.tool import Tool
from adjourn.core.codec import loads
from adjourn.core.files import File, parts_of, parts_text
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
from adjourn.core.policy_rule import Rule
from adjourn.core.usage import Usage
from adjourn.errors import AdjournError, Invalid, InvalidDefinition, ModelError
from adjourn.guests.adopt import Guest
from adjourn.guests.guest_files import (
    file_of,
    made_parts,
    stowed,
    with_made,
)
from adjourn.guests.guest_tool import GuestToolTerms
from adjourn.guests.hot_history import HeardHistory, HotHistory, as_text
from adjourn.guests.openai_agents_content import Item, check_taken, new_files, refusal, user_item
from adjourn.guests.openai_agents_tools import (
    TheirFunctionTool,
    agent_mark_of,
    mark_of,
    nested_agent,
)
from adjourn.guests.provider_errors import failure

HOSTED = (WebSearchTool, FileSearchTool, CodeInterpreterTool, ImageGenerationTool, HostedMCPTool)
"""What the provider runs by itself."""


def read(
    agent: TheirAgent[Any],
    terms: GuestToolTerms,
    *,
    context: Any = None,
    run_config: RunConfig | None = None,
    run_hooks: RunHooks[Any] | None = None,
) -> Guest:
    """Take an agent apart. `context`, `run_config` and `run_hooks` are what its runner is given."""
    team = Team(agent)
    given = {"context": context, "run_config": run_config, "run_hooks": run_hooks}
    tools: dict[str, Tool] = {}
    marks: list[Rule] = []
    ungoverned: list[str] = []
    for member in team.members:
        for tool in member.agent.tools:
            if not isinstance(tool, FunctionTool):
                ungoverned.append(_hosted(tool, member.agent))
                continue
            name = team.our_name(member.agent, tool)
            if name in tools:
                continue
            nested = nested_agent(tool)
            if nested is not None:
                tools[name] = _nested(nested, name, tool, terms, given)
                marks += agent_mark_of(tool, name, context)
                continue
            theirs = TheirFunctionTool(tool, member.agent, context, run_config, run_hooks)
            tools[name] = theirs.ours(name, terms)
            marks += mark_of(tool, name, context)
    return Guest(
        name=agent.name,
        model=OpenAIAgentsGuest(team, context, run_config, run_hooks),
        tools=tuple(tools.values()),
        output_type=_output_type(team),
        marks=tuple(marks),
        ungoverned=tuple(dict.fromkeys(ungoverned)),
    )


def _nested(
    agent: TheirAgent[Any],
    name: str,
    tool: FunctionTool,
    terms: GuestToolTerms,
    given: dict[str, Any],
) -> Tool:
    """Another agent that is a tool of this one: adopted as well, so that its tools are governed,
    too. `given`: what its runner is given."""
    from adjourn.guests.adopt import adopted

    guest = read(agent, terms, **given)
    return adopted(guest, name=guest.name.replace(":", "-").replace("/", "-")).as_tool(
        name, tool.description
    )


def _hosted(tool: Any, agent: TheirAgent[Any]) -> str:
    if isinstance(tool, HOSTED):
        return str(getattr(tool, "name", type(tool).__name__))
    raise InvalidDefinition(
        f"the agent {agent.name!r} has a {type(tool).__name__}, which the SDK runs here by "
        f"itself: nothing could stop it. "
        "Give the agent function tools instead"
    )


def _output_type(team: "Team") -> Any:
    """The type of the output, if whoever speaks last has the same."""
    found = {member.agent.output_type for member in team.members}
    if found == {None} or found == {str}:
        return str
    only = found.pop()
    if not found and isinstance(only, type):
        return only
    return Any


@dataclass
class Member:
    """An agent of a team, and the copy of it whose tools are held."""

    agent: TheirAgent[Any]
    held: TheirAgent[Any]


class Team:
    """An agent and all agents that it can hand over to, directly or not."""

    def __init__(self, agent: TheirAgent[Any]) -> None:
        self.members = [Member(one, self._hold(one)) for one in _reachable(agent)]
        by_name: dict[str, Member] = {}
        for member in self.members:
            if by_name.setdefault(member.agent.name, member) is not member:
                raise InvalidDefinition(
                    f"two agents that can be handed to are named {member.agent.name!r}: rename one"
                )
        self._by_name = by_name
        for member in self.members:
            member.held.handoffs = list(map(self._handoff, member.agent.handoffs))

    def _hold(self, agent: TheirAgent[Any]) -> TheirAgent[Any]:
        if agent.mcp_servers:
            raise InvalidDefinition(
                f"the agent {agent.name!r} has mcp_servers, whose tools the SDK would run "
                f"by itself: give them to the agent "
                "as function tools"
            )
        return agent.clone(tools=list(map(_held, agent.tools)))

    def _handoff(self, given: Any) -> Any:
        """The same handoff, to the copy of its agent."""
        if isinstance(given, TheirAgent):
            return self._by_name[given.name].held
        theirs = cast("Handoff[Any, Any]", given)

        async def to_the_held(context: RunContextWrapper[Any], arguments: str) -> Any:
            chosen = await theirs.on_invoke_handoff(context, arguments)
            if chosen.name not in self._by_name:
                raise ModelError(
                    f"a handoff chose the agent {chosen.name!r}, which was not known in advance"
                )
            return self._by_name[chosen.name].held

        return replace(theirs, on_invoke_handoff=to_the_held)

    def held(self, name: str) -> TheirAgent[Any]:
        """The copy of the agent of that name; the first one's if there is none any more."""
        return (self._by_name.get(name) or self.members[0]).held

    def our_name(self, agent: TheirAgent[Any], tool: FunctionTool) -> str:
        """What a tool is called here: its name, unless another agent of the team has another tool
        of that name."""
        if not self._has_other(tool):
            return tool.name
        prefix = "".join(char if char.isalnum() or char in "_-" else "_" for char in agent.name)
        return f"{prefix}.{tool.name}"[:64]

    def _has_other(self, tool: FunctionTool) -> bool:
        """Whether an agent of the team has another tool of that name."""
        for member in self.members:
            for other in _functions(member.agent):
                if other.name == tool.name and other is not tool:
                    return True
        return False

    def called(self, item: ToolApprovalItem) -> str:
        """What the tool of a call is called here."""
        agent = self._by_name[item.agent.name].agent
        tool = next((one for one in _functions(agent) if one.name == item.name), None)
        if tool:
            return self.our_name(agent, tool)
        return str(item.name)


def _held(tool: Any) -> Any:
    """A function that is never called; anything else as it is."""
    if not isinstance(tool, FunctionTool):
        return tool
    return replace(tool, needs_approval=True, on_invoke_tool=_never, tool_input_guardrails=None)


def _functions(agent: TheirAgent[Any]) -> list[FunctionTool]:
    return [tool for tool in agent.tools if isinstance(tool, FunctionTool)]


def _reachable(agent: TheirAgent[Any]) -> list[TheirAgent[Any]]:
    found: list[TheirAgent[Any]] = []
    ahead = [agent]
    while ahead:
        one = ahead.pop(0)
        if any(one is known for known in found):
            continue
        found.append(one)
        ahead += list(_targets(one))
    return found


def _targets(agent: TheirAgent[Any]) -> Iterator[TheirAgent[Any]]:
    for one in agent.handoffs:
        if isinstance(one, TheirAgent):
            yield one
            continue
        reference = getattr(one, "_agent_ref", None)
        target = reference() if reference is not None else None
        if not isinstance(target, TheirAgent):
            raise InvalidDefinition(
                f"the handoff {one.tool_name!r} of {agent.name!r} does not say which agent "
                f"it leads to: make it with handoff(agent)"
            )
        yield target


async def _never(context: Any, arguments: str) -> Any:
    raise AssertionError("Adjourn runs the tools")


@dataclass
class Talk:
    """What the runner has had as input so far, who speaks, and the handoff that tool calls held
    up."""

    items: list[Item]
    agent: str = ""
    handing: Item | None = None


class OpenAIAgentsGuest:
    """See `Model`."""

    takes_files = True

    def __init__(
        self, team: Team, context: Any, run_config: RunConfig | None, hooks: RunHooks[Any] | None
    ) -> None:
        self._team, self._context, self._run_config, self._hooks = team, context, run_config, hooks
        self._history = HotHistory[Talk]("openai-agents", lambda: Talk([]), _add, _hear)

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return f"openai-agents:{self._team.members[0].agent.name}"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `Model.request`: what the agents think until one wants tools or has its output."""
        talk, heard = self._history.take(request)
        _hear(talk, heard)
        before = len(talk.items)
        try:
            agent = await self._speaker(talk, heard)
            if files := new_files(heard):
                check_taken(files, self._models())
            final = await _stopped_by_tools(agent, heard, self._context)
            if final is not None:
                yield Reply(
                    (Text(text=as_text(final)),),
                    Usage(),
                    self.name,
                    stowed(_details(talk.items[before:], talk), request.files),
                )
                return
            run = Runner.run_streamed(
                agent,
                cast("Any", list(talk.items)),
                context=self._context,
                run_config=self._config(request),
                hooks=self._hooks,
            )
            async for delta in _deltas(run):
                yield delta
        except AdjournError:
            raise
        except Exception as e:
            raise failure(self.name, e) from e
        taken_in = self._take_in(talk, run)
        made = list(_made(taken_in["items"], request.files))
        details = stowed(taken_in, with_made(request.files, made))
        self._history.keep(request, details, talk)
        parts = (*self._parts(run), *made_parts(made))
        yield Reply(parts, _usage(run), _model_name(run.last_agent) or self.name, details)

    async def file_refusal(self, ref: dict[str, Any], data: bytes) -> str:
        """See `Model`."""
        try:
            return refusal(ref, self._models())
        except Exception:  # no key of a provider here: a worker says it
            return ""

    def _models(self) -> Iterator[Any]:
        """Those with which the agents speak."""
        config = self._run_config or RunConfig()
        for member in self._team.members:
            model = config.model or member.agent.model
            if isinstance(model, str) or model is None:
                yield config.model_provider.get_model(model)
            else:
                yield model

    def _config(self, request: ModelRequest) -> RunConfig:
        if self._run_config is not None:
            return self._run_config
        return RunConfig(group_id=request.session or request.run or None)

    async def _speaker(self, talk: Talk, heard: HeardHistory) -> TheirAgent[Any]:
        """Who goes on. After results it is not checked again what came in, and a forced tool is not
        forced again."""
        agent = self._team.held(talk.agent)
        if talk.handing is not None:
            agent = await self._handed(agent, talk)
        if not heard.results:
            return agent
        settings = agent.model_settings
        if agent.reset_tool_choice and settings.tool_choice is not None:
            settings = replace(settings, tool_choice=None)
        guardrails = agent.input_guardrails if heard.said else []
        return agent.clone(model_settings=settings, input_guardrails=guardrails)

    async def _handed(self, agent: TheirAgent[Any], talk: Talk) -> TheirAgent[Any]:
        """Make the handoff that came in one reply with tool calls, now that these have their
        results."""
        call, talk.handing = cast("Item", talk.handing), None
        target = agent
        for one in agent.handoffs:
            if isinstance(one, Handoff):
                if one.tool_name == call["name"]:
                    wrapped = RunContextWrapper(self._context)
                    target = await one.on_invoke_handoff(wrapped, call["arguments"])
            elif Handoff.default_tool_name(one) == call["name"]:
                target = one
        talk.agent = target.name
        talk.items.append(_output(call["call_id"], json.dumps({"assistant": target.name})))
        return target

    def _take_in(self, talk: Talk, run: RunResultStreaming) -> dict[str, Any]:
        """Add what the run added, and say what that is. A handoff may have rewritten what came
        before."""
        whole = cast("list[Item]", to_jsonable_python(run.to_input_list(), exclude_none=True))
        before = len(talk.items)
        is_longer = whole[:before] == to_jsonable_python(talk.items)
        new = whole[before:] if is_longer else whole
        talk.items, talk.agent = whole, run.last_agent.name
        talk.handing = _open_handoff(new, run.interruptions)
        details = _details(new, talk)
        if not is_longer:
            details["rewritten"] = True
        return details

    def _parts(self, run: RunResultStreaming) -> tuple[ReplyPart, ...]:
        if not run.interruptions:
            return (Text(text=as_text(run.final_output)),)
        parts: list[ReplyPart] = []
        if text := _last_words(run):
            parts.append(Text(text=text))
        for item in run.interruptions:
            raw: Any = item.raw_item
            if getattr(raw, "type", None) != "function_call":
                raise ModelError(
                    f"{self.name}: the provider asks for approval of something that it runs "
                    f"itself: {raw!r:.200}"
                )
            parts.append(
                ToolCall(
                    id=raw.call_id, tool=self._team.called(item), args=_arguments(raw.arguments)
                )
            )
        return tuple(parts)


async def _deltas(run: RunResultStreaming) -> AsyncIterator[Delta]:
    """The words as they come. Whoever stops to listen ends the run."""
    try:
        async for event in run.stream_events():
            data: Any = getattr(event, "data", None)
            kind = getattr(data, "type", "")
            if kind == "response.output_text.delta":
                yield TextDelta(data.delta)
            elif kind in ("response.reasoning_summary_text.delta", "response.reasoning_text.delta"):
                yield ThinkingDelta(data.delta)
    finally:
        if not run.is_complete:
            run.cancel()
        if run.run_loop_task is not None:
            await _ended(run.run_loop_task)
    if error := run.run_loop_exception:
        raise error


async def _ended(task: Any) -> None:
    try:
        await task
    except BaseException:  # whoever asked has it already
        pass


def _details(items: list[Item], talk: Talk) -> dict[str, Any]:
    found: dict[str, Any] = {"guest": "openai-agents", "items": items, "agent": talk.agent}
    if talk.handing is not None:
        found["handing"] = talk.handing
    return found


def _add(talk: Talk, details: dict[str, Any]) -> None:
    if details.get("rewritten"):
        talk.items.clear()
    talk.items += details["items"]
    talk.agent, talk.handing = details["agent"], details.get("handing")


def _hear(talk: Talk, heard: HeardHistory) -> None:
    for result in heard.results:
        talk.items.append(_output(result.call_id, _content(result)))
    # not in the results themselves: of those, only text reaches a model by its chat format
    for result in heard.results:
        if result.files:
            told = f"The files in the result of {result.tool} ({result.call_id}):"
            talk.items.append(user_item((told, *result.files), heard.files))
    if heard.parts:
        talk.items.append(user_item(heard.parts, heard.files))
    elif heard.said:
        talk.items.append({"role": "user", "content": heard.said})


def _made(items: list[Item], known: Mapping[str, bytes]) -> Iterator[File]:
    """Images that the provider has drawn."""
    for item in items:
        if item.get("type") == "image_generation_call":
            made = file_of(item.get("result"), f"image/{item.get('output_format', 'png')}")
            if made is not None and made.digest not in known:
                yield made


def _output(call_id: str, output: str) -> Item:
    return {"type": "function_call_output", "call_id": call_id, "output": output}


def _content(result: ToolResult) -> str:
    if result.files:
        text = parts_text(parts_of(result.content))
    else:
        text = as_text(result.content)
    if result.error:
        return f"error: {text}"
    return text


def _arguments(raw: str) -> Any:
    try:
        return loads(raw or "{}", what="the arguments")
    except Invalid:
        return raw


def _open_handoff(items: list[Item], interruptions: list[ToolApprovalItem]) -> Item | None:
    """A handoff in a reply whose tool calls are held: it is made once they have their results."""
    if not interruptions:
        return None
    settled: set[Any] = {getattr(item.raw_item, "call_id", "") for item in interruptions}
    for item in items:
        if item.get("type") == "function_call_output":
            settled.add(item.get("call_id"))
    for item in items:
        if item.get("type") == "function_call" and item["call_id"] not in settled:
            return {
                "name": item["name"],
                "call_id": item["call_id"],
                "arguments": item.get("arguments", ""),
            }
    return None


async def _stopped_by_tools(agent: TheirAgent[Any], heard: HeardHistory, context: Any) -> Any:
    """The output, if the agent is one that ends with what its tools gave; else None."""
    behaviour: Any = agent.tool_use_behavior
    results = [result for result in heard.results if not result.error]
    if behaviour == "run_llm_again" or not results:
        return None
    if behaviour == "stop_on_first_tool":
        return results[0].content
    if isinstance(behaviour, dict):
        names = cast("dict[str, Any]", behaviour).get("stop_at_tool_names", [])
        return next((result.content for result in results if result.tool in names), None)
    raise ModelError(
        f"the agent {agent.name!r} has a function as tool_use_behavior=, which is not supported here"
    )


def _last_words(run: RunResultStreaming) -> str:
    """What the agent said beside its calls."""
    if not run.raw_responses:
        return ""
    texts: list[str] = []
    for item in run.raw_responses[-1].output:
        if item.type == "message":
            texts += [getattr(part, "text", "") for part in item.content]
    return "".join(texts)


def _usage(run: RunResultStreaming) -> Usage:
    used = run.context_wrapper.usage
    details = getattr(used, "input_tokens_details", None)
    return Usage(
        requests=used.requests,
        input_tokens=used.input_tokens,
        output_tokens=used.output_tokens,
        cache_read_tokens=getattr(details, "cached_tokens", 0) or 0,
    )


def _model_name(agent: TheirAgent[Any]) -> str:
    model = agent.model
    if isinstance(model, str):
        return model
    return str(getattr(model, "model", "") or "")
