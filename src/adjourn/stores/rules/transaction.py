"""What a store supplies, and what every rule stands on: rows, and the primitives of one transaction."""

from dataclasses import dataclass, field
from typing import Protocol, TypeVar

from msgspec.structs import force_setattr

from adjourn.core.records import (
    AnyRecord,
    Asked,
    Suspended,
    parse,
)
from adjourn.errors import (
    UnknownRun,
)
from adjourn.stores.outbox import OutboxTx
from adjourn.stores.seals import SealTx
from adjourn.stores.store import Halt, RunRow

R = TypeVar("R", bound=AnyRecord)


@dataclass(slots=True)
class InterruptRow:
    """An interrupt as a row: people's compare-and-set point and the inbox's index."""

    i: str
    seq: int
    kind: str
    state: str = "open"
    digest: str = ""
    event: str = ""
    expires: float = 0.0
    undoing: bool = False
    approvers: int = 1
    by: str = ""
    votes: dict[str, int] = field(default_factory=dict[str, int])  # who agreed, by which record
    lives: str = ""  # the call whose execution lives on what was agreed
    disowned: tuple[str, ...] = ()  # whose decisions did not count, because nobody trusted signed them
    rank: int = 1  # where it stands in an inbox: 0 for what was escalated


class Tx(OutboxTx, SealTx, Protocol):
    """The primitives a store supplies, inside one transaction. Writes are undone if the transaction's function raises."""

    def run(self, id: str) -> RunRow | None: ...
    def insert(self, row: RunRow) -> None: ...
    def save(self, row: RunRow) -> None: ...
    def append(self, row: RunRow, seq: int, epoch: int, body: str, head: bytes) -> None: ...
    def until(self, worker: str) -> float: ...
    def beat(self, worker: str, until: float) -> None: ...
    def forget_worker(self, worker: str) -> None: ...
    def tail(self, row: RunRow, after: int) -> list[tuple[int, str]]: ...
    def record(self, row: RunRow, seq: int) -> str: ...
    def head_at(self, row: RunRow, seq: int) -> bytes: ...
    def interrupt(self, row: RunRow, i: str) -> InterruptRow | None: ...
    def open_interrupts(self, row: RunRow) -> list[InterruptRow]: ...
    def lived_on(self, row: RunRow, call: str) -> list[InterruptRow]: ...
    def put_interrupt(self, row: RunRow, interrupt: InterruptRow) -> None: ...
    def request(self, row: RunRow, id: str) -> tuple[int, str] | None: ...
    def wipe(self, row: RunRow) -> None:
        """Remove every body and every hash of its journal but the last hash, and all that other tables have of the run; write
        what its row says now."""
        ...

    def put_request(self, row: RunRow, id: str, seq: int, body: str) -> None: ...
    def is_signed(self) -> bool: ...
    def set_signed(self, required: bool) -> None: ...
    def halts(self) -> list[Halt]: ...
    def put_halt(self, halt: Halt) -> None: ...
    def drop_halt(self, scope: str) -> None: ...


def stamped(record: R, now: float) -> R:
    """The record with its time, if it has none yet."""
    if not record.at:
        force_setattr(record, "at", round(now, 3))  # ours alone until it is appended
    return record


def need(tx: Tx, run: str) -> RunRow:
    """The row, or `UnknownRun`."""
    row = tx.run(run)
    if row is None:
        raise UnknownRun(run)
    return row


def opened_by(tx: Tx, row: RunRow, found: InterruptRow) -> Asked | Suspended:
    """The record that opened an interrupt."""
    record = parse(tx.record(row, found.seq))
    assert isinstance(record, Asked | Suspended)
    return record
