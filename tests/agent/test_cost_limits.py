"""Limits that hold: money needs a price, and another limit does not take the guard of steps away."""

import logging
from collections.abc import AsyncIterator

import pytest
from tests.logs import ours

from adjourn import Agent, Flow, InvalidDefinition, MaxCost, MaxSteps, MaxTokens, Stopped, TextMention, summarise, tool
from adjourn.core.messages import Delta, ModelRequest, Reply, Text
from adjourn.core.usage import Usage
from adjourn.models import Price
from adjourn.testing import ScriptedModel, call

UNKNOWN = "openai:a-model-of-tomorrow"
CHEAP = Price(input=1.0, output=2.0)


@tool
async def work() -> str:
    """Work."""
    return "worked"


class Own:
    """A model that does not say whether it reports costs."""

    name = "own"

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        yield Reply((Text(text="done"),), Usage(1, 1_000_000, 500_000))


def test_a_limit_of_money_without_a_known_price_is_refused_where_it_is_written() -> None:
    with pytest.raises(
        InvalidDefinition, match=r"no price is known for the model 'openai:a-model-of-tomorrow'.*prices="
    ):
        Agent("a", model=UNKNOWN, stop=MaxCost(5))
    with pytest.raises(InvalidDefinition, match="no price is known"):
        Agent("a", model=["openai:gpt-5-mini", UNKNOWN], stop=MaxSteps(3) | MaxCost(5))


def test_the_models_of_nested_agents_of_summaries_and_of_flows_need_a_price_too() -> None:
    child = Agent("child", model=UNKNOWN)
    with pytest.raises(InvalidDefinition, match="no price is known"):
        Agent("root", model="openai:gpt-5-mini", tools=[child.as_tool()], stop=MaxCost(5))
    with pytest.raises(InvalidDefinition, match="no price is known"):
        Agent("a", model="openai:gpt-5-mini", history=[summarise(after=20, model=UNKNOWN)], stop=MaxCost(5))
    flow = Flow("f", stop=MaxCost(5))
    flow.to(child)
    with pytest.raises(InvalidDefinition, match="no price is known"):
        flow.program


@pytest.mark.parametrize("model", ["openai:gpt-5-mini", "anthropic:claude-sonnet-4-5", "google-gla:gemini-2.5-flash"])
def test_a_listed_model_needs_no_price(model: str) -> None:
    Agent("a", model=model, stop=MaxCost(5))


@pytest.mark.parametrize("prices", [CHEAP, {UNKNOWN: CHEAP}])
def test_a_price_that_was_given_is_enough(prices: Price | dict[str, Price]) -> None:
    Agent("a", model=UNKNOWN, prices=prices, stop=MaxCost(5))


def test_a_model_of_ones_own_that_does_not_say_is_warned_of() -> None:
    with pytest.warns(UserWarning, match="MaxCost needs the cost that the model 'own' reports.*reports_cost = True"):
        Agent("a", model=Own(), stop=MaxCost(5))
    Agent("a", model=Own())


async def test_a_given_price_is_what_a_reply_costs_and_what_the_limit_counts() -> None:
    done = await Agent("a", model=Own(), prices=CHEAP).run("go")
    assert done.usage.cost == pytest.approx(2.0)
    looping = ScriptedModel(*[[call("work")]] * 9)
    stopped = await Agent(
        "b", model=looping, tools=[work], prices=Price(input=0, output=1_000_000), stop=MaxCost(9)
    ).run("go")
    assert isinstance(stopped, Stopped)
    assert (stopped.by, len(looping.requests)) == ("MaxCost(9)", 2)


def test_what_was_in_the_cache_has_its_own_price() -> None:
    usage = Usage(1, 1_000_000, 0, 400_000)
    assert Price(input=10, output=0, cache_read=1).of(usage) == pytest.approx(6.4)
    assert Price(input=10, output=0).of(usage) == pytest.approx(10)


@pytest.mark.parametrize("wrong", [-1, True, float("nan"), float("inf"), "1"])
def test_a_price_is_a_number(wrong: object) -> None:
    with pytest.raises(InvalidDefinition, match="input="):
        Price(input=wrong, output=1)  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("wrong", [3, {"a": 3}, {3: CHEAP}, [CHEAP]])
def test_prices_are_prices(wrong: object) -> None:
    with pytest.raises(InvalidDefinition, match="prices="):
        Agent("a", model=ScriptedModel(), prices=wrong)  # pyright: ignore[reportArgumentType]


async def test_a_paid_reply_without_a_cost_is_kept_and_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING, "adjourn"):
        done = await Agent("a", model=ScriptedModel("done"), stop=MaxCost(5)).run("go")
    assert done.output == "done"
    [logged] = [record for record in ours(caplog) if "reported no cost" in record.getMessage()]
    assert "prices=" in logged.getMessage()


@pytest.mark.parametrize("stop", [MaxTokens(10**9), MaxCost(10**9), TextMention("DONE") & MaxSteps(2)])
async def test_another_limit_does_not_take_the_guard_of_steps_away(stop: MaxTokens) -> None:
    model = ScriptedModel(*[[call("work")]] * 60)
    stopped = await Agent("a", model=model, tools=[work], stop=stop).run("go")
    assert isinstance(stopped, Stopped)
    assert (stopped.by, len(model.requests)) == ("MaxSteps(50)", 50)


@pytest.mark.parametrize("stop", [MaxSteps(60), MaxTokens(10**9) | MaxSteps(60), MaxSteps(60) & MaxSteps(55)])
async def test_a_limit_of_steps_replaces_the_guard(stop: MaxSteps) -> None:
    model = ScriptedModel(*[[call("work")]] * 53, "done")
    agent = Agent("a", model=model, tools=[work], stop=stop)
    assert (await agent.run("go")).output == "done"
    assert agent.stop is stop


def test_a_flow_keeps_its_guard_too() -> None:
    assert Flow("f", stop=MaxTokens(5)).stop == MaxTokens(5) | MaxSteps(10_000)
