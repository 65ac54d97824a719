"""Records as JSON and back: a line of a journal, or a list of them."""

import msgspec

from adjourn.core.records import AnyRecord, Record

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(AnyRecord)
_list_decoder = msgspec.json.Decoder(list[AnyRecord])


def dump(record: Record) -> str:
    """A record as one line of JSON."""
    return _encoder.encode(record).decode()


def parse(body: str | bytes) -> AnyRecord:
    """The record of a line that `dump` made; raises `msgspec.ValidationError` otherwise."""
    return _decoder.decode(body)


def parse_list(body: str | bytes) -> list[AnyRecord]:
    """A JSON array of records."""
    return _list_decoder.decode(body)


def dump_list(records: list[AnyRecord]) -> str:
    """A JSON array of records."""
    return _encoder.encode(records).decode()
