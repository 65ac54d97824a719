"""Times as people write them: `12h`, `30d`, or a date; when something shall end, or since when it
is."""

from datetime import datetime

from adjourn.core.duration import span_of
from adjourn.errors import Invalid

LONGEST = 100 * 366 * 86400.0


def seconds_until(text: str, now: float) -> float:
    """The seconds from `now` until what `text` says; raises `Invalid` for what is no time, or is
    over."""
    span = span_of(text)
    left = _time(text) - now if span is None else span
    if not 0 < left < LONGEST:
        raise Invalid(
            f"{text!r:.40} must be in the future, and not too far",
            advice="write 12h, 30d or a date such as 2031-01-31",
        )
    return left


def past_time(text: str, now: float, *, end: bool = False) -> float:
    """The time that `text` says: so long before `now`, or a date. `end`: a date without a time
    means the end of that day. Raises `Invalid`."""
    span = span_of(text)
    if span is not None:
        return max(0.0, now - span)
    at = _time(text)
    if end and len(text.strip()) == len("2031-01-31"):
        at += 86_400.0
    if at < 0:
        raise Invalid(f"{text!r:.40} is before 1970")
    return at


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        message = (
            f"{text!r:.40} is not a time; write 90m, 12h, 30d, 4w, or a date such as 2031-01-31"
        )
        raise Invalid(message) from None
