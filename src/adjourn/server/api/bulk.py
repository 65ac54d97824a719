"""Commands to many runs at once: those that are named, or those that a filter finds."""

from contextlib import suppress
from typing import Any

from adjourn.core.codec import legible
from adjourn.errors import AdjournError, Invalid, UnknownRun
from adjourn.runtime.bulk_verbs import MOST, BulkOutcome, BulkVerb
from adjourn.server.api.decider import check_decider
from adjourn.server.api_request import MAX_BODY, ApiRequest, operation
from adjourn.server.problem import error_members
from adjourn.server.rights import Right
from adjourn.server.run_access import refusal, visible_runs
from adjourn.server.schemas import (
    FLAG,
    KEY,
    LABEL,
    NOTE,
    SEARCH,
    STATUS,
    TIME,
    WORD,
    Schema,
    answer,
    several,
    thing,
)
from adjourn.stores.protocol import Filter
from adjourn.views.bulk_view import BulkItem, BulkPreview, RefusedDecision

FILTERS: dict[str, Schema] = {
    "agent": SEARCH,
    "session": SEARCH,
    "label": LABEL,
    "since": TIME,
    "until": TIME,
}
CHOSEN_RUNS: dict[str, Schema] = {
    "runs": {"type": "array", "items": KEY, "minItems": 1, "maxItems": MOST},
    "where": {
        **thing((), status=STATUS, search=WORD, **FILTERS),
        "minProperties": 1,
        "description": (
            "Cannot be combined with an Idempotency-Key, except for a dry run: the same "
            "filter may find other runs later. Use dry_run, then send the runs that it found."
        ),
    },
    "note": NOTE,
    "dry_run": FLAG,
}
BULK = answer(items=several(BulkItem), more=FLAG)


@operation(
    "POST /runs/bulk",
    "control",
    BULK,
    size=MAX_BODY,
    body=thing(("verb",), verb={"enum": ["pause", "resume", "cancel"]}, **CHOSEN_RUNS),
    reaches="some",
)
async def command_runs(c: ApiRequest) -> Any:
    """Pause, resume or cancel many runs; the result of each."""
    return await _each(c, BulkVerb(c.body["verb"]), "control", await _chosen(c))


@operation(
    "POST /runs/deny-all",
    "decide",
    BULK,
    size=MAX_BODY,
    body=thing((), **CHOSEN_RUNS),
    reaches="some",
)
async def deny_runs(c: ApiRequest) -> Any:
    """Deny every call of many runs that waits for approval; the result of each."""
    runs = await _chosen(c)
    for run in runs:
        with suppress(UnknownRun):  # what is not there says so by itself
            await check_decider(c, run)
    return await _each(c, BulkVerb.DENY, "decide", runs)


async def _each(c: ApiRequest, verb: BulkVerb, right: Right, runs: list[str]) -> Any:
    """Those on which the caller has the right; of the others, why not."""
    allowed, outcomes = list[str](), dict[str, BulkOutcome]()
    for run in dict.fromkeys(runs):
        refused = await refusal(c.app, c.who, right, run)
        if refused is None:
            allowed.append(run)
        else:
            outcomes[run] = BulkOutcome(run, refused=refused)
    done = await c.rt.bulk(
        verb,
        allowed,
        by=c.who.name,
        note=c.body.get("note", ""),
        request_id=c.request_id,
        dry_run=c.body.get("dry_run", False),
    )
    more = "where" in c.body and len(runs) == MOST
    outcomes |= {one.run_id: one for one in done}
    return {"items": [_item(outcomes[run]) for run in dict.fromkeys(runs)], "more": more}


async def _chosen(c: ApiRequest) -> list[str]:
    """The ids of the runs that are named, or that a filter finds."""
    if ("runs" in c.body) == ("where" in c.body):
        raise Invalid("give either runs or where")
    if "runs" in c.body:
        return c.body["runs"]
    if c.request_id and not c.body.get("dry_run", False):
        raise Invalid(
            "an Idempotency-Key and where cannot be combined: the same request may find other runs later",
            consequence="nothing was done",
            advice="send it with dry_run, then send the runs that it found as runs, with this key",
        )
    return await _found(c, c.body["where"])


async def _found(c: ApiRequest, where: dict[str, Any]) -> list[str]:
    """The ids of the runs that a filter finds, the newest first."""
    name, labelled, value = where.get("label", "").partition("=")
    wanted = Filter(
        status=where.get("status", ""),
        program=where.get("agent", ""),
        session=where.get("session", ""),
        label=(name, value) if labelled else None,
        since=where.get("since", 0),
        until=where.get("until", 0),
        limit=MOST,
    )
    return [run.run_id for run in await visible_runs(c, wanted, where.get("search", ""))]


def _item(one: BulkOutcome) -> BulkItem:
    preview = BulkPreview.of(one.preview) if one.preview else None
    return BulkItem(
        run_id=one.run_id,
        title=one.title,
        status=one.status,
        refused=refused_view(one.refused),
        preview=preview,
    )


def refused_view(refused: AdjournError | None) -> RefusedDecision | None:
    """Why one of several was refused; None if it was not."""
    if refused is None:
        return None
    said = error_members(refused)
    return RefusedDecision(
        code=said["code"],
        detail=legible(str(refused)),
        what=said["what"],
        consequence=said["consequence"],
        advice=said["advice"],
    )
