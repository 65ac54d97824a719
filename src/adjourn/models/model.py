"""The only thing the rest of the system knows about a model."""

from collections.abc import AsyncIterator
from typing import Protocol, runtime_checkable

from adjourn.core.messages import Delta, ModelRequest, Reply


@runtime_checkable
class Model(Protocol):
    """Anything that can answer a `ModelRequest`."""

    @property
    def name(self) -> str:
        """What timelines show, for example `"openai:gpt-5-mini"`."""
        ...

    def request(self, request: ModelRequest) -> AsyncIterator[Delta | Reply]:
        """Yield any number of deltas as they arrive, then exactly one `Reply`, and end.

        A model that cannot stream yields only the `Reply`. Cancelling the task that iterates must
        close the provider's connection. It must not retry by itself. Raises `ModelError` (with
        `transient` saying whether another attempt may help, and `retry_after` in seconds if the
        provider said so); any other exception counts as not transient.

        Args:
            request: what to answer.
        """
        ...
