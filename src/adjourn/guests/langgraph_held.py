"""A copy of a compiled graph in which every tool call is an interrupt: the graph stops where a tool
would begin."""

# LangGraph's own types are unknown in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import functools
from collections.abc import Iterator
from types import CellType, FunctionType
from typing import Any, cast

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.tools import BaseTool, StructuredTool
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.pregel import Pregel
from langgraph.types import Command, interrupt
from pydantic_core import to_json

from adjourn.errors import InvalidDefinition
from adjourn.guests.langgraph_serde import JsonSerde

Graph = Pregel[Any, Any, Any, Any]
OURS = "adjourn_calls"
"""By this key an interrupt of ours is known."""


class HeldTools(ToolNode):
    """A tool node that asks for the results of its calls in one interrupt. `agents`: tools that run
    other graphs; these run here, because what matters in them are the calls of those graphs, which
    are held as well."""

    def __init__(
        self, node: ToolNode, place: int, agents: dict[str, BaseTool], serde: JsonSerde
    ) -> None:
        tools = [agents.get(name, tool) for name, tool in node.tools_by_name.items()]
        super().__init__(tools, name=node.name, messages_key=node._messages_key)
        self._place, self._agents, self._serde = place, agents, serde

    async def _afunc(self, input: Any, config: Any, runtime: Any) -> Any:
        calls, kind = self._parse_input(input)
        asked: list[dict[str, Any]] = []
        for call in calls:
            if call["name"] not in self._agents:
                asked.append({"id": call["id"], "tool": call["name"], "arguments": call["args"]})
        answers: dict[str, Any] = {}
        if asked:
            ns = config["configurable"].get("checkpoint_ns", "")
            answers = interrupt({OURS: asked, "ns": ns.rpartition("|")[0], "node": self._place})
        outputs: list[Any] = []
        for call in calls:
            if call["name"] in self._agents:
                outputs.append(await self._run_agent(call, kind, input, config, runtime))
            else:
                outputs.append(self._output(call, answers[cast("str", call["id"])]))
        return self._combine_tool_outputs(outputs, kind)

    async def _run_agent(self, call: Any, kind: Any, input: Any, config: Any, runtime: Any) -> Any:
        """A tool that is an agent, run as this framework runs tools."""
        tool_runtime: Any = ToolRuntime(
            state=self._extract_state(input, config),
            tool_call_id=call["id"],
            config=config,
            context=runtime.context,
            store=runtime.store,
            stream_writer=runtime.stream_writer,
        )
        return await self._arun_one(call, kind, tool_runtime)

    def _output(self, call: Any, answer: Any) -> Any:
        """What a call gave, as the graph reads it; behind it what a person said meanwhile."""
        content, error = answer["content"], answer["error"]
        if error:
            found: list[Any] = []
        else:
            found = _own(content, self._serde)
        if not found:
            if error:
                status = "error"
            else:
                status = "success"
            if "blocks" in answer:
                text = answer["blocks"]
            elif isinstance(content, str):
                text = content
            else:
                text = to_json(content).decode()
            found = [ToolMessage(text, name=call["name"], tool_call_id=call["id"], status=status)]
        if said := answer.get("said"):
            found.append(Command(update={self._messages_key: [HumanMessage(said)]}))
        if len(found) == 1:
            return found[0]
        return found


def is_own(content: Any) -> list[Any]:
    """What a tool gave to the graph itself, as it is recorded; empty for anything else."""
    given: Any = content
    if isinstance(given, dict) and "ran_with_edited_arguments" in given:
        given = cast("dict[str, Any]", given)["result"]
    if not isinstance(given, dict) or set(cast("dict[str, Any]", given)) - {"files"} != {"graph"}:
        return []
    return list(cast("dict[str, Any]", given)["graph"])


def _own(content: Any, serde: JsonSerde) -> list[Any]:
    """What a tool gave to the graph itself: messages and commands."""
    return [serde.value(one) for one in is_own(content)]


