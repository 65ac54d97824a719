"""Erasing a run: its content goes, the tombstone stays."""

from adjourn.core.erasing import tombstone
from adjourn.core.records import Erased, parse
from adjourn.core.status import ENDED
from adjourn.errors import AdjournError, Refused, UnknownRun
from adjourn.stores.audit import audited
from adjourn.stores.rules.commands import Failed
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.transaction import Tx, stamped
from adjourn.stores.store import Erasure, RunRow

ERASE = "erase"
"""The verb of the audit."""


def erase(tx: Tx, now: float, run: str, by: str, reason: str, origin: str) -> Erasure | Failed:
    """See `Store.erase`."""
    row = tx.run(run)
    what = {"verb": ERASE, "by": by, "from": origin, "reason": reason}
    if row is None:
        audited(tx, now, "", {**what, "refused": f"no run {run!r:.80}"})
        return Failed(UnknownRun(run))
    if row.erased:
        return _found(tx, row)
    if refusal := _refusal(row):
        audited(tx, now, run, {**what, "refused": str(refusal)})
        return Failed(refusal)
    audited(tx, now, run, {**what, "seq": row.seq + 1})
    status = "completed" if row.status == "completed" else "cancelled"
    record = stamped(Erased(run=row.id, kind=row.kind, program=row.program, status=status, by=by, reason=reason), now)
    row.title, row.labels, row.input_digest, row.requesters, row.salt = tombstone(record), {}, "", (), b""
    row.worker, row.epoch, row.stopped, row.erased = "", 0, False, record.at
    tx.wipe(row)
    append(tx, row, 0, record)
    tx.save(row)
    return _found(tx, row)


def _refusal(row: RunRow) -> AdjournError | None:
    """Why a run must not be erased."""
    if row.status not in ENDED:
        return Refused(row.id, ERASE, row.status.value, "a run is erased when it has ended: cancel it first")
    return None


def _found(tx: Tx, row: RunRow) -> Erasure:
    record = parse(tx.record(row, row.seq))
    assert isinstance(record, Erased)
    return Erasure(row.id, record.by, record.reason, record.at, row.seq)
