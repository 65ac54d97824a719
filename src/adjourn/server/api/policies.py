"""Which rules exist, and how often each asked."""

from typing import Any

from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.schemas import TIME, ref
from adjourn.views.policy_view import PERIOD, PolicyView, policies, rules_of


@operation("GET /policies", "read", ref(PolicyView), query={"since": TIME})
async def list_policies(c: ApiRequest) -> Any:
    """Which rules exist, and how often each asked; of 30 days, or since a time."""
    since = c.query.get("since", max(0.0, c.rt.store.now() - PERIOD))
    return await policies(c.rt.store, rules_of(c.rt.programs), since)
