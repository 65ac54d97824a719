"""A run as a row."""

from collections.abc import Collection
from typing import TYPE_CHECKING

import msgspec

from adjourn.core.status import RUNNABLE, RunStatus, Status, run_status

if TYPE_CHECKING:
    pass


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


class RunRow(msgspec.Struct, gc=False):
    """A run as a row: what lists, leases and the sweep need. Derived from the journal in the same
    transaction.

    `lease_until` is its worker's: until when the last heartbeat lasts, 0 without a worker. `salt`
    is what the chain of its journal begins with. `erased`: when its content was erased; 0 if it was
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
