"""Whether a caller may start a run, and with which labels."""

from adjourn.errors import NotAllowed, RunExists, UnknownRun
from adjourn.server.api_request import ApiRequest
from adjourn.server.rights import RunPlace
from adjourn.server.run_access import has_right_on, place_of
from adjourn.stores.protocol import Filter
from adjourn.stores.tenant_store import TENANT

PAGE = 200


async def startable(
    request: ApiRequest, wanted: RunPlace, *, after: str | None = None, run_id: str | None = None
) -> dict[str, str] | None:
    """The labels that a run must have that is to be started: a tenant's has that of the tenant. None:
    those that were given. Raises `NotAllowed` where the caller could not control what they start, or
    would continue a conversation that they may not read; `RunExists`, which says nothing else, if
    the id is that of a run that they may not read.

    Args:
        request: a request to start a run.
        wanted: the run that is to be started.
        after: the run whose conversation it continues, if one was named.
        run_id: its id, if it is to have a certain one.
    """
    who = request.who
    if who.may_everywhere("control") and who.may_everywhere("read"):
        return None
    labels, session = dict(wanted.labels), wanted.session
    if who.tenant:
        labels.setdefault(TENANT, who.tenant)
    if not who.may_on("control", wanted._replace(labels=labels)):
        raise NotAllowed(
            f"{who.name!r} cannot start this run",
            advice=f"these rights were granted: {', '.join(map(str, who.grants)) or who.role}",
        )
    if run_id and await _is_of_others(request, run_id):
        raise RunExists(run_id, taken=True)
    if after and not await has_right_on(request.app, who, "read", after):
        raise UnknownRun(after)
    if session and not await _reads_session(request, session):
        raise NotAllowed(
            f"{who.name!r} cannot read all runs of this session",
            consequence="nothing was started",
            advice="choose another session",
        )
    return labels


async def _is_of_others(request: ApiRequest, run: str) -> bool:
    """Whether an id was used for a run that the caller may not read; also for one that was erased or
    pruned."""
    if await has_right_on(request.app, request.who, "read", run):
        return False
    return bool(await request.rt.store.audit(run, limit=1))


async def _reads_session(request: ApiRequest, session: str) -> bool:
    """Whether the caller may read everything that a next turn would continue."""
    if request.who.may_everywhere("read"):
        return True
    wanted = Filter(session=session, limit=PAGE)
    while True:
        page = await request.rt.store.runs(wanted)
        if not all(request.who.may_on("read", place_of(row)) for row in page):
            return False
        if len(page) < PAGE:
            return True
        wanted = Filter(session=session, limit=PAGE, after=page[-1].id)
