"""What belongs in a list."""

from collections.abc import Collection, Iterable, Sequence

import msgspec

from adjourn.core.approval_votes import Vote
from adjourn.core.interrupt import Interrupt, view
from adjourn.core.record_codec import UNREADABLE, parse, readable
from adjourn.core.records import Asked, Decided, Suspended
from adjourn.core.status import ENDED, Status
from adjourn.stores.protocol import Filter
from adjourn.stores.rules.inbox_filter import Brief, briefly, words
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow


def visible(row: RunRow, found: InterruptRow, now: float) -> bool:
    """Whether a person could decide it now."""
    if found.state != "open" or found.kind in ("timer", "event") or 0 < found.expires <= now:
        return False
    if row.status in (Status.CANCELLING, Status.STUCK):
        return found.undoing
    return row.status not in ENDED


def shown(
    brief: Brief,
    body: str,
    decisions: Sequence[str] = (),
    requesters: Iterable[str] = (),
    disowned: tuple[str, ...] = (),
) -> Interrupt:
    """An inbox item from what `briefly` takes, the record that opened it, and those by which people
    have agreed so far. If its run is encrypted and the key is not here, it says so: nobody can
    decide it here, and everything else in the list is there."""
    run, _, seq, *_ = brief
    record = readable(body)
    if record is None:
        return msgspec.structs.replace(briefly(*brief), type="unreadable", payload=UNREADABLE)
    assert isinstance(record, (Asked, Suspended))  # a union would be made anew for every item
    votes: list[Vote] = []
    for decided in map(parse, decisions):
        if isinstance(decided, Decided):
            votes.append(Vote(decided.by, decided.groups))
    return view(run, seq, record, votes, frozenset(requesters), disowned)


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
