"""A new journal from the beginning of another: what was recorded before the boundary is reused, not done again."""

from collections.abc import Sequence
from typing import Any

import msgspec

from adjourn.core.call import Phase
from adjourn.core.records import AnyRecord, Asked, Cancelled, Closed, Completed, Decided, Intended, Parked, Started
from adjourn.core.state import State
from adjourn.core.status import CANCELS
from adjourn.errors import Invalid


def boundaries(records: Sequence[AnyRecord]) -> list[int]:
    """The records after which nothing is in flight: where a fork may begin."""
    state, found = State(), list[int]()
    for seq, record in enumerate(records, 1):
        state.fold(seq, record)
        flying = any(
            c.phase in (Phase.INTENDED, Phase.DOUBT) and c.id not in state.threads for c in state.live.values()
        )
        if not flying and state.status not in CANCELS and not isinstance(record, Completed | Cancelled):
            found.append(seq)
    return found


def forked(records: Sequence[AnyRecord], at: int | None, run: str, by: str, changed: dict[str, Any]) -> list[AnyRecord]:
    """The records of the new run: a prefix of the old one under a new id.

    Approvals that nobody used are not taken along, and open ones are asked again: they were about another run.
    """
    possible = boundaries(records)
    if at is None:
        at = possible[-1]
    if type(at) is not int:
        raise Invalid(f"at= is the number of a record, for example {possible[-1]}, not {at!r:.80}")
    if at not in possible:
        near = min(possible, key=lambda seq: abs(seq - at))
        why = (
            "something was in flight there, or the run was being cancelled"
            if 0 < at <= len(records)
            else "there is no such record"
        )
        raise Invalid(f"cannot fork at record {at}: {why}; the nearest boundary is {near}")
    first, *rest = records[:at]
    assert isinstance(first, Started)
    begun = msgspec.structs.replace(first, run=run, by=by, forked_from=f"{first.run}@{at}", **changed)
    rest = _without_unspent(rest)
    while rest and isinstance(rest[-1], Parked):  # so that a worker takes it up
        rest.pop()
    state = State().fold_all(enumerate([begun, *rest], 1))
    void = [Closed(i=o.record.i, why="void", at=first.at) for o in state.open.values() if o.record.kind == "approval"]
    return [begun, *rest, *void]


def _without_unspent(rest: Sequence[AnyRecord]) -> list[AnyRecord]:
    """Without approvals that nobody used; those that were given for the whole run were used once, and are over."""
    spent = {r.call for r in rest if isinstance(r, Intended)}
    asked = {r.i: r.call for r in rest if isinstance(r, Asked)}
    return [
        msgspec.structs.replace(r, scope="") if isinstance(r, Decided) and r.scope else r
        for r in rest
        if not (isinstance(r, Decided) and r.verdict == "approve" and asked.get(r.i) and asked[r.i] not in spent)
    ]
