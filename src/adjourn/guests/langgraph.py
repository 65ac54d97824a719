"""A LangGraph graph, or a LangChain agent, as a model that wants tools: it runs until one of its
tool nodes has calls.

The graph runs in a copy whose tool calls are interrupts, on a saver of the conversation's own: see
`langgraph_held` and `langgraph_state`. Interrupts of its own become questions.
"""

# LangGraph's own types are unknown in part.
# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false
# pyright: reportUnknownArgumentType=false

import inspect
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from functools import partial
from typing import Any, cast

from langchain_core.callbacks import AsyncCallbackHandler
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, HumanMessage
from langgraph.types import Command, Durability

from adjourn.bodies.tool_context import ToolContext
from adjourn.core.files import FILE, parts_of
from adjourn.core.messages import (
    Delta,
    ModelRequest,
    Reply,
    ReplyPart,
    Text,
    TextDelta,
    ToolCall,
    ToolResult,
    files_in,
)
from adjourn.core.policy_rule import allow
from adjourn.core.usage import Usage
from adjourn.errors import AdjournError, InvalidDefinition, ModelError
from adjourn.guests.adopt import Guest
from adjourn.guests.guest_files import made_parts, stowed, unstowed, with_made
from adjourn.guests.guest_tool import GuestTool, GuestToolTerms
from adjourn.guests.hot_history import HeardHistory, HotHistory, as_text
from adjourn.guests.langgraph_blocks import blocks, made_files
from adjourn.guests.langgraph_held import OURS, Graph, Holder, is_own
from adjourn.guests.langgraph_hosted import hosted_tools
from adjourn.guests.langgraph_kept import KeptState
from adjourn.guests.langgraph_marks import is_approval, kind_of, marks_of, stop_marks
from adjourn.guests.langgraph_saver import AdjournSaver
from adjourn.guests.langgraph_serde import JsonSerde
from adjourn.guests.langgraph_state import THREAD, GraphState
from adjourn.guests.langgraph_tool_guard import ToolGuard
from adjourn.guests.langgraph_tools import LangGraphTools
from adjourn.guests.provider_errors import failure
from adjourn.guests.pump import pumped

INTERRUPT = "graph_interrupt"
"""The tool by which an interrupt of the graph's own becomes a question."""
MAY_ASK = allow(INTERRUPT)
"""To ask a person is no action that a person would have to agree to."""


def read(
    graph: Graph,
    terms: GuestToolTerms,
    *,
    input: Callable[..., Any] | None = None,
    output: Callable[[dict[str, Any]], Any] | None = None,
    context: Any = None,
    config: dict[str, Any] | None = None,
    allow: Iterable[type[Any]] = (),
) -> Guest:
    """Take a graph apart. `input` makes the graph's input of what it is told (and, if it has a
    second parameter, of the content blocks of what has files), and `output` the output of its last
    state, where these are not messages. `context` and `config` are what it is
    run with. `allow`: classes that its state may hold."""
    allowed = tuple(allow)
    serde = _serde(graph, allowed)
    holder = Holder(serde, whole=terms.named)
    held = holder.graph(graph)
    guest = LangGraphGuest(
        held, input or _as_message, output or _last_word, context, config or {}, allowed
    )
    tools = LangGraphTools(holder, graph.store, context, config or {}, serde, guest.state_of)
    marks, asked = marks_of(holder.bound, [node for node, _ in holder.nodes])
    guest.marked, guest.reads = asked, terms.reads
    if holder.calls_graphs:
        guest.durability = "sync"
    return Guest(
        name=_name(graph),
        model=guest,
        tools=(*tools.ours(terms), _question()),
        output_type=str if output is None and "structured_response" not in graph.channels else Any,
        marks=(*marks, *stop_marks(holder.stops, holder.agents), MAY_ASK),
        ungoverned=hosted_tools(holder.bound),
        reads_alone=True,
    )


def _serde(graph: Graph, allowed: tuple[type[Any], ...]) -> JsonSerde:
    if not isinstance(graph.checkpointer, AdjournSaver):
        return JsonSerde(allowed)
    if allowed:
        raise InvalidDefinition(
            "the graph has an AdjournSaver, which knows what its state may hold: "
            "name the classes in AdjournSaver(store, allow=[…])"
        )
    return graph.checkpointer.json


def _name(graph: Graph) -> str:
    if graph.name in ("LangGraph", None):
        return ""
    return str(graph.name)


def _as_message(said: str, content: list[Any]) -> dict[str, Any]:
    return {"messages": [HumanMessage(content or said)]}


def _last_word(values: dict[str, Any]) -> Any:
    """The structured response of an agent that has one, else the text of the last message, else the
    whole state."""
    if (structured := values.get("structured_response")) is not None:
        return structured
    messages = values.get("messages")
    if not messages:
        return values
    return _text(messages[-1])


