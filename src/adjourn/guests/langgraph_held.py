"""A copy of a compiled graph in which every tool call is an interrupt: the graph stops where a tool
would begin."""

# LangGraph's own types are unknown in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import copy
from collections.abc import Collection
from typing import Any, cast

from langchain_core.messages import HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig, RunnableSequence
from langchain_core.runnables.base import RunnableBindingBase
from langchain_core.runnables.retry import RunnableRetry
from langchain_core.tools import BaseTool, StructuredTool
from langgraph._internal._runnable import RunnableCallable, RunnableSeq
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.pregel import Pregel
from langgraph.types import Command, interrupt

from adjourn.errors import InvalidDefinition
from adjourn.guests.hot_history import as_text
from adjourn.guests.langgraph_functions import HeldFunctions, closed_over
from adjourn.guests.langgraph_serde import JsonSerde
from adjourn.guests.langgraph_tool_guard import HELD

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
        super().__init__(
            tools,
            name=node.name,
            messages_key=node._messages_key,
            handle_tool_errors=node._handle_tool_errors,
            wrap_tool_call=node._wrap_tool_call,
            awrap_tool_call=node._awrap_tool_call,
        )
        self._place, self._agents, self._serde = place, agents, serde

    async def _afunc(self, input: Any, config: RunnableConfig, runtime: Any) -> Any:
        calls, kind = self._parse_input(input)
        answers = self._answers(calls, config)
        outputs: list[Any] = []
        for call in calls:
            if call["name"] in self._agents:
                given = self._runtime(call, input, config, runtime)
                outputs.append(await self._arun_one(call, kind, given))
            else:
                outputs.append(self._output(call, answers[cast("str", call["id"])]))
        return self._combine_tool_outputs(outputs, kind)

    def _func(self, input: Any, config: RunnableConfig, runtime: Any) -> Any:
        """The same, of a graph that somebody has called without waiting."""
        calls, kind = self._parse_input(input)
        answers = self._answers(calls, config)
        outputs: list[Any] = []
        for call in calls:
            if call["name"] in self._agents:
                given = self._runtime(call, input, config, runtime)
                outputs.append(self._run_one(call, kind, given))
            else:
                outputs.append(self._output(call, answers[cast("str", call["id"])]))
        return self._combine_tool_outputs(outputs, kind)

    def _answers(self, calls: Collection[Any], config: Any) -> dict[str, Any]:
        """What came of the calls. Until that is known, the graph stops here."""
        asked: list[dict[str, Any]] = []
        for call in calls:
            if call["name"] not in self._agents:
                asked.append({"id": call["id"], "tool": call["name"], "arguments": call["args"]})
        if not asked:
            return {}
        ns = config["configurable"].get("checkpoint_ns", "")
        return interrupt({OURS: asked, "ns": ns.rpartition("|")[0], "node": self._place})

    def _runtime(self, asked: Any, input: Any, config: Any, runtime: Any) -> Any:
        """What a tool that is an agent is given."""
        return ToolRuntime(
            state=self._extract_state(input, config),
            tool_call_id=asked["id"],
            config=config,
            context=runtime.context,
            store=runtime.store,
            stream_writer=runtime.stream_writer,
        )

    def _output(self, asked: Any, answer: Any) -> Any:
        """What a call gave, as the graph reads it; behind it what a person said meanwhile."""
        content, error = answer["content"], answer["error"]
        found: list[Any] = [] if error else _own(content, self._serde)
        if not found:
            text = answer["blocks"] if "blocks" in answer else as_text(content)
            status = "error" if error else "success"
            found = [ToolMessage(text, name=asked["name"], tool_call_id=asked["id"], status=status)]
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
    `bound`: what the other nodes do. `stops`: the tools of nodes before which a graph stops. `whole`:
    tools that are one call, whatever graphs they run. `calls_graphs`: a function calls a graph."""

    def __init__(self, serde: JsonSerde, whole: Collection[str] = ()) -> None:
        self._serde, self._whole = serde, whole
        self._copies: dict[int, Graph] = {}
        self.nodes: list[tuple[ToolNode, Graph]] = []
        self.agents: set[str] = set()
        self.bound: list[Any] = []
        self.stops: set[str] = set()
        self.calls_graphs = False

    def graph(self, graph: Graph) -> Graph:
        """The copy of a graph, and of the graphs in it."""
        known = self._copies.get(id(graph))
        if known is not None:
            return known
        nodes = dict(graph.nodes)
        self._look_at_stops(graph)
        runs_on = {"interrupt_before_nodes": (), "interrupt_after_nodes": ()}
        made = self._copies[id(graph)] = graph.copy({"nodes": nodes, **runs_on})
        for name, node in graph.nodes.items():
            held = self._bound(node.bound, made)
            if held is not node.bound:
                nodes[name] = node.copy(
                    {"bound": held, "subgraphs": [held] if isinstance(held, Pregel) else []}
                )
        made.nodes = nodes
        return made

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
        """What a node does, with held copies of the tool nodes and graphs in it."""
        if isinstance(bound, Pregel):
            return self.graph(cast("Graph", bound))
        if isinstance(bound, ToolNode):
            return self._tools(bound, graph)
        if isinstance(bound, RunnableSeq):
            return _changed(bound, steps=[self._bound(one, graph) for one in bound.steps])
        if isinstance(bound, RunnableSequence):
            first, last = self._bound(bound.first, graph), self._bound(bound.last, graph)
            middle = [self._bound(one, graph) for one in bound.middle]
            return _changed(bound, first=first, middle=middle, last=last)
        if isinstance(bound, RunnableBindingBase):
            inner = self._bound(bound.bound, graph)
            if isinstance(bound, RunnableRetry) and inner is not bound.bound:
                return inner  # it would take a stop for a failure; calls are tried again by us
            return _changed(bound, bound=inner)
        self.bound.append(bound)
        if not isinstance(bound, RunnableCallable):
            return bound
        functions = self._functions(graph)
        func, afunc = functions.value(bound.func), functions.value(bound.afunc)
        return _changed(bound, func=func, afunc=afunc)

    def _functions(self, graph: Graph) -> HeldFunctions:
        """Makes copies of the functions of a graph."""

        def held(value: Any) -> Any:
            self.calls_graphs = True
            return self._bound(value, graph)

        return HeldFunctions(held)

    def _tools(self, node: ToolNode, graph: Graph) -> HeldTools:
        agents: dict[str, BaseTool] = {}
        for name, tool in node.tools_by_name.items():
            held = self._agent_tool(tool, graph)
            if held is not None:
                agents[name] = held
        self.agents |= set(agents)
        self.nodes.append((node, graph))
        return HeldTools(node, len(self.nodes) - 1, agents, self._serde)

    def _agent_tool(self, tool: BaseTool, graph: Graph) -> BaseTool | None:
        """The tool with held copies of the graphs that its function holds; None if it holds none, or
        is one call all the same."""
        if not isinstance(tool, StructuredTool) or tool.name in self._whole:
            return None
        if not any(isinstance(one, Pregel) for one in closed_over(tool.coroutine or tool.func)):
            return None
        functions = self._functions(graph)
        update = {
            "coroutine": functions.value(tool.coroutine),
            "func": functions.value(tool.func),
            "tags": [*(tool.tags or ()), HELD],
        }
        return tool.model_copy(update=update)


def _changed(whole: Any, **parts: Any) -> Any:
    """A copy with these parts, if one of them is another one."""
    if all(_is_same(getattr(whole, name), part) for name, part in parts.items()):
        return whole
    changed = copy.copy(whole)
    for name, part in parts.items():
        object.__setattr__(changed, name, part)
    return changed


def _is_same(one: Any, other: Any) -> bool:
    if isinstance(one, list) and isinstance(other, list):
        given, found = cast("list[Any]", one), cast("list[Any]", other)
        return len(given) == len(found) and all(map(_is_same, given, found))
    return one is other
