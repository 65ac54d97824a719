"""The operation that shows the workers of the store."""

from typing import Any

from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.schemas import ref
from adjourn.views.fleet_view import FleetView


@operation("GET /workers", "read", ref(FleetView))
async def list_workers(c: ApiRequest) -> Any:
    """Workers, ready runs, and runs that no worker fits."""
    return await c.rt.fleet()
