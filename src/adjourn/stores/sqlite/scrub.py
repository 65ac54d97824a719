"""Getting what was erased out of the bytes of a SQLite file.

Overwriting what is deleted is not enough: a page that was split long ago may keep a copy of a row
beside its cells, and pages that were freed before anybody wanted to erase keep what they held. So
the file is written anew, and its log is cut.
"""

from collections.abc import Callable
from contextlib import closing
from typing import Any

import apsw

from adjourn.errors import StoreError
from adjourn.stores.sqlite.write_ahead_log import cut

PATIENCE = 5.0
"""Seconds that readers have to come to their end."""


def scrub(connect: Callable[[], Any], path: str, pruned: bool) -> bool:
    """See `Store.scrub`. `connect`: a connection to the file at `path`."""
    try:
        with closing(connect()) as db:
            if not is_unscrubbed(db, pruned):
                return True
            db.execute("vacuum")
            if not cut(db, PATIENCE):
                return False
            db.execute("delete from meta where key = 'scrub'")
            cut(db)
            return True
    except apsw.Error as e:
        raise StoreError(
            f"{path}: erased content is still in the file: {type(e).__name__}: {e}"
        ) from e


def is_unscrubbed(db: Any, pruned: bool) -> bool:
    """Whether something was erased, or `pruned`, since the file was written anew."""
    found = db.execute("select value from meta where key = 'scrub'").fetchone()
    return found is not None and (pruned or found[0] != "pruned")
