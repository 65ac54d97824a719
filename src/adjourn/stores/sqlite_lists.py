"""The lists of a SQLite file: runs, inbox and audit. Each is a function of a connection that reads."""

import sys
from itertools import islice
from typing import Any

from adjourn.core.interrupt import Interrupt
from adjourn.stores.audit import SECURITY, AuditRow, placed
from adjourn.stores.listing import belongs, briefly
from adjourn.stores.rows import COLUMNS, inbox_item, run_row
from adjourn.stores.rules import filters
from adjourn.stores.store import Filter, RunRow

AT = "json_extract(body, '$.at')"
LABELLED = "exists (select 1 from json_each(labels) where key = ? and value = ?)"
PLACE = (
    "select x.rank, x.opened_at, x.run, x.seq from interrupt x join run r on r.n = x.run "
    "where x.i = ? and ? in ('', r.id)"
)
BRIEF = "select r.id, x.i, x.seq, x.kind, x.opened_at, x.expires from interrupt x join run r on r.n = x.run"
WHOLE = (
    "select r.id, x.seq, j.body, r.title, r.program, x.votes, r.requesters, r.n, x.disowned "
    "from interrupt x join run r on r.n = x.run join journal j on j.key = (x.run << 32 | x.seq)"
)
VIEWS = {"running": "ready", "failed": "waiting", "stopped": "completed"}


def inbox(db: Any, filter: Filter, now: float) -> list[Interrupt]:
    """See `Store.inbox`."""
    where = ["x.state = 'open'", "x.kind not in ('timer', 'event')", "(x.expires = 0 or x.expires > ?)"]
    where.append("(case when r.status in ('cancelling', 'stuck') then x.undoing else 1 end)")
    values: list[Any] = [now]
    if filter.interrupt:
        where, values = [], []
    wanted = {
        "r.id": filter.run, "r.program": filter.program, "r.session": filter.session, "x.kind": filter.kind,
        "x.i": filter.interrupt,
    }  # fmt: skip
    for column, value in wanted.items():
        if value:
            where.append(f"{column} = ?")
            values.append(value)
    if filter.label:
        where.append(LABELLED)
        values += filter.label
    for bound, value in (("x.opened_at >= ?", filter.since), ("x.opened_at <= ?", filter.until)):
        if value:
            where.append(bound)
            values.append(value)
    if last := _place(db, filter.after):
        where.append("(x.rank, x.opened_at, x.run, x.seq) > (?, ?, ?, ?)")
        values.extend(last)
    ordered = f"where {' and '.join(where)} order by x.rank, x.opened_at, x.run, x.seq"
    if filter.brief:
        return [briefly(*row) for row in db.execute(f"{BRIEF} {ordered} limit ?", (*values, filter.limit))]
    if not (filter.text or filter.group or filter.members is not None):
        found = db.execute(f"{WHOLE} {ordered} limit ?", (*values, filter.limit)).fetchall()
        return [inbox_item(db, row) for row in found]
    rows = ((inbox_item(db, row), row[3], row[4]) for row in db.execute(f"{WHOLE} {ordered}", values))
    return list(islice((x for x, title, program in rows if belongs(x, title, program, filter)), filter.limit))


def _place(db: Any, after: str) -> Any:
    """Where in the inbox an interrupt is, or was, by its public id or as `run:id`; None if there is no such thing."""
    both = [(after[k + 1 :], after[:k]) for k, c in enumerate(after) if c == ":"]
    found = (db.execute(PLACE, names).fetchone() for names in [*both, (after, "")])
    return next((place for place in found if place), None) if after else None


def runs(db: Any, filter: Filter, now: float) -> list[RunRow]:
    """See `Store.runs`."""
    pairs = [
        ("status", VIEWS.get(filter.status, filter.status)),
        ("id", filter.run),
        ("program", filter.program),
        ("session", filter.session),
    ]
    where, values = ["1"], list[Any]()
    for column, value in pairs:
        if value:
            where.append(f"{column} = ?")
            values.append(value)
    if filter.label:
        where.append(LABELLED)
        values += filter.label
    if filter.after:
        column, beyond = ("id", ">") if filter.prefix else ("n", "<")
        where.append(f"{column} {beyond} (select {column} from run where id = ?)")
        values.append(filter.after)
    if filter.changed:
        where.append("updated_at >= ?")
        values.append(filter.changed)
    order = "n desc"
    if filter.prefix:  # a range of the index, however many runs there are
        where.append("id >= ? and id < ?")
        values.extend((filter.prefix, f"{filter.prefix}{chr(sys.maxunicode)}"))
        order = "id"
    found: list[RunRow] = []
    for row in db.execute(f"select {COLUMNS} from run where {' and '.join(where)} order by {order}", values):
        if filters.fits(one := run_row(row), filter, now):
            found.append(one)
            if len(found) >= filter.limit:
                break
    return found


def audit(db: Any, scope: str | None, after: int, limit: int) -> list[AuditRow]:
    """See `Store.audit`."""
    if scope is None:
        where, order, values = f"scope <> '{SECURITY}' and n > ?", f"{AT}, n", (after, limit)
    else:
        where, order, values = "scope = ? and n > ?", "n", (scope, after, limit)
    sql = f"select scope, n, body, head from audit where {where} order by {order} limit ?"
    return [AuditRow(*row) for row in db.execute(sql, values)]


def recent(db: Any, before: str, limit: int, security: bool) -> list[AuditRow]:
    """See `Store.recent`."""
    where, values = f"scope {'=' if security else '<>'} '{SECURITY}'", list[Any]()
    if before:
        where += f" and ({AT}, scope, n) < (?, ?, ?)"
        values += placed(before)
    sql = f"select scope, n, body, head from audit where {where} order by {AT} desc, scope desc, n desc limit ?"
    return [AuditRow(*row) for row in db.execute(sql, (*values, limit))]
