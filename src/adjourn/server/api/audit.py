"""Who did what."""

from collections.abc import Mapping
from typing import Any

from adjourn.errors import UnknownRun
from adjourn.server.api.pages import page
from adjourn.server.api_request import ApiRequest, operation
from adjourn.server.problem import Problem
from adjourn.server.run_access import has_right_on
from adjourn.server.schemas import AFTER, FLAG, LIMIT, LINES, TIME, WORD, Schema, many
from adjourn.stores.audit import SECURITY, AuditFilter, FoundLine
from adjourn.views.audit_entry import AuditEntry, entries, entries_of

AUDIT = many(AuditEntry)
AUDITED: dict[str, Schema] = {
    "after": {
        "type": "string",
        "pattern": r"^([0-9]{1,12}(\.[0-9]{1,9})?/[0-9]{1,15}/[^\n]{0,400})?$",
    },
    "limit": LIMIT,
    "security": FLAG,
    "refused": FLAG,
    "by": WORD,
    "verb": WORD,
    "run_id": WORD,
    "agent": WORD,
    "tool": WORD,
    "text": WORD,
    "since": TIME,
    "until": TIME,
}

PAGE = 500
"""Lines that are looked at together for somebody who may not see all of them."""


def wanted_lines(given: Mapping[str, Any]) -> AuditFilter:
    """The lines that somebody asks for."""
    named = {("run" if name == "run_id" else name): value for name, value in given.items()}
    return AuditFilter(
        **{name: named[name] for name in AuditFilter.__struct_fields__ if name in named}
    )


@operation("GET /runs/{run_id}/audit", "read", AUDIT, query=LINES)
async def get_run_audit(c: ApiRequest) -> Any:
    """The audit lines of a run."""
    run, limit = c.path["run_id"], c.query.get("limit", 100)
    items = await entries_of(c.rt.store, run, c.query.get("after", 0), limit)
    # a run that was pruned has an audit, one that never was has none
    if not items or run == SECURITY:
        await c.rt.store.get(run)
    return page(items, limit, lambda entry: entry.number)


@operation("GET /audit", "read", AUDIT, query=AUDITED, reaches="some")
async def list_audit(c: ApiRequest) -> Any:
    """Every command, also refused ones, newest first, by any field; or the security log."""
    limit, security = c.query.get("limit", 100), c.query.get("security", False)
    if security:
        check_admin(c)
    after, wanted = c.query.get("after", ""), wanted_lines(c.query)
    if c.who.may_everywhere("read"):
        rows = await c.rt.store.recent(after, limit, security=security, wanted=wanted)
        items = await entries(c.rt.store, rows)
    else:
        items = await _visible_lines(c, after, limit, wanted)
    return page(items, limit, lambda entry: entry.cursor)


async def _visible_lines(
    c: ApiRequest, after: str, limit: int, wanted: AuditFilter
) -> list[AuditEntry]:
    """The lines about runs that the caller may see, and no others."""
    shown: list[FoundLine] = []
    while True:
        rows = await c.rt.store.recent(after, PAGE, wanted=wanted)
        for row in rows:
            if len(shown) < limit and await has_right_on(c.app, c.who, "read", row.scope):
                shown.append(row)
        if len(shown) == limit or len(rows) < PAGE:
            return await entries(c.rt.store, shown)
        after = AuditEntry.of(rows[-1]).cursor


@operation(
    "GET /audit/place", "read", AUDIT, query={"run_id": WORD, "number": AFTER}, reaches="some"
)
async def get_audit_place(c: ApiRequest) -> Any:
    """A line of a run's chain and its neighbours; without a run, of the chain of global
    commands."""
    run, number = c.query.get("run_id", ""), c.query.get("number", 1)
    if run == SECURITY:
        check_admin(c)
    if not await has_right_on(c.app, c.who, "read", run):
        raise UnknownRun(run)
    rows = await c.rt.store.audit(run, after=max(0, number - 2), limit=3)
    near = [AuditEntry.of(row) for row in rows if abs(row.n - number) <= 1]
    return page(near, len(near) + 1, lambda entry: entry.cursor)


def check_admin(c: ApiRequest) -> None:
    """Refuse whoever may not read the security log."""
    if not c.who.may_everywhere("admin"):
        raise Problem(
            403,
            "forbidden",
            f"{c.who.name!r} is {c.who.role}: the security log is for admins",
            advice="ask an admin",
        )
