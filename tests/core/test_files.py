"""Files: what they are is checked by their bytes, and a record only refers to them."""

import hashlib
import json

import pytest

from adjourn.core.codec import encode, plain
from adjourn.core.files import (
    FILE,
    LARGEST,
    Audio,
    Document,
    File,
    FileRef,
    Image,
    carried_files,
    described,
    digests,
    kind_of,
    parts_of,
    parts_text,
)
from adjourn.core.records import Returned
from adjourn.errors import Invalid, NotJSON

PNG = b"\x89PNG\r\n\x1a\nrest"
KINDS = [
    (PNG, "image/png", "image"),
    (b"\xff\xd8\xff\xe0rest", "image/jpeg", "image"),
    (b"GIF89arest", "image/gif", "image"),
    (b"RIFF1234WEBPrest", "image/webp", "image"),
    (b"RIFF1234WAVErest", "audio/wav", "audio"),
    (b"ID3rest", "audio/mpeg", "audio"),
    (b"OggSrest", "audio/ogg", "audio"),
    (b"fLaCrest", "audio/flac", "audio"),
    (b"%PDF-1.7", "application/pdf", "document"),
]


@pytest.mark.parametrize(("data", "media_type", "kind"), KINDS)
def test_the_type_is_seen_from_the_bytes(data: bytes, media_type: str, kind: str) -> None:
    file = File(data)
    assert (file.media_type, file.kind, file.size) == (media_type, kind, len(data))
    assert File(data, media_type.upper()) == file


@pytest.mark.parametrize(
    ("data", "given", "said"),
    [
        (PNG, "image/jpeg", "is given as image/jpeg, and its bytes are image/png"),
        (b"plain text", "image/png", "is given as image/png, and its bytes are not"),
        (PNG, "text/plain", "and its bytes are image/png"),
        (b"\xff\xfe", "text/csv", "it is not UTF-8"),
        (b"who knows", "", "give media_type="),
        (b"", "image/png", "is empty"),
        (b"x", "picture", "is not a media type"),
        (b"x", "a/b/c", "is not a media type"),
    ],
)
def test_bytes_that_are_something_else_are_refused(data: bytes, given: str, said: str) -> None:
    with pytest.raises(Invalid, match=said):
        File(data, given)


def test_a_file_that_is_too_large_is_refused_with_the_limit() -> None:
    with pytest.raises(Invalid, match="at most 20,971,520 are allowed"):
        File(PNG + bytes(LARGEST))
    assert File(PNG + bytes(LARGEST - len(PNG))).size == LARGEST


def test_each_class_takes_its_own_kind() -> None:
    assert Image(PNG).kind == "image"
    assert Document(b"a,b", "text/csv; charset=utf-8").media_type == "text/csv"
    with pytest.raises(Invalid, match=r"Audio\(\) is for audio types, and this is image/png.*File\(\)"):
        Audio(PNG)
    with pytest.raises(Invalid, match=r"as bytes, not as a value of type str.*read_bytes"):
        Image("photo.png")  # pyright: ignore[reportArgumentType]
    with pytest.raises(Invalid, match="name has at most"):
        Image(PNG, name="a\nb")


def test_a_value_holds_a_reference_and_its_json_holds_no_bytes() -> None:
    value = plain({"deep": [Image(PNG, name="a.png")], "n": 1})
    [ref] = value["deep"]
    digest = hashlib.sha256(PNG).hexdigest()
    assert ref == {FILE: digest, "type": "image/png", "size": len(PNG), "name": "a.png"}
    assert isinstance(ref, FileRef) and ref.data == PNG
    assert json.loads(encode(value)) == {"deep": [dict(ref)], "n": 1}
    again = plain(value)["deep"][0]
    assert carried_files(Returned(call="1.0", value=again)) == {digest: ref}
    ref.release()
    assert carried_files(Returned(call="1.0", value=again)) == {}
    assert digests([json.loads(encode(value)), "x"]) == {digest}


def test_bytes_that_are_no_file_are_still_refused_by_name() -> None:
    with pytest.raises(NotJSON, match=r"value\.photo"):
        plain({"photo": b"\xff\xd8\xff"})


def test_texts_and_files_stay_in_order_and_anything_else_is_its_json_and_then_its_files() -> None:
    one, two = dict(Image(PNG).ref), dict(Document(b"%PDF-").ref)
    assert parts_of("text") == parts_of(["a", "b"]) == parts_of({"a": 1}) == []
    assert parts_of(one) == [one]
    assert parts_of(["compare", one, "with", two]) == ["compare", one, "with", two]
    assert parts_of({"a": one, "b": [two]}) == [encode({"a": one, "b": [two]}).decode(), one, two]
    assert parts_of([one, 7]) == [encode([one, 7]).decode(), one]
    assert parts_text(["look:", one]) == "look:\n[image: image/png, 12 bytes]"


def test_what_only_looks_like_a_reference_is_none() -> None:
    for value in ({FILE: "x"}, {FILE: "0" * 64}, {FILE: "0" * 64, "type": 1, "size": 2}, {FILE: None}):
        assert parts_of(value) == []


def test_a_file_in_a_line_says_what_it_is_and_how_large() -> None:
    ref = {FILE: "0" * 64, "type": "application/pdf", "size": 3 * 1024 * 1024, "name": "bill.pdf"}
    assert described(ref) == "[document: bill.pdf, application/pdf, 3.0 MB]"
    assert described({**ref, "size": 2048, "type": "audio/wav"}) == "[audio: bill.pdf, audio/wav, 2 KB]"
    assert kind_of("video/mp4") == "video"
