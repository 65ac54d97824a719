"""The envelope of a checkpoint: visible fields for routing, the journal as one string, a digest,
and a MAC.

Everything visible and the body are covered by the digest, and by the MAC when there is a key. Both
are verified before the body is parsed. The sender chooses no algorithm.
"""

import hashlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec

from adjourn.core.codec import MAX_BYTES, MAX_DEPTH, MAX_PARTS, encode, has_more_parts, loads
from adjourn.core.messages import Message, messages_from
from adjourn.core.record_codec import dump_list, parse_list
from adjourn.core.records import AnyRecord, Started
from adjourn.errors import CheckpointInvalid, Invalid

FORMAT = "adjourn/checkpoint"
VERSION = 4
"""2: records have gates, requesters and seals; a journal of version 1 is one of version 2 without
them. 3: the conversation that a run goes on with stands beside its records, in `before`; a journal
of version 2 has it in its first record. 4: the bytes of files stand in `files`."""
WITH_BEFORE = 3
WITH_FILES = 4
UPGRADERS: dict[int, Callable[[list[dict[str, Any]]], list[dict[str, Any]]]] = {
    1: lambda records: records,
    2: lambda records: records,
    3: lambda records: records,
}
"""From each older version to the next: what turns its records into those of the version after
it."""
_OTHER_RECORDS = "the checkpoint's records do not match its envelope"
_NOT_MADE = "no checkpoint was made"
_AGAIN = "get it again from its source"
AROUND = 20
"""How deep records wrap a value: what was accepted into a journal must come out of it again."""


