"""A limit on money needs a price: whether `MaxCost` can see what the models of a program cost."""

import logging
import warnings
from collections import deque
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from adjourn.core.messages import Reply
from adjourn.driver.located_run import LocatedRun
from adjourn.errors import InvalidDefinition
from adjourn.models.model import Model
from adjourn.models.prices import PriceKnowledge, knowledge

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent

log = logging.getLogger("adjourn.agent")
ADVICE = "give its prices per million tokens: prices=Price(input=…, output=…)"

_told: deque[LocatedRun] = deque(maxlen=1_000)
"""Runs that were warned of: once for each is enough."""


def check_prices(owner: str, agents: "Iterable[Agent[Any]]") -> None:
    """Raise `InvalidDefinition` if the price of a model is not known, for an owner that limits
    money; warn where only the model itself could know."""
    for agent in agents:
        for model in agent.models:
            _check_price(owner, model)


def _check_price(owner: str, model: Model) -> None:
    known = knowledge(model)
    if known == PriceKnowledge.UNKNOWN:
        raise InvalidDefinition(
            f"{owner}: MaxCost would never stop it: no price is known for the model {model.name!r}",
            advice=ADVICE,
        )
    if known == PriceKnowledge.UNSAID:
        warnings.warn(
            f"{owner}: MaxCost needs the cost that the model {model.name!r} reports, and the "
            f"model does not declare that it reports one (reports_cost = True); {ADVICE}",
            stacklevel=5,
        )


def warn_of_no_cost(agent: "Agent[Any]", place: LocatedRun, answer: Reply) -> None:
    """A reply that was paid for and says no cost is not lost; that its limit is blind is logged."""
    if answer.usage.cost or not answer.usage.total_tokens or place in _told:
        return
    _told.append(place)
    log.warning(
        "run %s: %s reported no cost, so MaxCost of %s does not count this reply: %s",
        place.run,
        answer.model or agent.model.name,
        agent.name,
        ADVICE,
    )
