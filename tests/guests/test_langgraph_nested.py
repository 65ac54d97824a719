"""Graphs and tools that other graphs call by themselves, in their nodes and tools: no call of theirs runs unseen, and none twice."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (LangGraph's own types are unknown in part)

import asyncio
import functools
from collections.abc import Callable
from typing import Any

import pytest
from langchain.agents import create_agent
from langchain.agents.middleware import wrap_tool_call
from langchain_core.messages import BaseMessage
from langchain_core.outputs import ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition
from tests.guests.test_langgraph import Says

from adjourn import Agent, Completed, Policy, RunFailed, is_paused
from adjourn.guests import adopt
from adjourn.testing import GuestScript, call, crash_points

ASKS = Policy([], default="ask")


class SaysAtOnce(Says):
    """The same, also for those who do not wait."""

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        return asyncio.run(self._agenerate(messages))


class Bank:
    """Pays, and remembers what."""

    def __init__(self) -> None:
        self.paid: list[int] = []

    @property
    def pays(self) -> Any:
        @tool
        def pays(cents: int) -> str:
            """Pay money back."""
            self.paid.append(cents)
            return f"paid {cents}"

        return pays

    def clerk(self, cents: int = 1) -> Any:
        """An agent that pays."""
        script = GuestScript([call("pays", cents=cents)], f"the clerk has paid {cents}")
        return create_agent(SaysAtOnce(script=script), [self.pays], name="clerk")


def calls_it(clerk: Any, name: str = "ask_clerk", *, waits: bool = True) -> Any:
    """A tool that runs a graph."""

    async def ask(what: str) -> str:
        return (await clerk.ainvoke({"messages": [("user", what)]}))["messages"][-1].text

    def ask_at_once(what: str) -> str:
        return clerk.invoke({"messages": [("user", what)]})["messages"][-1].text

    return tool(name, description="Ask the clerk.")(ask if waits else ask_at_once)


def one_node(work: Any) -> Any:
    builder = StateGraph(MessagesState)
    builder.add_node("work", work)
    builder.add_edge(START, "work")
    return builder.compile(name="office")


def classic(tools: Any, *calls: Any) -> Any:
    """A graph that thinks, and has these tools."""
    model = SaysAtOnce(script=GuestScript([*calls] or [call("pays", cents=1)], "done"))

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", tools)
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    return builder.compile(name="classic")


async def all_approved(make: Callable[[], Agent[Any]]) -> list[str]:
    """The tools that were asked about, until it has ended, each time by an agent made anew."""
    asked: list[str] = []
    outcome = await make().run("pay")
    while is_paused(outcome):
        asked += [one.call.tool for one in outcome.interrupts if one.call is not None]
        outcome = await make().resume(outcome.checkpoint, answers={one.id: True for one in outcome.interrupts})
    assert isinstance(outcome, Completed), outcome
    return asked


def in_a_closure(bank: Bank) -> Any:
    clerk = bank.clerk()

    async def work(state: MessagesState) -> Any:
        return {"messages": (await clerk.ainvoke({"messages": state["messages"]}))["messages"][-1:]}

    return one_node(work)


def without_waiting(bank: Bank) -> Any:
    clerk = bank.clerk()

    def work(state: MessagesState) -> Any:
        return {"messages": clerk.invoke({"messages": state["messages"]})["messages"][-1:]}

    return one_node(work)


AGENTS: dict[str, Any] = {}
"""Where an application has its agents: under a global name."""


async def asks_the_clerk(state: MessagesState) -> Any:
    return {"messages": await near(state)}


async def near(state: MessagesState) -> Any:
    return [(await AGENTS["clerk"].ainvoke({"messages": state["messages"]}))["messages"][-1]]


def under_a_global_name(bank: Bank) -> Any:
    AGENTS["clerk"] = bank.clerk()
    return one_node(asks_the_clerk)


def as_an_argument(bank: Bank) -> Any:
    async def work(state: MessagesState, clerk: Any) -> Any:
        return {"messages": (await clerk.ainvoke({"messages": state["messages"]}))["messages"][-1:]}

    return one_node(functools.partial(work, clerk=bank.clerk()))


def a_tool_node_by_hand(bank: Bank) -> Any:
    node = ToolNode([bank.pays])

    async def work(state: MessagesState) -> Any:
        return await node.ainvoke(state)

    return classic(work)


def a_tool_node_with_retries(bank: Bank) -> Any:
    return classic(ToolNode([bank.pays]).with_retry())


def a_tool_node_with_tags(bank: Bank) -> Any:
    return classic(ToolNode([bank.pays]).with_config(tags=["money"]))


def a_tool_node_before_a_function(bank: Bank) -> Any:
    return classic(ToolNode([bank.pays]) | pass_on)


def pass_on(state: Any) -> Any:
    return state


def in_a_tool(bank: Bank) -> Any:
    return classic(ToolNode([calls_it(bank.clerk())]), call("ask_clerk", what="pay"))


def in_a_tool_without_waiting(bank: Bank) -> Any:
    return classic(ToolNode([calls_it(bank.clerk(), waits=False)]), call("ask_clerk", what="pay"))


PLACES = [
    in_a_closure,
    without_waiting,
    under_a_global_name,
    as_an_argument,
    a_tool_node_by_hand,
    a_tool_node_with_retries,
    a_tool_node_with_tags,
    a_tool_node_before_a_function,
    in_a_tool,
    in_a_tool_without_waiting,
]


@pytest.mark.parametrize("place", PLACES, ids=lambda place: place.__name__)
async def test_a_call_of_a_graph_or_a_tool_node_is_asked_about_wherever_it_stands(place: Callable[[Bank], Any]) -> None:
    bank = Bank()
    outcome = await adopt(place(bank), policy=ASKS).run("pay")
    assert is_paused(outcome) and bank.paid == []
    asked = await all_approved(lambda: adopt(place(bank), policy=ASKS))
    assert asked.count("pays") == 1 and bank.paid == [1]


class Office:
    """An object that is a node: nobody can look into it beforehand."""

    def __init__(self, clerk: Any) -> None:
        self.clerk = clerk

    async def work(self, state: MessagesState) -> Any:
        return {"messages": (await self.clerk.ainvoke({"messages": state["messages"]}))["messages"][-1:]}


def in_an_object(bank: Bank) -> Any:
    return one_node(Office(bank.clerk()).work)


def a_tool_by_hand(bank: Bank) -> Any:
    pays = bank.pays

    async def work(state: MessagesState) -> Any:
        return {"messages": [await pays.ainvoke(one) for one in state["messages"][-1].tool_calls]}  # type: ignore[union-attr] # pyright: ignore

    return classic(work)


def a_tool_by_hand_whose_error_is_taken(bank: Bank) -> Any:
    pays = bank.pays

    def work(state: MessagesState) -> Any:
        try:
            said = str(pays.invoke({"cents": 1}))
        except Exception:
            said = "it did not work"
        return {"messages": [("ai", said)]}

    return one_node(work)


@pytest.mark.parametrize("place", [in_an_object, a_tool_by_hand, a_tool_by_hand_whose_error_is_taken])
async def test_a_tool_that_a_node_would_run_by_itself_is_stopped_and_named(place: Callable[[Bank], Any]) -> None:
    bank = Bank()
    with pytest.raises(RunFailed, match=r"runs the tool 'pays' by itself.*adopt\(graph, effects="):
        await adopt(place(bank)).run("pay")
    assert bank.paid == []


async def test_a_tool_that_only_reads_may_run_in_a_node() -> None:
    bank = Bank()
    done = await adopt(a_tool_by_hand(bank), effects={"pays": "read"}).run("look")
    assert isinstance(done, Completed) and done.output == "done" and bank.paid == [1]


def two_in_one_node(bank: Bank) -> Any:
    """One task calls two graphs, one after the other."""
    tools = [calls_it(bank.clerk(1), "ask_one"), calls_it(bank.clerk(2), "ask_two")]
    return classic(ToolNode(tools), call("ask_one", what="pay"), call("ask_two", what="pay"))


def two_in_one_function(bank: Bank) -> Any:
    one, two = bank.clerk(1), bank.clerk(2)

    async def work(state: MessagesState) -> Any:
        said = [(await clerk.ainvoke({"messages": state["messages"]}))["messages"][-1] for clerk in (one, two)]
        return {"messages": said}

    return one_node(work)


@pytest.mark.parametrize("place", [two_in_one_node, two_in_one_function])
async def test_a_graph_that_has_ended_does_not_begin_again_when_another_one_asks(place: Callable[[Bank], Any]) -> None:
    bank = Bank()
    done = await adopt(place(bank)).run("pay")
    assert isinstance(done, Completed) and bank.paid == [1, 2]
    bank.paid.clear()
    assert (await all_approved(lambda: adopt(place(bank), policy=ASKS))).count("pays") == 2
    assert bank.paid == [1, 2]


async def test_a_worker_may_die_at_any_write_while_one_node_calls_two_graphs() -> None:
    points = 0
    for point in crash_points():
        bank = Bank()

        def answer(interrupt: Any, bank: Bank = bank) -> Any:
            if interrupt.kind != "in_doubt":
                return True
            cents = interrupt.call.arguments["cents"]
            return {"choice": "happened", "result": f"paid {cents}"} if cents in bank.paid else "run"

        outcome = await point.run(adopt(two_in_one_node(bank), policy=ASKS), "pay", answer=answer)
        assert isinstance(outcome, Completed) and sorted(bank.paid) == [1, 2], (point, bank.paid)
        points += 1
    assert points > 10


async def test_wrappers_of_tool_calls_stand_around_a_tool_that_runs_a_graph() -> None:
    seen: list[str] = []

    @wrap_tool_call
    async def watch(request: Any, handler: Any) -> Any:
        seen.append(request.tool_call["name"])
        return await handler(request)

    bank = Bank()
    model = SaysAtOnce(script=GuestScript([call("ask_clerk", what="pay")], "done"))
    graph = create_agent(model, [calls_it(bank.clerk())], middleware=[watch], name="support")
    done = await adopt(graph).run("pay")
    assert isinstance(done, Completed) and bank.paid == [1] and set(seen) >= {"ask_clerk"}


async def test_a_tool_that_is_named_as_one_call_is_one_whatever_graph_it_runs() -> None:
    bank = Bank()
    asked = await all_approved(lambda: adopt(in_a_tool(bank), policy=ASKS, effects={"ask_clerk": "unsafe"}))
    assert asked == ["ask_clerk"] and bank.paid == [1]


async def test_what_a_function_holds_beside_a_graph_stays_the_same_object() -> None:
    bank, seen = Bank(), list[str]()
    clerk = bank.clerk()

    async def work(state: MessagesState) -> Any:
        seen.append("began")
        return {"messages": (await clerk.ainvoke({"messages": state["messages"]}))["messages"][-1:]}

    done = await adopt(one_node(work)).run("pay")
    assert isinstance(done, Completed) and "began" in seen and bank.paid == [1]
