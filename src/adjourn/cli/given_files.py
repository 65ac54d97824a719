"""Files of this machine that a person gives with what they start, say or answer."""

import mimetypes
from pathlib import Path
from typing import Annotated, Any, NamedTuple, cast

from adjourn.cli.options import option
from adjourn.core.files import LARGEST, File, media_type_of
from adjourn.errors import Invalid

Files = Annotated[
    list[str] | None,
    option("[NAME=]PATH", "A file; with NAME, the value of that field. May be repeated.", "--file"),
]


class GivenFile(NamedTuple):
    """A file, and the name of the field that it is; "" without one."""

    field: str
    file: File


def given_files(words: list[str] | None) -> list[GivenFile]:
    """The files that words such as `receipt.png` and `proof=receipt.png` name; raises `Invalid`."""
    found: list[GivenFile] = []
    for word in words or ():
        field, equals, path = word.partition("=")
        if not equals or Path(word).exists():
            field, path = "", word
        if any(one.field == field for one in found if field):
            raise Invalid(f"--file gives {field!r:.80} twice")
        found.append(GivenFile(field, one_file(path)))
    return found


def one_file(path: str) -> File:
    """A file of this machine; raises `Invalid`."""
    place = Path(path).expanduser()
    try:
        with place.open("rb") as opened:
            data = opened.read(LARGEST + 1)
    except OSError as e:
        raise Invalid(f"the file {path!r:.200} cannot be read: {e.strerror}") from None
    try:
        return File(data, _type(place, data), place.name)
    except Invalid as e:
        raise Invalid(f"the file {path!r:.200} cannot be given: {e}") from None


def with_files(value: Any, given: list[GivenFile], what: str) -> Any:
    """A value with these files in it: after its text or its list, or as fields of its object.

    Args:
        value: what else was given; None: nothing.
        given: the files.
        what: what the value is called in an error, such as `"INPUT"`.
    """
    named = {one.field: one.file for one in given if one.field}
    bare = [one.file for one in given if not one.field]
    if not given:
        return value
    if named and bare:
        raise Invalid(
            f"--file {bare[0].name} names no field, but --file {next(iter(named))}= does",
            advice="write NAME=PATH for each of them, or for none",
        )
    if named:
        return _with_fields(value, named, what)
    if isinstance(value, dict):
        raise Invalid(
            f"{what} is an object, and --file {bare[0].name} does not say which field it is",
            advice="write --file NAME=PATH",
        )
    if value is None and len(bare) == 1:
        return bare[0]
    if isinstance(value, list):
        before = cast("list[Any]", value)
    else:
        before = [] if value is None else [value]
    return [*before, *bare]


def _with_fields(value: Any, named: dict[str, File], what: str) -> dict[str, Any]:
    if value is None:
        return dict(named)
    if not isinstance(value, dict):
        raise Invalid(
            f"{what} is not an object, but --file {next(iter(named))}= names a field",
            advice="leave the name out, or give an object in JSON",
        )
    fields = cast("dict[str, Any]", value)
    if twice := fields.keys() & named.keys():
        raise Invalid(f"{what} has {min(twice)!r:.80} already, and --file gives it again")
    return {**fields, **named}


def _type(path: Path, data: bytes) -> str:
    """What the bytes show, else what the name says, else text if it is some."""
    if found := media_type_of(data) or mimetypes.guess_type(path.name)[0]:
        return found
    try:
        data.decode()
    except UnicodeDecodeError:
        return "application/octet-stream"
    return "text/plain"
