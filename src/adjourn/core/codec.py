"""JSON at the edges: values going into the journal, and text coming from outside.

Inside, records are msgspec structs. A value is made plain before it enters one; text from outside
is read strictly: no duplicate keys, NaN, lone surrogates, absurd depth or size. Loading never
imports, evaluates or builds a type.
"""

import math
import re
import sys
from array import array
from itertools import accumulate
from typing import Any, NoReturn, cast

import msgspec

from adjourn.errors import Invalid, NotJSON

MAX_DEPTH = 100
MAX_BYTES = 64 * 1024 * 1024
MAX_PARTS = 1_000_000
"""Lists and objects in one text: each costs far more than the two bytes it is written with."""

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode
LARGEST = sys.float_info.max


def is_finite(value: Any) -> bool:
    """Whether one can count with it: a number, no bool, neither infinite nor an integer that no float
    can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return -LARGEST <= value <= LARGEST


def plain(value: Any, path: str = "value") -> Any:
    """`value` as plain JSON data (dict, list, str, int, float, bool, None); raises `NotJSON` naming
    the path."""
    return _plain(value, path, 0)


def _plain(value: Any, path: str, depth: int) -> Any:
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    if kind is str:
        if value.isascii():
            return value
        return _text(value, path)
    if value is None or kind is int or kind is bool:
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        raise NotJSON(path, f"the number {value}")
    if depth > MAX_DEPTH:
        raise NotJSON(path, f"nesting deeper than {MAX_DEPTH} (or a cycle)")
    if kind is dict:
        return _plain_dict(value, path, depth)
    if kind is list or kind is tuple:
        return [
            v if _easy(v) else _plain(v, f"{path}[{n}]", depth + 1) for n, v in enumerate(value)
        ]
    return _foreign(value, path, depth)


def _easy(value: Any) -> bool:
    """Whether it is plain as it is, so that its path need not be written down."""
    kind = type(value)  # pyright: ignore[reportUnknownVariableType]
    return kind is int or (kind is str and value.isascii())


def _text(value: str, path: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotJSON(path, "a lone surrogate") from None
    return value


def legible(text: str) -> str:
    """A text that others wrote, fit for a record: a lone surrogate is replaced."""
    if text.isascii():
        return text
    return text.encode("utf-8", "replace").decode()


def text_of(error: BaseException) -> str:
    """What an error says, fit for a record; "" if it says nothing, or fails to."""
    try:
        return legible(str(error))
    except Exception:
        return ""


def error_text(error: BaseException) -> str:
    """An error's class, and what it says, fit for a record."""
    return f"{type(error).__name__}: {text_of(error)}".removesuffix(": ")


def _plain_dict(value: dict[Any, Any], path: str, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) is str else _key(key, path)
        if name in out:
            raise NotJSON(f"{path}.{name}", "a key that appears twice as JSON")
        out[_text(name, path)] = item if _easy(item) else _plain(item, f"{path}.{name}", depth + 1)
    return out


def _key(key: Any, path: str) -> str:
    from pydantic_core import to_jsonable_python  # heavy: loaded for foreign values only

    try:
        [name] = cast("dict[str, Any]", to_jsonable_python({key: None}))
    except Exception:
        raise NotJSON(path, f"a key of type {type(key).__name__}") from None
    return name


def _foreign(value: Any, path: str, depth: int) -> Any:
    from pydantic_core import to_jsonable_python

    from adjourn.core.files import File, FileRef

    if isinstance(value, File):
        return value.ref
    if isinstance(value, FileRef):
        return value
    if (
        callable(value)
        and not isinstance(value, type)
        and not hasattr(value, "__pydantic_serializer__")
    ):
        raise NotJSON(path, f"a value of type {type(value).__name__}")
    if hasattr(value, "fileno"):  # a file would be read, line by line
        raise NotJSON(path, f"a value of type {type(value).__name__}")
    try:
        if isinstance(value, msgspec.Struct):
            turned = msgspec.to_builtins(value)
        else:
            turned: Any = to_jsonable_python(value, inf_nan_mode="constants")
    except Exception:
        for name, part in _parts(value):
            _plain(part, f"{path}.{name}", depth + 1)  # names the part that is to blame
        raise NotJSON(path, f"a value of type {type(value).__name__}") from None
    return _plain(turned, path, depth + 1)


def _parts(value: Any) -> list[tuple[str, Any]]:
    """The fields of a dataclass or a model, in order."""
    found: Any = (
        getattr(value, "__dataclass_fields__", None)
        or getattr(value.__class__, "model_fields", None)
        or {}
    )
    fields = cast("dict[str, Any]", found)
    return [(name, getattr(value, name)) for name in fields if hasattr(value, name)]


