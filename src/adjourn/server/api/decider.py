"""Who may decide about a run."""

from adjourn.core.interrupt import Interrupt
from adjourn.core.requesters import check_outsider
from adjourn.server.api_request import ApiRequest


async def check_decider(request: ApiRequest, run: str) -> None:
    """Raise `NotAllowed` if whoever asks is the run or one of its agents."""
    row, state = await request.app.folds.of(run)
    agents = {row.id, row.program, *(thread.agent for thread in state.threads.values())}
    check_outsider(request.who.name, agents)


async def decidable(request: ApiRequest) -> Interrupt:
    """The interrupt that a path names, if whoever asks may decide it."""
    found = await request.rt.interrupt(request.path["ref"])
    await check_decider(request, found.run_id)
    return found
