"""What a check finds in an erased run: only the tombstone, and the audit must say the same."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from adjourn.core.record_codec import parse
from adjourn.core.records import Erased
from adjourn.core.status import ENDED
from adjourn.stores.audit import chain
from adjourn.stores.erasure import tombstone
from adjourn.stores.rows import present
from adjourn.stores.run_row import RunRow

Line = tuple[int, str | None, bytes]
"""The number, the body and the hash of a record. The body is None if it was erased."""


def flaws(
    row: RunRow, journal: Sequence[Line], beside: bool, said: Mapping[str, Any] | None
) -> Iterator[tuple[int, str]]:
    """Where an erased run is not what erasing leaves, as (record, why).

    Args:
        row: its row.
        journal: its records, in order.
        beside: whether there are rows of interrupts, or files.
        said: the line of the audit that erased it.
    """
    *before, last = journal or [(0, None, b"")]
    if [seq for seq, _, _ in journal] != list(range(1, row.seq + 1)):
        yield row.seq, f"records are missing: there were {row.seq}, there are {len(journal)}"
        return
    try:
        record = parse(last[1] or "")
    except msgspec.MsgspecError:
        record = None
    if not isinstance(record, Erased):
        yield last[0], "its content is missing, and no record says who erased it"
        return
    left = present((seq, body) for seq, body, _ in before)
    if left or row.salt:
        seq = left[0][0] if left else 0
        yield seq, "it was erased, but its content, or the salt of its hashes, is still stored"
    if len(before) < 1 or chain(before[-1][2], last[1] or "") != last[2] or last[2] != row.head:
        yield last[0], "it was edited, or moved here from elsewhere"
    if said is None:
        yield last[0], "the audit has no erasure of it"
    elif (said["by"], said["reason"], said["seq"]) != (record.by, record.reason, last[0]):
        yield (
            last[0],
            f"by and reason are {(record.by, record.reason)!r:.200}, the audit has something else",
        )
    has = (row.id, row.kind, row.program, row.status.value, row.erased, row.title, row.updated_at)
    means = (
        record.run,
        record.kind,
        record.program,
        record.status,
        record.at,
        tombstone(record),
        record.at,
    )
    blank = not (
        row.labels or row.input_digest or row.requesters or row.opens or row.errors or row.blocked
    )
    if has != means or not blank or row.status not in ENDED or beside:
        yield 0, "its row differs from its last record, or has more"
