"""The operation that shows the workers of the store."""

from typing import Any

from adjourn.server.api_request import ApiRequest


async def list_workers(c: ApiRequest) -> Any:
    """Who works on runs, what is ready for them, and what no worker fits."""
    return await c.rt.fleet()
