"""Lengths of time as people write them: `90m`, `12h`, `30d`, `4w`."""

import re

_UNITS = {"m": 60.0, "h": 3600.0, "d": 86400.0, "w": 7 * 86400.0}
_SPAN = r"(?a:(\d{1,6})([mhdw]))"


def span_of(text: str) -> float | None:
    """Its seconds; None if it is no such length."""
    found = re.fullmatch(_SPAN, text.strip().lower())
    if found:
        return int(found[1]) * _UNITS[found[2]]
    return None
