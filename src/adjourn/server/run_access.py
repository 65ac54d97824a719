"""What of the store a caller may see and change. Lists, streams, counts and commands to many all ask
here; the rule itself is `grants.may_on`."""

from collections.abc import AsyncIterator, Iterable
from typing import TYPE_CHECKING

from msgspec.structs import replace

from adjourn.core.ids import split_ref
from adjourn.core.interrupt import Interrupt
from adjourn.errors import AdjournError, NotAllowed, UnknownInterrupt, UnknownRun
from adjourn.runtime.run_list import with_search
from adjourn.server.api_request import ApiRequest, Operation
from adjourn.server.change_feed import Change, ChangeFeed
from adjourn.server.identity import Identity
from adjourn.server.problem import Problem
from adjourn.server.rights import Right, RunPlace
from adjourn.stores.protocol import Filter, Halt
from adjourn.stores.run_row import RunRow
from adjourn.stores.tenant_store import TENANT
from adjourn.views.api_answers import FeedSnapshot
from adjourn.views.run_view import RunSummary, run_summary

if TYPE_CHECKING:
    from adjourn.server.app_state import AppState

EVERYTHING = "*"
PAGE = 200
"""Runs that are looked at together for somebody who may not see all of them."""


def place_of(row: RunRow) -> RunPlace:
    """What rights on a run may depend on."""
    return RunPlace(row.program, row.session, row.labels)


async def has_right_on(app: "AppState", who: Identity, right: Right, run: str) -> bool:
    """Whether a caller has a right on a run; nobody has one on a run that is not there, but those
    who have it everywhere."""
    if who.may_everywhere(right):
        return True
    try:
        return who.may_on(right, await app.place_of(run))
    except UnknownRun:
        return False


async def refusal(app: "AppState", who: Identity, right: Right, run: str) -> AdjournError | None:
    """Why a caller may not do something with a run; None if they may. A run that they may not even
    see is not there for them."""
    if await has_right_on(app, who, right, run):
        return None
    if not await has_right_on(app, who, "read", run):
        return UnknownRun(run)
    return NotAllowed(f"{who.name!r} does not have the right to {right} on this run")


async def check_reach(
    app: "AppState", who: Identity, operation: Operation, places: dict[str, str]
) -> None:
    """Refuse an operation on what a caller has no right on. What is neither about one run nor made
    for callers with some rights only needs the right everywhere.

    Args:
        app: the application's state.
        who: the caller.
        operation: what they want.
        places: the placeholders of its path.
    """
    if who.may_everywhere(operation.right) or operation.reach == "own":
        return
    if "run_id" in places:
        run = places["run_id"]
    elif "ref" in places:
        run = (await visible_interrupt(app, who, places["ref"])).run_id
    elif operation.reach == "some":
        return
    else:
        raise Problem(
            403,
            "forbidden",
            f"{who.name!r} needs the right to {operation.right} on everything",
            advice="ask an admin",
        )
    if (refused := await refusal(app, who, operation.right, run)) is not None:
        raise refused


async def visible_interrupt(app: "AppState", who: Identity, name: str) -> Interrupt:
    """An interrupt, if the caller may see it. For those who may not see all of them, one that is not
    there and one that they may not see are the same."""
    if who.may_everywhere("read"):
        return await app.runtime.interrupt(name)
    try:
        found = await app.runtime.interrupt(name)
    except AdjournError:
        raise UnknownInterrupt(name, ()) from None
    if not await has_right_on(app, who, "read", found.run_id):
        raise UnknownInterrupt(name, ())
    return found


# Lists


