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
TYPES = {
    "n": "bigint",
    "id": "text",
    "kind": "text",
    "program": "text",
    "session": "text",
    "labels": "text",
    "title": "text",
    "words": "text",
    "input_digest": "text",
    "seq": "bigint",
    "head": "text",
    "status": "text",
    "epoch": "bigint",
    "worker": "text",
    "wake_at": "float8",
    "blocked": "text[]",
    "opens": "int",
    "errors": "int",
    "stopped": "boolean",
    "created_at": "float8",
    "updated_at": "float8",
    "requesters": "text[]",
    "salt": "text",
    "erased": "float8",
    "chapter": "bigint",
    "priority": "int",
    "queued": "boolean",
    "after": "text",
    "after_seq": "bigint",
    "run": "bigint",
    "i": "text",
    "state": "text",
    "digest": "text",
    "event": "text",
    "expires": "float8",
    "undoing": "boolean",
    "approvers": "int",
    "by": "text",
    "votes": "text",
    "lives": "text",
    "disowned": "text[]",
    "rank": "int",
    "opened_at": "float8",
    "type": "text",
    "tool": "text",
    "groups": "text[]",
    "uses": "int",
    "body": "text",
    "scope": "text",
    "at": "float8",
    "key": "text",
    "value": "text",
    "endpoint": "text",
    "topic": "text",
    "tries": "int",
    "due_at": "float8",
    "error": "text",
    "name": "text",
    "url": "text",
    "secret": "text",
    "topics": "text[]",
    "until": "float8",
    "reason": "text",
    "not_before": "float8",
    "k": "bigint",
    "prev": "text",
    "hash": "text",
    "kid": "text",
    "sig": "text",
    "owner": "text",
    "said": "text",
    "assigned": "text",
    "snoozed": "text",
}
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
