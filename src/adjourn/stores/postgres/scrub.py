"""Getting what was erased out of the files of a PostgreSQL database.

An update leaves the old row where it was, and `vacuum` leaves its bytes. Only a table that is
written anew has none of it. The server has noted values of columns, too, to plan by: these notes go
with the tables. The write-ahead log, replicas and backups keep theirs until they are recycled.
"""

import psycopg

from adjourn.stores.postgres.connections import Connection, connect, messages, store_error
from adjourn.stores.postgres.write_statements import BESIDE
from adjourn.stores.rows import first_column

TABLES = ("run", "journal", "letter", *BESIDE, "said", "watched", "guest_thread", "guest_row")
CONTENT = {
    'text collate "C"': (
        *("run.title", "run.labels", "run.words", "label.value", "journal.body", "interrupt.said"),
        *("interrupt.votes", "misfit.body", "letter.body", "letter.error", "request.id"),
        *("request.body", "said.body", "index_text.text", "index_text.facts", "snapshot.stretches"),
    ),
    "bytea": ("blob.body", "snapshot.rest", "segment.body", "guest_row.body"),
}
"""Columns that hold what was said, by their types."""
NOTED = "select tablename || '.' || attname from pg_stats where schemaname = 'adjourn'"
PATIENCE = 5_000
"""Milliseconds that others have to come to their end."""
MARK = "select value from adjourn.meta where key = 'scrub'"
SIZE = "select pg_relation_size('adjourn.probe')"


def is_unscrubbed(db: Connection, pruned: bool) -> bool:
    """Whether something was erased, or `pruned`, since the tables were written anew."""
    found = messages(db, [MARK], {})[0]
    return bool(found) and (pruned or found[0][0] != "pruned")


def scrub(info: str, where: str, pruned: bool) -> bool:
    """See `Store.scrub`. `info`: a way to the database that does not lead through a pooler."""
    try:
        with connect(info) as db:  # its setting is this connection's alone
            messages(db, [f"set lock_timeout = {PATIENCE}"], {})
            if not is_unscrubbed(db, pruned):
                return True
            if not _is_nobody_behind(db):
                return False
            _forget_noted(db)
            for table in TABLES:
                db.execute(f"vacuum (full, analyze) adjourn.{table}".encode())
            # Only the owner of the database may; for anybody else the server leaves it out.
            db.execute(b"vacuum full pg_catalog.pg_statistic")
            messages(db, ["delete from adjourn.meta where key = 'scrub'"], {})
            return True
    except psycopg.errors.LockNotAvailable:
        return False
    except psycopg.Error as e:
        raise store_error(f"{where}: erased content is still in the files", e) from e


def _forget_noted(db: Connection) -> None:
    """Let the server forget what it noted of columns. It does so for a column whose type is set,
    also to the one that it has, which changes nothing else."""
    noted = first_column(messages(db, [NOTED], {})[0])
    for type, columns in CONTENT.items():
        for column in columns:
            if column in noted:
                table, _, name = column.partition(".")
                messages(db, [f"alter table adjourn.{table} alter column {name} type {type}"], {})


def _is_nobody_behind(db: Connection) -> bool:
    """Whether no transaction is so old that what was erased must be kept for it: a row that is
    deleted now can be removed now."""
    messages(db, ["insert into adjourn.probe values (1)"], {})
    messages(db, ["delete from adjourn.probe"], {})
    db.execute(b"vacuum full adjourn.probe")
    return messages(db, [SIZE], {})[0][0][0] == 0
