"""What a fork has of its origin, before it is made and after."""

from typing import Any

from adjourn.runtime.erasure_verbs import check_content
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.schemas import AFTER, ref
from adjourn.views.fork_preview import ForkPreview, fork_preview


@operation(
    "GET /runs/{run_id}/fork-preview",
    "read",
    ref(ForkPreview),
    problems=(409,),
    query={"at": AFTER, "answers": {"enum": ["reopen", "keep"]}},
)
async def preview_fork(c: ApiRequest) -> Any:
    """What a fork would inherit as done, and what it may repeat."""
    run = c.path["run_id"]
    records = check_content(run, await c.rt.store.load(run))
    return fork_preview(records, c.query.get("at", 0), c.query.get("answers", "reopen"))
