"""Snapshots: states that were written down, so that a cold start costs the end of a journal.
Caches, never the truth.

One for a run, bound to its chain: it is given out only while the journal has that head at that
record. Whoever reads it decides whether they know its format; whoever cannot read it folds the
journal.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

import msgspec

from adjourn.core.snapshot_part import SnapshotPart
from adjourn.stores.run_row import MARKED, opened_bytes


class Snapshot(msgspec.Struct, frozen=True):
    """A state at `seq`, where the chain has this `head`: the rest of it, and which stretches belong
    to it, in order."""

    seq: int
    head: bytes
    format: int
    rest: bytes
    stretches: tuple[SnapshotPart, ...] = ()


class Snapshots(Protocol):
    """Where a store keeps them."""

    async def known(self, run: str) -> tuple[int, tuple[SnapshotPart, ...]]:
        """At which record the run's snapshot is, and which stretches it has; 0 if there is none."""
        ...

    async def last(self, run: str) -> "Kept | None":
        """The run's snapshot and its stretches; None if there is none of this journal, or not all
        of it."""
        ...

    async def keep(self, run: str, snapshot: Snapshot, parts: Mapping[SnapshotPart, bytes]) -> None:
        """Put it in the place of the one before. `parts`: its stretches; those that are kept
        already may be left out. Nothing is kept of a run that is not there, or whose chain has
        another head at that record."""
        ...


Kept = tuple[Snapshot, dict[SnapshotPart, bytes]]
_read_stretches = msgspec.json.Decoder(tuple[SnapshotPart, ...]).decode


def stretches_of(text: str) -> tuple[SnapshotPart, ...] | None:
    """The stretches of a snapshot as a row has them; None if they cannot be read here."""
    try:
        return _read_stretches(text)
    except msgspec.MsgspecError:
        return None


def known_of(row: tuple[int, str] | None) -> tuple[int, tuple[SnapshotPart, ...]]:
    """See `Snapshots.known`, of its row (seq, stretches)."""
    if row is None:
        return 0, ()
    return row[0], stretches_of(row[1]) or ()


def kept_whole(
    snapshot: Snapshot, segments: Iterable[tuple[str, str, int, bytes]], salt: bytes
) -> Kept | None:
    """A snapshot with its stretches, from rows (edition, path, k, body); None if one of them is
    missing. `salt`: of the run."""
    bodies = {(edition, path, k): body for edition, path, k, body in segments}
    parts: dict[SnapshotPart, bytes] = {}
    for which in snapshot.stretches:
        parts[which] = bodies.get((which.edition, which.path, which.k), b"")
    if not all(parts.values()):
        return None
    if len(salt) == MARKED:
        parts = {which: opened_bytes(salt, body) for which, body in parts.items()}
        snapshot = msgspec.structs.replace(snapshot, rest=opened_bytes(salt, snapshot.rest))
    return (snapshot, parts)


class MemorySnapshots:
    """See `Snapshots`. Over the hashes of each run's chain, which are empty where a run was
    erased."""

    def __init__(self, chains: Mapping[str, Sequence[bytes]], kept: dict[str, Kept]) -> None:
        self._chains, self._kept = chains, kept

    def _is_there(self, run: str, snapshot: Snapshot) -> bool:
        heads = self._chains.get(run, ())
        erased = heads[:1] == [b""]
        return (
            not erased
            and 0 < snapshot.seq <= len(heads)
            and heads[snapshot.seq - 1] == snapshot.head
        )

    async def known(self, run: str) -> tuple[int, tuple[SnapshotPart, ...]]:
        """See `Snapshots.known`."""
        found = await self.last(run)
        if found:
            return (found[0].seq, found[0].stretches)
        return (0, ())

    async def last(self, run: str) -> Kept | None:
        """See `Snapshots.last`."""
        found = self._kept.get(run)
        if found is not None and not self._is_there(run, found[0]):
            del self._kept[run]
            return None
        return found

    async def keep(self, run: str, snapshot: Snapshot, parts: Mapping[SnapshotPart, bytes]) -> None:
        """See `Snapshots.keep`."""
        if not self._is_there(run, snapshot):
            return
        known = {**(self._kept[run][1] if run in self._kept else {}), **parts}
        if all(which in known for which in snapshot.stretches):
            self._kept[run] = snapshot, {which: known[which] for which in snapshot.stretches}
