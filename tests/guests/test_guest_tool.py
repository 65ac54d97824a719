"""A secret among the arguments of a tool of another framework, or as its result: refused, before anything could record it."""

# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (the frameworks' own types are unknown in part)

import os
from collections.abc import Callable
from typing import Annotated, Any

import pytest
from langchain_core.tools import BaseTool
from pydantic import BaseModel, SecretStr
from tests.guests.test_agent_framework import TestAgentFramework as OnAgentFramework
from tests.guests.test_langgraph import TestLangChain as OnLangChain
from tests.guests.test_langgraph_kept import agent_on
from tests.guests.test_openai_agents import TestOpenAIAgents as OnOpenAIAgents
from tests.guests.test_pydantic_ai_guest import TestPydanticAI as OnPydanticAI

from adjourn import InvalidDefinition, Runtime
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
