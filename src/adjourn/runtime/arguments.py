"""What a runtime's verbs are given, checked."""

from collections.abc import Mapping
from typing import Any

from adjourn.errors import Invalid


def limited(limit: Any) -> int:
    """How many things a list may have; raises `Invalid`."""
    if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= 1000:
        raise Invalid(f"limit is a whole number from 1 to 1000, not {limit!r}")
    return limit


def checked_labels(labels: Mapping[str, str] | None) -> dict[str, str]:
    """A run's labels; raises `Invalid` for what is no string."""
    found = dict(labels or {})
    if not all(isinstance(k, str) and isinstance(v, str) for k, v in found.items()):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise Invalid("labels are texts: {name: text}")
    return found
