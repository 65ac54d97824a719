"""A database file, looked at without changing it: not even its schema is brought up to date."""

import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from adjourn.errors import StoreError
from adjourn.stores.address import BUSY, NoDatabase
from adjourn.stores.database import Database, median_of
from adjourn.stores.rows import first_column
from adjourn.stores.sqlite.migrations import newest, pending
from adjourn.stores.sqlite.restore import copy_database

PARTS = ("", "-wal", "-shm", "-live", "-users")
"""What belongs to a database, by the end of its name."""
_RESTORED = """
select count(distinct r.n) from run r join journal j on j.key between r.n << 32 and (r.n + 1) << 32
where r.status = 'paused' and j.body like '{"t":"restored"%' and not exists (
    select 1 from journal k where k.key > j.key and k.key < (r.n + 1) << 32 and k.body like '{"t":"resumed"%')
"""


class DatabaseFile(Database):
    """A file that is there; every look opens it for reading only."""

    def __init__(self, path: str) -> None:
        if not Path(path).is_file():
            raise NoDatabase(path)
        self.path = self.where = path
        self.address = f"sqlite:///{path}"

    @contextmanager
    def reading(self) -> Generator[Any]:
        """A connection that cannot write; raises `StoreError` for a file that is not a database."""
        db: Any = None
        try:
            db = apsw.Connection(self.path, flags=apsw.SQLITE_OPEN_READONLY)
            db.set_busy_timeout(BUSY)
            yield db
        except apsw.Error as e:
            raise StoreError(
                f"{self.path!r} cannot be read as a database: {e}",
                consequence="nothing was changed",
            ) from e
        finally:
            if db is not None:
                db.close()

    @property
    def schema(self) -> int:
        """The number of its last migration; 0 if it is not one of ours."""
        with self.reading() as db:
            return int(db.pragma("user_version"))

    @property
    def newest_schema(self) -> int:
        """See `Database.newest_schema`."""
        return newest()

    def pending(self) -> list[int]:
        """See `Database.pending`."""
        return [number for number, _ in pending(self.schema, repr(self.path))]

    @property
    def size(self) -> int:
        """Bytes, with what is still in the log."""
        size = 0
        for end in ("", "-wal"):
            part = Path(self.path + end)
            if part.exists():
                size += part.stat().st_size
        return size

    def parts(self) -> list[Path]:
        """The files that belong to it and are there."""
        found: list[Path] = []
        for end in PARTS:
            part = Path(self.path + end)
            if part.exists():
                found.append(part)
        return found

    def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """See `Database.rows`."""
        with self.reading() as db:
            return db.execute(sql, values).fetchall()

    def damage(self, *, deep: bool) -> list[str]:
        """What SQLite finds wrong with its own structure."""
        with self.reading() as db:
            check = "integrity_check" if deep else "quick_check"
            found = first_column(db.execute(f"pragma {check}(20)"))
        return [] if found == ["ok"] else found

    def copy_to(self, path: str) -> None:
        """A whole copy as of one moment, while others go on writing; only its owner may read it."""
        with self.reading() as db:
            copy_database(db, path)

    def restored(self) -> int:
        """See `Database.restored`."""
        return self.rows(_RESTORED)[0][0]

    def commit_time(self) -> float:
        """See `Database.commit_time`. Measured in a file beside it, on the same disk."""
        folder = Path(self.path).absolute().parent
        with tempfile.TemporaryDirectory(prefix=".adjourn-doctor-", dir=folder) as place:
            db: Any = apsw.Connection(str(Path(place) / "try.db"))
            try:
                db.pragma("journal_mode", "wal")
                db.pragma("synchronous", "full")
                db.execute("create table try (n)")
                sql = "insert into try values (?)"
                return median_of(lambda number: db.execute(sql, (number,)), time.perf_counter)
            finally:
                db.close()
