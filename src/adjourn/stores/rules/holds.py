"""Legal holds: what is under one is neither erased nor pruned."""

from adjourn.errors import RunHeld, UnknownRun
from adjourn.stores.audit import SECURITY
from adjourn.stores.erasure import Hold, check_hold, run_of, scopes_of
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import RecordedRefusal, StoreRule
from adjourn.stores.run_row import RunRow

HOLD, LIFT = "hold", "lift hold"
"""The verbs of the audit."""


def holding(scope: str, by: str, reason: str, lift: bool, origin: str) -> StoreRule:
    """See `Store.hold`."""
    if not scope:
        return StoreRule(ReadRequest(holds=True), lambda sheet: sheet.holds())
    run = run_of(check_hold(scope))
    ask = ReadRequest(run, audit=("", SECURITY, *((run,) if run else ())), holds=True)
    return StoreRule(ask, lambda sheet: hold(sheet, scope, by, reason, lift, origin))


def hold(
    sheet: Sheet, scope: str, by: str, reason: str, lift: bool, origin: str
) -> list[Hold] | RecordedRefusal:
    """See `Store.hold`."""
    what = {
        "verb": LIFT if lift else HOLD,
        "by": by,
        "from": origin,
        "scope": scope,
        "reason": reason,
    }
    run = run_of(scope)
    if run and sheet.row is None:
        sheet.audited("", {**what, "refused": f"no run {run!r:.80}"})
        return RecordedRefusal(UnknownRun(run))
    on = scope in {held.scope for held in sheet.holds()}
    if lift and not on:
        sheet.audited("", {**what, "refused": "it was not on hold"})
        return sheet.holds()
    sheet.audited("", what)
    if run:
        sheet.audited(run, what)
    if lift:
        sheet.noted([what])
        sheet.drop_hold(scope)
    elif not on:
        sheet.put_hold(Hold(scope, by, reason, sheet.now))
    return sheet.holds()


def held(sheet: Sheet, row: RunRow) -> RunHeld | None:
    """Why nothing of this run may be removed, if a hold covers it."""
    covering = scopes_of(row.id, row.labels)
    for hold in sheet.holds():
        if hold.scope in covering:
            return RunHeld(row.id, hold.scope, hold.by, hold.reason)
    return None
