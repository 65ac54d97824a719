"""A tool of another framework: a secret among its arguments or as its result is refused, before anything could record it; a result
that cannot be recorded is no failure of the tool."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (the frameworks' own types are unknown in part)

import os
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from agents import ToolGuardrailFunctionOutput, function_tool, tool_output_guardrail
from langchain.tools import ToolRuntime
from langchain_core.messages import ToolMessage
from langchain_core.tools import BaseTool
from langgraph.types import Command
from pydantic import BaseModel, SecretStr
from tests.guests.test_agent_framework import TestAgentFramework as OnAgentFramework
from tests.guests.test_langgraph import TestLangChain as OnLangChain
from tests.guests.test_langgraph_kept import agent_on
from tests.guests.test_openai_agents import TestOpenAIAgents as OnOpenAIAgents
from tests.guests.test_openai_agents import agent_of as openai_agent
from tests.guests.test_pydantic_ai_guest import TestPydanticAI as OnPydanticAI

from adjourn import InvalidDefinition, Runtime
from adjourn.core.records import Returned
from adjourn.guests import adopt
from adjourn.secrets import KeyRing, Secret, seal
from adjourn.stores.memory import MemoryStore
from adjourn.testing import GuestScript, call

CARD = "4111 1111 1111 1111"
Makes = Callable[[GuestScript, Any], Any]


def on_a_saver(script: GuestScript, function: Any) -> Any:
    return adopt(agent_on(MemoryStore(), script, function))


FRAMEWORKS: dict[str, Makes] = {
    "pydantic-ai": lambda script, function: OnPydanticAI().guest(script, [function]),
    "langchain": lambda script, function: OnLangChain().guest(script, [function]),
    "langgraph-saver": on_a_saver,
    "openai-agents": lambda script, function: OnOpenAIAgents().guest(script, [function]),
    "agent-framework": lambda script, function: OnAgentFramework().guest(script, [function]),
}


class Card(BaseModel):
    number: Annotated[str, Secret("card")]


async def pay_marked(card: Annotated[str, Secret()], cents: int) -> str:
    """Pay."""
    return f"paid {cents} with {card}"


async def pay_hidden(card: SecretStr, cents: int) -> str:
    """Pay."""
    return f"paid {cents} with {card.get_secret_value()}"


async def pay_nested(card: Card, cents: int) -> str:
    """Pay."""
    return f"paid {cents} with {card.number}"


async def make_marked(number: int) -> Annotated[str, Secret()]:
    """Make a card."""
    return CARD


def make_at_once(number: int) -> Annotated[str, Secret()]:
    """Make a card."""
    return CARD


async def make_hidden(number: int) -> SecretStr:
    """Make a card."""
    return SecretStr(CARD)


async def make_nested(number: int) -> Card:
    """Make a card."""
    return Card(number=CARD)


@pytest.fixture(autouse=True)
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ADJOURN_SECRET_KEYS", KeyRing.new_key())


@pytest.mark.parametrize("function", [pay_marked, pay_hidden, pay_nested])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_tool_that_takes_a_secret_is_refused(framework: str, function: Any) -> None:
    with pytest.raises(InvalidDefinition, match="takes a secret") as refused:
        FRAMEWORKS[framework](GuestScript("done"), function)
    assert "adjourn.secrets.seal" in refused.value.advice


@pytest.mark.parametrize("function", [make_marked, make_at_once, make_hidden, make_nested])
@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_a_tool_whose_result_is_a_secret_is_refused(framework: str, function: Any) -> None:
    with pytest.raises(InvalidDefinition, match="gives a secret") as refused:
        FRAMEWORKS[framework](GuestScript("done"), function)
    assert "adjourn.secrets.seal" in refused.value.advice


def test_a_langchain_tool_that_is_a_class_is_looked_into_as_well() -> None:
    class Maker(BaseTool):
        name: str = "maker"
        description: str = "Make a card."

        def _run(self, number: int) -> Annotated[str, Secret()]:
            return CARD

    with pytest.raises(InvalidDefinition, match="gives a secret"):
        FRAMEWORKS["langchain"](GuestScript("done"), Maker())


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_result_that_the_body_seals_is_recorded_sealed(framework: str) -> None:
    async def make(number: int) -> str:
        """Make a card."""
        return seal(CARD)

    agent = FRAMEWORKS[framework](GuestScript([call("make", number=1)], "done"), make)
    async with Runtime("memory://", [agent]) as rt:
        outcome = await (await rt.start(agent, "make one")).wait(30)
    assert outcome.output == "done" and CARD not in outcome.checkpoint.to_json()
    assert "••• " in outcome.checkpoint.to_json()


@pytest.mark.parametrize("framework", FRAMEWORKS)
async def test_a_sealed_value_is_opened_by_the_body_and_by_nobody_else(framework: str) -> None:
    saw: list[str] = []

    async def pay(card: str) -> str:
        """Pay."""
        saw.append(KeyRing.parse(os.environ["ADJOURN_SECRET_KEYS"]).open(card))
        return "paid"

    agent = FRAMEWORKS[framework](GuestScript([call("pay", card=seal(CARD))], "done"), pay)
    async with Runtime("memory://", [agent]) as rt:
        outcome = await (await rt.start(agent, "pay")).wait(30)
    assert outcome.output == "done" and saw == [CARD] and CARD not in outcome.checkpoint.to_json()


class Odd:
    """What no record can hold."""


async def gives_bytes(order: str) -> Any:
    """Pay."""
    return b"\xff\xfe"


async def gives_an_object(order: str) -> Any:
    """Pay."""
    return Odd()


async def gives_a_state(order: str, runtime: ToolRuntime[None, dict[str, Any]]) -> Any:
    """Pay."""
    return Command(update={"messages": [ToolMessage("paid", tool_call_id=runtime.tool_call_id)], "odd": Odd()})


async def returned(agent: Any) -> Returned:
    outcome = await agent.run("pay")
    assert outcome.output == "done"
    [found] = [record for record in outcome.checkpoint.records if isinstance(record, Returned)]
    return found


@pytest.mark.parametrize(
    ("framework", "function"),
    [
        ("pydantic-ai", gives_bytes),
        ("pydantic-ai", gives_an_object),
        ("openai-agents", gives_bytes),
        ("agent-framework", gives_bytes),
        ("langchain", gives_a_state),
        ("langgraph-saver", gives_a_state),
    ],
)
async def test_of_a_tool_whose_result_cannot_be_recorded_it_is_said_that_it_ran(framework: str, function: Any) -> None:
    script = GuestScript([call(function.__name__, order="A1")], "done")
    found = await returned(FRAMEWORKS[framework](script, function))
    assert found.why == "unrecorded", "so that it is undone if the run is cancelled"
    assert found.error is not None and found.error.startswith("it ran, but its result cannot be recorded: ")


async def test_a_guardrail_that_refuses_what_a_tool_gave_does_not_say_that_it_did_nothing() -> None:
    @tool_output_guardrail
    def never(data: Any) -> ToolGuardrailFunctionOutput:
        return ToolGuardrailFunctionOutput.raise_exception()

    async def pays(order: str) -> str:
        """Pay."""
        return "paid"

    guarded = function_tool(pays)
    guarded.tool_output_guardrails = [never]
    found = await returned(adopt(openai_agent(GuestScript([call("pays", order="A1")], "done"), guarded)))
    assert found.why == "unrecorded" and "the guardrail never refused it" in (found.error or "")
