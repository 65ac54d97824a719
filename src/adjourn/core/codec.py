"""JSON at the edges: values going into the journal, and text coming from outside.

Inside, records are msgspec structs. A value is made plain before it enters one; text from outside is read strictly:
no duplicate keys, NaN, lone surrogates, absurd depth or size. Loading never imports, evaluates or builds a type.
"""

import json
import math
import re
from typing import Any, NoReturn, cast

import msgspec

from adjourn.errors import Invalid, NotJSON

MAX_DEPTH = 100
MAX_BYTES = 64 * 1024 * 1024

encode = msgspec.json.Encoder().encode
decode = msgspec.json.Decoder().decode


def plain(value: Any, path: str = "value") -> Any:
    """`value` as plain JSON data (dict, list, str, int, float, bool, None); raises `NotJSON` naming the path."""
    return _plain(value, path, 0)


def _plain(value: Any, path: str, depth: int) -> Any:
    if value is None or value is True or value is False:
        return value
    kind = cast("type[object]", type(value))
    if kind is str:
        return _text(value, path)
    if kind is int:
        return value
    if kind is float:
        if math.isfinite(value):
            return value
        raise NotJSON(path, repr(value))
    if depth > MAX_DEPTH:
        raise NotJSON(path, f"nesting deeper than {MAX_DEPTH} (or a cycle)")
    if kind is dict:
        return _plain_dict(value, path, depth)
    if kind is list or kind is tuple:
        return [_plain(v, f"{path}[{n}]", depth + 1) for n, v in enumerate(value)]
    return _foreign(value, path, depth)


def _text(value: str, path: str) -> str:
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError:
            raise NotJSON(path, "a lone surrogate") from None
    return value


def _plain_dict(value: dict[Any, Any], path: str, depth: int) -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, item in value.items():
        name = key if type(key) is str else _key(key, path)
        if name in out:
            raise NotJSON(f"{path}.{name}", "a key that appears twice once written as JSON")
        out[_text(name, path)] = _plain(item, f"{path}.{name}", depth + 1)
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

    if callable(value) and not isinstance(value, type) and not hasattr(value, "__pydantic_serializer__"):
        raise NotJSON(path, type(value).__name__)
    try:
        if isinstance(value, msgspec.Struct):
            turned = msgspec.to_builtins(value)
        else:
            turned: Any = to_jsonable_python(value, inf_nan_mode="constants")
    except Exception:
        raise NotJSON(path, type(value).__name__) from None
    return _plain(turned, path, depth + 1)


def loads(data: str | bytes, *, what: str = "the text", limit: int = MAX_BYTES, depth: int = MAX_DEPTH) -> Any:
    """Read JSON that comes from outside, strictly; raises `Invalid` saying what is wrong, in bounded time and memory."""
    raw = _bytes(data, what, limit)
    if _deeper_than(raw, depth):
        raise Invalid(f"{what} is nested deeper than {depth} levels")
    try:
        value = json.loads(raw, object_pairs_hook=_no_twins, parse_constant=_no_constant, parse_float=_finite)
        encode(value)  # refuses lone surrogates
    except NotJSON:
        raise
    except UnicodeEncodeError:
        raise Invalid(f"{what} has a lone surrogate") from None
    except (ValueError, RecursionError) as e:
        raise Invalid(f"{what} is not valid JSON: {e}") from None
    return value


def _bytes(data: str | bytes, what: str, limit: int) -> bytes:
    if len(data) > limit:
        raise Invalid(f"{what} has {len(data):,} bytes; at most {limit:,} are read")
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


_STRING = re.compile(rb'"(?:[^"\\]|\\.)*"?', re.DOTALL)
_BRACKET = re.compile(rb"[\[\]{}]")


def _deeper_than(raw: bytes, depth: int) -> bool:
    """Whether brackets nest deeper than `depth`, without building anything."""
    if raw.count(b"[") + raw.count(b"{") <= depth:
        return False
    level = 0
    for bracket in _BRACKET.finditer(_STRING.sub(b"", raw)):
        if bracket[0] in b"[{":
            level += 1
            if level > depth:
                return True
        else:
            level -= 1
    return False


def _no_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    out = dict(pairs)
    if len(out) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise NotJSON(key, "a duplicate key")
            seen.add(key)
    return out


def _no_constant(name: str) -> NoReturn:
    raise NotJSON("value", name)


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise NotJSON("value", f"the number {text[:20]}, which is out of range,")
    return number
