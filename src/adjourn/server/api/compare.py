"""Two runs beside each other."""

from typing import Any

from adjourn.errors import UnknownRun
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.run_access import has_right_on
from adjourn.server.schemas import KEY, ref
from adjourn.views.run_comparison import RunComparison


@operation(
    "GET /runs/{run_id}/compare",
    "read",
    ref(RunComparison),
    problems=(409,),
    query={"other": {**KEY, "pattern": r"^[^\u0000]+$"}},
)
async def compare_run(c: ApiRequest) -> Any:
    """Compare two runs: the steps of both, and the differences.

    The caller must be allowed to read the other one, too.
    """
    other = c.query.get("other", "")
    if "\0" in other or not await has_right_on(c.app, c.who, "read", other):
        raise UnknownRun(other)
    return await c.rt.compare(c.path["run_id"], other)