class Envelope(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The outside of a checkpoint."""

    format: str
    version: int
    run_id: str
    program: str
    kind: str
    session: str
    seq: int
    status: str
    fingerprint: str
    digest: str
    records: str
    before: str = ""
    files: str = ""
    kid: str = ""
    mac: str = ""


_COVERED = (
    "format",
    "version",
    "run_id",
    "program",
    "kind",
    "session",
    "seq",
    "status",
    "fingerprint",
    "records",
)


def _bytes(envelope: Mapping[str, Any]) -> bytes:
    """The covered fields, each with its name and length, so that no two envelopes share their
    bytes."""
    parts = [b"adjourn/checkpoint/1\0"]
    names: list[str] = list(_COVERED)
    if envelope["version"] >= WITH_BEFORE:
        names.append("before")
    if envelope["version"] >= WITH_FILES:
        names.append("files")
    for name in names:
        raw = str(envelope[name]).encode()
        parts.append(b"%s:%d:%s" % (name.encode(), len(raw), raw))
    return b"".join(parts)


def key_id(key: bytes) -> str:
    """How a key is named in an envelope, without giving it away."""
    return hashlib.sha256(b"adjourn/kid\0" + key).hexdigest()[:16]


class Beside(msgspec.Struct, frozen=True):
    """What a checkpoint has beside its records: the messages of the turns before, and files."""

    before: Sequence[Message] = ()
    files: Mapping[str, bytes] = {}


_NOTHING_BESIDE = Beside()
_PARTS = {
    "records": "the run's records",
    "before": "the turns before the run",
    "files": "the run's files",
}


def seal(
    fields: dict[str, Any],
    records: Sequence[AnyRecord],
    keys: Sequence[bytes],
    beside: Beside = _NOTHING_BESIDE,
) -> str:
    """A checkpoint as JSON text; signed by the first key if there is one."""
    fields = {"format": FORMAT, "version": VERSION, **fields, "records": dump_list(list(records))}
    fields["before"] = msgspec.json.encode(tuple(beside.before)).decode() if beside.before else ""
    files = msgspec.json.encode(beside.files, order="sorted").decode() if beside.files else ""
    fields["files"] = files
    for name, what in _PARTS.items():
        if (length := len(fields[name])) > MAX_BYTES:
            raise CheckpointInvalid(
                f"{what} have {length:,} bytes, and at most {MAX_BYTES:,} can be loaded",
                "records",
                consequence=_NOT_MADE,
            )
        if has_more_parts(fields[name].encode(), MAX_PARTS):
            raise CheckpointInvalid(
                f"{what} have over {MAX_PARTS:,} lists and objects, too many to load",
                "records",
                consequence=_NOT_MADE,
            )
    covered = _bytes(fields)
    fields["digest"] = "sha256:" + hashlib.sha256(covered).hexdigest()
    if keys:
        fields["kid"] = key_id(keys[0])
        fields["mac"] = _mac(keys[0], covered)
    return encode(fields).decode()


class Opened(msgspec.Struct, frozen=True):
    """What is in an envelope. `before`: the messages of the turns before, where its first record
    only names them."""

    envelope: Envelope
    records: list[AnyRecord]
    before: list[Message]
    files: dict[str, bytes]


def unseal(data: str | bytes | Mapping[str, Any], keys: Sequence[bytes]) -> Opened:
    """What is in the envelope, once nothing is wrong with it; raises `CheckpointInvalid` saying
    what is."""
    envelope = _outside(data)
    if envelope.format != FORMAT:
        raise CheckpointInvalid(
            f"this is not a checkpoint: its format must be {FORMAT!r}, got {envelope.format!r:.60}"
        )
    if not 1 <= envelope.version <= VERSION:
        raise CheckpointInvalid(
            f"checkpoint version {envelope.version} is not supported (newest: {VERSION})",
            advice="upgrade Adjourn" if envelope.version > VERSION else "",
        )
    _verify(envelope, keys)
    records = _inside(envelope)
    first = records[0] if records else None
    if (
        not isinstance(first, Started)
        or first.run != envelope.run_id
        or len(records) != envelope.seq
    ):
        raise CheckpointInvalid(_OTHER_RECORDS, "records")
    return Opened(envelope, records, _before(envelope, first), _files(envelope))


_read_files = msgspec.json.Decoder(dict[str, bytes])


def _files(envelope: Envelope) -> dict[str, bytes]:
    if envelope.version < WITH_FILES and envelope.files:
        raise CheckpointInvalid(
            f"a checkpoint of format {envelope.version} has no files", "records"
        )
    if not envelope.files:
        return {}
    try:
        found = _read_files.decode(envelope.files)
    except msgspec.MsgspecError as e:
        raise CheckpointInvalid(f"the checkpoint's files are not valid: {e}", "records") from None
    for digest, data in found.items():
        if hashlib.sha256(data).hexdigest() != digest:
            raise CheckpointInvalid(
                f"the bytes of the checkpoint's file {digest:.16} are not those of its digest",
                "records",
            )
    return found


def _before(envelope: Envelope, first: Started) -> list[Message]:
    named = first.before is not None
    if envelope.version < WITH_BEFORE and (envelope.before or named):
        raise CheckpointInvalid(
            f"a checkpoint of format {envelope.version} has its whole conversation in its records",
            "records",
        )
    if bool(envelope.before) != named:
        what = "are missing" if named else "are not named by its records"
        raise CheckpointInvalid(f"the turns before the checkpoint's run {what}", "records")
    if not named:
        return []
    try:
        plain = loads(
            envelope.before, what="the turns before the checkpoint's run", depth=MAX_DEPTH + AROUND
        )
        return messages_from(plain)
    except Invalid as e:
        raise CheckpointInvalid(e.what, "records", advice=e.advice) from None
    except (msgspec.ValidationError, RecursionError) as e:
        raise CheckpointInvalid(
            f"the turns before the checkpoint's run are not valid: {e}", "records"
        ) from None


def _outside(data: str | bytes | Mapping[str, Any]) -> Envelope:
    if isinstance(data, str | bytes):
        try:
            data = loads(
                data,
                what="the checkpoint",
                limit=2 * MAX_BYTES,
                strings=2 * len(Envelope.__struct_fields__),
            )
        except Invalid as e:
            raise CheckpointInvalid(e.what, "json", advice=e.advice) from None
    try:
        return msgspec.convert(data, Envelope)
    except (msgspec.ValidationError, RecursionError) as e:
        raise CheckpointInvalid(f"this is not a checkpoint: {e}") from None


def _mac(key: bytes, covered: bytes) -> str:
    import hmac

    return "hmac-sha256:" + hmac.digest(key, covered, "sha256").hex()


def _verify(envelope: Envelope, keys: Sequence[bytes]) -> None:
    from hmac import compare_digest

    try:
        covered = _bytes(msgspec.structs.asdict(envelope))
        given, kid, signature = (
            envelope.digest.encode(),
            envelope.kid.encode(),
            envelope.mac.encode(),
        )
    except UnicodeEncodeError:  # only a dict can bring one here; text with one is refused as such
        raise CheckpointInvalid("the checkpoint has a lone surrogate", "json") from None
    if not compare_digest(given, b"sha256:" + hashlib.sha256(covered).hexdigest().encode()):
        raise CheckpointInvalid(
            "the checkpoint was modified: its digest does not match", "digest", advice=_AGAIN
        )
    if not keys and (envelope.mac or envelope.kid):
        raise CheckpointInvalid(
            "the checkpoint is signed, and no secret is set to verify it with",
            "signature",
            advice="set the secret it was signed with (ADJOURN_SECRET, or secret=)",
        )
    if not keys:
        return
    if not envelope.mac:
        raise CheckpointInvalid("a secret is set, but the checkpoint is not signed", "signature")
    for key in keys:
        if compare_digest(kid, key_id(key).encode()) and compare_digest(
            signature, _mac(key, covered).encode()
        ):
            return
    what = "the checkpoint was modified, or signed with a key that is not in the key ring"
    raise CheckpointInvalid(what, "signature", advice=_AGAIN)


class _Tagged(msgspec.Struct):
    """What every record of every version is at least."""

    t: str


_shape = msgspec.json.Decoder(list[_Tagged])


def _inside(envelope: Envelope) -> list[AnyRecord]:
    try:
        # Before anything is built of it: so many objects with a tag. Fast, and it keeps nothing.
        if (
            len(envelope.records) <= MAX_BYTES
            and len(_shape.decode(envelope.records)) != envelope.seq
        ):
            raise CheckpointInvalid(_OTHER_RECORDS, "records")
        plain = loads(envelope.records, what="the checkpoint's records", depth=MAX_DEPTH + AROUND)
        for version in range(envelope.version, VERSION):
            plain = UPGRADERS[version](plain)
        return parse_list(encode(plain))
    except Invalid as e:
        raise CheckpointInvalid(e.what, "records", advice=e.advice) from None
    except (msgspec.ValidationError, msgspec.DecodeError, RecursionError) as e:
        raise CheckpointInvalid(f"the checkpoint's records are not valid: {e}", "records") from None
