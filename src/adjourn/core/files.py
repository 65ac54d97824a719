"""Images, audio and documents: what a record says of one, and how its bytes get into the store.

A record never holds the bytes. It holds a reference: their SHA-256, their type and their size. In
memory a new reference carries the bytes with it, until the transaction that writes the record has
written them, too; so no record names bytes that are not there, and no bytes are left without one.
"""

import hashlib
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, ClassVar, cast

import msgspec

from adjourn.errors import Invalid

FILE = "$file"
"""The key by which a reference is known. Its value is the SHA-256 of the bytes, in hexadecimal."""
MARK = f'"{FILE}":'
"""What the JSON of a value with a reference contains."""
LARGEST = 20 * 1024 * 1024
"""Bytes that a file may have. No provider takes more in a request."""
LONGEST_NAME = 200
NO_ARGUMENT = (
    "a file cannot be an argument: take its reference as a dict, and read it with ctx.file()"
)
_HOLDS = (dict, list)
_ROWS = (list, tuple)
_PARTED = (*_HOLDS, tuple, msgspec.Struct)

_ALIASES = {
    "image/jpg": "image/jpeg",
    "audio/mp3": "audio/mpeg",
    "audio/x-wav": "audio/wav",
    "audio/wave": "audio/wav",
    "audio/x-flac": "audio/flac",
    "application/x-pdf": "application/pdf",
}
_BEGINNINGS = (
    (b"\x89PNG\r\n\x1a\n", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF87a", "image/gif"),
    (b"GIF89a", "image/gif"),
    (b"%PDF-", "application/pdf"),
    (b"ID3", "audio/mpeg"),
    (b"\xff\xfb", "audio/mpeg"),
    (b"\xff\xf3", "audio/mpeg"),
    (b"\xff\xf2", "audio/mpeg"),
    (b"OggS", "audio/ogg"),
    (b"fLaC", "audio/flac"),
)
_MEDIA_TYPE = re.compile(r"([a-z]+)/[a-z0-9][a-z0-9.+-]*")
_RIFF = {b"WEBP": "image/webp", b"WAVE": "audio/wav"}
_KNOWN = {*(kind for _, kind in _BEGINNINGS), *_RIFF.values()}
RASTER = frozenset({"image/png", "image/jpeg", "image/gif", "image/webp"})
"""Images that are nothing but pixels: a browser may show them."""


def media_type_of(data: bytes) -> str:
    """The type that the first bytes of a file show; "" if they show none that is known here."""
    if data[:4] == b"RIFF":
        return _RIFF.get(data[8:12], "")
    for beginning, kind in _BEGINNINGS:
        if data.startswith(beginning):
            return kind
    return ""


class FileRef(dict[str, Any]):
    """A reference that still carries the bytes. Its JSON is that of the reference alone."""

    __slots__ = ("data",)
    data: bytes | None

    def release(self) -> None:
        """The store has the bytes."""
        self.data = None


class File:
    """A file for a model, or of one: an image, audio or a document.

    In an input (`agent.run(["What is this?", Image(data)])`), in what a tool returns, and in every
    other value that a run records. Its bytes stand beside the journal, and go with the run.

    Args:
        data: its bytes.
        media_type: its type, as `"image/png"`; without one, what the bytes show.
        name: a name for people, as `"receipt.png"`.

    Raises `Invalid` if it is empty or larger than 20 MiB, or if its bytes are of another type.
    """

    kinds: ClassVar[tuple[str, ...]] = ("image", "audio", "video", "document")

    def __init__(self, data: bytes, media_type: str = "", name: str = "") -> None:
        if not isinstance(data, bytes | bytearray | memoryview):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise Invalid(
                f"a file must be given as bytes, not as a value of type {type(data).__name__}",
                advice="read it first: Path(…).read_bytes()",
            )
        self.data = bytes(data)
        self.media_type = _checked_type(self.data, media_type)
        self.name = _checked_name(name)
        if self.kind not in self.kinds:
            raise Invalid(
                f"{type(self).__name__}() is for {' and '.join(self.kinds)} types, and this is "
                f"{self.media_type}",
                advice="use File(), which takes every type",
            )

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return len(self.data)

    @property
    def digest(self) -> str:
        """The SHA-256 of its bytes, in hexadecimal."""
        return hashlib.sha256(self.data).hexdigest()

    @property
    def kind(self) -> str:
        """`image`, `audio`, `video` or `document`."""
        return kind_of(self.media_type)

    @property
    def ref(self) -> FileRef:
        """What a record says of it. It carries the bytes until they are stored."""
        found = FileRef({FILE: self.digest, "type": self.media_type, "size": self.size})
        if self.name:
            found["name"] = self.name
        found.data = self.data
        return found

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: Any) -> Any:
        """In the type of an answer (`answer_schema=`): what is recorded of a file."""
        from pydantic_core import core_schema

        def refuse(value: Any) -> Any:
            raise ValueError(NO_ARGUMENT)

        return core_schema.no_info_plain_validator_function(refuse)

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: Any) -> dict[str, Any]:
        return cls.schema()

    @classmethod
    def schema(cls) -> dict[str, Any]:
        """The JSON Schema of a reference to such a file: `format` is `"file"`."""
        media_type: dict[str, Any] = {"type": "string"}
        if cls.kinds == ("image",) or cls.kinds == ("audio",):
            media_type["pattern"] = f"^{cls.kinds[0]}"
        return {
            "type": "object",
            "format": "file",
            "properties": {
                FILE: {"type": "string"},
                "type": media_type,
                "size": {"type": "integer"},
            },
            "required": [FILE, "type", "size"],
        }

    def __eq__(self, other: object) -> bool:
        return isinstance(other, File) and self.ref == other.ref

    def __hash__(self) -> int:
        return hash(self.digest)

    def __repr__(self) -> str:
        name = f", name={self.name!r}" if self.name else ""
        return f"{type(self).__name__}(<{self.size} bytes>, {self.media_type!r}{name})"


