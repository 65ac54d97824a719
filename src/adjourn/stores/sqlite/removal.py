"""Taking a run's content, or the whole run, out of the tables of a SQLite file."""

from collections.abc import Sequence
from typing import Any

from adjourn.core.codec import encode
from adjourn.stores.rows import BESIDE
from adjourn.stores.run_row import RunRow
from adjourn.stores.sqlite.guest_threads import remove_threads_of, remove_threads_with


def wipe(db: Any, row: RunRow, last: int) -> None:
    """See `Writes.wiped`. The hash of record `last` stays."""
    first, beyond = row.n << 32, (row.n + 1) << 32
    db.pragma("secure_delete", 1)  # what is deleted is overwritten at once; the rest is for `scrub`
    db.execute("update journal set body = null where key between ? and ?", (first, beyond))
    db.execute(
        "update journal set head = x'' where key between ? and ? - 1", (first, row.n << 32 | last)
    )
    _clear_beside(db, row)
    remove_threads_with(db, row.id)
    sql = (
        "update run set labels = ?, title = ?, input_digest = ?, salt = ?, erased = ?, priority = 0 "
        "where n = ?"
    )
    db.execute(
        sql, (encode(row.labels).decode(), row.title, row.input_digest, row.salt, row.erased, row.n)
    )
    db.execute("insert or replace into meta values ('scrub', 'yes')")
    db.execute(
        "insert into meta values ('erasures', '1') on conflict (key) do update set value = value + 1"
    )


def remove(db: Any, row: RunRow) -> None:
    """See `Writes.removed`. What it leaves in free pages is written over as the file is used; a
    scrub does it at once."""
    db.execute("delete from journal where key between ? and ?", (row.n << 32, (row.n + 1) << 32))
    _clear_beside(db, row)
    db.execute("delete from run where n = ?", (row.n,))
    db.execute("insert or ignore into meta values ('scrub', 'pruned')")


def _clear_beside(db: Any, row: RunRow) -> None:
    for table in BESIDE:
        db.execute(f"delete from {table} where run = ?", (row.n,))
    db.execute("delete from letter where run = ?", (row.id,))
    remove_threads_of(db, row.id)


def weigh(db: Any, runs: Sequence[str]) -> int:
    """See `Store.weigh`."""
    sql = (
        "select coalesce(sum(octet_length(j.body)), 0) from json_each(?) x join run r on r.id = x.value "
        "join journal j on j.key between r.n << 32 and (r.n + 1) << 32"
    )
    files = (
        "select coalesce(sum(octet_length(b.body)), 0) from json_each(?) x join run r on r.id = x.value "
        "join blob b on b.run = r.n"
    )
    named = (encode(list(runs)).decode(),)
    return db.execute(sql, named).fetchall()[0][0] + db.execute(files, named).fetchall()[0][0]
