"""What belongs in a list of interrupts, beyond what an index can say; the same for every store."""

from typing import Any

from adjourn.core.ids import public_id
from adjourn.core.interrupt import Interrupt
from adjourn.stores.store import Filter


def belongs(item: Interrupt, title: str, program: str, filter: Filter) -> bool:
    """Whether an interrupt belongs in an inbox; its run and its kind are looked at elsewhere."""
    if filter.text:
        words = f"{title} {item.run_id} {program} {item.type} {item.call.tool if item.call else ''}"
        if filter.text.lower() not in words.lower():
            return False
    groups = set(item.groups)
    return (
        (not filter.since or item.opened_at >= filter.since)
        and (not filter.until or item.opened_at <= filter.until)
        and (not filter.group or filter.group in groups)
        and (filter.members is None or not groups or bool(groups & set(filter.members)))
    )


def briefly(run: str, i: str, seq: int, kind: Any, opened_at: float, expires: float) -> Interrupt:
    """An interrupt without what only its record says."""
    return Interrupt(public_id(run, i), run, kind, kind, opened_at=opened_at, expires_at=expires or None, seq=seq)
