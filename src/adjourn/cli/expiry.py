"""When something shall end, as people write it: `12h`, `30d`, or a date."""

import re
from datetime import datetime

from adjourn.errors import Invalid

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_SPAN = re.compile(r"(\d{1,6})([mhdw])", re.ASCII)
LONGEST = 100 * 366 * 86400.0


def seconds_until(text: str, now: float) -> float:
    """The seconds from `now` until what `text` says; raises `Invalid` for what is no time, or is over."""
    if found := _SPAN.fullmatch(text.strip().lower()):
        left = int(found[1]) * _UNITS[found[2]]
    else:
        left = _time(text) - now
    if not 0 < left < LONGEST:
        raise Invalid(
            f"{text!r:.40} is not in the future, or too far in it; write 12h, 30d or a date such as 2031-01-31"
        )
    return left


def _time(text: str) -> float:
    try:
        return datetime.fromisoformat(text.strip()).timestamp()
    except (ValueError, OverflowError):
        message = f"{text!r:.40} is no time; write 90m, 12h, 30d, 4w, or a date such as 2031-01-31"
        raise Invalid(message) from None
