"""A database file, looked at without changing it: not even its schema is brought up to date."""

import statistics
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw

from adjourn.errors import StoreError
from adjourn.stores.address import BUSY, NoDatabase
from adjourn.stores.rows import first_column
from adjourn.stores.sqlite.migrations import newest, pending
from adjourn.stores.sqlite.restore import copy_database

PARTS = ("", "-wal", "-shm", "-live", "-users")
"""What belongs to a database, by the end of its name."""
TRIES = 20
"""Commits that are timed."""
_RESTORED = """
select 'held', count(distinct r.n) from run r join journal j on j.key between r.n << 32 and (r.n + 1) << 32
where r.status = 'paused' and j.body like '{"t":"restored"%' and not exists (
    select 1 from journal k where k.key > j.key and k.key < (r.n + 1) << 32 and k.body like '{"t":"resumed"%')
"""
_RUNS_LIKE = """
select id, status || '  ' || program || '  ' || title from run
where substr(id, 1, length(?1)) = ?1 order by n desc limit ?2
"""
_ITEMS_LIKE = """
select r.id || ':' || x.i as item, x.kind || '  ' || r.program || '  ' || r.title
from interrupt x join run r on r.n = x.run
where x.state = 'open' and substr(item, 1, length(?1)) = ?1 order by x.opened_at limit ?2
"""


class DatabaseFile:
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

    def count(self, sql: str) -> dict[str, int]:
        """Names and numbers of a `select name, count(*) …`."""
        with self.reading() as db:
            return dict(db.execute(sql))

    def counts(self) -> dict[str, Any]:
        """How much there is of what."""
        numbers = self.count(
            "select 'runs', count(*) from run union all select 'records', count(*) from journal "
            "union all select 'open', count(*) from interrupt where state = 'open' "
            "union all select 'halts', count(*) from halt"
        )
        return {
            **numbers,
            "statuses": self.count(
                "select status, count(*) from run group by status order by 2 desc"
            ),
        }

    def programs(self) -> list[str]:
        """The agents and flows that have runs in it."""
        return list(self.count("select program, count(*) from run group by program"))

    def newest(self) -> float:
        """The time of the last change to any run; 0 if there is none."""
        with self.reading() as db:
            return float(db.execute("select coalesce(max(updated_at), 0) from run").fetchone()[0])

    def obstacle(self) -> str:
        """See `Database.obstacle`. Whoever writes is told."""
        return ""

    def damage(self, *, deep: bool) -> list[str]:
        """What SQLite finds wrong with its own structure."""
        with self.reading() as db:
            if deep:
                check = "integrity_check"
            else:
                check = "quick_check"
            found = first_column(db.execute(f"pragma {check}(20)"))
        return [] if found == ["ok"] else found

    def copy_to(self, path: str) -> None:
        """A whole copy as of one moment, while others go on writing; only its owner may read it."""
        with self.reading() as db:
            copy_database(db, path)

    def runs_like(self, beginning: str, most: int) -> list[tuple[str, str]]:
        """See `Database.runs_like`."""
        with self.reading() as db:
            return db.execute(_RUNS_LIKE, (beginning, most)).fetchall()

    def items_like(self, beginning: str, most: int) -> list[tuple[str, str]]:
        """See `Database.items_like`."""
        with self.reading() as db:
            return db.execute(_ITEMS_LIKE, (beginning, most)).fetchall()

    def restored(self) -> int:
        """See `Database.restored`."""
        return self.count(_RESTORED)["held"]

    def commit_time(self) -> float:
        """See `Database.commit_time`. Measured in a file beside it, on the same disk."""
        folder = Path(self.path).absolute().parent
        with tempfile.TemporaryDirectory(prefix=".adjourn-doctor-", dir=folder) as place:
            db: Any = apsw.Connection(str(Path(place) / "try.db"))
            try:
                db.pragma("journal_mode", "wal")
                db.pragma("synchronous", "full")
                db.execute("create table try (n)")
                took: list[float] = []
                for number in range(TRIES):
                    began = time.perf_counter()
                    db.execute("insert into try values (?)", (number,))
                    took.append(time.perf_counter() - began)
                return statistics.median(took)
            finally:
                db.close()
