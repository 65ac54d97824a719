"""What people type to find runs: words, and keys with values, as a filter.

`refund "card expired" status:failed cost:>0.05`: every word and every key must be so. Words are
looked for in inputs, tools, arguments, outputs, errors, notes, answers, labels and names.
"""

import re
from collections.abc import Callable, Iterator
from typing import Any

from msgspec.structs import replace

from adjourn.core.duration import span_of
from adjourn.core.status import RunStatus
from adjourn.errors import Invalid
from adjourn.stores.protocol import Filter
from adjourn.stores.run_entry import line, plain
from adjourn.stores.run_index import BOUNDED, Bound, RunSearch

LONGEST = 1_000
"""Characters of a search."""
MOST_PIECES = 20
EQUAL = ("tool", "by", "session")
"""Keys whose value must be equal; so must those of `arg.NAME` and `label.NAME`."""
KEYS = ("agent", "status", "since", "before", *EQUAL, *BOUNDED, "arg.NAME", "label.NAME")
"""Every key of a search."""
_WORD = re.compile(r'\s*(?:([a-z_]+(?:\.[^\s:"]*)?):)?(?:"([^"]*)"|(\S+))', re.IGNORECASE)


def searched(text: str, filter: Filter, now: float) -> Filter:
    """A filter, with what a search says.

    Raises `Invalid` for a key that there is not, or a value that it cannot have.

    Args:
        text: what somebody typed.
        filter: what else is asked for; the search may set only what this leaves open.
        now: the store's time, from which `since:2h` counts.
    """
    if len(text) > LONGEST:
        raise Invalid(f"a search has at most {LONGEST} characters, not {len(text)}")
    pieces: list[str] = []
    bounds: list[Bound] = []
    for key, value in _words(text):
        if not key:
            pieces.append(plain(value))
        elif key in BOUNDED:
            bounds.append(_bound(key, value))
        elif key in EQUAL or key.startswith(("arg.", "label.")):
            pieces.append(line(key, value))
        else:
            filter = _set(filter, key, value, now)
    if len(pieces) + len(bounds) > MOST_PIECES:
        raise Invalid(f"a search has at most {MOST_PIECES} words and numbers")
    if not pieces and not bounds:
        return filter
    return replace(filter, search=RunSearch(tuple(pieces), tuple(bounds)))


def _words(text: str) -> Iterator[tuple[str, str]]:
    """Keys in small letters, "" for a word, and what each says."""
    for found in _WORD.finditer(text):
        key, quoted, value = found.groups()
        if quoted is not None:
            value = quoted
        if key and _is_key(key):
            yield _named(key), value
        elif key and value.startswith("//"):  # an address is a word
            yield "", f"{key}:{value}"
        elif key:
            raise Invalid(f"unknown key {key!r:.40}", advice=_advice(key))
        elif value:
            yield "", value


def _is_key(key: str) -> bool:
    kind, dot, name = _named(key).partition(".")
    if dot:
        return kind in ("arg", "label") and bool(name)
    return kind in KEYS


def _named(key: str) -> str:
    kind, dot, name = key.partition(".")
    return f"{kind.lower()}{dot}{name}"


def _advice(key: str) -> str:
    from difflib import get_close_matches

    near = get_close_matches(key.lower(), KEYS, n=1, cutoff=0.6)
    if near:
        return f"did you mean {near[0]!r}? To search for it as a word, put it in quotation marks"
    return f"use one of {', '.join(KEYS)}; to look for it as a word, put it in quotation marks"


def _bound(key: str, value: str) -> Bound:
    """`>0.05`, `<10m`, or a number that means at least."""
    most = value.startswith("<")
    number = _amount(key, value.lstrip("<>="))
    if number is None:
        raise Invalid(
            f"{key} must be a number, got {value!r:.40}",
            advice=f"for example {key}:>10, or {key}:<10",
        )
    return Bound(key, number, most)


def _amount(key: str, text: str) -> float | None:
    if key in ("took", "waited"):
        span = span_of(text)
        if span is not None:
            return span
        text = text.removesuffix("s")
    try:
        number = float(text.removeprefix("$"))
    except ValueError:
        return None
    if 0 <= number < float("inf"):
        return number
    return None


def _set(filter: Filter, key: str, value: str, now: float) -> Filter:
    field, read = _FIELDS[key]
    found = read(value, now)
    known = getattr(filter, field)
    if known and known != found:
        raise Invalid(f"{key} is given twice: {known!r:.40} and {found!r:.40}")
    return replace(filter, **{field: found})


def _status(value: str, _: float) -> str:
    known = [shown.value for shown in RunStatus]
    if value.lower() not in known:
        raise Invalid(f"unknown status {value!r:.40}", advice=f"use one of {', '.join(known)}")
    return value.lower()


def _time(value: str, now: float) -> float:
    """A day (`2026-11-17`), or so long ago (`7d`)."""
    span = span_of(value)
    if span is not None:
        return max(1.0, now - span)
    from datetime import UTC, datetime

    try:
        found = datetime.fromisoformat(value)
    except ValueError:
        raise Invalid(
            f"{value!r:.40} is not a time",
            advice="use a day like 2026-11-17, or 7d for seven days ago",
        ) from None
    if found.tzinfo is None:
        found = found.replace(tzinfo=UTC)
    return max(1.0, found.timestamp())


_FIELDS: dict[str, tuple[str, Callable[[str, float], Any]]] = {
    "agent": ("program", lambda value, _: value),
    "status": ("status", _status),
    "since": ("since", _time),
    "before": ("until", _time),
}
"""Keys that set what a list can be filtered by without the index."""
