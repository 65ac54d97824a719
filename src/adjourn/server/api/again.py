"""A run from its beginning once more."""

from typing import Any

from adjourn.runtime.checked_answers import MISSING
from adjourn.server.api.files import given_files
from adjourn.server.api.runs import begun_once
from adjourn.server.api.startable import startable
from adjourn.server.api_request import MAX_BODY, ApiRequest, run_verb
from adjourn.server.rights import RunPlace
from adjourn.server.schemas import ANYTHING, FLAG, LABELS, ref, thing
from adjourn.views.api_answers import RunRef


@run_verb(
    "again",
    "control",
    ref(RunRef),
    thing(input=ANYTHING, labels=LABELS, same_session=FLAG),
    size=MAX_BODY,
)
async def run_again(c: ApiRequest) -> Any:
    """Start this run again from its beginning, with the same input or another."""
    run = await c.rt.get(c.path["run_id"])
    old, session = await c.app.place_of(run.id), ""
    if c.body.get("same_session", False):
        session = old.session
    labels = c.body.get("labels")
    wanted = RunPlace(old.program, session, old.labels if labels is None else labels)
    if (stamped := await startable(c, wanted)) is not None:
        labels = stamped
    with begun_once(c) as new:
        made = await run.again(
            input=given_files(c.body.get("input", MISSING)),
            labels=labels,
            same_session=c.body.get("same_session", False),
            run_id=new,
            by=c.who.name,
        )
    return RunRef(run_id=made.id)