def is_equal(one: Any, other: Any) -> bool:
    """Whether two plain values are the same JSON: 1 and 1.0 are, 1 and true are not."""
    if isinstance(one, bool) or isinstance(other, bool):
        return one is other
    if isinstance(one, dict) and isinstance(other, dict):
        mine, theirs = cast("dict[str, Any]", one), cast("dict[str, Any]", other)
        return mine.keys() == theirs.keys() and all(
            is_equal(mine[key], theirs[key]) for key in mine
        )
    if isinstance(one, list) and isinstance(other, list):
        first, second = cast("list[Any]", one), cast("list[Any]", other)
        return len(first) == len(second) and all(map(is_equal, first, second))
    return one == other


def loads(
    data: str | bytes,
    *,
    what: str = "the text",
    limit: int = MAX_BYTES,
    depth: int = MAX_DEPTH,
    strings: int = 0,
    values: int = 0,
) -> Any:
    """Read JSON that comes from outside, strictly; raises `Invalid` saying what is wrong, in
    bounded time and memory.

    `strings`: an envelope, at most so many keys and texts with little beside them; anything else is
        not even parsed.
    `values`: at most about so many values in all; a text of nothing but brackets costs much more
        than its size says.
    """
    import json  # only what comes from outside is read so strictly

    raw = _bytes(data, what, limit)
    if strings and not _is_envelope(raw, strings):
        raise Invalid(f"{what} is not a flat object of at most {strings // 2} fields")
    if has_more_parts(raw, MAX_PARTS):
        raise Invalid(f"{what} has over {MAX_PARTS:,} lists and objects")
    if values and _has_more_values(raw, values):
        raise Invalid(
            f"{what} has more than {values:,} values",
            advice="send less at once, or send it as one string",
        )
    if _deeper_than(raw, depth):
        raise Invalid(f"{what} is nested deeper than {depth} levels")
    try:
        # given bytes, `json` would guess at UTF-16
        text = data if isinstance(data, str) else data.decode()
        value = json.loads(
            text, object_pairs_hook=_no_twins, parse_constant=_no_constant, parse_float=_finite
        )
        encode(value)  # refuses lone surrogates
    except UnicodeEncodeError:
        raise Invalid(f"{what} has a lone surrogate") from None
    except (ValueError, RecursionError) as e:
        raise Invalid(f"{what} is not valid JSON: {e}") from None
    return value


def _bytes(data: str | bytes, what: str, limit: int) -> bytes:
    if len(data) > limit:
        raise Invalid(f"{what} has {len(data):,} bytes, and at most {limit:,} are allowed")
    if isinstance(data, bytes):
        try:
            data.decode()
        except UnicodeDecodeError:
            raise Invalid(f"{what} is not UTF-8") from None
        return data
    try:
        return data.encode()
    except UnicodeEncodeError:
        raise Invalid(f"{what} has a lone surrogate") from None


# Possessive: a backtracking repeat keeps state for every character, gigabytes for a long string.
_STRING = rb'(?s:"[^"\\]*+(?:\\.[^"\\]*+)*+"?)'
# as signed bytes: one level down, one level up
_LEVELS = bytes.maketrans(b"[{]}", b"\x01\x01\xff\xff")
_NO_BRACKETS = bytes(set(range(256)) - set(b"[{]}"))


def _is_envelope(raw: bytes, strings: int) -> bool:
    """Whether there are at most `strings` strings and little beside them. Looks no further than it
    must."""
    inside = 0
    for count, found in enumerate(re.finditer(_STRING, raw), 1):
        if count > strings:
            return False
        inside += found.end() - found.start()
    return len(raw) - inside <= 10_000


def _deeper_than(raw: bytes, depth: int) -> bool:
    """Whether brackets nest deeper than `depth`, without building anything."""
    if raw.count(b"[") + raw.count(b"{") <= depth:
        return False
    steps = re.sub(_STRING, b"", raw).translate(_LEVELS, _NO_BRACKETS)
    return max(accumulate(array("b", steps)), default=0) > depth


def has_more_parts(raw: bytes, most: int) -> bool:
    """Whether there are more than `most` lists and objects in a JSON text, without building
    anything."""
    if raw.count(b"[") + raw.count(b"{") <= most:
        return False
    plain = re.sub(_STRING, b"", raw)
    return plain.count(b"[") + plain.count(b"{") > most


def _has_more_values(raw: bytes, most: int) -> bool:
    """Whether there are more than `most` values: each but the first follows a bracket or a
    comma."""
    if _separators(raw) <= most:
        return False
    return _separators(re.sub(_STRING, b"", raw)) > most


def _separators(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"[") + raw.count(b"{")


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise ValueError(f"the key {key!r:.80} appears twice")
            seen.add(key)
    return out


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not valid JSON")


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"the number {text[:20]} is out of range")
    return number
