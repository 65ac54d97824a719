"""LangGraph: a graph of two nodes over its SQLite saver, every step durable; `delta` stores what a step adds to the messages."""

import statistics
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.types import Command, interrupt
from words import Stopwatch, scratch, text

from peers.workload import TOOL, Marks, answered, arguments, costs


def graph(saver: Any, turns: int, mode: str, *, asks: bool = False) -> Any:
    """Model and tool as nodes. The tool asks first, if `asks`."""
    if mode == "delta":
        from langgraph.channels.delta import DeltaChannel
        from langgraph.graph.message import _messages_delta_reducer

        kept: Any = Annotated[list, DeltaChannel(_messages_delta_reducer)]
    else:
        kept = Annotated[list, add_messages]

    class State(TypedDict):
        messages: kept  # type: ignore[valid-type]

    async def model(now: Any) -> dict[str, Any]:
        n = next((m.tool_calls[0]["args"]["n"] + 1 for m in reversed(now["messages"]) if isinstance(m, AIMessage)), 0)
        calls = [{"id": f"call_{n}", "name": TOOL, "args": arguments(n)}] if n < turns else []
        return {"messages": [AIMessage(text(n), tool_calls=calls)]}

    async def look(now: Any) -> dict[str, Any]:
        call = now["messages"][-1].tool_calls[0]
        if asks:
            interrupt({"tool": call["name"], "args": call["args"]})
        return {"messages": [ToolMessage(Marks.body(call["args"]["n"]), tool_call_id=call["id"], name=call["name"])]}

    made = StateGraph(State)
    made.add_node("model", model)
    made.add_node("look", look)
    made.add_edge(START, "model")
    made.add_conditional_edges("model", lambda now: "look" if now["messages"][-1].tool_calls else END)
    made.add_edge("look", "model")
    return made.compile(checkpointer=saver)


@asynccontextmanager
async def saver(folder: Path) -> AsyncIterator[Any]:
    async with AsyncSqliteSaver.from_conn_string(str(folder / "langgraph.db")) as made:
        await made.setup()
        yield made


def thread(id: str, turns: int) -> Any:
    return {"configurable": {"thread_id": id}, "recursion_limit": 4 * turns + 50}


async def turns(n: int, mode: str) -> dict[str, float]:
    """A run of n turns; `durability="sync"`: each step is on disk before the next."""
    with scratch() as folder:
        async with saver(folder) as store:
            made = graph(store, n, mode)
            with Stopwatch() as watch:
                found = await made.ainvoke({"messages": [HumanMessage("begin")]}, thread("t", n), durability="sync")
            assert len(found["messages"]) == 2 * n + 2
        return costs(watch, n, folder)


def history(messages: int) -> list[Any]:
    found: list[Any] = [HumanMessage("begin")]
    for k in range(messages // 2):
        found.append(AIMessage(text(k), tool_calls=[{"id": f"old_{k}", "name": TOOL, "args": arguments(-1)}]))
        found.append(ToolMessage(text(k), tool_call_id=f"old_{k}", name=TOOL))
    return found


async def answer(messages: int, mode: str, times: int = 6) -> dict[str, float]:
    """An approval → the tool's body, in the process that parked the run."""
    spent: list[tuple[float, float]] = []
    with scratch() as folder:
        async with saver(folder) as store:
            made = graph(store, 1, mode, asks=True)
            for k in range(times):
                await made.ainvoke({"messages": history(messages)}, thread(f"t{k}", 10), durability="sync")
                spent.append(
                    await answered(
                        lambda k=k: made.ainvoke(Command(resume=True), thread(f"t{k}", 10), durability="sync")
                    )
                )
    return {
        "ms": statistics.median(ms for ms, _ in spent[1:]),
        "cpu_ms": statistics.median(cpu for _, cpu in spent[1:]),
    }
