"""Runs that are due, in memory, and the run that one which was started with a queue waits for."""

from collections.abc import Container, Mapping, Sequence
from itertools import takewhile

from adjourn.core.record_codec import parse
from adjourn.core.records import Started
from adjourn.core.status import CANCELS, ENDED
from adjourn.stores.run_row import RunRow

Runs = Mapping[str, RunRow]
Journals = Mapping[str, Sequence[str | None]]


def ahead(runs: Runs, journals: Journals, row: RunRow) -> str:
    """The run of its session for which a run has to wait that was started with a queue and has not
    begun; "" if there is none."""
    if not row.session or row.epoch or row.status in ENDED | CANCELS:
        return ""
    first = parse(journals[row.id][0] or "")
    if not isinstance(first, Started) or first.options.get("queue") != "session":
        return ""
    for other in takewhile(lambda other: other.id != row.id, runs.values()):
        if other.session == row.session and other.status not in ENDED:
            return other.id
    return ""


def due(
    runs: Runs, journals: Journals, programs: Container[str], now: float, halts: frozenset[str]
) -> list[RunRow]:
    """The runs of these programs in which a worker has something to do, whoever has them; the
    oldest of the highest priority first."""
    found: list[RunRow] = []
    for row in runs.values():
        if row.program in programs and row.due(now, halts) and not ahead(runs, journals, row):
            found.append(row)
    return sorted(found, key=lambda row: (-row.priority, row.updated_at))