def _question() -> GuestTool:
    async def ask(context: ToolContext, args: dict[str, Any]) -> Any:
        value = args["value"]
        return context.pause_for(kind_of(value), value, answer_schema=args.get("schema"))

    schema = {"type": "object", "properties": {"value": {}, "schema": {}}, "required": ["value"]}
    return GuestTool(INTERRUPT, "A question of the graph.", schema, ask, effect="read")


class LangGraphGuest:
    """See `Model`."""

    takes_files = True

    def __init__(
        self,
        graph: Graph,
        input: Callable[..., Any],
        output: Callable[[dict[str, Any]], Any],
        context: Any,
        config: dict[str, Any],
        allow: tuple[type[Any], ...],
    ) -> None:
        self._graph, self._input, self._output = graph, input, output
        self._takes_content = _places(input) > 1
        self._context, self._config = context, config
        self.marked: frozenset[str] = frozenset()
        self.reads: frozenset[str] = frozenset()
        # where one task calls several graphs, those that have ended must not begin again
        self.durability: Durability = "exit"
        self._history = HotHistory[GraphState](
            "langgraph", partial(_new_state, graph, allow), _add, lambda state, heard: None
        )

    @property
    def name(self) -> str:
        """See `Model.name`."""
        return f"langgraph:{self._graph.name}"

    async def state_of(self, context: ToolContext) -> GraphState:
        """The state of the graph that has asked for a call."""
        files: dict[str, bytes] = {}
        for ref in files_in(context.messages):
            files[ref[FILE]] = (await context.file(ref)).data
        return self._history.look(context.run_id, context.path, context.messages, files)

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `Model.request`: what the graph does until its tool nodes have calls or it has
        ended."""
        state, heard = self._history.take(request)
        await state.load()
        counted, guard = Counted(), ToolGuard(self.reads)
        graph = self._graph.copy({"checkpointer": state})
        asks: Any = self._asks(state, heard)
        values: dict[str, Any] = {}
        try:
            while asks is not None:
                async for item in pumped(self._run(graph, asks, [counted, guard])):
                    if isinstance(item, TextDelta):
                        yield item
                    else:
                        values = item
                state.waits = await self._waits(graph)
                asks = self._agreed(state)
        except AdjournError:
            raise
        except Exception as e:
            raise guard.error() if guard.stopped else failure(self.name, e) from e
        if guard.stopped:  # and the graph has made an answer of that
            raise guard.error()
        made = made_files(values, request.files)
        saved = {"guest": "langgraph", "waits": state.waits, **await state.save(request)}
        parts = (*self._parts(state, values), *made_parts(made))
        details = stowed(saved, with_made(request.files, made))
        self._history.keep(request, details, state)
        yield Reply(parts, counted.usage, counted.model or self.name, details)

    def _asks(self, state: GraphState, heard: HeardHistory) -> Any:
        """What the graph goes on with: answers to its interrupts, or what it is told."""
        if not state.waits:
            return self._told(heard)
        results = {result.call_id: result for result in heard.results}
        answers: dict[str, Any] = {}
        for wait in state.waits:
            if "calls" in wait:
                answers[wait["id"]] = {
                    call: _answer(results.get(call), heard.files) for call in wait["calls"]
                }
            else:
                answers[wait["id"]] = _said(results.get(wait["id"]), heard.files)
        if heard.said:
            self._say(answers, state, blocks(heard.parts, heard.files) or heard.said)
        return Command(resume=answers)

    def _told(self, heard: HeardHistory) -> Any:
        """The graph's input."""
        if self._takes_content:
            return self._input(heard.said, blocks(heard.parts, heard.files))
        if heard.parts:
            raise ModelError(f"{self._text_only}; nothing was sent", kind="unsupported_file")
        return self._input(heard.said)

    @property
    def _text_only(self) -> str:
        return (
            f"{self.name} got files, but its input= takes only text: give it a second "
            "parameter for content blocks"
        )

    async def file_refusal(self, ref: dict[str, Any], data: bytes) -> str:
        """See `Model`."""
        return "" if self._takes_content else self._text_only

    @staticmethod
    def _say(answers: dict[str, Any], state: GraphState, said: Any) -> None:
        """What a person said meanwhile stands behind the last result."""
        for wait in reversed(state.waits):
            if "calls" in wait:
                answers[wait["id"]][wait["calls"][-1]]["said"] = said
                return

    async def _run(self, graph: Graph, asks: Any, callbacks: list[Any]) -> AsyncIterator[Any]:
        """Pieces of text as they come, and then the last state."""
        config: Any = {
            **self._config,
            "callbacks": [*self._config.get("callbacks", ()), *callbacks],
        }
        config["configurable"] = {**self._config.get("configurable", {}), "thread_id": THREAD}
        values: dict[str, Any] = {}
        async for mode, item in graph.astream(
            asks,
            config,
            context=self._context,
            stream_mode=["messages", "values"],
            durability=self.durability,
        ):
            if mode == "values":
                if isinstance(item, dict):
                    values = item
                else:
                    values = {"output": item}
                continue
            message: Any = item[0]
            if isinstance(message, AIMessageChunk | AIMessage) and (text := _text(message)):
                yield TextDelta(text)
        yield values

    async def _waits(self, graph: Graph) -> list[dict[str, Any]]:
        """The interrupts that the graph waits in."""
        snapshot = await graph.aget_state({"configurable": {"thread_id": THREAD}})
        found: list[dict[str, Any]] = []
        for one in snapshot.interrupts:
            value: Any = one.value
            if isinstance(value, dict) and OURS in value:
                asked: Any = cast("dict[str, Any]", value)[OURS]
                place = {"ns": value["ns"], "node": value["node"]}
                found.append(
                    {"id": one.id, "calls": [call["id"] for call in asked], "asked": asked, **place}
                )
            else:
                found.append({"id": one.id, "value": value, "schema": one.response_schema})
        return found

    def _agreed(self, state: GraphState) -> Any:
        """The answers to approvals that the graph asks for itself, if it waits for nothing else:
        our own gate asks for them."""
        answers = {wait["id"]: is_approval(wait.get("value"), self.marked) for wait in state.waits}
        if answers and all(answers.values()):
            return Command(resume=answers)
        return None

    def _parts(self, state: GraphState, values: dict[str, Any]) -> tuple[ReplyPart, ...]:
        if not state.waits:
            return (Text(text=as_text(self._output(values))),)
        parts: list[ReplyPart] = []
        messages = values.get("messages") or ()
        if messages and isinstance(messages[-1], AIMessage) and (text := _text(messages[-1])):
            parts.append(Text(text=text))
        for wait in state.waits:
            if "calls" not in wait:
                question = {"value": wait["value"], "schema": wait["schema"]}
                parts.append(ToolCall(id=wait["id"], tool=INTERRUPT, args=question))
            for call in wait.pop("asked", ()):
                parts.append(ToolCall(id=call["id"], tool=call["tool"], args=call["arguments"]))
        return tuple(parts)


