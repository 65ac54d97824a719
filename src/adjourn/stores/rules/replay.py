"""What the rules make of a journal: its rows once more, from the records alone, to be compared with those in the store."""

from collections.abc import Iterable
from dataclasses import fields, replace
from typing import Any, cast

from adjourn.core.records import AnyRecord, Claimed, Started
from adjourn.core.status import ENDED
from adjourn.stores.rules.journal import append, new_row
from adjourn.stores.rules.transaction import InterruptRow, Tx
from adjourn.stores.store import RunRow

ROW = (
    "kind", "program", "title", "session", "labels", "input_digest", "status", "epoch", "wake_at", "blocked", "opens", "errors",
    "stopped", "requesters", "created_at", "updated_at",
)  # fmt: skip
"""What of a run's row follows from its journal. The lease does not: it is time."""
INTERRUPT = tuple(field.name for field in fields(InterruptRow))


class Replay:
    """The primitives of `Tx` that appending needs, over two dicts. Nothing is written anywhere."""

    def __init__(self) -> None:
        self.row: RunRow | None = None
        self.interrupts: dict[str, InterruptRow] = {}
        self._bodies: list[str] = []

    def fold(self, body: str, record: AnyRecord) -> None:
        """Append one record, as the rules do. Raises what they raise, and `ValueError` for what is not the first record."""
        if self.row is None:
            if not isinstance(record, Started):
                raise ValueError("it does not begin with its start")
            self.row = new_row(record)
        if isinstance(record, Claimed):
            self.row.epoch = max(self.row.epoch, record.epoch)
        append(cast("Tx", self), self.row, self.row.epoch, record, body)

    def append(self, row: RunRow, seq: int, epoch: int, body: str, head: bytes) -> None:
        """See `Tx.append`."""
        self._bodies.append(body)

    def record(self, row: RunRow, seq: int) -> str:
        """See `Tx.record`."""
        return self._bodies[seq - 1]

    def tail(self, row: RunRow, after: int) -> list[tuple[int, str]]:
        """See `Tx.tail`."""
        return list(enumerate(self._bodies[after:], after + 1))

    def interrupt(self, row: RunRow, i: str) -> InterruptRow | None:
        """See `Tx.interrupt`."""
        return self.interrupts.get(i)

    def open_interrupts(self, row: RunRow) -> list[InterruptRow]:
        """See `Tx.open_interrupts`."""
        return [x for x in self.interrupts.values() if x.state == "open"]

    def lived_on(self, row: RunRow, call: str) -> list[InterruptRow]:
        """See `Tx.lived_on`."""
        return [x for x in self.interrupts.values() if x.lives == call]

    def put_interrupt(self, row: RunRow, interrupt: InterruptRow) -> None:
        """See `Tx.put_interrupt`."""
        self.interrupts[interrupt.i] = interrupt

    def touch(self, scope: str, at: float) -> None:
        """See `Tx.touch`."""


def disagreements(row: RunRow, interrupts: Iterable[InterruptRow], replay: Replay) -> list[str]:
    """Where the rows of a run are not what the rules make of its journal.

    Of a run that had ended before rows knew who shaped it and by which record somebody agreed, they still do not: nothing
    follows from that any more.
    """
    assert replay.row is not None
    if replay.row.status in ENDED:
        replay.row.requesters = replay.row.requesters if row.requesters else ()
        interrupts = [_like(x, replay.interrupts.get(x.i)) for x in interrupts]
    wrong = [
        f"{name} is {has!r:.80}, its journal means {means!r:.80}" for name, has, means in _unequal(row, replay.row, ROW)
    ]
    rows = {x.i: x for x in interrupts}
    for i in sorted({*rows, *replay.interrupts}):
        if i not in rows:
            wrong.append(f"interrupt {i!r:.80} is missing")
        elif i not in replay.interrupts:
            wrong.append(f"interrupt {i!r:.80} was never asked")
        else:
            unequal = _unequal(rows[i], replay.interrupts[i], INTERRUPT)
            wrong += [
                f"interrupt {i!r:.80}: {name} is {has!r:.80}, its journal means {means!r:.80}"
                for name, has, means in unequal
            ]
    return wrong


def _like(has: InterruptRow, means: InterruptRow | None) -> InterruptRow:
    """The row as it is written now; older ones had a list of those who agreed."""
    older = isinstance(has.votes, list)
    if older and means is not None and sorted(has.votes) == sorted(means.votes):
        return replace(has, votes=means.votes)
    return has


def _unequal(has: Any, means: Any, names: Iterable[str]) -> list[tuple[str, Any, Any]]:
    pairs = ((name, getattr(has, name), getattr(means, name)) for name in names)
    return [(name, one, other) for name, one, other in pairs if one != other]