class Image(File):
    """A file that must be an image; see `File` for `data`, `media_type` and `name`."""

    kinds = ("image",)


class Audio(File):
    """A file that must be audio; see `File` for `data`, `media_type` and `name`."""

    kinds = ("audio",)


class Document(File):
    """A file that must be a document; see `File` for `data`, `media_type` and `name`."""

    kinds = ("document",)


def kind_of(media_type: str) -> str:
    """What a file of this type is for people: `image`, `audio`, `video` or `document`."""
    found = _MEDIA_TYPE.match(media_type)
    if found and found[1] in ("image", "audio", "video"):
        return found[1]
    return "document"


def _checked_type(data: bytes, given: str) -> str:
    if not data:
        raise Invalid("a file is empty")
    if len(data) > LARGEST:
        raise Invalid(
            f"a file has {len(data):,} bytes, and at most {LARGEST:,} are allowed",
            advice="make it smaller, or add a tool that reads it from its storage",
        )
    stated = given.strip().lower().partition(";")[0]
    stated = _ALIASES.get(stated, stated)
    shown = media_type_of(data)
    if not stated and not shown:
        raise Invalid("the type of a file cannot be seen from its bytes", advice="give media_type=")
    if stated and (shown or stated in _KNOWN) and shown != stated:
        seen = f"are {shown}" if shown else "are not"
        raise Invalid(f"a file is given as {stated}, and its bytes {seen}")
    if stated and _MEDIA_TYPE.fullmatch(stated) is None:
        raise Invalid(f"{given!r:.80} is not a media type", advice='give one as "image/png"')
    if stated.startswith("text/"):
        try:
            data.decode()
        except UnicodeDecodeError:
            raise Invalid(f"a file is given as {stated}, and it is not UTF-8") from None
    return stated or shown


def _checked_name(name: str) -> str:
    if len(name) > LONGEST_NAME or any(ord(letter) < 32 for letter in name):
        raise Invalid(
            f"a file's name has at most {LONGEST_NAME} characters and no control characters, "
            f"not {name!r:.80}"
        )
    return name


def file_fields(schema: Any) -> list[str]:
    """The fields of an answer that are files, by its JSON Schema; `[""]` if the answer itself is
    one."""
    if not isinstance(schema, dict):
        return []
    known = cast("dict[str, Any]", schema)
    if known.get("format") == "file":
        return [""]
    properties: Any = known.get("properties")
    if not isinstance(properties, dict):
        return []
    inside = cast("dict[str, Any]", properties)
    return [name for name, part in inside.items() if file_fields(part) == [""]]


# References in values


def is_ref(value: Any) -> bool:
    """Whether a plain value is a reference to a file."""
    if not isinstance(value, dict):
        return False
    found = cast("dict[str, Any]", value)
    digest = found.get(FILE)
    return (
        isinstance(digest, str)
        and len(digest) == 64
        and isinstance(found.get("type"), str)
        and isinstance(found.get("size"), int)
    )


def refs(value: Any) -> list[dict[str, Any]]:
    """The references in a value or a record, in order."""
    found: list[dict[str, Any]] = []
    _gather(value, found)
    return found


