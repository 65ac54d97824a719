"""Two runs beside each other."""

from typing import Any

from adjourn.errors import UnknownRun
from adjourn.server.api_request import ApiRequest, Operation
from adjourn.server.run_access import has_right_on
from adjourn.server.schemas import KEY, ref
from adjourn.views.run_comparison import RunComparison


async def compare_run(c: ApiRequest) -> Any:
    """The run beside another one, which the caller must be allowed to read, too."""
    other = c.query.get("other", "")
    if "\0" in other or not await has_right_on(c.desk, c.who, "read", other):
        raise UnknownRun(other)
    return await c.rt.compare(c.path["run"], other)


OPERATIONS = [
    Operation(
        "GET /runs/{run}/compare",
        "read",
        "A run beside another: the steps of both, and what differs.",
        compare_run,
        ref(RunComparison),
        problems=(409,),
        query={"other": {**KEY, "pattern": r"^[^\u0000]+$"}},
    ),
]
"""Its part of the table of operations."""
