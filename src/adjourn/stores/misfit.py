"""Runs that a worker could not advance, and why: for people to see. Nothing is decided by it."""

from typing import Any

import msgspec


class Misfit(msgspec.Struct, frozen=True, omit_defaults=True):
    """A worker's note that it cannot advance `run` as of record `seq`. It is over with the run's
    next record.

    `why` is for people. `fingerprint` is the worker's program, if that is what does not fit: what
    may be accepted. `queued`: it only waits for its turn.
    """

    run: str
    seq: int
    why: str
    fingerprint: dict[str, Any] = {}
    worker: str = ""
    at: float = 0.0
    queued: bool = False
