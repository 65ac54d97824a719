"""What restoring a backup does to the runs in it: a backup is a past, and the world has gone on since."""

from collections.abc import Iterable
from datetime import UTC, datetime

from adjourn.core.records import Restored
from adjourn.core.status import ENDED
from adjourn.stores.audit import audited
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.transaction import Tx, need, stamped

RESTORE = "restore"
"""The verb of the audit."""
AHEAD = 1_000_000
"""So far beyond every known epoch the next one is, at least: the time that was lost has had some that nobody knows."""


def next_epoch(highest: int, now: float) -> int:
    """An epoch that no worker of the lost time had. It grows with the clock: the same backup may be restored again."""
    return max(highest + AHEAD, int(now * 1000))


def restored(tx: Tx, now: float, runs: Iterable[str], epoch: int, by: str, origin: str) -> int:
    """Put everything in doubt that these runs may have begun since the backup; how many of them have not ended.

    Each is paused by `Restored`, without a worker, at an epoch that no earlier worker has. The audit says it of each run,
    and once for the store, with the last seal that the backup has.
    """
    held = 0
    for run in runs:
        row = need(tx, run)
        if row.status in ENDED:
            continue
        since = row.updated_at
        reason = f"restored from a backup: its last record here is of {when(since)}, what it did since is not known"
        record = Restored(epoch=epoch, since=since, by=by, reason=reason)
        seq = append(tx, row, epoch, stamped(record, now))
        tx.save(row)
        audited(tx, now, run, {"verb": RESTORE, "by": by, "from": origin, "seq": seq})
        held += 1
    last = tx.seal()
    audited(tx, now, "", {"verb": RESTORE, "by": by, "from": origin, "runs": held, "seal": last.k if last else 0})
    return held


def when(at: float) -> str:
    """A time as it is shown in a reason."""
    return datetime.fromtimestamp(at, UTC).strftime("%Y-%m-%d %H:%M:%S UTC")
