"""Getting what was erased out of the files of a PostgreSQL database.

An update leaves the old row where it was, and `vacuum` leaves its bytes. Only a table that is
written anew has none of it. The write-ahead log, replicas and backups keep theirs until they are
recycled.
"""

import psycopg

from adjourn.stores.postgres.connections import Connection, connect, messages, store_error
from adjourn.stores.postgres.write_statements import BESIDE

TABLES = ("run", "journal", "letter", *BESIDE, "said", "watched")
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
            for table in TABLES:
                db.execute(f"vacuum full adjourn.{table}".encode())
            messages(db, ["delete from adjourn.meta where key = 'scrub'"], {})
            return True
    except psycopg.errors.LockNotAvailable:
        return False
    except psycopg.Error as e:
        raise store_error(f"{where}: what was erased is not out of the files yet", e) from e


def _is_nobody_behind(db: Connection) -> bool:
    """Whether no transaction is so old that what was erased must be kept for it: a row that is
    deleted now can be removed now."""
    messages(db, ["insert into adjourn.probe values (1)"], {})
    messages(db, ["delete from adjourn.probe"], {})
    db.execute(b"vacuum full adjourn.probe")
    return messages(db, [SIZE], {})[0][0][0] == 0
