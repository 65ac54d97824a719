"""The name of a part of a snapshot: stores keep parts that they do not read."""

import msgspec


class SnapshotPart(msgspec.Struct, frozen=True):
    """Where a stretch belongs: it is the `k`-th of `path`, in this `edition` of the journal."""

    edition: str
    path: str
    k: int