def _gather(value: Any, found: list[dict[str, Any]]) -> None:
    parts: Iterable[Any]
    if isinstance(value, dict):
        if FILE in value and is_ref(value):
            found.append(cast("dict[str, Any]", value))
            return
        parts = cast("dict[str, Any]", value).values()
    elif isinstance(value, _ROWS):
        parts = cast("list[Any]", value)
    elif isinstance(value, msgspec.Struct):
        parts = [getattr(value, name) for name in value.__struct_fields__]
    else:
        return
    for part in parts:
        # most are text and numbers: every record comes through here
        if isinstance(part, _PARTED):
            _gather(part, found)


def carried_files(value: Any) -> dict[str, FileRef]:
    """The references in a value that carry their bytes, by digest."""
    found: dict[str, FileRef] = {}
    for ref in refs(value):
        if isinstance(ref, FileRef) and ref.data is not None:
            found[ref[FILE]] = ref
    return found


def uncarried(value: Any) -> set[str]:
    """The digests of the files that a value refers to without giving them."""
    return {ref[FILE] for ref in refs(value) if getattr(ref, "data", None) is None}


def release(value: Any) -> None:
    """The store has all bytes that the references in a value carry."""
    for ref in carried_files(value).values():
        ref.release()


def needed(records: Sequence[msgspec.Struct], files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Of these files, those that records refer to. A chapter may refer to any."""
    if not files or any(type(record).__name__ == "Chapter" for record in records):
        return dict(files)
    named = digests(records)
    return {digest: data for digest, data in files.items() if digest in named}


def digests(values: Iterable[Any]) -> set[str]:
    """The digests of the files that values refer to."""
    found: set[str] = set()
    for value in values:
        for ref in refs(value):
            found.add(ref[FILE])
    return found


def refs_in(value: Any) -> list[dict[str, Any]]:
    """`refs` of a plain value, at little cost where there are none."""
    if not isinstance(value, _HOLDS):
        return []
    from adjourn.core.codec import encode

    if MARK.encode() not in encode(value):
        return []
    return refs(value)


def attached(value: Any, files: Mapping[str, bytes]) -> Any:
    """A plain value whose references carry their bytes, as far as they are in `files`."""
    if not files:
        return value
    if is_ref(value):
        ref = FileRef(value)
        ref.data = files.get(ref[FILE])
        return ref if ref.data is not None else value
    if isinstance(value, dict):
        return {key: attached(part, files) for key, part in cast("dict[str, Any]", value).items()}
    if isinstance(value, list | tuple):
        return [attached(part, files) for part in cast("list[Any]", value)]
    return value


def check_blobs(run: str, values: Iterable[Any], blobs: Mapping[str, bytes]) -> None:
    """Raise `Invalid` unless bytes are what their digests say, and all that values refer to are
    there, carried or in `blobs`."""
    for digest, data in blobs.items():
        if hashlib.sha256(data).hexdigest() != digest:
            raise Invalid(
                f"run {run!r:.80}: a file's bytes are not those of its digest {digest!r:.80}"
            )
    for ref in refs(list(values)):
        if getattr(ref, "data", None) is None and ref[FILE] not in blobs:
            raise Invalid(
                f"run {run!r:.80} refers to a missing file: {described(ref)}",
                advice="give the file itself: File(data)",
            )


def described(ref: dict[str, Any]) -> str:
    """A file in a line of text."""
    size = ref["size"]
    if size < 1024:
        amount = f"{size} bytes"
    elif size < 1024 * 1024:
        amount = f"{size / 1024:.0f} KB"
    else:
        amount = f"{size / 1024 / 1024:.1f} MB"
    name = f"{ref['name']}, " if isinstance(ref.get("name"), str) else ""
    return f"[{kind_of(ref['type'])}: {name}{ref['type']}, {amount}]"


def parts_of(value: Any) -> list[Any]:
    """A value as what a model reads: its texts and its files, in order. Empty if it has no file.

    A list of texts and files is that. Anything else is its JSON, and then its files.
    """
    if not isinstance(value, _HOLDS):
        return []
    if is_ref(value):
        return [value]
    if isinstance(value, list):
        items = cast("list[Any]", value)
        if any(map(is_ref, items)) and all(isinstance(i, str) or is_ref(i) for i in items):
            return list(items)
    found = refs_in(value)
    if not found:
        return []
    from adjourn.core.codec import encode

    return [encode(value).decode(), *found]


def parts_text(parts: Iterable[Any]) -> str:
    """Texts and files as one text, in which the files are described."""
    lines: list[str] = []
    for part in parts:
        lines.append(part if isinstance(part, str) else described(part))
    return "\n".join(lines)
