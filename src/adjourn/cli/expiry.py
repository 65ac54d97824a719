"""When something shall end, as people write it: `12h`, `30d`, or a date."""

from datetime import datetime

from adjourn.core.duration import span_of
from adjourn.errors import Invalid

LONGEST = 100 * 366 * 86400.0


def seconds_until(text: str, now: float) -> float:
    """The seconds from `now` until what `text` says; raises `Invalid` for what is no time, or is
    over."""
    span = span_of(text)
    if span is None:
        left = _time(text) - now
    else:
        left = span
    if not 0 < left < LONGEST:
        raise Invalid(
            f"{text!r:.40} is not in the future, or too far in it",
            advice="write 12h, 30d or a date such as 2031-01-31",
        )
    return left


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        message = f"{text!r:.40} is no time; write 90m, 12h, 30d, 4w, or a date such as 2031-01-31"
        raise Invalid(message) from None
