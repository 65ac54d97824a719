"""Durations, as people write them: seconds or a `timedelta`; and as text: `90m`, `12h`, `30d`,
`4w`."""

import re
from datetime import UTC, datetime, timedelta

from adjourn.core.codec import is_finite
from adjourn.errors import InvalidDefinition

Duration = float | int | timedelta


def seconds(value: Duration, what: str = "a duration") -> float:
    """A duration in seconds; raises `InvalidDefinition` for anything that is not a finite number of
    them, 0 or more."""
    if isinstance(value, timedelta):
        value = value.total_seconds()
    if not is_finite(value) or value < 0:
        raise InvalidDefinition(
            f"{what} must be a non-negative number of seconds or a timedelta, got {value!r:.80}"
        )
    return float(value)


def optional_seconds(value: Duration | None, what: str) -> float:
    """0.0 for None. A duration of zero would read as none, so it is refused."""
    if value is None:
        return 0.0
    length = seconds(value, what)
    if not length:
        raise InvalidDefinition(f"{what} must be greater than 0", advice="leave it out for none")
    return length


LATEST = datetime.max.replace(microsecond=0, tzinfo=UTC).timestamp()


def moment(at: float) -> datetime:
    """A time for people to read. What lies outside the calendar is the calendar's end: somebody may
    have asked for it, and nobody is to be kept from reading that."""
    return datetime.fromtimestamp(min(max(at, 0.0), LATEST), UTC)


_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_SPAN = r"(?a:(\d{1,6})([mhdw]))"


def span_of(text: str) -> float | None:
    """Its seconds; None if it is no such length."""
    found = re.fullmatch(_SPAN, text.strip().lower())
    if found:
        return int(found[1]) * _UNITS[found[2]]
    return None
