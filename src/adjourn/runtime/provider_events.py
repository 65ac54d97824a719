"""What a model's provider says of its own accord: that it has ended what a run waits for."""

from typing import TYPE_CHECKING

from adjourn.core.background import event_of, wait_of
from adjourn.core.records import Emitted
from adjourn.errors import Refused, RequestReused, RunErased
from adjourn.stores.protocol import Filter

if TYPE_CHECKING:
    from adjourn.runtime.runtime import Runtime


async def response_ended(
    runtime: "Runtime", id: str, said: str, *, request_id: str, origin: str
) -> str:
    """Wake the run that waits for this response, so that it looks at it now. Its id; "" if no run
    waits for it, or none does any more.

    It decides nothing and answers nothing: the run asks the provider itself.

    Args:
        runtime: whose runs they are.
        id: what the provider calls the response.
        said: what it said about it.
        request_id: the same again has no further effect.
        origin: from where, for the audit.
    """
    found = await runtime.store.inbox(Filter(interrupt=wait_of(id), kind="timer", limit=1))
    if not found:
        return ""
    run = found[0].run_id
    event = Emitted(event=event_of(id), value={"said": said}, decides=False)
    try:
        with runtime.worker.expecting(run):
            await runtime.store.deliver(run, event, request=request_id, origin=origin)
            runtime.worker.wake(run)
    except (Refused, RequestReused, RunErased):  # it has ended, or was told already
        return ""
    return run
