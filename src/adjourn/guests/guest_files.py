"""Files in what a guest says and hears. In a framework's own history they are base64; in a journal
they are references, and what is said of that history names the bytes where they stood."""

import base64
import binascii
from collections.abc import Mapping
from typing import Any, cast

from adjourn.core.files import FILE, File, described, kind_of, media_type_of
from adjourn.core.messages import FilePart
from adjourn.errors import Invalid, ModelError

STOWED = "$base64"
"""The key of what stands in the place of base64: the SHA-256 of its bytes. `before`: what stood
before it in the same string, as `data:image/png;base64,`."""
MARK = ";base64,"


def in_base64(data: bytes) -> str:
    """Bytes, as frameworks write them."""
    return base64.b64encode(data).decode()


def data_url(ref: Mapping[str, Any], files: Mapping[str, bytes]) -> str:
    """A file as a `data:` address."""
    return f"data:{ref['type']}{MARK}{in_base64(bytes_of(ref, files))}"


def bytes_of(ref: Mapping[str, Any], files: Mapping[str, bytes]) -> bytes:
    """The bytes of a file; raises `ModelError` if they are gone."""
    try:
        return files[ref[FILE]]
    except KeyError:
        raise ModelError(
            f"nothing was sent: the bytes of {described(dict(ref))} are missing",
            kind="missing_file",
        ) from None


def file_of(data: Any, media_type: str = "", name: str = "") -> File | None:
    """A file from base64, a `data:` address or bytes; None for what is none of these."""
    if isinstance(data, str):
        head, mark, body = data.partition(MARK)
        if mark and head.startswith("data:"):
            media_type, data = head[5:].partition(";")[0] or media_type, body
        try:
            data = base64.b64decode(data, validate=True)
        except (ValueError, binascii.Error):
            return None
    if not isinstance(data, bytes) or not data:
        return None
    for kind in (media_type, media_type_of(data), "application/octet-stream"):
        try:
            return File(data, kind, name)
        except Invalid:  # its bytes count, not what somebody calls them
            continue
    return None


def made_parts(made: list[File]) -> list[FilePart]:
    """Files that a guest made, as parts of its reply."""
    return [FilePart(file=file.ref) for file in made]


def with_made(files: Mapping[str, bytes], made: list[File]) -> dict[str, bytes]:
    """Known files, and those that a guest made."""
    return {**files, **{file.digest: file.data for file in made}}


def stowed(value: Any, files: Mapping[str, bytes]) -> Any:
    """A JSON value without the base64 of these files: a record never has it."""
    if not files:
        return value
    known: dict[str, str] = {}
    for digest, data in files.items():
        known[in_base64(data)] = digest
        known[base64.urlsafe_b64encode(data).decode()] = digest
    return _replaced(value, known)


def _replaced(value: Any, known: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        head, mark, body = value.partition(MARK)
        if not mark:
            head, body = "", value
        if body not in known:
            return value
        return {STOWED: known[body], "before": head + mark, "safe": "-" in body or "_" in body}
    if isinstance(value, dict):
        inside = cast("dict[str, Any]", value)
        return {key: _replaced(part, known) for key, part in inside.items()}
    if isinstance(value, list):
        return [_replaced(part, known) for part in cast("list[Any]", value)]
    return value


def unstowed(value: Any, files: Mapping[str, bytes]) -> Any:
    """What `stowed` was given. Raises `ModelError` if bytes are gone."""
    if isinstance(value, dict):
        inside = cast("dict[str, Any]", value)
        if STOWED not in inside:
            return {key: unstowed(part, files) for key, part in inside.items()}
        data = files.get(inside[STOWED])
        if data is None:
            raise ModelError(
                "nothing was sent: a file of the conversation is missing", kind="missing_file"
            )
        coded = base64.urlsafe_b64encode(data) if inside.get("safe") else base64.b64encode(data)
        return f"{inside.get('before', '')}{coded.decode()}"
    if isinstance(value, list):
        return [unstowed(part, files) for part in cast("list[Any]", value)]
    return value


def kind(ref: Mapping[str, Any]) -> str:
    """`image`, `audio`, `video` or `document`."""
    return kind_of(ref["type"])


def subtype(ref: Mapping[str, Any]) -> str:
    """The end of a file's name, by its type."""
    return str(ref["type"]).partition("/")[2]
