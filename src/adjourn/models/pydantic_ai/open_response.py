"""Hanging up on Google's service. Its library closes a connection when the garbage collector finds
what reads from it, which may be minutes after a run was cancelled; until then the service goes on,
and is paid."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from contextvars import ContextVar
from typing import Any

_seen: ContextVar[list[Any] | None] = ContextVar("adjourn_responses", default=None)


async def _see(response: Any) -> None:
    """A hook of the HTTP client: the headers of a response are here."""
    seen = _seen.get()
    if seen is not None:
        seen.append(response)


@asynccontextmanager
async def hung_up(model: Any) -> AsyncGenerator[None]:
    """Inside, a request is made; at the end its connection is closed, or free for the next request
    if the answer was read to its end. Models of other libraries do that themselves.

    Args:
        model: the provider library's.
    """
    client = getattr(getattr(model, "client", None), "_api_client", None)
    http = getattr(client, "_async_httpx_client", None)
    if http is None:
        yield
        return
    hooks = http.event_hooks
    if _see not in hooks["response"]:
        http.event_hooks = {**hooks, "response": [*hooks["response"], _see]}
    seen: list[Any] = []
    _seen.set(seen)
    try:
        yield
    finally:
        _seen.set(None)
        for response in seen:
            await response.aclose()
