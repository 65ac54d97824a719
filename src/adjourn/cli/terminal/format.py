"""How things are called on the command line: statuses, durations, ids, money."""

import re
from collections.abc import Mapping
from typing import Any

from rich.text import Text

from adjourn.core.status import RunStatus
from adjourn.views import words
from adjourn.views.visible import visible

DIM = "bright_black"

_MARKS: dict[RunStatus, tuple[str, str]] = {
    RunStatus.READY: ("○", DIM),
    RunStatus.HELD: ("○", DIM),
    RunStatus.RUNNING: ("●", "blue"),
    RunStatus.WAITING: ("◆", "yellow"),
    RunStatus.PAUSING: ("‖", "magenta"),
    RunStatus.PAUSED: ("‖", "magenta"),
    RunStatus.COMPLETED: ("✓", "green"),
    RunStatus.STOPPED: ("■", DIM),
    RunStatus.FAILED: ("✗", "red"),
    RunStatus.CANCELLING: ("↶", DIM),
    RunStatus.STUCK: ("↶", "yellow"),
    RunStatus.CANCELLED: ("⊘", DIM),
}
STATUSES: dict[str, tuple[str, str, str]] = {
    status.value: (*mark, words.STATUSES[status]) for status, mark in _MARKS.items()
}
"""Status → glyph, colour, word, which always come together."""

STEPS: dict[str, tuple[str, str]] = {
    **{status: (glyph, colour) for status, (glyph, colour, _) in STATUSES.items()},
    "denied": ("⊘", DIM),
    "expired": ("⧗", DIM),
}
"""A step's status → glyph, colour."""

EXIT: dict[str, int] = {
    "completed": 0,
    "stopped": 0,
    "failed": 1,
    "waiting": 3,
    "paused": 3,
    "stuck": 3,
    "cancelled": 4,
}
"""What a command that waits for a run exits with."""

BRIEF = 200
"""Characters of a text in a list; `show` and `inbox ITEM` have all of it."""

_GENERATED = re.compile(r"[0-9A-Z]{4}(-[0-9A-Z]{4}){3,4}")
"""An id that was made, also one that the server made of a request's key, which is longer."""


def status_mark(status: str) -> Text:
    """Glyph and word, in the status's colour."""
    glyph, colour, word = STATUSES.get(status, ("?", "", visible(status)))
    return Text(f"{glyph} {word}", style=colour)


def sentence_mark(status: str) -> Text:
    """Glyph and word at the beginning of a sentence."""
    glyph, colour, word = STATUSES[status]
    return Text(f"{glyph} {word.capitalize()}", style=colour)


def short_id(run_id: str) -> str:
    """The beginning of a generated id (a prefix is accepted everywhere); other ids whole."""
    if _GENERATED.fullmatch(run_id):
        return run_id[:9]
    return visible(run_id)


def duration(seconds: float) -> str:
    """`12ms`, `0.3s`, `43s`, `16h28m`, `5d`."""
    s = max(0.0, seconds)
    if s < 0.0995:
        return f"{s * 1000:.0f}ms"
    if s < 9.95:
        return f"{s:.1f}s"
    if s < 60:
        return f"{s:.0f}s"
    minutes = int(s // 60)
    if minutes < 60:
        if minutes < 10:
            return f"{minutes}m{int(s % 60):02d}s"
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 48:
        return f"{hours}h{minutes % 60:02d}m"
    return f"{hours // 24}d"


def age(seconds: float) -> str:
    """A duration in one unit, for a column."""
    s = max(0.0, seconds)
    for size, unit in ((86400, "d"), (3600, "h"), (60, "m")):
        if s >= size:
            return f"{int(s // size)}{unit}"
    return f"{int(s)}s"


def money(cost: float) -> str:
    """A cost in the currency in which providers publish their prices; a dash where none is
    known."""
    return f"${cost:,.2f}" if cost else "–"


def count(n: int, one: str, several: str = "") -> str:
    """`1 run`, `2 runs`."""
    return f"{n:,} {one if n == 1 else several or one + 's'}"


def grouped(digest: str) -> str:
    """The first 16 digits of a digest, for comparing by eye."""
    return " ".join(digest[n : n + 4] for n in range(0, min(16, len(digest)), 4))


def exact(value: Any) -> str:
    """A JSON value on one line, with everything in it visible. Nothing is shortened."""
    if isinstance(value, str):
        return '"' + visible(value.replace("\\", "\\\\").replace('"', '\\"')) + '"'
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{exact(str(k))}: {exact(v)}" for k, v in value.items()) + "}"  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list | tuple):
        return "[" + ", ".join(exact(v) for v in value) + "]"  # pyright: ignore[reportUnknownVariableType]
    if value is None or isinstance(value, bool):
        return {None: "null", True: "true", False: "false"}[value]
    return repr(value)


def brief(text: str) -> str:
    """The beginning of a text that is shown whole elsewhere."""
    if len(text) <= BRIEF:
        return text
    return text[:BRIEF] + "…"


def cut(value: Any) -> Any:
    """A value whose texts are no longer than a list could show, so that a list of large ones is
    quick."""
    if isinstance(value, str):
        return value[: BRIEF + 1]
    if isinstance(value, Mapping):
        return {str(k)[: BRIEF + 1]: cut(v) for k, v in list(value.items())[:BRIEF]}  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    if isinstance(value, list):
        return [cut(v) for v in value[:BRIEF]]  # pyright: ignore[reportUnknownVariableType]
    return value


def arguments(args: Any) -> str:
    """A call's arguments on one line, without their names."""
    if isinstance(args, Mapping):
        return ", ".join(exact(v) for v in args.values())  # pyright: ignore[reportUnknownVariableType]
    return exact(args)
