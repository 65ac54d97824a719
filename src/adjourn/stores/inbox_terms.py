"""What a list asks of rows, in words that every SQL database of ours understands."""

from collections.abc import Callable
from typing import Any

from adjourn.core.status import Status
from adjourn.stores.protocol import Filter

IN_INBOX = "x.state = 'open' and x.kind not in ('timer', 'event')"
ORDER = "x.rank, x.opened_at, x.run, x.seq"
POSITION = f"({ORDER})"
BRIEF = "r.id, x.i, x.seq, x.kind, x.opened_at, x.expires"
WHOLE = f"{BRIEF}, j.body, x.votes, r.requesters, r.n, x.disowned"
OPENED = (("x.opened_at >=", "since"), ("x.opened_at <=", "until"), ("r.updated_at >=", "changed"))
UNUSUAL = ("program", "session", "label", "kind", "text", "group", "since", "until", "assigned")
"""What hardly any of those that wait may be."""
SHOWN: dict[str, tuple[str, ...]] = {
    "": (*map(str, Status), "failed", "stopped"),
    **{status.value: (status.value,) for status in Status},
    "waiting": ("waiting", "failed"),
    "completed": ("completed", "stopped"),
    "running": ("ready",),
    "failed": ("failed",),
    "stopped": ("stopped",),
    "held": (*map(str, Status), "failed"),
}
"""Under which views runs of a status are, or of a view."""
GOES_ON = tuple(view for view in SHOWN[""] if view not in ("completed", "cancelled", "stopped"))
"""The views of runs that may have open interrupts."""


def wanted_terms(
    filter: Filter, mark: Callable[[str], str], labelled: str
) -> tuple[list[str], dict[str, Any]]:
    """What an interrupt must be by the columns of its row and of its run's, and the values for that.

    Args:
        filter: what is asked for.
        mark: the place of a value in a statement, by the value's name.
        labelled: the condition that the run has a label, with the values `key` and `value`.
    """
    terms: list[str] = []
    values: dict[str, Any] = {}
    wanted = {
        "r.id": filter.run,
        "r.program": filter.program,
        "r.session": filter.session,
        "x.kind": filter.kind,
        "x.i": filter.interrupt,
    }
    for column, value in wanted.items():
        if value:
            terms.append(f"{column} = {mark(column[2:])}")
            values[column[2:]] = value
    for term, name in OPENED:
        if bound := getattr(filter, name):
            terms.append(f"{term} {mark(name)}")
            values[name] = bound
    if filter.label:
        terms.append(labelled)
        values |= {"key": filter.label[0], "value": filter.label[1]}
    return terms, values
