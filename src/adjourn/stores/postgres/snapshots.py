"""Snapshots in a PostgreSQL database: one row for a run, and one for each of its stretches."""

from collections.abc import Mapping
from typing import Any

import msgspec

from adjourn.core.snapshot_part import SnapshotPart
from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.rows import Ask
from adjourn.stores.run_row import sealed_bytes
from adjourn.stores.snapshots import Kept, Snapshot, kept_whole, known_of, stretches_of

_KNOWN = (
    "select s.seq, s.stretches from adjourn.run r join adjourn.snapshot s on s.run = "
    "r.n where r.id = %(run)s"
)
_LAST = """
select s.run, s.format, s.seq, s.head, s.stretches, s.rest, r.salt from adjourn.run r
join adjourn.snapshot s on s.run = r.n
join adjourn.journal j on j.run = r.n and j.seq = s.seq and j.head = s.head
where r.id = %(run)s
"""
_SEGMENTS = """
select g.edition, g.path, g.k, g.body from adjourn.run r join adjourn.segment g on g.run = r.n where r.id = %(run)s
"""
_SNAPSHOT = "begin isolation level repeatable read read only"
_THERE = """
select r.n, r.salt from adjourn.run r join adjourn.journal j on j.run = r.n and j.seq = %(seq)s and j.head = %(head)s
where r.id = %(run)s and r.erased = 0 for share of r
"""
_DROP = "delete from adjourn.segment where run = %(n)s and edition <> all(%(editions)s::text[])"
_PART = """
insert into adjourn.segment values (%(n)s, %(edition)s, %(path)s, %(k)s, %(body)s)
on conflict (run, edition, path, k) do update set body = excluded.body
"""
_KEEP = """
insert into adjourn.snapshot values (%(n)s, %(seq)s, %(head)s, %(format)s, %(stretches)s, %(rest)s)
on conflict (run) do update set seq = excluded.seq, head = excluded.head, format = excluded.format,
    stretches = excluded.stretches, rest = excluded.rest
"""


class PostgresSnapshots:
    """See `Snapshots`. `ask`: lets a thread of the store do something with a connection."""

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    async def known(self, run: str) -> tuple[int, tuple[SnapshotPart, ...]]:
        """See `Snapshots.known`."""
        found = await self._ask(lambda db: messages(db, [_KNOWN], {"run": run})[0])
        return known_of(next(iter(found), None))

    async def last(self, run: str) -> Kept | None:
        """See `Snapshots.last`."""
        return await self._ask(lambda db: _last(db, run))

    async def keep(self, run: str, snapshot: Snapshot, parts: Mapping[SnapshotPart, bytes]) -> None:
        """See `Snapshots.keep`."""
        await self._ask(lambda db: _keep(db, run, snapshot, parts))


def _last(db: Connection, run: str) -> Kept | None:
    _, rows, segments, _ = messages(db, [_SNAPSHOT, _LAST, _SEGMENTS, "commit"], {"run": run})
    if not rows:
        return None
    _, format, seq, head, stretches, rest, salt = rows[0]
    wanted = stretches_of(stretches)
    if wanted is None:
        return None
    return kept_whole(Snapshot(seq, head, format, rest, wanted), segments, salt)  # pyright: ignore[reportArgumentType]


def _keep(
    db: Connection, run: str, snapshot: Snapshot, parts: Mapping[SnapshotPart, bytes]
) -> None:
    """It may be lost with the server; an erasure waits for it, or it waits for the erasure."""
    with db.transaction():
        values: dict[str, Any] = {"run": run, "seq": snapshot.seq, "head": snapshot.head}
        found = messages(db, ["set local synchronous_commit = off", _THERE], values)[-1]
        if not found:
            return
        salt = bytes(found[0][1])
        values |= {
            "n": found[0][0],
            "editions": list({which.edition for which in snapshot.stretches}),
            "format": snapshot.format,
            "stretches": msgspec.json.encode(snapshot.stretches).decode(),
            "rest": sealed_bytes(salt, snapshot.rest),
        }
        messages(db, [_DROP], values)
        for which, body in parts.items():
            part = {
                "n": values["n"],
                "edition": which.edition,
                "path": which.path,
                "k": which.k,
                "body": sealed_bytes(salt, body),
            }
            messages(db, [_PART], part)
        messages(db, [_KEEP], values)
