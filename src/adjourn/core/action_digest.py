"""What an approval, an answer and an attempt are bound to: canonical bytes and their SHA-256."""

import hashlib
from typing import Any

import msgspec

_canonical = msgspec.json.Encoder(order="deterministic").encode


def canonical(value: Any) -> bytes:
    """The same bytes for the same plain JSON value, whatever the order of its keys. Text is taken
    as it is (no NFC)."""
    return _canonical(value)


def digest(*fields: Any) -> str:
    """A hex SHA-256 over the fields, each length-prefixed, so that no two different lists share
    their bytes."""
    parts = [b"adjourn/1\0"]
    for field in fields:
        raw = field.encode() if type(field) is str else _raw(field)
        parts.append(b"%d:%b" % (len(raw), raw))
    return hashlib.sha256(b"".join(parts)).hexdigest()


def _raw(field: Any) -> bytes:
    if isinstance(field, str):
        return field.encode()
    if isinstance(field, bytes):
        return field
    return _canonical(field)


def action_digest(run: str, call: str, tool: str, definition: str, args: Any) -> str:
    """What an approval is for: this call of this run, this tool as defined, these exact
    arguments."""
    return digest("action", run, call, tool, definition, args)


def idempotency_key(run: str, call: str, tool: str, args: Any) -> str:
    """Stable for a call, whatever the attempt: what a target needs to refuse the second of two."""
    return digest("key", run, call, tool, args)


def question_digest(type: str, payload: Any) -> str:
    """What an answer is for: a question of this type with this payload."""
    return digest("question", type, payload)
