"""Pruning a run: all of it goes, what the audit says of it stays, and its id with it."""

from adjourn.core.status import ENDED
from adjourn.errors import Refused
from adjourn.stores.erasure import Pruning
from adjourn.stores.rules.holds import held
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet
from adjourn.stores.rules.transaction import RecordedRefusal, StoreRule
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import sealed_head

PRUNE = "prune"
"""The verb of the audit."""


def pruning(run: str, wanted: Pruning, origin: str) -> StoreRule:
    """See `Store.prune`."""
    ask = ReadRequest(run, audit=(run,), holds=True, later=True)
    return StoreRule(ask, lambda sheet: prune(sheet, run, wanted, origin))


def prune(sheet: Sheet, run: str, wanted: Pruning, origin: str) -> bool | RecordedRefusal:
    """See `Store.prune`. A refusal is no line of the audit: nobody named this run, its age did."""
    row = sheet.row
    if row is None:
        return False
    if refusal := held(sheet, row) or _refusal(row, wanted) or _followed(sheet, row):
        return RecordedRefusal(refusal)
    told = {"verb": PRUNE, "by": wanted.by, "from": origin, "reason": wanted.reason}
    kept = {"seq": row.seq, "head": sealed_head(row.salt, row.head), "status": row.status.value}
    if wanted.archive:
        archived = {"archive": wanted.archive, "digest": wanted.digest}
    else:
        archived = {}
    sheet.audited(run, {**told, **kept, **archived})
    sheet.remove(row)
    return True


def _refusal(row: RunRow, wanted: Pruning) -> Refused | None:
    """Why a run must not be pruned."""
    if row.status not in ENDED:
        return Refused(
            row.id, PRUNE, row.status.value, advice="only a run that has ended can be pruned"
        )
    if row.seq != wanted.seq:
        why = f"it is at record {row.seq}, not at {wanted.seq}"
        return Refused(row.id, PRUNE, row.status.value, why, advice="check it again")
    if row.updated_at > wanted.before:
        return Refused(row.id, PRUNE, row.status.value, "its last record is too recent")
    return None


def _followed(sheet: Sheet, row: RunRow) -> Refused | None:
    """A conversation goes from its end: what a later turn begins with is there as long as that turn
    is."""
    for run, _ in sheet.later():
        return Refused(
            row.id,
            PRUNE,
            row.status.value,
            f"run {run} continues its conversation and still exists",
        )
    return None
