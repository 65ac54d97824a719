"""Who asked: everybody who shaped a run by what they said or decided; nobody decides what they asked
for."""

from collections.abc import Iterable

from adjourn.core.decision import chosen, is_instead
from adjourn.core.person_name import is_known
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
from adjourn.errors import NotAllowed, bare

Requesters = frozenset[str]
OWN_REQUESTS = "an agent cannot decide its own requests"


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


def check_outsider(by: str, machines: Iterable[str], why: str = OWN_REQUESTS) -> None:
    """Raise `NotAllowed` if a word comes from the run itself or from one of its agents, in whatever
    spelling.

    Args:
        by: whose word it is.
        machines: the id of the run, and the names of its agents.
        why: what only others may do.
    """
    if by.startswith("@") or is_known(by, machines):
        raise NotAllowed(f"{bare(by)} is this run or its agent; {why}")
