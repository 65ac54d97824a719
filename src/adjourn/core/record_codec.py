"""Records as JSON and back: a line of a journal, or a list of them."""

from collections.abc import Callable

import msgspec

from adjourn.core.records import AnyRecord, Record
from adjourn.errors import KeyMissing

SEALED = '"at":"sealed '
"""Stands in a record that is encrypted, and in no other: a quote inside of a string is escaped."""

UNREADABLE = "cannot be read here: it is encrypted, and its key is missing"
"""What a list says of a run whose records cannot be opened."""


class SealedLines:
    """What opens lines that are encrypted. Whoever has the keys says so."""

    opened: Callable[[str], str]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyRecord)
_list_decoder = msgspec.json.Decoder(list[AnyRecord])


def dump(record: Record) -> str:
    """A record as one line of JSON."""
    return _encoder.encode(record).decode()


def parse(body: str | bytes) -> AnyRecord:
    """The record of a line that `dump` made, also if it was encrypted then; raises
    `msgspec.ValidationError` for anything else, and `KeyMissing`."""
    try:
        return _decoder.decode(body)
    except msgspec.ValidationError:
        text = body if isinstance(body, str) else body.decode("utf-8", "replace")
        if SEALED not in text:
            raise
    return _decoder.decode(SealedLines.opened(text))


def readable(body: str) -> AnyRecord | None:
    """The record of a line; None if there is no line, or if it is encrypted with a key that is not
    here."""
    try:
        return parse(body) if body else None
    except KeyMissing:
        return None


def parse_list(body: str | bytes) -> list[AnyRecord]:
    """A JSON array of records."""
    return _list_decoder.decode(body)


def dump_list(records: list[AnyRecord]) -> str:
    """A JSON array of records."""
    return _encoder.encode(records).decode()
