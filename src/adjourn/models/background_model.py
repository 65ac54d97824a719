"""Models whose provider works on a request while nothing of the run is alive."""

from collections.abc import AsyncIterator
from datetime import timedelta
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import msgspec

from adjourn.core.duration import seconds
from adjourn.core.messages import Delta, ModelRequest, Reply
from adjourn.core.usage import Usage
from adjourn.errors import InvalidDefinition
from adjourn.models.model import Model
from adjourn.models.prices import PricedModel

if TYPE_CHECKING:
    from pydantic_ai.models import Model as ProviderModel

GROWS = 1.5
"""Each wait is longer than the one before by this factor."""


class ResponseEnd(msgspec.Struct, frozen=True):
    """What was submitted is over at the provider, and there is no reply.

    Attributes:
        error: why.
        kind: a word for it: `server`, `rate_limit`, `cancelled`, `not_found`, ….
        transient: whether submitting it again may succeed.
    """

    error: str
    kind: str = "model"
    transient: bool = False


@runtime_checkable
class BackgroundModel(Protocol):
    """A `Model` that also takes requests to work on in the background.

    Each of its methods is one short request to the provider. They raise `ModelError` if that fails.
    """

    @property
    def name(self) -> str:
        """See `Model.name`."""
        ...

    def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """Answer in the foreground: for summaries.

        Args:
            request: what to answer.
        """
        ...

    @property
    def honours_keys(self) -> bool:
        """Whether the provider does the same `key` only once, and then gives the same id again."""
        ...

    def wait(self, polls: int) -> float:
        """Seconds until it is looked at again.

        Args:
            polls: how often it was waited for already.
        """
        ...

    async def submit(self, request: ModelRequest, key: str) -> str | Reply:
        """Hand it in; what the provider calls it, or the reply if that is there at once.

        Args:
            request: what to answer.
            key: names this submission, also if it is sent again.
        """
        ...

    async def fetch(self, request: ModelRequest, id: str) -> Reply | ResponseEnd | None:
        """The reply, or how it has ended without one; None while it is worked on.

        Args:
            request: what is answered.
            id: what `submit` gave.
        """
        ...

    async def withdraw(self, id: str) -> Usage:
        """Stop the work; what it has used. That it has ended already is no error.

        Args:
            id: what `submit` gave.
        """
        ...


def background(
    model: "str | ProviderModel",
    *,
    poll: float | timedelta = 15.0,
    poll_at_most: float | timedelta = 300.0,
    honours_keys: bool = False,
) -> BackgroundModel:
    """A model of OpenAI's Responses API, used in background mode.

    A request is handed in, the provider's id is recorded, and the run waits as data: no process,
    thread or connection. The provider's signed webhook wakes it, or a timer that looks. Cancelling
    the run cancels the response at the provider.

    Args:
        model: a provider string, for example `"openai-responses:o3-deep-research"`, or a pydantic-ai
            `OpenAIResponsesModel`.
        poll: the run looks after so long for the first time, then after half as long again each
            time. Where webhooks arrive, this may be minutes.
        poll_at_most: it looks at least so often.
        honours_keys: the endpoint does a request with the same `Idempotency-Key` once. OpenAI does
            not promise that: a worker that dies between handing in and recording the id then
            leaves a question to a person, because the response may be paid for.
    """
    first, most = seconds(poll, "poll"), seconds(poll_at_most, "poll_at_most")
    if not 0 < first <= most:
        raise InvalidDefinition(
            f"poll= must be greater than 0 and at most poll_at_most=, got {poll!r} and {poll_at_most!r}"
        )
    from adjourn.models.pydantic_ai.background_responses import OpenAIBackground

    return OpenAIBackground(model, first, most, honours_keys=honours_keys)


def background_of(model: Model) -> BackgroundModel | None:
    """The model as one that works in the background; None if it does not."""
    found: Any = model
    if isinstance(found, PricedModel):
        found = found.model
    # asked with every plan: looking for all of a protocol's methods takes a while
    if getattr(found, "submit", None) is not None and isinstance(found, BackgroundModel):
        return found
    return None


def priced(model: Model, reply: Reply) -> Reply:
    """The reply with the price that was given for the model, if one was."""
    if isinstance(model, PricedModel):
        return model.priced(reply)
    return reply
