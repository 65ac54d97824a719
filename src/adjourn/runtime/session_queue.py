"""One run at a time per session: a run that was started with `queue="session"` begins when all
before it have ended."""

from adjourn.core.state import State
from adjourn.core.status import CANCELS, ENDED, Status
from adjourn.stores.protocol import Filter, Lists

GOING = tuple(status for status in Status if status not in ENDED)


async def ahead(store: Lists, state: State) -> str:
    """The id of a run that this one must wait for; "" if there is none.

    What was started before it in its session has ended, or ends some day: nothing can come in
    between. So nobody need look again once a run has begun.
    """
    started = state.started
    if started.options.get("queue") != "session" or state.epoch or state.status in CANCELS:
        return ""
    for status in GOING:
        before = Filter(session=started.session, status=status.value, after=started.run, limit=1)
        if found := await store.runs(before):
            return found[0].id
    return ""
