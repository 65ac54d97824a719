"""Which rules exist, and how often each asked."""

from typing import Any

from adjourn.server.api_request import ApiRequest, Operation
from adjourn.server.schemas import TIME, ref
from adjourn.views.policy_view import PERIOD, PolicyView, policies, rules_of


async def list_policies(c: ApiRequest) -> Any:
    """The rules of the agents of this server, and those that asked since a time."""
    since = c.query.get("since", max(0.0, c.rt.store.now() - PERIOD))
    return await policies(c.rt.store, rules_of(c.rt.programs), since)


OPERATIONS = [
    Operation(
        "GET /policies",
        "read",
        "Which rules exist, and how often each asked; of 30 days, or since a time.",
        list_policies,
        ref(PolicyView),
        query={"since": TIME},
    ),
]
"""Its part of the table of operations."""
