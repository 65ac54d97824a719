"""Snapshots in a SQLite file: one row for a run, and one for each of its stretches."""

import asyncio
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from adjourn.core.snapshot_part import SnapshotPart
from adjourn.stores.run_row import sealed_bytes
from adjourn.stores.snapshots import Kept, Snapshot, kept_whole, known_of, stretches_of
from adjourn.stores.sqlite.batch_thread import BatchThread
from adjourn.stores.sqlite.connection import written_beside

AT = "select head from journal where key = (select n from run where id = ?) << 32 | ?"


class SQLiteSnapshots:
    """See `Snapshots`. They are written over a connection of their own: nobody's commit waits for
    one to be made."""

    def __init__(self, reader: BatchThread, connect: Callable[[], Any]) -> None:
        self._reader, self._connect = reader, connect

    async def known(self, run: str) -> tuple[int, tuple[SnapshotPart, ...]]:
        """See `Snapshots.known`."""
        sql = "select seq, stretches from snapshot where run = (select n from run where id = ?)"
        return known_of(await self._reader.ask(lambda db: db.execute(sql, (run,)).fetchone()))

    async def last(self, run: str) -> Kept | None:
        """See `Snapshots.last`."""
        return await self._reader.ask(lambda db: _last(db, run))

    async def keep(self, run: str, snapshot: Snapshot, parts: Mapping[SnapshotPart, bytes]) -> None:
        """See `Snapshots.keep`."""
        await asyncio.to_thread(self._write, run, snapshot, parts)

    def _write(self, run: str, snapshot: Snapshot, parts: Mapping[SnapshotPart, bytes]) -> None:
        with written_beside(self._connect, "a snapshot") as db:
            _keep(db, run, snapshot, parts)


_whole = (
    "select s.run, s.format, s.seq, s.head, s.stretches, s.rest, run.salt from run join snapshot "
    "s on s.run = run.n where run.id = ?"
)


def _last(db: Any, run: str) -> Kept | None:
    row = db.execute(_whole, (run,)).fetchone()
    if row is None:
        return None
    number, format, seq, head, stretches, rest, salt = row
    if (db.execute(AT, (run, seq)).fetchone() or (b"",))[0] != head:
        return None
    wanted = stretches_of(stretches)
    if wanted is None:
        return None
    segments = db.execute("select edition, path, k, body from segment where run = ?", (number,))
    return kept_whole(Snapshot(seq, head, format, rest, wanted), segments, salt)


def _keep(db: Any, run: str, snapshot: Snapshot, parts: Mapping[SnapshotPart, bytes]) -> None:
    row = db.execute("select n, salt from run where id = ? and erased = 0", (run,)).fetchone()
    if (
        row is None
        or (db.execute(AT, (run, snapshot.seq)).fetchone() or (b"",))[0] != snapshot.head
    ):
        return
    found, salt = row[:1], row[1]
    editions = {which.edition for which in snapshot.stretches} or {""}
    marks = ", ".join("?" * len(editions))
    db.execute(
        f"delete from segment where run = ? and edition not in ({marks})", (*found, *editions)
    )
    for which, body in parts.items():
        db.execute(
            "insert or replace into segment values (?, ?, ?, ?, ?)",
            (*found, which.edition, which.path, which.k, sealed_bytes(salt, body)),
        )
    stretches = msgspec.json.encode(snapshot.stretches).decode()
    rest = sealed_bytes(salt, snapshot.rest)
    values = (*found, snapshot.seq, snapshot.head, snapshot.format, stretches, rest)
    db.execute("insert or replace into snapshot values (?, ?, ?, ?, ?, ?)", values)
