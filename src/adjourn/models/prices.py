"""What a model's tokens cost: prices that a program gives, and whether a price is known at all."""

from collections.abc import AsyncIterator, Mapping
from enum import Enum
from typing import Any, cast

import msgspec

from adjourn.core.codec import is_finite
from adjourn.core.messages import Delta, ModelRequest, Reply
from adjourn.core.usage import Usage
from adjourn.errors import InvalidDefinition
from adjourn.models.model import Model

PER = 1_000_000
"""Prices are for so many tokens."""


class Price(msgspec.Struct, frozen=True, kw_only=True):
    """What a million tokens of a model cost.

    Args:
        input: of what is sent.
        output: of what is received, reasoning included.
        cache_read: of what is sent and was in the provider's cache; else as `input`.
    """

    input: float
    output: float
    cache_read: float | None = None

    def __post_init__(self) -> None:
        for name in ("input", "output", "cache_read"):
            value = getattr(self, name)
            if value is not None and not _is_amount(value):
                raise InvalidDefinition(
                    f"Price: {name}= must be a number of at least 0, per million tokens, got {value!r:.80}"
                )

    def of(self, usage: Usage) -> float:
        """What this usage costs.

        Args:
            usage: tokens that were sent and received.
        """
        cached = min(usage.cache_read_tokens, usage.input_tokens)
        if self.cache_read is None:
            cache_read = self.input
        else:
            cache_read = self.cache_read
        fresh = (usage.input_tokens - cached) * self.input
        return (fresh + cached * cache_read + usage.output_tokens * self.output) / PER


def _is_amount(value: Any) -> bool:
    return is_finite(value) and value >= 0


Prices = Price | Mapping[str, Price]
"""One price for whatever model answers, or prices by the models' names."""


class PricedModel:
    """A model whose replies cost what the program said."""

    def __init__(self, model: Model, price: Price) -> None:
        self.model, self.price = model, price
        self.takes_files: bool = getattr(model, "takes_files", False)
        self.file_refusal: Any = getattr(model, "file_refusal", None)

    @property
    def name(self) -> str:
        """The model's own."""
        return self.model.name

    def __repr__(self) -> str:
        return f"PricedModel({self.model!r}, {self.price!r})"

    def priced(self, reply: Reply) -> Reply:
        """The reply with what it cost."""
        usage = msgspec.structs.replace(reply.usage, cost=self.price.of(reply.usage))
        return msgspec.structs.replace(reply, usage=usage)

    async def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """See `Model.request`."""
        stream = self.model.request(request)
        try:
            async for item in stream:
                if isinstance(item, Reply):
                    item = self.priced(item)
                yield item
        finally:
            close = getattr(stream, "aclose", None)
            if close is not None:
                await close()


def checked_prices(prices: Any) -> Prices | None:
    """What may be passed as `prices=`; raises `InvalidDefinition` for anything else."""
    if prices is None or isinstance(prices, Price):
        return prices
    if isinstance(prices, Mapping):
        by_name = cast("Mapping[Any, Any]", prices)
        if all(isinstance(name, str) for name in by_name) and all(
            isinstance(price, Price) for price in by_name.values()
        ):
            return dict(by_name)
    raise InvalidDefinition(
        f"prices= must be a Price(input=…, output=…), or a dict of them by model name, got {prices!r:.80}"
    )


def with_prices(model: Model, prices: Prices | None) -> Model:
    """The model with the price that was given for it, if one was."""
    if isinstance(prices, Price):
        return PricedModel(model, prices)
    if prices is not None and model.name in prices:
        return PricedModel(model, prices[model.name])
    return model


class PriceKnowledge(Enum):
    """Whether what a model's replies cost will be known."""

    KNOWN = "known"
    UNKNOWN = "unknown"
    UNSAID = "unsaid"
    NOT_HERE = "not here"


def knowledge(model: Model) -> PriceKnowledge:
    """Whether the price of a model is known: given, in the list of the provider library (which may
    not be installed here), or reported by the model itself, which then says `reports_cost`."""
    if isinstance(model, PricedModel):
        return PriceKnowledge.KNOWN
    listed = getattr(model, "is_price_listed", None)
    if listed is not None:
        return {True: PriceKnowledge.KNOWN, False: PriceKnowledge.UNKNOWN}.get(
            listed(), PriceKnowledge.NOT_HERE
        )
    if getattr(model, "reports_cost", False):
        return PriceKnowledge.KNOWN
    return PriceKnowledge.UNSAID
