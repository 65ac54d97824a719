"""The journal of a short run, packed into one string."""

from collections.abc import Sequence

import msgspec

from adjourn.core.files import MARK
from adjourn.core.record_codec import dump_list
from adjourn.core.records import AnyRecord, Chapter

FEW = 100
"""A journal of at most so many records is kept packed."""


class PackedJournal(msgspec.Struct, frozen=True, gc=False):
    """The records of a short journal as one string. Most outcomes are never asked for them, and of a
    string the collector of garbage looks at nothing."""

    text: str


def packed_journal(records: Sequence[AnyRecord]) -> PackedJournal | None:
    """The records packed. None where they may refer to files, as a chapter always may; and where
    there are so many that it would cost more than it saves."""
    if len(records) > FEW or any(type(record) is Chapter for record in records):
        return None
    text = dump_list(list(records))
    if MARK in text:
        return None
    return PackedJournal(text)
