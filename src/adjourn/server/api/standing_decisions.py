"""The operations about decisions that stand for later calls."""

from typing import Any

from adjourn.core.standing_decision import MAX_CONDITION, MAX_CONDITIONS, MAX_LASTS, MAX_TIMES
from adjourn.server.api.decider import decidable
from adjourn.server.api.pages import whole
from adjourn.server.api_request import ApiRequest, interrupt_verb, operation
from adjourn.server.schemas import NOTE, Schema, many, ref, thing
from adjourn.views.api_answers import Done
from adjourn.views.standing_view import StandingView, standing_views

STANDS: Schema = thing(
    (),
    where={
        "type": "array",
        "items": {"type": "string", "minLength": 1, "maxLength": MAX_CONDITION},
        "maxItems": MAX_CONDITIONS,
    },
    lasts={"type": "number", "minimum": 0, "maximum": MAX_LASTS},
    times={"type": "integer", "minimum": 0, "maximum": MAX_TIMES},
)
"""For which later calls of its run a decision stands."""


@operation("GET /runs/{run_id}/standing", "read", many(StandingView))
async def list_standing(c: ApiRequest) -> Any:
    """The standing decisions of a run, also those that have ended.

    The latest first.
    """
    _, state = await c.app.folds.of(c.path["run_id"])
    return whole(standing_views(state, c.rt.store.now()))


@interrupt_verb("revoke", ref(Done), thing((), note=NOTE))
async def revoke(c: ApiRequest) -> Any:
    """Revoke a standing decision."""
    found = await decidable(c)
    seq = await c.rt.revoke(
        found, by=c.who.name, note=c.body.get("note", ""), request_id=c.request_id
    )
    return Done(seq=seq)
