"""A checkpoint that is encrypted with the key of its run: whoever erases the key erases it, wherever
it was put."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

from adjourn.core.codec import MAX_BYTES, loads
from adjourn.errors import CheckpointInvalid, Invalid, InvalidDefinition, KeyMissing, bare
from adjourn.stores.run_row import open_stores

FORMAT = "adjourn/sealed-checkpoint"
VERSION = 1
_WITHIN = 64
"""In so many of its first characters it says its format."""

Given = str | bytes | Mapping[str, Any]


class SealedEnvelope(msgspec.Struct, frozen=True):
    """What can be read of it without the key: of which run it is, and which key opens it. `box`: the
    checkpoint, encrypted, in base64."""

    format: str
    version: int
    run_id: str
    key: str
    box: str


def sealed_text(text: str, run_id: str, kid: str) -> str:
    """A checkpoint's text, encrypted with the key of its run; raises `KeyMissing`, and
    `InvalidDefinition` if the run has none."""
    if not kid:
        raise InvalidDefinition(
            f"run {bare(run_id)} is not encrypted, so there is no key to seal its checkpoint with",
            advice="leave sealed out, or encrypt runs with Runtime(encrypt=True)",
        )
    from adjourn.stores.run_keys import cipher_of

    box = base64.b64encode(cipher_of(kid).seal(text.encode())).decode()
    return msgspec.json.encode(SealedEnvelope(FORMAT, VERSION, run_id, kid, box)).decode()


def is_sealed_checkpoint(data: Given) -> bool:
    """Whether it is one that is encrypted."""
    if isinstance(data, Mapping):
        return data.get("format") == FORMAT
    start = data[:_WITHIN]
    if isinstance(start, bytes):
        start = start.decode("ascii", "replace")
    return f'"{FORMAT}"' in start


def opened_text(data: Given) -> Given:
    """The checkpoint in it; anything else as it is. Raises `KeyMissing`, if the store that has its
    key is not open, or has it no more, and `CheckpointInvalid`."""
    if not is_sealed_checkpoint(data):
        return data
    from adjourn.stores.run_keys import cipher_of

    try:
        plain: Any = data
        if not isinstance(data, Mapping):
            plain = loads(data, limit=4 * MAX_BYTES, what="the checkpoint")
        found = msgspec.convert(plain, SealedEnvelope)
        box = base64.b64decode(found.box, validate=True)
    except (Invalid, msgspec.ValidationError, binascii.Error) as error:
        raise CheckpointInvalid(f"this is not an encrypted checkpoint: {error}", "json") from None
    if found.version != VERSION:
        raise CheckpointInvalid(
            f"version {found.version} of encrypted checkpoints is not supported (newest: {VERSION})",
            advice="upgrade Adjourn",
        )
    if not open_stores:
        raise KeyMissing(
            f"the checkpoint of run {bare(found.run_id)} is encrypted, and no store is open here",
            advice="open the database of the run: Runtime(address), or --db",
        )
    return cipher_of(found.key).open(box).decode()
