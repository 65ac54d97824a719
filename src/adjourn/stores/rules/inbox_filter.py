"""What belongs in a list of interrupts, beyond what an index can say; the same for every store."""

from collections.abc import Iterable, Sequence
from typing import Any

import msgspec

from adjourn.core.approval_votes import Vote
from adjourn.core.ids import public_id
from adjourn.core.interrupt import Interrupt, view
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.record_codec import UNREADABLE, parse, readable
from adjourn.core.records import Asked, Decided, Suspended
from adjourn.core.status import ENDED, Status
from adjourn.stores.protocol import Filter
from adjourn.stores.rules.interrupt_row import InterruptRow
from adjourn.stores.run_row import RunRow

Brief = tuple[str, str, int, Any, float, float]
"""What `briefly` takes."""
BRIEFLY = 6
"""So many columns that is."""


def words(title: str, id: str, program: str) -> str:
    """What a text is looked for in, in a list of runs."""
    return f"{title} {id} {program}".lower()


def padded(title: str, id: str, program: str) -> str:
    """The same for an index of three letters each: the last letters, too, begin three."""
    return f"{words(title, id, program)}\n\n"


def inbox_words(title: str, id: str, program: str, type: str, tool: str) -> str:
    """What a text is looked for in, in an inbox."""
    return f"{words(title, id, program)} {type.lower()} {tool.lower()}"


def is_for(row: InterruptRow, filter: Filter, now: float) -> bool:
    """Whether an interrupt belongs in an inbox, by what people have left on it."""
    if filter.assigned and row.assigned not in filter.assigned:
        return False
    return row.snoozed.get(filter.awake_for, 0.0) <= now


def belongs(item: Interrupt, title: str, program: str, filter: Filter) -> bool:
    """Whether an interrupt belongs in an inbox; its run and its kind are looked at elsewhere."""
    if filter.text:
        tool = item.call.tool if item.call else ""
        if filter.text.lower() not in inbox_words(title, item.run_id, program, item.type, tool):
            return False
    groups = set(item.groups)
    return (
        (not filter.since or item.opened_at >= filter.since)
        and (not filter.until or item.opened_at <= filter.until)
        and (not filter.group or filter.group in groups)
        and (filter.members is None or not groups or bool(groups & set(filter.members)))
    )


def briefly(run: str, id: str, seq: int, kind: Any, opened_at: float, expires: float) -> Interrupt:
    """An interrupt without what only its record says."""
    return Interrupt(
        public_id(run, id),
        run,
        kind,
        kind,
        opened_at=opened_at,
        expires_at=expires or None,
        seq=seq,
    )


def visible(row: RunRow, found: InterruptRow, now: float) -> bool:
    """Whether a person could decide it now."""
    if found.state != "open" or found.kind in NOT_FOR_PEOPLE or 0 < found.expires <= now:
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
