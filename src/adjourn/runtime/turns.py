"""Which conversation a new run goes on with."""

from typing import TYPE_CHECKING, Any

from adjourn.agent.storeless import next_turn
from adjourn.driver.checkpoint import taken_over
from adjourn.errors import Conflict
from adjourn.flow.flow import Flow
from adjourn.runtime.erasure import check_turn
from adjourn.runtime.run import Run

if TYPE_CHECKING:
    from adjourn.agent.agent import Agent, Saved
    from adjourn.runtime.runtime import Runtime


async def conversation_before(
    rt: "Runtime", program: "Agent[Any] | Flow", after: "Run[Any] | Saved | None"
) -> dict[str, Any]:
    """What a run begins with that goes on with another's conversation: a run's, the run's of this id, or a checkpoint's.

    Raises `UnknownRun`, `CheckpointInvalid`, or `Refused` if that run has not ended; `Conflict` if either is a flow.
    """
    if after is not None and isinstance(program, Flow):
        raise Conflict(f"{program.name!r} is a flow, which has no conversation: after= is for agents")
    if isinstance(after, str) and not after.lstrip().startswith("{"):
        after = await rt.get(after)
    if isinstance(after, Run):
        after = await after.checkpoint()
    if after is not None:
        after = await check_turn(rt.store, taken_over(after, secret=rt.secret))
    return next_turn(after, rt.secret)