def _places(function: Callable[..., Any]) -> int:
    """How many positional arguments a function takes; 1 if that cannot be known."""
    try:
        found = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return 1
    named = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(one.kind in named and one.default is inspect.Parameter.empty for one in found)


def _new_state(graph: Graph, allow: tuple[type[Any], ...]) -> GraphState:
    """Where a graph keeps its state: in a saver of ours, if it was compiled with one, else in the
    journal."""
    if isinstance(graph.checkpointer, AdjournSaver):
        return KeptState(graph.checkpointer)
    return GraphState(allow)


def _add(state: GraphState, details: dict[str, Any]) -> None:
    state.add(details)
    state.waits = details["waits"]


def _answer(result: ToolResult | None, files: Mapping[str, bytes]) -> dict[str, Any]:
    if result is None:
        raise ModelError("a call of the graph has no result; this is not the graph's conversation")
    answer = {"content": result.content, "error": result.error}
    if not result.files or result.error:
        return answer
    if is_own(result.content):
        return {**answer, "content": unstowed(result.content, files)}
    return {**answer, "blocks": blocks(parts_of(result.content), files)}


def _said(result: ToolResult | None, files: Mapping[str, bytes]) -> Any:
    """What a person has answered to an interrupt of the graph's own. Why there is no answer is none:
    code that asks whether it may go on would read it as a yes."""
    answer = _answer(result, files)
    if answer["error"]:
        raise ModelError(f"the graph asked and got no answer: {answer['content']}")
    return answer["content"]


def _text(message: BaseMessage) -> str:
    return str(message.text)


class Counted(AsyncCallbackHandler):
    """Counts what the models of a graph use."""

    def __init__(self) -> None:
        self.usage, self.model = Usage(), ""

    async def on_llm_end(self, response: Any, **options: Any) -> None:
        """See `AsyncCallbackHandler`."""
        message: Any = getattr(response.generations[0][0], "message", None)
        used: Any = getattr(message, "usage_metadata", None) or {}
        details = used.get("input_token_details", {})
        self.usage += Usage(
            requests=1,
            input_tokens=used.get("input_tokens", 0),
            output_tokens=used.get("output_tokens", 0),
            cache_read_tokens=details.get("cache_read", 0) or 0,
        )
        metadata: Any = getattr(message, "response_metadata", None) or {}
        self.model = str(metadata.get("model_name", "")) or self.model


__all__ = ["AdjournSaver", "LangGraphGuest", "read"]
