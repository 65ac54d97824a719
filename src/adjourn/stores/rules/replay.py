"""What the rules make of a journal: its rows once more, from the records alone, to be compared with
those in the store."""

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from adjourn.core.records import AnyRecord, Claimed, Started
from adjourn.core.status import ENDED
from adjourn.stores.rules.creation import new_row
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.journal import append
from adjourn.stores.rules.names import cleaned
from adjourn.stores.rules.reads_and_writes import ReadRequest, ReadResult
from adjourn.stores.rules.sheet import Sheet, need
from adjourn.stores.run_row import RunRow, hide

ROW = (
    "kind",
    "program",
    "title",
    "session",
    "labels",
    "input_digest",
    "status",
    "epoch",
    "wake_at",
    "blocked",
    "opens",
    "errors",
    "stopped",
    "requesters",
    "chapter",
    "priority",
    "created_at",
    "updated_at",
)
"""What of a run's row follows from its journal. The lease does not: it is time."""
NOT_JOURNALED = ("opened_at", "assigned", "snoozed")
"""What people leave on an item is in the audit, and not in the journal."""
INTERRUPT = tuple(name for name in InterruptRow.__struct_fields__ if name not in NOT_JOURNALED)


class Replay:
    """A sheet to which a whole journal is appended. Nothing is written anywhere."""

    def __init__(self) -> None:
        self._sheet = Sheet(ReadRequest(), ReadResult(0.0))
        self.began = 0.0

    @property
    def row(self) -> RunRow | None:
        """The row so far; None before the first record."""
        return self._sheet.row

    @property
    def interrupts(self) -> dict[str, InterruptRow]:
        """The interrupts so far, by their ids."""
        return self._sheet.writes.interrupts

    def fold(self, body: str, record: AnyRecord) -> None:
        """Append one record, as the rules do. Raises what they raise, and `ValueError` for what is
        not the first record."""
        if self._sheet.row is None:
            if not isinstance(record, Started):
                raise ValueError("it does not begin with its start")
            self._sheet.insert(new_row(record))
            self.began = record.at
        row = need(self._sheet, "")
        if isinstance(record, Claimed):
            row.epoch = max(row.epoch, record.epoch)
        append(self._sheet, row, row.epoch, record, body)


def disagreements(row: RunRow, interrupts: Iterable[InterruptRow], replay: Replay) -> list[str]:
    """Where the rows of a run are not what the rules make of its journal.

    Of a run that had ended before rows knew who shaped it and by which record somebody agreed, they
    still do not: nothing follows from that any more.
    """
    assert replay.row is not None
    row = replace(row, title=cleaned(row.title))  # as titles are written now
    hide(replay.row, row.salt)
    if row.created_at == replay.began:  # a fork, too, as they were written before
        replay.row.created_at = replay.began
    if replay.row.status in ENDED:
        if not row.requesters:
            replay.row.requesters = ()
        interrupts = [_like(found, replay.interrupts.get(found.i)) for found in interrupts]
    wrong = list(_unequal(row, replay.row, ROW))
    rows = {found.i: found for found in interrupts}
    for id in sorted({*rows, *replay.interrupts}):
        if id not in rows:
            wrong.append(f"interrupt {id!r:.80} is missing")
        elif id not in replay.interrupts:
            wrong.append(f"interrupt {id!r:.80} was never asked")
        else:
            for unequal in _unequal(rows[id], replay.interrupts[id], INTERRUPT):
                wrong.append(f"interrupt {id!r:.80}: {unequal}")
    return wrong


def _like(has: InterruptRow, means: InterruptRow | None) -> InterruptRow:
    """The row as it is written now; older ones had a list of those who agreed."""
    older = isinstance(has.votes, list)
    if older and means is not None and sorted(has.votes) == sorted(means.votes):
        return replace(has, votes=means.votes)
    return has


def _unequal(row: Any, meant: Any, names: Iterable[str]) -> Iterator[str]:
    for name in names:
        has, means = getattr(row, name), getattr(meant, name)
        if has != means:
            yield f"{name} is {has!r:.80}, its journal means {means!r:.80}"
