"""Functions that an agent is made of and that are no bodies: whatever they raise, its run comes to rest, and nothing runs
that they should have judged."""

from collections.abc import AsyncIterator, Callable
from typing import Annotated, Any

import pytest
from pydantic import AfterValidator, PlainSerializer, RootModel, model_validator

from adjourn import Agent, Policy, Runtime, Tool, deny, tool
from adjourn.core.messages import Delta, ModelRequest, Reply
from adjourn.errors import RunFailed
from adjourn.testing import ScriptedModel, call

LIMIT = 20.0


class Own(BaseException):
    """Nobody expects it."""


class Speechless(Exception):
    """It cannot even say what it is."""

    def __str__(self) -> str:
        raise RuntimeError("no words")


ERRORS: tuple[Callable[[], BaseException], ...] = (
    lambda: KeyError("nowhere"),
    lambda: SystemExit(3),
    lambda: GeneratorExit(),
    lambda: BaseExceptionGroup("several", [Own()]),
    Own,
    Speechless,
)


class Shop:
    """An agent that pays, with one function that fails."""

    def __init__(self, where: str, error: Callable[[], BaseException]) -> None:
        self.paid: list[str] = []
        self._error = error
        self.tools = [self._pay(where)]
        self.agent = Agent("shop", model=self._model(where), tools=self.tools, retries=1, **self._options(where))

    def fails(self, *_: Any) -> Any:
        raise self._error()

    def _pay(self, where: str) -> Tool:
        def judged(order: str) -> str:
            return self.fails() if where == "arguments" else order

        def shown(order: str) -> str:
            return self.fails() if where == "serializer" else order

        async def pay(order: Annotated[str, AfterValidator(judged), PlainSerializer(shown)]) -> str:
            self.paid.append(order)
            return "paid"

        return tool(pay)

    def _options(self, where: str) -> dict[str, Any]:
        shop = self

        class Receipt(RootModel[str]):
            @model_validator(mode="after")
            def check(self) -> "Receipt":
                return shop.fails()

        def chosen(messages: list[Any]) -> list[Any]:
            return self.fails()

        options: dict[str, dict[str, Any]] = {
            "policy": {"policy": Policy([deny("pay", when=self.fails)], default="allow")},
            "instructions": {"instructions": self.fails},
            "history": {"history": [chosen]},
            "output": {"output_type": Receipt},
        }
        return options.get(where, {})

    def _model(self, where: str) -> ScriptedModel:
        model = ScriptedModel([call("pay", order="1")], *['"done"'] * 9)
        return Failing(self, model) if where == "model" else model  # type: ignore[return-value]


class Failing:
    """A model that fails behind its first words."""

    name = "failing"

    def __init__(self, shop: Shop, model: ScriptedModel) -> None:
        self._shop, self._model = shop, model

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        async for item in self._model.request(request):
            yield item
        self._shop.fails()


async def _lived(shop: Shop) -> str:
    """What the run of it comes to; a neighbour of it goes on."""
    neighbour = Agent("neighbour", model=ScriptedModel("fine"))
    async with Runtime("memory://", [shop.agent, neighbour]) as rt:
        run = await rt.start(shop.agent, "go")
        try:
            outcome = await run.wait(LIMIT)
            found = f"{outcome.status}: {await run.messages()}"
        except RunFailed as failure:
            found = f"failed: {failure}"
        assert (await (await rt.start(neighbour, "go")).wait(LIMIT)).output == "fine"
        return found


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("where", ["policy", "arguments", "serializer"])
async def test_a_call_that_cannot_be_judged_does_not_run_and_the_model_reads_why(
    where: str, error: Callable[[], BaseException]
) -> None:
    shop = Shop(where, error)
    found = await _lived(shop)
    assert found.startswith("completed")
    assert type(error()).__name__ in found
    assert shop.paid == []


@pytest.mark.parametrize("error", ERRORS)
@pytest.mark.parametrize("where", ["model", "instructions", "history"])
async def test_a_request_that_cannot_be_made_fails_the_run(where: str, error: Callable[[], BaseException]) -> None:
    shop = Shop(where, error)
    assert (await _lived(shop)).startswith("failed")
    assert shop.paid == []


@pytest.mark.parametrize("error", ERRORS)
async def test_an_output_that_cannot_be_judged_is_none(error: Callable[[], BaseException]) -> None:
    shop = Shop("output", error)
    found = await _lived(shop)
    assert found.startswith("failed")  # the script has no more words
    assert shop.paid == ["1"]
