"""Who asked: everybody who shaped a run by what they said or decided."""

from collections.abc import Iterable

from adjourn.core.decision import chosen, is_instead
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Decided,
    Emitted,
    Forked,
    Resumed,
    Said,
    Started,
    Suspended,
)

Requesters = frozenset[str]


def shapes(record: AnyRecord, kind: str = "question") -> str:
    """Who shaped the run by this record, if it is somebody's words that it goes by. `kind`: of what
    a decision is about."""
    match record:
        case Started() | Said() | Emitted():
            return record.by
        case Resumed():
            if record.instruction:
                return record.by
            return ""
        case Forked():
            return record.by
        case Decided():
            # a choice says nothing, but for the result of what happened
            if record.verdict == "value":
                told = kind in ("question", "event") or "result" in chosen(record)
            else:
                denies = record.verdict == "deny" and bool(record.note)
                told = record.edit is not None or denies or is_instead(record)
            return record.by if told else ""
        case _:
            return ""


def requesters(records: Iterable[AnyRecord]) -> Requesters:
    """Everybody who shaped the run; of a fork also who shaped what it was forked from."""
    found: set[str] = set()
    kinds: dict[str, str] = {}
    for record in records:
        if isinstance(record, Asked | Suspended):
            kinds[record.i] = record.kind
        if by := shapes(
            record, kinds.get(record.i, "question") if isinstance(record, Decided) else ""
        ):
            found.add(by)
        if isinstance(record, Started | Forked):
            found.update(record.requesters)
    return frozenset(found)
