"""A new journal from the beginning of another: what was recorded before the boundary is reused, not done again."""

from collections.abc import Sequence
from typing import Any

import msgspec

from adjourn.core.authority import requesters
from adjourn.core.call import Call, Phase
from adjourn.core.records import (
    AnyRecord,
    Cancelled,
    Completed,
    Decided,
    Emitted,
    Forked,
    Started,
    Suspended,
)
from adjourn.core.state import State
from adjourn.core.status import CANCELS
from adjourn.errors import Invalid


def boundaries(records: Sequence[AnyRecord]) -> list[int]:
    """The records after which nothing is in flight: where a fork may begin. A body that waits to go on is in flight."""
    state, found = State(), list[int]()
    for seq, record in enumerate(records, 1):
        state.fold(seq, record)
        flying = any(_flies(c) and c.id not in state.threads for c in state.live.values())
        if not flying and state.status not in CANCELS and not isinstance(record, Completed | Cancelled):
            found.append(seq)
    return found


def _flies(call: Call) -> bool:
    if call.phase in (Phase.INTENDED, Phase.DOUBT):
        return True
    return bool(call.attempt) and not (call.phase == Phase.SUSPENDED and call.resume_to != "self")


def first_answer(records: Sequence[AnyRecord]) -> int:
    """The first record by which a person answered a question, chose, or raised a limit; 0 if there is none."""
    state = State()
    for seq, record in enumerate(records, 1):
        if isinstance(record, Decided) and record.verdict == "value":
            return seq
        if isinstance(record, Emitted):
            waits = [o.record for o in state.open.values() if isinstance(o.record, Suspended) and o.record.event]
            if any(x.kind == "question" and x.event.rpartition("/")[2] == record.event for x in waits):
                return seq
        state.fold(seq, record)
    return 0


def forked(
    records: Sequence[AnyRecord],
    at: int | None,
    run: str,
    by: str,
    changed: dict[str, Any],
    answers: str = "reopen",
    instruction: str = "",
) -> list[AnyRecord]:
    """The records of the new run: a prefix of the old one under a new id, and the line behind which the new one begins.

    Nobody has agreed to anything in it: an approval names its run, and people's answers are asked for again unless
    somebody who may decide keeps them.
    """
    if answers == "keep" and (changed or instruction):
        raise Invalid("answers='keep' goes with nothing changed: they were given for another input")
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
    if answers != "keep" and (answer := first_answer(records[:at])):
        at = max(seq for seq in possible if seq < answer)
    first, *rest = records[:at]
    assert isinstance(first, Started)
    begun = msgspec.structs.replace(first, run=run, by=by, forked_from=f"{first.run}@{at}", **changed)
    here = Forked(
        of=first.run, at_seq=at, by=by, answers=answers, instruction=instruction,
        requesters=tuple(sorted(requesters(records[:at]))),
    )  # fmt: skip
    return [begun, *rest, here]
