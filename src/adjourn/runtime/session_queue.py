"""One run at a time per session: a run that was started with `queue="session"` begins when all
before it have ended."""

from typing import Any

from adjourn.core.state import State
from adjourn.core.status import CANCELS, ENDED, Status
from adjourn.errors import Invalid
from adjourn.stores.protocol import Filter, Lists

GOING = tuple(status for status in Status if status not in ENDED)


def checked_queue(queue: Any, session: str) -> dict[str, Any]:
    """What `queue=` adds to a run's options; raises `Invalid`.

    Args:
        queue: what was given: `"session"`.
        session: the session of the run.
    """
    if queue != "session":
        raise Invalid(f"queue= must be 'session' or None, got {queue!r:.80}")
    if not session:
        raise Invalid(
            "queue='session' needs session=, the session whose runs are run one after another"
        )
    return {"queue": queue}


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
