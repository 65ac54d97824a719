"""Rows of PostgreSQL as the values that rules know, and back."""

from collections.abc import Mapping, Sequence
from typing import Any

from adjourn.core.codec import decode, encode
from adjourn.core.record_codec import parse
from adjourn.core.records import Started
from adjourn.core.status import Status
from adjourn.stores.outbox import Notification
from adjourn.stores.rows import picked
from adjourn.stores.rules.inbox_filter import words
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.rules.reads_and_writes import Writes
from adjourn.stores.run_row import RunRow
from adjourn.stores.seals import Seal

RUN = tuple(name for name in RunRow.__struct_fields__ if name not in ("lease_until", "n"))
UNTIL = "coalesce((select w.until from adjourn.worker w where w.id = r.worker), 0)"
INTERRUPT = InterruptRow.__struct_fields__
LETTER = Notification.__struct_fields__
SEAL = Seal.__struct_fields__
_STATUS = {status.value: status for status in Status}
_NAMES = {
    "text": "id kind program session labels title words input_digest head status worker "
    "salt after i state digest event by votes lives type tool body scope key value "
    "endpoint topic error name url secret reason prev hash kid sig owner said "
    "assigned snoozed",
    "text[]": "blocked requesters disowned groups topics",
    "bigint": "n seq epoch chapter after_seq run k",
    "int": "opens errors priority approvers rank uses tries",
    "float8": "wake_at created_at updated_at erased expires opened_at at due_at until not_before",
    "boolean": "stopped queued undoing",
}
TYPES = {name: type for type, names in _NAMES.items() for name in names.split()}
"""Of every column that is written: its type, as JSON carries it."""


def columns(names: Sequence[str], table: str) -> str:
    """Columns of a table, as a statement lists them."""
    return ", ".join(f"{table}.{name}" for name in names)


COLUMNS = f"{columns(RUN, 'r')}, {UNTIL}, r.n"
"""What is read of a run."""


def run_row(values: Sequence[Any]) -> RunRow:
    """A row of `COLUMNS`."""
    *stored, until, number = values
    found = dict(zip(RUN, stored, strict=True))
    labels = found["labels"]
    found["labels"] = decode(labels) if labels != "{}" else {}
    found["status"] = _STATUS[found["status"]]
    found["blocked"], found["requesters"] = tuple(found["blocked"]), tuple(found["requesters"])
    return RunRow(**found, lease_until=until, n=number)


def run_values(row: RunRow) -> dict[str, Any]:
    """What a statement writes of a run, as JSON can carry it."""
    return {
        **picked(row, RUN),
        "n": row.n,
        "labels": encode(row.labels).decode(),
        "head": row.head.hex(),
        "salt": row.salt.hex(),
        "status": row.status.value,
    }


def first_values(writes: Writes) -> dict[str, Any]:
    """What a new run's first record says that lists and queues ask for."""
    assert writes.row is not None
    row = writes.row
    known = {
        "words": words(row.title, row.id, row.program),
        "queued": False,
        "after": "",
        "after_seq": 0,
    }
    if row.erased:
        return known
    first = parse(writes.journal[0].body)
    assert isinstance(first, Started)
    known["queued"] = first.options.get("queue") == "session"
    if first.before is not None:
        known |= {"after": first.before.run, "after_seq": first.before.seq}
    return known


def interrupt_row(values: Sequence[Any]) -> InterruptRow:
    """A row of `INTERRUPT`."""
    found = dict(zip(INTERRUPT, values, strict=True))
    found["votes"] = decode(found["votes"])
    found["snoozed"] = decode(found["snoozed"])
    found["disowned"], found["groups"] = tuple(found["disowned"]), tuple(found["groups"])
    return InterruptRow(**found)


def interrupt_values(run: int, row: InterruptRow) -> Mapping[str, Any]:
    """What a statement writes of an interrupt, as JSON can carry it."""
    said = f"{row.type.lower()} {row.tool.lower()}"
    return {
        **picked(row, INTERRUPT),
        "run": run,
        "votes": encode(row.votes).decode(),
        "snoozed": encode(row.snoozed).decode(),
        "said": said,
    }
