"""Who did what, and the check of everything."""

from typing import Any

from adjourn.server.api.pages import page
from adjourn.server.api_request import ApiRequest
from adjourn.server.problem import Problem
from adjourn.stores.audit import SECURITY, AuditFilter
from adjourn.views.api_answers import (
    VerificationView,
)
from adjourn.views.audit_entry import AuditEntry, entries_of


async def get_run_audit(c: ApiRequest) -> Any:
    """A page of what was wanted of a run."""
    run, limit = c.path["run"], c.query.get("limit", 100)
    items = await entries_of(c.rt.store, run, c.query.get("after", 0), limit)
    # a run that was pruned has an audit, one that never was has none
    if not items or run == SECURITY:
        await c.rt.store.get(run)
    return page(items, limit, lambda entry: entry.number)


async def list_audit(c: ApiRequest) -> Any:
    """A page of the audit of everything, or of the security log, newest first."""
    limit, security = c.query.get("limit", 100), c.query.get("security", False)
    if security:
        _check_admin(c)
    fields = {name: c.query[name] for name in AuditFilter.__struct_fields__ if name in c.query}
    rows = await c.rt.store.recent(
        c.query.get("after", ""), limit, security=security, wanted=AuditFilter(**fields)
    )
    return page([AuditEntry.of(row) for row in rows], limit, lambda entry: entry.cursor)


async def get_audit_place(c: ApiRequest) -> Any:
    """A line of a chain, the one before it and the one after it."""
    run, number = c.query.get("run", ""), c.query.get("number", 1)
    if run == SECURITY:
        _check_admin(c)
    rows = await c.rt.store.audit(run, after=max(0, number - 2), limit=3)
    near = [AuditEntry.of(row) for row in rows if abs(row.n - number) <= 1]
    return page(near, len(near) + 1, lambda entry: entry.cursor)


def _check_admin(c: ApiRequest) -> None:
    if not c.who.may("admin"):
        raise Problem(
            403, "forbidden", f"{c.who.name!r} is {c.who.role}: the security log is for admins"
        )


async def verify_audit(c: ApiRequest) -> Any:
    """Check everything; one at a time, because it reads everything."""
    if c.desk.verifying.locked():
        raise Problem(
            429, "busy", "a verification is already running; try again later", {"Retry-After": "5"}
        )
    async with c.desk.verifying:
        return VerificationView.of(await c.rt.verification())
