"""What was approved, and failed when it ran."""

from typing import Any

from adjourn.core.ids import question_of
from adjourn.errors import AdjournError
from adjourn.server.api.audit import AUDITED
from adjourn.server.api.pages import whole
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.run_access import has_right_on
from adjourn.server.schemas import LIMIT, WORD, many
from adjourn.stores.audit import AuditFilter
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.call_outcome import outcome_of
from adjourn.views.timeline import Timeline
from adjourn.views.words import OutcomeState

STRETCH = 200
"""Approvals that are read from the store at once."""
FURTHEST = 2_000
"""Approvals that one request looks at; the next page goes on behind them."""


@operation(
    "GET /decisions/failed",
    "read",
    many(AuditEntry),
    query={"after": AUDITED["after"], "limit": LIMIT, "text": WORD},
    reaches="some",
)
async def list_failed(c: ApiRequest) -> Any:
    """Approved calls that failed when they ran, newest first."""
    limit, after = c.query.get("limit", 100), c.query.get("after", "")
    wanted = AuditFilter(verb="approve", refused=False, text=c.query.get("text", ""))
    items: list[AuditEntry] = []
    known: dict[str, Timeline | None] = {}
    looked_at = 0
    while rows := await c.rt.store.recent(after, STRETCH, wanted=wanted):
        for row in rows:
            entry = AuditEntry.of(row)
            after = entry.cursor
            # where a page ends names a run: of those that are not there, none is counted
            if not await has_right_on(c.app, c.who, "read", row.scope):
                continue
            if row.scope not in known:
                known[row.scope] = await _timeline(c, row.scope)
            if _has_failed(known[row.scope], entry.interrupt_id):
                items.append(entry)
            looked_at += 1
            if len(items) == limit or looked_at == FURTHEST:
                return {"items": items, "after": after}
        if len(rows) < STRETCH:
            break
    return whole(items)


async def _timeline(c: ApiRequest, run: str) -> Timeline | None:
    """The steps of a run; None for one that was pruned."""
    try:
        _, _, timeline = await c.app.folds.whole(run)
    except AdjournError:
        return None
    return timeline


def _has_failed(timeline: Timeline | None, interrupt: str) -> bool:
    if timeline is None or not interrupt:
        return False
    outcome = outcome_of(timeline.call(question_of(interrupt)))
    return outcome is not None and outcome.state == OutcomeState.FAILED
