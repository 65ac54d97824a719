"""The tools of a graph's tool nodes, run one by one as these nodes would run them: with their
wrappers, state and store."""

# LangGraph's own types are unknown in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

from collections.abc import Awaitable, Callable, Iterator, Sequence
from typing import Any, cast

from langchain_core.messages import ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import BaseTool
from langgraph._internal._constants import CONFIG_KEY_CHECKPOINTER, CONFIG_KEY_READ, CONFIG_KEY_SEND
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.func import entrypoint
from langgraph.prebuilt import ToolNode, ToolRuntime
from langgraph.types import Command, Interrupt
from pydantic_core import to_jsonable_python

from adjourn.bodies.tool_context import ToolContext
from adjourn.errors import InvalidDefinition, ToolFailed
from adjourn.guests.guest_tool import GuestTool, GuestToolTerms, check_result, recorded
from adjourn.guests.langgraph_blocks import with_files
from adjourn.guests.langgraph_held import Holder
from adjourn.guests.langgraph_marks import is_approval, kind_of
from adjourn.guests.langgraph_serde import JsonSerde
from adjourn.guests.langgraph_state import THREAD, GraphState

AGAIN = 100
"""So many interrupts of one tool call are answered."""


class Channels:
    """The state of a graph as a tool reads it, and what the tool writes into it by itself."""

    def __init__(self, graph: Any, values: dict[str, Any]) -> None:
        self._graph, self.values = graph, values
        self.written: list[tuple[str, Any]] = []

    def read(self, select: str | Sequence[str], fresh: bool = False) -> Any:
        """See LangGraph's `local_read`. `fresh`: with what this tool has written."""
        if isinstance(select, str):
            return self._one(select, fresh)
        return {name: self._one(name, fresh) for name in select if name in self.values}

    def send(self, writes: Sequence[tuple[str, Any]]) -> None:
        """Take in writes to channels."""
        self.written += writes

    def _one(self, name: str, fresh: bool) -> Any:
        own = [value for channel, value in self.written if channel == name]
        if not own or not fresh:
            return self.values.get(name)
        channel = self._graph.channels[name].from_checkpoint(self.values.get(name))
        channel.update(own)
        return channel.get()


