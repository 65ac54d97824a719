"""Which runs belong in a list."""

from collections.abc import Collection, Iterable

from adjourn.stores.protocol import Filter
from adjourn.stores.rules.inbox_filter import words
from adjourn.stores.run_row import RunRow


def given(filter: Filter, names: Iterable[str]) -> list[str]:
    """Those of some fields of a filter that are not empty."""
    return [name for name in names if getattr(filter, name)]


def fits(row: RunRow, filter: Filter, now: float, halts: Collection[str]) -> bool:
    """Whether a run belongs in a list.

    Args:
        row: the run.
        filter: what the list shows.
        now: the store's time.
        halts: the scopes of the halts that are on.
    """
    return (
        (not filter.status or filter.status in (row.shown(now, halts), row.status.value))
        and (not filter.run or row.id == filter.run)
        and row.id.startswith(filter.prefix)
        and (not filter.program or row.program == filter.program)
        and (not filter.session or row.session == filter.session)
        and (filter.label is None or row.labels.get(filter.label[0]) == filter.label[1])
        and (not filter.text or filter.text.lower() in words(row.title, row.id, row.program))
        and (not filter.since or row.created_at >= filter.since)
        and (not filter.until or row.created_at <= filter.until)
        and (not filter.changed or row.updated_at >= filter.changed)
    )
