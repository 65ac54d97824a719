"""Tools that are found while a run goes on: those of a server, of a tenant, of a plugin.

They are looked for before each model call. What was found is recorded with the reply: whether a
call may run is judged by that, in any process, without looking again. Right before a call runs, its
tool is looked for once more, and must be the same.
"""

import inspect
from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Protocol, cast, runtime_checkable

import msgspec

from adjourn.agent.tool import Tool, tool
from adjourn.bodies.tool_context import ToolContext
from adjourn.core.call import Call
from adjourn.core.effect import is_function
from adjourn.core.messages import FOUND, Reply, ToolCall
from adjourn.core.records import CLIENT_TOOLS
from adjourn.core.state import State
from adjourn.driver.program import StepHandle
from adjourn.errors import InvalidDefinition, ToolFailed


class ToolsetContext(msgspec.Struct, frozen=True):
    """For whom tools are looked for. `path`: "" for the run's own agent, else the call under which
    it is nested. `resources`: the live objects of whoever drives the run."""

    run_id: str
    path: str
    session: str
    resources: Mapping[str, Any]


@runtime_checkable
class Toolset(Protocol):
    """Where tools are found: an element of `Agent(tools=[…])`."""

    @property
    def name(self) -> str:
        """What it is known by; a run refuses to go on without it."""
        ...

    async def tools(self, context: ToolsetContext) -> Iterable[Tool | Callable[..., Any]]:
        """The tools for this run now.

        Args:
            context: for whom.
        """
        ...


Finder = Callable[[ToolsetContext], Iterable[Any] | Awaitable[Iterable[Any]]]


def is_finder(given: Any) -> bool:
    """Whether a function says by its parameter that it finds tools. Any other one is a tool, or
    something else: it is never called to see."""
    if not is_function(given) or inspect.isclass(given):
        return False
    try:
        parameters = [*inspect.signature(given, eval_str=True).parameters.values()]
    except (TypeError, ValueError, NameError):
        return False
    return len(parameters) == 1 and parameters[0].annotation is ToolsetContext


class FunctionToolset:
    """See `Toolset`. A function as one: `Agent(tools=find)`."""

    def __init__(self, function: Finder) -> None:
        self.function = function
        self.name = getattr(function, "__name__", type(function).__name__)

    async def tools(self, context: ToolsetContext) -> Iterable[Any]:
        """See `Toolset.tools`."""
        found = self.function(context)
        if inspect.isawaitable(found):
            return await found
        return found


def is_toolset(given: Any) -> bool:
    """Whether an element of `tools=` is one that finds tools."""
    return isinstance(given, Toolset) and callable(given.tools) and not isinstance(given, type)


class Owner(Protocol):
    """An agent, as far as its tools go."""

    name: str
    tools: dict[str, Tool]
    toolsets: tuple[Toolset, ...]


async def find_tools(owner: Owner, desk: StepHandle, path: str) -> dict[str, Tool]:
    """What the toolsets of an agent have now, by name. Raises `InvalidDefinition` if a name is
    taken, or for an agent."""
    started = desk.state.started
    context = ToolsetContext(desk.run_id, path, started.session, desk.resources)
    found: dict[str, Tool] = {}
    sources = [(toolset.name, await toolset.tools(context)) for toolset in owner.toolsets]
    if not path and (offered := started.options.get(CLIENT_TOOLS)):
        sources.append(("the process that started the run", map(_of_client, offered)))
    for source, tools in sources:
        for given in tools:
            one = given if isinstance(given, Tool) else tool(given)
            if one.name in found or one.name in owner.tools:
                raise InvalidDefinition(
                    f"agent {owner.name!r} has two tools named {one.name!r}, one of them from {source}"
                )
            if getattr(one, "agent", None) is not None:
                raise InvalidDefinition(
                    f"{source} found the agent {one.name!r}; agents must be named in tools="
                )
            found[one.name] = one
    return found