class LangGraphTools:
    """The tools of all tool nodes of a graph; but those that run other graphs run inside of it."""

    def __init__(
        self,
        holder: Holder,
        store: Any,
        context: Any,
        config: dict[str, Any],
        serde: JsonSerde,
        state_of: Callable[[ToolContext], Awaitable[GraphState]],
    ) -> None:
        self._holder, self._store = holder, store
        self._context, self._config, self._serde, self._state_of = context, config, serde, state_of

    def ours(self, terms: GuestToolTerms) -> list[GuestTool]:
        """Each as a tool of ours. A tool that several nodes have is one."""
        found: list[GuestTool] = []
        known: dict[str, BaseTool] = {}
        for tool in self._all():
            if tool.name not in known:
                known[tool.name] = tool
                found.append(self._tool(tool, terms))
            elif not _is_same(known[tool.name], tool):
                raise InvalidDefinition(
                    f"two different tools of the graph are named {tool.name!r}: rename one"
                )
        return found

    def _all(self) -> Iterator[BaseTool]:
        for node, _ in self._holder.nodes:
            for name, tool in node.tools_by_name.items():
                if name not in self._holder.agents:
                    yield tool

    def _tool(self, tool: BaseTool, terms: GuestToolTerms) -> GuestTool:
        async def body(context: ToolContext, args: dict[str, Any]) -> Any:
            return await self._body(tool.name, args, context)

        given = getattr(tool, "coroutine", None), getattr(tool, "func", None)
        # of a tool that is a class of its own, its methods
        check_result(tool.name, *filter(None, given), tool._run, tool._arun)
        schema: Any = tool.tool_call_schema
        if not isinstance(schema, dict):
            schema = schema.model_json_schema()
        return terms.tool(tool.name, tool.description, cast("dict[str, Any]", schema), body)

    async def _body(self, name: str, args: dict[str, Any], context: ToolContext) -> Any:
        """Run a call in a graph of its own, in which it may interrupt: each interrupt is a
        question."""
        node, channels = await self._place(context)
        asked: Any = {"name": name, "args": args, "id": context.model_call_id, "type": "tool_call"}
        given: list[Any] = []

        async def one(ignored: Any, *, config: RunnableConfig) -> None:
            channels.written.clear()
            given[:] = _flat(
                await cast("Any", node)._arun_one(
                    asked, "tool_calls", self._runtime(context, channels, config)
                )
            )

        graph: Any = entrypoint(checkpointer=InMemorySaver(), store=self._store)(cast("Any", one))
        config = self._configured(thread_id=context.call_id)
        asks: Any = "run"
        for _ in range(AGAIN):
            found: Any = await graph.ainvoke(asks, config)
            waits: Any = found.get("__interrupt__", ()) if isinstance(found, dict) else ()
            if not waits:
                return self._given(given, channels)
            asks = Command(resume={wait.id: self._answer(wait, name, context) for wait in waits})
        raise ToolFailed(f"{name} interrupted {AGAIN} times")

    def _runtime(self, context: ToolContext, channels: Channels, config: RunnableConfig) -> Any:
        configurable = {
            **config.get("configurable", {}),
            CONFIG_KEY_READ: channels.read,
            CONFIG_KEY_SEND: channels.send,
        }
        return ToolRuntime(
            state=channels.values,
            tool_call_id=context.model_call_id,
            config={**config, "configurable": configurable},
            context=self._context,
            store=self._store,
            stream_writer=context.publish,
        )

    def _configured(self, **more: Any) -> Any:
        return {**self._config, "configurable": {**self._config.get("configurable", {}), **more}}

    def _answer(self, wait: Interrupt[Any], name: str, context: ToolContext) -> Any:
        asked = frozenset({name} if context.approved else ())
        agreed = is_approval(wait.value, asked)
        if agreed is not None:
            return agreed
        return context.pause_for(
            kind_of(wait.value), wait.value, resume_to="self", answer_schema=wait.response_schema
        )

    async def _place(self, context: ToolContext) -> tuple[ToolNode, Channels]:
        """The tool node that has asked for this call, and the state of its graph."""
        state = await self._state_of(context)
        await state.load()
        at = next(wait for wait in state.waits if context.model_call_id in wait.get("calls", ()))
        node, graph = self._holder.nodes[at["node"]]
        config = {"thread_id": THREAD, "checkpoint_ns": at["ns"], CONFIG_KEY_CHECKPOINTER: state}
        snapshot = await cast("Any", graph).aget_state({"configurable": config})
        values: Any = snapshot.values
        return node, Channels(graph, values if isinstance(values, dict) else {"value": values})

    def _given(self, outputs: list[Any], channels: Channels) -> Any:
        """What a call gave, or the error that its node made of one."""
        first: Any = outputs[0]
        alone = len(outputs) == 1 and not channels.written
        if alone and isinstance(first, ToolMessage) and first.status == "error":
            raise ToolFailed(str(first.text))
        return recorded(lambda: self._recordable(outputs, channels))

    def _recordable(self, outputs: list[Any], channels: Channels) -> Any:
        """What a call gave, as JSON: the text of its message, or what the graph itself is to
        read."""
        written = [Command(update={channel: value}) for channel, value in channels.written]
        first: Any = outputs[0]
        if not isinstance(first, ToolMessage) or len(outputs) > 1 or written:
            return with_files(list(map(self._serde.plain, (*outputs, *written))), outputs)
        if isinstance(first.content, str) and first.artifact is None:
            return first.content
        artifact = to_jsonable_python(first.artifact, fallback=str)
        plain = self._serde.plain(first.model_copy(update={"artifact": artifact}))
        return with_files([plain], [first])


def _flat(output: Any) -> list[Any]:
    if isinstance(output, list):
        return list(cast("list[Any]", output))
    return [output]


def _is_same(one: BaseTool, other: BaseTool) -> bool:
    """One tool, or two that a middleware made alike for several agents."""
    alike = one.description == other.description and type(one) is type(other)
    return one is other or (alike and _code(one) == _code(other))


def _code(tool: BaseTool) -> Any:
    function = getattr(tool, "coroutine", None) or getattr(tool, "func", None)
    return getattr(function, "__code__", function)