def narrowed(who: Identity, wanted: Filter) -> Filter:
    """A filter by which fewer runs are looked at that the caller may not see: its tenant's label, or
    what its only grant says. It hides nothing; `may_on` does."""
    grants = [grant for grant in who.grants if grant.has("read")]
    if who.tenant and wanted.label is None:
        wanted = replace(wanted, label=(TENANT, who.tenant))
    if who.may_role("read") or len(grants) != 1:
        return wanted
    [grant] = grants
    if grant.agent and not wanted.program:
        wanted = replace(wanted, program=grant.agent)
    if grant.session and not wanted.session:
        wanted = replace(wanted, session=grant.session)
    if grant.labels and wanted.label is None:
        wanted = replace(wanted, label=grant.labels[0])
    return wanted


async def visible_runs(request: ApiRequest, wanted: Filter, search: str = "") -> list[RunSummary]:
    """The runs of a list that the caller may see; as many as there are, up to the filter's limit.

    Args:
        request: the request.
        wanted: what the list shows.
        search: what the person typed.
    """
    runtime = request.rt
    if search:
        wanted = await with_search(runtime, wanted, search)
    rows = [row async for row in _rows(request, wanted)]
    halts, now = await runtime.halts(), runtime.store.now()
    return [run_summary(row, halts, now) for row in rows]


async def _rows(request: ApiRequest, wanted: Filter) -> AsyncIterator[RunRow]:
    store, who = request.rt.store, request.who
    if who.may_everywhere("read"):
        for row in await store.runs(wanted):
            yield row
        return
    left, wanted = wanted.limit, replace(narrowed(who, wanted), limit=PAGE)
    while True:
        page = await store.runs(wanted)
        for row in page:
            if left and who.may_on("read", place_of(row)):
                left -= 1
                yield row
        if not left or len(page) < PAGE:
            return
        wanted = replace(wanted, after=page[-1].id)


def visible_halts(who: Identity, halts: Iterable[Halt]) -> tuple[Halt, ...]:
    """Those that a caller may know of: for those who may not see everything, the one of everything,
    and those of agents that they were given."""
    if who.may_everywhere("read"):
        return tuple(halts)
    known = {EVERYTHING, *(f"agent:{grant.agent}" for grant in who.grants if grant.agent)}
    return tuple(halt for halt in halts if halt.scope in known)


def knows_program(who: Identity, name: str) -> bool:
    """Whether a caller may know that a program is there."""
    if who.may_role("read"):
        return True
    return any(grant.has("read") and grant.agent in ("", name) for grant in who.grants)


# The stream about everything


async def visible_changes(
    request: ApiRequest, hub: ChangeFeed, last: str, *, follow: bool
) -> AsyncIterator[Change]:
    """The changes that a caller may see. One of which they may see nothing is left out.

    Args:
        request: the request.
        hub: where all changes are.
        last: the id of the last event that the caller has.
        follow: whether it lasts.
    """
    app, who = request.app, request.who
    halts: tuple[Halt, ...] | None = None
    async for change in hub.watch(last, follow=follow):
        if who.may_everywhere("read"):
            yield change
            continue
        data, before = change.data, halts
        halts = visible_halts(who, data.halts)
        if isinstance(data, FeedSnapshot):
            shown = await _visible_refs(app, who, data.open)
            yield change._replace(data=replace(data, open=shown, halts=halts))
            continue
        runs: list[RunSummary] = []
        for run in data.runs:
            if who.may_on("read", RunPlace(run.agent, run.session, run.labels)):
                runs.append(run)
        opened = await _visible_refs(app, who, data.opened)
        closed = await _visible_refs(app, who, data.closed)
        if not (opened or closed or runs or data.more) and halts == before:
            continue
        waiting = await _visible_refs(app, who, hub.open_refs())
        shown = replace(
            data,
            opened=opened,
            closed=closed,
            runs=tuple(runs),
            halts=halts,
            open_interrupts=len(waiting),
        )
        yield change._replace(data=shown)


async def _visible_refs(app: "AppState", who: Identity, refs: Iterable[str]) -> tuple[str, ...]:
    found: list[str] = []
    for ref in refs:
        place = split_ref(ref)
        if place is not None and await has_right_on(app, who, "read", place[0]):
            found.append(ref)
    return tuple(found)
