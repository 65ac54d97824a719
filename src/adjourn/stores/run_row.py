"""A run as a row, and as a turn of a conversation."""

import threading
from collections.abc import Collection, Sequence
from typing import Any
from weakref import WeakSet

import msgspec

from adjourn.core.record_codec import SealedLines
from adjourn.core.record_parts import Ref
from adjourn.core.records import AnyRecord, Started
from adjourn.core.status import RUNNABLE, RunStatus, Status, run_status

CHANGING = (
    "seq",
    "head",
    "status",
    "epoch",
    "worker",
    "wake_at",
    "blocked",
    "opens",
    "errors",
    "stopped",
    "requesters",
    "updated_at",
    "chapter",
)
"""What a step may change in a row."""
MARKED = 17
"""Bytes of the salt of a run that is encrypted; others have one less."""


HIDDEN = "•••"
"""The title of a run that is encrypted."""


class RunRow(msgspec.Struct, gc=False):
    """A run as a row: what lists, leases and the sweep need. Derived from the journal in the same
    transaction.

    `lease_until` is its worker's: until when the last heartbeat lasts, 0 without a worker. `salt`
    is what the chain of its journal begins with, and says whether it is encrypted. `erased`: when its content was erased; 0 if it was
    not. Its title then says by whom, and why.
    `chapter`: the record at which its last chapter begins; 0 if it has none. `priority`: of those
    that are ready, the run with the larger one is taken first.
    """

    id: str
    kind: str
    program: str
    session: str = ""
    labels: dict[str, str] = {}
    title: str = ""
    input_digest: str = ""
    seq: int = 0
    head: bytes = b""
    status: Status = Status.READY
    epoch: int = 0
    worker: str = ""
    lease_until: float = 0.0
    wake_at: float = 0.0
    blocked: tuple[str, ...] = ()
    opens: int = 0
    errors: int = 0
    stopped: bool = False
    created_at: float = 0.0
    updated_at: float = 0.0
    n: int = 0
    requesters: tuple[str, ...] = ()
    salt: bytes = b""
    erased: float = 0.0
    chapter: int = 0
    priority: int = 0

    def shown(self, now: float, halts: Collection[str]) -> RunStatus:
        """The status that people see.

        Args:
            now: the store's time.
            halts: the scopes of the halts that are on.
        """
        return run_status(
            self.status,
            held=any(scope in halts for scope in self.blocked),
            leased=bool(self.worker) and self.lease_until > now,
            failed=0 < self.opens == self.errors,
            stopped=self.stopped,
        )

    def due(self, now: float, halts: frozenset[str]) -> bool:
        """Whether a worker has something to do here, were the lease free."""
        if self.status in RUNNABLE:
            return True
        if self.status not in (Status.WAITING, Status.STUCK):
            return False
        return 0 < self.wake_at <= now or (
            bool(self.blocked) and not halts.intersection(self.blocked)
        )


class Turn(msgspec.Struct, frozen=True):
    """A run that another goes on with: its first records, and the hash that their chain ends in. No
    records: they were erased."""

    run: str
    seq: int
    head: bytes
    records: Sequence[tuple[int, AnyRecord]]

    @property
    def before(self) -> Ref | None:
        """The run that it goes on with itself, unless it has that conversation."""
        for _, first in self.records[:1]:
            if isinstance(first, Started):
                return first.before
        return None


# Runs that are encrypted. What knows of keys is loaded with the first of them

open_stores: "WeakSet[Any]" = WeakSet()
"""The stores in which keys are looked for."""


_saying: dict[str, frozenset[bytes]] = {}
"""Encrypted runs that a worker of this process has. By their salts, too: one of the same id in
another store is another run."""
_noting = threading.Lock()  # each store writes in a thread of its own


def is_saying(run: str) -> bool:
    """Whether this process advances the run, and the run is encrypted."""
    return run in _saying


def note_worker(row: RunRow) -> None:
    """What an encrypted run says while a worker of this process has it goes to no other."""
    with _noting:
        known = _saying.get(row.id, frozenset()) - {row.salt}
        if row.worker:
            known |= {row.salt}
        if known:
            _saying[row.id] = known
        else:
            _saying.pop(row.id, None)


def stored(salt: bytes, body: str) -> str:
    """A record's line as it is kept, and as its hash covers it."""
    if len(salt) != MARKED:
        return body
    from adjourn.stores.run_keys import sealed_line

    return sealed_line(salt, body)


def keyed_digest(salt: bytes, digest: str) -> str:
    """A digest of content as it is kept: nobody can try contents out who lacks the key."""
    if len(salt) != MARKED:
        return digest
    from adjourn.stores.run_keys import cipher_by

    return cipher_by(salt).digest(digest)


def sealed_bytes(salt: bytes, data: bytes) -> bytes:
    """Bytes of a run as they are kept."""
    if len(salt) != MARKED:
        return data
    from adjourn.stores.run_keys import cipher_by

    return cipher_by(salt).seal(data)


def opened_bytes(salt: bytes, data: bytes) -> bytes:
    """Bytes of a run as they were."""
    if len(salt) != MARKED:
        return data
    from adjourn.stores.run_keys import cipher_by

    return cipher_by(salt).open(data)


def hide(row: RunRow, salt: bytes) -> None:
    """Take what a row says of the content out of it, if the run is encrypted."""
    if len(salt) == MARKED:
        row.title, row.input_digest = HIDDEN, keyed_digest(salt, row.input_digest)


def _opened_line(body: str) -> str:
    from adjourn.core.sealed_body import opened
    from adjourn.stores.run_keys import cipher_of

    return opened(body, cipher_of)


SealedLines.opened = staticmethod(_opened_line)