def _of_client(spec: Mapping[str, Any]) -> Tool:
    """A tool that whoever started the run carries out. Its body waits for what came of it."""
    from adjourn.agent.dict_tool import DictTool  # most runs have none
    from adjourn.core.client_tool import CLIENT_TOOL

    async def wait(context: ToolContext, args: dict[str, Any]) -> Any:
        asked = {"tool": context.name, "arguments": args, "call": context.call_id}
        context.pause_for(CLIENT_TOOL, asked, answer_schema=spec.get("result"))

    return DictTool(spec["name"], spec["description"], spec["schema"], wait, effect="read")


def with_findings(reply: Reply, found: Mapping[str, Tool]) -> Reply:
    """The reply, with what was found out about the tools that it calls."""
    if not any(call.tool in found for call in reply.calls):
        return reply
    parts = list(reply.parts)
    for place, part in enumerate(parts):
        if isinstance(part, ToolCall):
            parts[place] = _with_finding(part, found)
    return msgspec.structs.replace(reply, parts=tuple(parts))


def _with_finding(wanted: ToolCall, found: Mapping[str, Tool]) -> ToolCall:
    tool = found.get(wanted.tool)
    if tool is None:
        return wanted
    finding: dict[str, Any] = {
        "effect": tool.effect.value,
        "undo": tool.undo is not None,
        "policy": tool.policy,
        "timeout": tool.timeout,
    }
    if tool.origin:
        finding["origin"] = tool.origin
    return msgspec.structs.replace(wanted, details={**(wanted.details or {}), FOUND: finding})


def recorded_tool(state: State, call: Call) -> Tool | None:
    """The tool of a call as it was when the model asked for it; None if it was not one that had
    been found."""
    thread = state.threads.get(call.path)
    if thread is None:
        return None
    part = next((slot.part for slot in thread.slots if slot.call == call.id), None)
    finding = (part.details or {}).get(FOUND) if part is not None else None
    specs = cast("list[dict[str, Any]]", state.bodies.get(thread.terms.get("tools", ""), []))
    spec = next((spec for spec in specs if spec["name"] == call.tool), None)
    if finding is None or spec is None:
        return None
    return _unusable(spec, finding, f"the tool {call.tool} is not available")


def _unusable(spec: Mapping[str, Any], finding: Mapping[str, Any], why: str) -> Tool:
    """A tool that can be judged and not run."""

    def refuse(*args: Any, **options: Any) -> None:
        raise ToolFailed(f"{why}; nothing was done")

    verify = refuse if finding["effect"] == "verifiable" else None
    made = Tool(
        spec["name"],
        spec["description"],
        spec["schema"],
        refuse,
        effect=finding["effect"],
        undo=refuse if finding["undo"] else None,
        verify=verify,
        policy=finding["policy"],
        timeout=finding["timeout"],
    )
    made.origin = finding.get("origin", "")
    return made


async def tool_for(owner: Owner, call: Call, desk: StepHandle) -> Tool:
    """The tool that runs a call now. Where it is gone, cannot be found or has changed, one that
    does nothing and says so."""
    if call.tool in owner.tools:
        return owner.tools[call.tool]
    asked = recorded_tool(desk.state, call)
    spec = {"name": call.tool, "description": "", "schema": {"type": "object"}}
    finding = {
        "effect": call.effect or "unsafe",
        "undo": call.undo,
        "policy": None,
        "timeout": None,
    }
    if asked is not None:
        spec = {"name": asked.name, "description": asked.description, "schema": asked.schema}
    try:
        found = (await find_tools(owner, desk, call.path)).get(call.tool)
    except Exception as error:
        return _unusable(
            spec,
            finding,
            f"the tool {call.tool} could not be found ({type(error).__name__}: {error})",
        )
    if found is None:
        return _unusable(spec, finding, f"the tool {call.tool} is gone")
    if asked is not None and found.exact != asked.exact:
        return _unusable(
            spec, finding, f"the tool {call.tool} has changed since it was called; call it again"
        )
    return found
