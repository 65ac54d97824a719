"""Runs that are due, in a SQLite file: a function of a connection."""

from collections.abc import Iterator, Sequence
from typing import Any

from adjourn.core.codec import encode
from adjourn.core.status import CANCELS
from adjourn.stores.rows import first_column
from adjourn.stores.run_row import RunRow
from adjourn.stores.sqlite.rows import COLUMNS, run_row

_MINE = "program in (select value from json_each(?1))"
# By the small indexes, whatever SQLite thinks: a program may have had a million runs.
_DUE = (
    f"select {COLUMNS} from run indexed by run_due where status in ('ready', 'pausing', "
    f"'cancelling') and {_MINE} "
    f"union select {COLUMNS} from run indexed by run_wake where wake_at > 0 and wake_at <= ?2 and {_MINE} "
    f"union select {COLUMNS} from run indexed by run_blocked where blocked <> '' and "
    f"{_MINE} order by priority desc, updated_at"
)
_AHEAD = """
select b.id from run r
join journal j on j.key = (r.n << 32) + 1 and j.body ->> '$.options.queue' = 'session'
cross join run b indexed by run_session on b.session = r.session and b.session <> '' and b.n < r.n
    and b.shown in ('ready', 'waiting', 'failed', 'pausing', 'paused', 'cancelling', 'stuck')
where r.n = ? order by b.n limit 1
"""
_BLOCKED = f"select {COLUMNS} from run indexed by run_blocked where blocked <> ''"
_ASLEEP = (
    f"select {COLUMNS} from run indexed by run_due where status in ('ready', 'pausing', 'cancelling') "
    f"union select {COLUMNS} from run indexed by run_wake where wake_at > 0 union {_BLOCKED}"
)


def asleep(db: Any, *, blocked: bool) -> list[RunRow]:
    """Every run that may have to be woken; `blocked`: only those that wait for a halt to be
    lifted."""
    return list(map(run_row, db.execute(_BLOCKED if blocked else _ASLEEP)))


def ahead(db: Any, row: RunRow) -> str:
    """The run of its session for which a run has to wait that was started with a queue and has not
    begun; "" if there is none.

    What was started before it has ended, or ends some day: nothing can come in between.
    """
    if not row.session or row.epoch or row.status in CANCELS:
        return ""
    found = db.execute(_AHEAD, (row.n,)).fetchone()
    return found[0] if found else ""


def due(db: Any, programs: Sequence[str], now: float) -> Iterator[RunRow]:
    """The runs of these programs in which a worker has something to do, whoever has them; the
    oldest of the highest priority first.

    Not limited by SQL: those that are halted still must not crowd out those that are due.
    """
    halts = frozenset(first_column(db.execute("select scope from halt")))
    for row in db.execute(_DUE, (encode(list(programs)).decode(), now)):
        if (found := run_row(row)).due(now, halts) and not ahead(db, found):
            yield found
