"""LangChain agents and LangGraph graphs under Adjourn, with the frameworks' real packages."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# pyright: reportUnknownParameterType=false, reportUnknownLambdaType=false
# (LangGraph's own types are unknown in part)

from collections.abc import AsyncIterator, Callable, Sequence
from typing import Annotated, Any, NotRequired

import pytest
from deepagents import create_deep_agent
from langchain.agents import AgentState, create_agent
from langchain.agents.middleware import HumanInTheLoopMiddleware
from langchain.agents.structured_output import ToolStrategy
from langchain.tools import ToolRuntime
from langchain_core.language_models.chat_models import BaseChatModel
from langchain_core.messages import AIMessage, AIMessageChunk, BaseMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatGenerationChunk, ChatResult
from langchain_core.tools import StructuredTool
from langgraph.graph import START, MessagesState, StateGraph, add_messages
from langgraph.prebuilt import ToolNode, tools_condition
from langgraph.types import Command, interrupt
from pydantic import BaseModel
from typing_extensions import TypedDict

from adjourn import Agent, Completed, Decision, InvalidDefinition, Policy, RunFailed, Runtime, ask, deny, is_paused
from adjourn.guests import adopt
from adjourn.testing import GuestContract, GuestReply, GuestScript, call, crash_points


class Says(BaseChatModel):
    """A model of the framework that follows the script."""

    script: Any

    @property
    def _llm_type(self) -> str:
        return "scripted"

    def bind_tools(self, tools: Any, **options: Any) -> Any:
        return self

    def _generate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        raise NotImplementedError

    async def _agenerate(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> ChatResult:
        reply = await self.script.reply(turns(messages), heard(messages))
        return ChatResult(
            generations=[ChatGeneration(message=AIMessage(content=reply.text, tool_calls=calls_of(reply)))]
        )

    async def _astream(
        self, messages: list[BaseMessage], stop: Any = None, run_manager: Any = None, **options: Any
    ) -> AsyncIterator[ChatGenerationChunk]:
        reply: GuestReply = await self.script.reply(turns(messages), heard(messages))
        async for piece in self.script.spoken(reply):
            yield ChatGenerationChunk(message=AIMessageChunk(content=piece))
        yield ChatGenerationChunk(message=AIMessageChunk(content="", tool_calls=calls_of(reply)))


def calls_of(reply: GuestReply) -> list[Any]:
    return [
        {"name": wanted.tool, "args": wanted.arguments, "id": wanted.id, "type": "tool_call"} for wanted in reply.calls
    ]


def turns(messages: Sequence[BaseMessage]) -> int:
    return sum(isinstance(message, AIMessage) for message in messages)


def heard(messages: Sequence[BaseMessage]) -> list[str]:
    return [str(message.text) for message in messages if not isinstance(message, AIMessage)]


class TestLangChain(GuestContract):
    def guest(self, script: GuestScript, tools: Sequence[Callable[..., Any]], **terms: Any) -> Agent[Any]:
        return adopt(create_agent(Says(script=script), list(tools), name="support"), **terms)

    def marked_guest(self, script: GuestScript, tool: Callable[..., Any], **terms: Any) -> Agent[Any]:
        gate = HumanInTheLoopMiddleware(interrupt_on={"refund": True})
        return adopt(create_agent(Says(script=script), [tool], name="support", middleware=[gate]), **terms)


async def pays(order: str, cents: int) -> str:
    """Pay money back."""
    return f"paid {cents} of {order}"


def agent_of(script: GuestScript, *tools: Any, **options: Any) -> Any:
    return create_agent(Says(script=script), list(tools), name="support", **options)


ASKED = Policy([ask("pays")], default="allow")


async def test_a_classic_graph_with_one_tool_node_has_all_its_calls_at_once() -> None:
    script = GuestScript([call("pays", order="A1", cents=1), call("pays", order="B2", cents=2)], "done")
    model = Says(script=script)

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_node("tools", ToolNode([pays]))
    builder.add_edge(START, "think")
    builder.add_conditional_edges("think", tools_condition)
    builder.add_edge("tools", "think")
    agent = adopt(builder.compile(name="classic"), policy=ASKED)
    waits = await agent.run("pay both")
    assert is_paused(waits) and len(waits.interrupts) == 2
    done = await agent.resume(waits.checkpoint, answers={one.id: True for one in waits.interrupts})
    assert isinstance(done, Completed) and done.output == "done"
    assert script.heard[1:] == ("paid 1 of A1", "paid 2 of B2")


async def test_an_interrupt_of_the_graph_is_a_question_and_its_answer_goes_back() -> None:
    async def asks(state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"question": "which colour?"})
        return {"messages": [AIMessage(content=f"you like {answer}")]}

    builder = StateGraph(MessagesState)
    builder.add_node("asks", asks)
    builder.add_edge(START, "asks")
    agent = adopt(builder.compile(name="asking"))
    waits = await agent.run("hello")
    assert is_paused(waits) and waits.interrupts[0].payload == {"question": "which colour?"}
    done = await agent.resume(waits.checkpoint, "green")
    assert isinstance(done, Completed) and done.output == "you like green"


def paying_graph(name: str = "pays") -> Any:
    """Asks whether it may, and takes everything that is not empty for a yes."""

    async def asks(state: MessagesState) -> dict[str, Any]:
        return {"messages": [AIMessage(content="paid" if interrupt("May I pay?") else "not paid")]}

    builder = StateGraph(MessagesState)
    builder.add_node("asks", asks)
    builder.add_edge(START, "asks")
    return builder.compile(name=name)


async def test_a_question_of_the_graph_that_nobody_answers_is_not_answered_with_the_reason() -> None:
    async with Runtime("memory://", [agent := adopt(paying_graph())]) as rt:
        run = await rt.start(agent, "pay")
        await run.wait()
        [asked] = await rt.inbox()
        await rt.answer(asked, Decision.dismiss("not mine"), by="ana")
        with pytest.raises(RunFailed, match="asked and got no answer: the question was dropped"):
            await run.wait()
    agent = adopt(paying_graph(), policy=Policy([deny("*")]))
    with pytest.raises(RunFailed, match="asked and got no answer: not allowed"):
        await agent.run("pay")


async def test_an_interrupt_that_asks_for_approval_is_a_question_of_that_type() -> None:
    async def asks(state: MessagesState) -> dict[str, Any]:
        answer = interrupt({"action_requests": [{"name": "other", "args": {}}], "review_configs": []})
        return {"messages": [AIMessage(content=str(answer))]}

    builder = StateGraph(MessagesState)
    builder.add_node("asks", asks)
    builder.add_edge(START, "asks")
    waits = await adopt(builder.compile(name="asking")).run("hello")
    assert is_paused(waits) and waits.interrupts[0].type == "approval"


@pytest.mark.parametrize("default", ["ask", "deny"])
async def test_a_policy_that_does_not_speak_of_questions_lets_the_graph_ask(default: Any) -> None:
    agent = adopt(paying_graph(), policy=Policy([], default=default))
    waits = await agent.run("pay")
    assert is_paused(waits) and waits.interrupts[0].kind == "question"
    done = await agent.resume(waits.checkpoint, answer=False)
    assert isinstance(done, Completed) and done.output == "not paid"


async def test_an_interrupt_in_a_tool_is_a_question_of_that_call() -> None:
    ran: list[str] = []

    async def books(city: str) -> str:
        """Book a room."""
        name = interrupt({"question": "in whose name?"})
        ran.append(name)
        return f"booked for {name}"

    script = GuestScript([call("books", city="Bern")], "done")
    agent = adopt(agent_of(script, books))
    waits = await agent.run("book")
    assert is_paused(waits) and ran == []
    done = await agent.resume(waits.checkpoint, "Ana")
    assert isinstance(done, Completed) and ran == ["Ana"]
    assert "booked for Ana" in script.heard


async def test_tools_see_the_state_of_the_graph_and_may_change_it_also_in_another_process() -> None:
    class Cart(AgentState[Any]):
        cart: NotRequired[list[str]]

    async def adds(item: str, runtime: ToolRuntime) -> Command[Any]:
        """Add an item to the cart."""
        cart = [*runtime.state.get("cart", []), item]
        said = ToolMessage(content=f"cart: {cart}", tool_call_id=runtime.tool_call_id)
        return Command(update={"cart": cart, "messages": [said]})

    def shop(script: GuestScript) -> Agent[Any]:
        return adopt(agent_of(script, adds, state_schema=Cart), policy=Policy([ask("adds")]))

    script = GuestScript([call("adds", item="tea")], [call("adds", item="milk")], "done")
    waits = await shop(script).run("shop")
    for _ in range(2):
        assert is_paused(waits)
        waits = await shop(script).resume(waits.checkpoint, approved=True)
    assert isinstance(waits, Completed)
    assert script.heard[1:] == ("cart: ['tea']", "cart: ['tea', 'milk']")


@pytest.mark.parametrize("mode", ["batched", "per_call"])
async def test_the_middleware_asks_once_and_through_our_inbox(mode: Any) -> None:
    gate = HumanInTheLoopMiddleware(interrupt_on={"pays": True}, interrupt_mode=mode)
    script = GuestScript([call("pays", order="A1", cents=1)], "done")
    agent = adopt(agent_of(script, pays, middleware=[gate]))
    waits = await agent.run("pay")
    assert is_paused(waits) and waits.interrupts[0].kind == "approval"
    done = await agent.resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and "paid 1 of A1" in script.heard


async def test_a_graph_that_stops_before_its_tools_asks_about_their_calls() -> None:
    script = GuestScript([call("pays", order="A1", cents=1)], "done")
    agent = adopt(agent_of(script, pays, interrupt_before=["tools"]))
    waits = await agent.run("pay")
    assert is_paused(waits) and waits.interrupts[0].call is not None
    assert waits.interrupts[0].call.reason == "the graph's interrupt_before"
    done = await agent.resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and done.output == "done" and "paid 1 of A1" in script.heard


@pytest.mark.parametrize("stop", [{"interrupt_before": ["model"]}, {"interrupt_after": ["tools"]}])
def test_a_graph_that_stops_elsewhere_is_refused(stop: Any) -> None:
    with pytest.raises(InvalidDefinition, match="asks nothing there"):
        adopt(agent_of(GuestScript(), pays, **stop))


async def test_calls_of_an_agent_inside_of_the_graph_are_ours_too() -> None:
    inner = GuestScript([call("pays", order="A1", cents=7)], "the clerk has paid")
    clerk = create_agent(Says(script=inner), [pays], name="clerk")
    builder = StateGraph(MessagesState)
    builder.add_node("clerk", clerk)
    builder.add_edge(START, "clerk")
    agent = adopt(builder.compile(name="office"), policy=ASKED)
    waits = await agent.run("pay")
    assert is_paused(waits) and waits.interrupts[0].call is not None
    done = await agent.resume(waits.checkpoint, approved=True)
    assert isinstance(done, Completed) and done.output == "the clerk has paid"
    assert "paid 7 of A1" in inner.heard


async def test_a_structured_response_is_the_output() -> None:
    class Order(BaseModel):
        number: str
        cents: int

    script = GuestScript([call("Order", number="A1", cents=7)])
    done = await adopt(agent_of(script, response_format=ToolStrategy(Order)), allow=[Order]).run("which?")
    assert isinstance(done, Completed) and done.output == {"number": "A1", "cents": 7}


async def test_a_state_of_other_keys_takes_its_own_input_and_output() -> None:
    class Count(TypedDict):
        number: int

    builder = StateGraph(Count)

    async def double(state: Count) -> Count:
        return {"number": state["number"] * 2}

    builder.add_node("double", double)
    builder.add_edge(START, "double")
    agent = adopt(
        builder.compile(name="doubles"), input=lambda said: {"number": int(said)}, output=lambda state: state["number"]
    )
    done = await agent.run("21")
    assert isinstance(done, Completed) and done.output == 42


def test_what_the_provider_runs_is_listed() -> None:
    hosted: Any = {"type": "web_search_20250305", "name": "web_search", "max_uses": 2}
    assert adopt(agent_of(GuestScript(), pays, hosted)).ungoverned == ("web_search",)
    assert adopt(agent_of(GuestScript(), pays)).ungoverned == ()
    model = Says(script=GuestScript()).bind(tools=[{"type": "code_interpreter"}, {"type": "function", "name": "pays"}])

    async def think(state: MessagesState) -> dict[str, Any]:
        return {"messages": [await model.ainvoke(state["messages"])]}

    builder = StateGraph(MessagesState)
    builder.add_node("think", think)
    builder.add_edge(START, "think")
    outer = StateGraph(MessagesState)
    outer.add_node("inner", builder.compile())
    outer.add_edge(START, "inner")
    assert adopt(outer.compile(name="outer")).ungoverned == ("code_interpreter",)


async def test_a_state_that_holds_what_is_not_allowed_fails_with_its_name() -> None:
    class Odd:
        pass

    class Holds(TypedDict):
        messages: Annotated[list[Any], add_messages]
        odd: Any

    builder = StateGraph(Holds)
    builder.add_node("one", lambda state: {"odd": Odd(), "messages": [AIMessage(content="hm")]})
    builder.add_edge(START, "one")
    with pytest.raises(RunFailed, match="Odd.*allow="):
        await adopt(builder.compile(name="odd")).run("go")


class TestDeepAgents:
    """A deep agent's sub-agents run inside of it, and their calls are ours."""

    def deep(self, script: GuestScript, inner: GuestScript, tools: Sequence[Any] = (pays,)) -> Agent[Any]:
        clerk: Any = {
            "name": "clerk", "description": "Pays.", "system_prompt": "You pay.", "tools": list(tools), "model": Says(script=inner),
        }  # fmt: skip
        graph = create_deep_agent(model=Says(script=script), tools=[], subagents=[clerk], name="deep")
        return adopt(graph, policy=ASKED)

    def scripts(self) -> tuple[GuestScript, GuestScript]:
        task = call("task", description="pay A1", subagent_type="clerk")
        return GuestScript([task], "all is well"), GuestScript([call("pays", order="A1", cents=7)], "paid it")

    async def test_a_call_of_a_sub_agent_waits_in_the_inbox_and_goes_on_elsewhere(self) -> None:
        script, inner = self.scripts()
        waits = await self.deep(script, inner).run("have A1 paid")
        assert is_paused(waits) and waits.interrupts[0].call is not None
        assert waits.interrupts[0].call.tool == "pays"
        done = await self.deep(script, inner).resume(waits.checkpoint, approved=True)
        assert isinstance(done, Completed) and done.output == "all is well"
        assert "paid 7 of A1" in inner.heard and "paid it" in script.heard

    async def test_a_worker_may_die_at_any_write(self) -> None:
        for point in crash_points():
            ledger: list[tuple[str, int]] = []

            async def pays(order: str, cents: int, ledger: Any = ledger) -> str:
                """Pay money back."""
                ledger.append((order, cents))
                return "paid"

            def answer(interrupt: Any, ledger: Any = ledger) -> Any:
                if interrupt.kind == "in_doubt":
                    return {"choice": "happened", "result": "paid"} if ledger else "run"
                return True

            script, inner = self.scripts()
            tool = StructuredTool.from_function(coroutine=pays, name="pays", description="Pay.", args_schema=Pays)
            outcome = await point.run(self.deep(script, inner, [tool]), "have A1 paid", answer=answer)
            assert isinstance(outcome, Completed) and ledger == [("A1", 7)], point

    async def test_files_of_the_agent_live_in_its_state(self) -> None:
        script = GuestScript(
            [call("write_file", file_path="/note.txt", content="A1 is paid")],
            [call("read_file", file_path="/note.txt")],
            "done",
        )
        done = await self.deep(script, GuestScript()).run("note it")
        assert isinstance(done, Completed)
        assert any("A1 is paid" in text for text in script.heard)


class Pays(BaseModel):
    order: str
    cents: int
