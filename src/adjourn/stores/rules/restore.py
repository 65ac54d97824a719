"""What restoring a backup does to the runs in it: a backup is a past, and the world has gone on
since."""

from datetime import UTC, datetime

from adjourn.core.record_parts import stamped
from adjourn.core.records import Restored
from adjourn.core.status import ENDED
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.sheet import Sheet, need
from adjourn.stores.rules.transaction import StoreRule

RESTORE = "restore"
"""The verb of the audit."""
AHEAD = 1_000_000
"""So far beyond every known epoch the next one is, at least: the time that was lost has had some
that nobody knows."""


def next_epoch(highest: int, now: float) -> int:
    """An epoch that no worker of the lost time had. It grows with the clock: the same backup may be
    restored again."""
    return max(highest + AHEAD, int(now * 1000))


def holding(run: str, epoch: int, by: str, origin: str) -> StoreRule:
    """Put everything in doubt that a run may have begun since the backup; whether it has not ended.

    It is paused by `Restored`, without a worker, at an epoch that no earlier worker has, and its
    audit says so.
    """
    return StoreRule(
        ReadRequest(run, all_interrupts=True, audit=(run,)),
        lambda sheet: hold(sheet, run, epoch, by, origin),
    )


def hold(sheet: Sheet, run: str, epoch: int, by: str, origin: str) -> bool:
    """See `holding`."""
    row = need(sheet, run)
    if row.status in ENDED:
        return False
    since = row.updated_at
    reason = (
        f"restored from a backup: its last record is from {when(since)}; it is unknown what it "
        "did after that"
    )
    record = Restored(epoch=epoch, since=since, by=by, reason=reason)
    seq = append(sheet, row, epoch, stamped(record, sheet.now))
    sheet.save(row)
    sheet.audited(run, {"verb": RESTORE, "by": by, "from": origin, "seq": seq})
    return True


def telling(held: int, by: str, origin: str) -> StoreRule:
    """When so many runs are held: one line of the audit for the store, with the last seal that the
    backup has."""
    return StoreRule(
        ReadRequest(touched=1, audit=("",)), lambda sheet: tell(sheet, held, by, origin)
    )


def tell(sheet: Sheet, held: int, by: str, origin: str) -> None:
    """See `telling`."""
    last = sheet.seal()
    sheet.audited(
        "", {"verb": RESTORE, "by": by, "from": origin, "runs": held, "seal": last.k if last else 0}
    )


def when(at: float) -> str:
    """A time as it is shown in a reason."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
