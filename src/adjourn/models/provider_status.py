"""What the answer of a provider says of an error: its kind, whether it may pass, and when."""

import math
from collections.abc import Mapping
from typing import Any

TRANSIENT = {408: "timeout", 409: "conflict", 425: "server", 429: "rate_limit"}
LASTING = {401: "auth", 402: "quota", 403: "auth", 404: "not_found"}


def classified(status: int) -> tuple[str, bool]:
    """The kind of an error with this HTTP status, and whether it may pass."""
    if status >= 500:
        return "server", True
    if status in TRANSIENT:
        return TRANSIENT[status], True
    return LASTING.get(status, "invalid_request"), False


def retry_after(headers: Mapping[str, Any] | None) -> float | None:
    """After how many seconds to try again; None if the headers do not say so, or are not what
    headers are: they are those of any library."""
    try:
        seconds = float((headers or {}).get("retry-after", ""))
    except (AttributeError, TypeError, ValueError):
        return None
    if 0 <= seconds < math.inf:
        return seconds
    return None
