"""The write-ahead log stays short, whoever reads meanwhile, and writers are held back for a moment at most."""

import threading
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.stores.test_sqlite import opened

from adjourn.core.records import Stepped
from adjourn.stores.protocol import Lease
from adjourn.stores.sqlite import SQLiteStore, write_ahead_log
from adjourn.testing.contract.fixtures import begin

LONG = 1024 * 1024
LIMIT = 20.0


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(write_ahead_log, "LONG", LONG)
    return tmp_path / "runs.db"


def size(path: Path) -> int:
    return Path(f"{path}-wal").stat().st_size


async def write(store: SQLiteStore, lease: Lease, times: int, path: Path) -> int:
    """So many commits of 8 KB; the most that the log had."""
    seq, most = (await store.get(lease.run)).seq, 0
    for n in range(times):
        fact = Stepped(call="1.0", key=str(n), value="x" * 8000)
        seq = (await store.commit(lease, [fact], [], seen=seq)).seq
        most = max(most, size(path))
    return most


@contextmanager
def two_readers(path: Path) -> Generator[None]:
    """Each of them ends a transaction only when the other one has begun its next: there is always a reader."""
    stop, begun = threading.Event(), (threading.Semaphore(0), threading.Semaphore(0))

    def read(me: int) -> None:
        db: Any = apsw.Connection(str(path))
        mine, other = begun[me], begun[1 - me]
        if me == 1:
            other.acquire(timeout=LIMIT)
        while not stop.is_set():
            with db:
                db.execute("select count(*) from run").fetchall()
                mine.release()
                other.acquire(timeout=LIMIT)
        mine.release()
        db.close()

    readers = [threading.Thread(target=read, args=(me,)) for me in (0, 1)]
    for reader in readers:
        reader.start()
    try:
        yield
    finally:
        stop.set()
        for reader in readers:
            reader.join(LIMIT)


async def test_the_log_stays_short_while_two_readers_overlap(path: Path) -> None:
    async with opened(path) as store:
        lease = await begin(store)
        with two_readers(path):
            most = await write(store, lease, 2000, path)
        assert most < 3 * LONG, "16 MB were written"
        assert await store.verify() == []


async def test_a_reader_that_does_not_end_holds_writers_back_for_a_moment_only(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(write_ahead_log, "PATIENCE", 0.0)
    attempts: list[bool] = []
    cut = write_ahead_log.cut

    def counted(db: Any) -> bool:
        attempts.append(cut(db))
        return attempts[-1]

    monkeypatch.setattr(write_ahead_log, "cut", counted)
    async with opened(path) as store:
        lease = await begin(store)
        reader: Any = apsw.Connection(str(path))
        reader.execute("begin")
        reader.execute("select count(*) from run").fetchall()
        grown = await write(store, lease, 600, path)
        assert grown > 4 * LONG
        assert attempts == [False] * len(attempts) and 3 <= len(attempts) <= grown // LONG, "one for each length"
        reader.execute("commit")
        reader.close()
        most = await write(store, lease, 600, path)
        assert attempts[-1] or most <= grown + LONG, "it is cut, or begun anew where it is"