class Holder:
    """Makes the copies. `nodes`: the tool nodes that it came upon, each with the copy of the graph
    in which it stands; an interrupt says its place among them. `agents`: tools that run graphs.
    `bound`: what the other nodes do. `stops`: the tools of nodes before which a graph stops."""

    def __init__(self, serde: JsonSerde) -> None:
        self._serde = serde
        self._copies: dict[int, Graph] = {}
        self.nodes: list[tuple[ToolNode, Graph]] = []
        self.agents: set[str] = set()
        self.bound: list[Any] = []
        self.stops: set[str] = set()

    def graph(self, graph: Graph) -> Graph:
        """The copy of a graph, and of the graphs in it."""
        known = self._copies.get(id(graph))
        if known is not None:
            return known
        nodes = dict(graph.nodes)
        self._look_at_stops(graph)
        runs_on = {"interrupt_before_nodes": (), "interrupt_after_nodes": ()}
        copy = self._copies[id(graph)] = graph.copy({"nodes": nodes, **runs_on})
        for name, node in graph.nodes.items():
            held = self._bound(node.bound, copy)
            if held is not node.bound:
                nodes[name] = node.copy(
                    {"bound": held, "subgraphs": [held] if isinstance(held, Pregel) else []}
                )
        copy.nodes = nodes
        return copy

    def _look_at_stops(self, graph: Graph) -> None:
        """A graph that stops before a tool node wants to be asked about its calls. Raises
        `InvalidDefinition` for one that stops elsewhere: there is nothing that a person could be
        asked."""
        for name in (*graph.interrupt_before_nodes, *graph.interrupt_after_nodes):
            bound = getattr(graph.nodes.get(name), "bound", None)
            if name in graph.interrupt_after_nodes or not isinstance(bound, ToolNode):
                raise InvalidDefinition(
                    f"the graph {graph.name!r} stops at its node {name!r} (interrupt_before= or "
                    "interrupt_after=) and asks nothing there",
                    advice="call interrupt() in the node, or let a policy ask about its tools",
                )
            self.stops.update(bound.tools_by_name)

    def _bound(self, bound: Any, graph: Graph) -> Any:
        if isinstance(bound, Pregel):
            return self.graph(cast("Graph", bound))
        if isinstance(bound, ToolNode):
            return self._tools(bound, graph)
        self.bound.append(bound)
        return bound

    def _tools(self, node: ToolNode, graph: Graph) -> HeldTools:
        agents: dict[str, BaseTool] = {}
        for name, tool in node.tools_by_name.items():
            held = self._agent_tool(tool)
            if held is not None:
                agents[name] = held
        self.agents |= set(agents)
        self.nodes.append((node, graph))
        return HeldTools(node, len(self.nodes) - 1, agents, self._serde)

    def _agent_tool(self, tool: BaseTool) -> BaseTool | None:
        """The tool with held copies of the graphs that its function holds; None if it holds
        none."""
        if not isinstance(tool, StructuredTool) or not any(
            _graphs(tool.coroutine or tool.func, set())
        ):
            return None
        known: dict[int, Any] = {}
        update = {
            "coroutine": self._function(tool.coroutine, known) if tool.coroutine else None,
            "func": self._function(tool.func, known) if tool.func else None,
        }
        return tool.model_copy(update=update)

    def _function(self, function: Any, known: dict[int, Any]) -> Any:
        """A copy of a function that sees held copies of the graphs that it has closed over."""
        if not isinstance(function, FunctionType) or not function.__closure__:
            return function
        if id(function) in known:
            return known[id(function)]
        cells = tuple(CellType() for _ in function.__closure__)
        copy = FunctionType(
            function.__code__, function.__globals__, function.__name__, function.__defaults__, cells
        )
        copy.__kwdefaults__ = function.__kwdefaults__
        functools.update_wrapper(copy, function)
        del copy.__dict__["__wrapped__"]
        known[id(function)] = copy
        for new, old in zip(cells, function.__closure__, strict=True):
            try:
                new.cell_contents = self._held_value(old.cell_contents, known)
            except ValueError:  # a name that has no value yet
                continue
        return copy

    def _held_value(self, value: Any, known: dict[int, Any]) -> Any:
        if isinstance(value, Pregel):
            return self.graph(cast("Graph", value))
        if isinstance(value, dict):
            return {
                key: self._held_value(one, known)
                for key, one in cast("dict[Any, Any]", value).items()
            }
        if isinstance(value, list | tuple):
            return type(value)(self._held_value(one, known) for one in cast("list[Any]", value))
        return self._function(value, known)


def _graphs(value: Any, seen: set[int]) -> Iterator[Graph]:
    """The compiled graphs that a function has closed over."""
    if id(value) in seen:
        return
    seen.add(id(value))
    if isinstance(value, Pregel):
        yield cast("Graph", value)
    elif isinstance(value, dict):
        for one in cast("dict[Any, Any]", value).values():
            yield from _graphs(one, seen)
    elif isinstance(value, list | tuple):
        for one in cast("list[Any]", value):
            yield from _graphs(one, seen)
    elif isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            yield from _graphs(content, seen)
