"""A new journal from the beginning of another: what was recorded before the boundary is reused, not
done again.

A fork owns nothing of its original. Effects of the prefix are inherited: shown, never undone or
repeated. Nobody has agreed to anything in it: an approval names its run, and a person's answer is
asked for again unless somebody who may decide keeps it. A prefix is cut, never altered in its
middle.
"""

from collections.abc import Sequence
from typing import Any, Literal

import msgspec

from adjourn.core.belief import disowned
from adjourn.core.call import Call, Phase
from adjourn.core.chapter import without_content
from adjourn.core.decision import chosen, is_instead
from adjourn.core.ids import fork_id, local_event
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Closed,
    Decided,
    Disowned,
    Emitted,
    Forked,
    RunCancelled,
    RunCompleted,
    Started,
    Suspended,
    Upgraded,
)
from adjourn.core.requesters import requesters
from adjourn.core.state import State
from adjourn.core.status import CANCELS
from adjourn.core.upgrade_rule import carried
from adjourn.core.upgraded_journal import as_upgraded
from adjourn.errors import ForkRefused, Invalid

Answers = Literal["keep", "reopen"]


class Cuts(msgspec.Struct, frozen=True):
    """Where a journal can be cut: after which records, and the first record by which a person
    answered (0: none)."""

    boundaries: tuple[int, ...]
    first_answer: int

    def before_answers(self, at: int) -> int:
        """The last boundary up to `at` that stands before every answer."""
        if not self.first_answer or at < self.first_answer:
            return at
        return max(seq for seq in self.boundaries if seq < self.first_answer)


def cuts(records: Sequence[AnyRecord]) -> Cuts:
    """Every boundary of a journal, and where people's answers begin. None keeps what was disowned
    without saying so."""
    state, found, answer, void = State(), list[int](), 0, disowned(records)
    disowning = 0  # so many records do not count, and those that say so come later
    read = as_upgraded(list(enumerate(records, 1)))
    state.belief.upgrades |= {seq for seq, record in read if isinstance(record, Upgraded)}
    for seq, record in read:
        if not answer and seq not in void and _answers(state, record):
            answer = seq
        state.fold(seq, record, counts=seq not in void)
        disowning += (seq in void) - isinstance(record, Disowned)
        if disowning:
            continue
        flying = any(_flies(call) and call.id not in state.threads for call in state.live.values())
        if (
            not flying
            and state.status not in CANCELS
            and not isinstance(record, RunCompleted | RunCancelled)
        ):
            found.append(seq)
    return Cuts(tuple(found), answer)


def boundaries(records: Sequence[AnyRecord]) -> list[int]:
    """The records after which nothing is in flight: where a fork may begin. A body that waits to go
    on is in flight."""
    return list(cuts(records).boundaries)


def _flies(call: Call) -> bool:
    """Whether it has begun and not ended. A body that only reads may be run again by anybody."""
    if call.phase in (Phase.INTENDED, Phase.DOUBT):
        return True
    if not call.attempt or call.effect == "read":
        return False
    return call.phase != Phase.SUSPENDED or call.resume_to == "self"


def _event_of_question(record: Asked | Suspended) -> str | None:
    """The event that answers a question, without its flow's path; None if this is no question."""
    if record.kind == "question":
        return local_event(getattr(record, "event", ""))
    return None


def _answers(state: State, record: AnyRecord) -> bool:
    """Whether this is a person's answer, which may have authorised anything that follows it.

    Not: an approval or a denial (they were about one call of that run; a result that somebody gave
    in its place is an answer), a retry, or "run it" for a
        call in doubt.
    """
    if isinstance(record, Emitted):
        return record.event in map(_event_of_question, state.open_records())
    # somebody's event that had come before the question
    if isinstance(record, Closed) and record.heard:
        return record.i in state.open and state.open[record.i].record.kind == "question"
    if not isinstance(record, Decided) or record.i not in state.open:
        return False
    kind, choice = state.open[record.i].record.kind, chosen(record).get("choice")
    if kind == "in_doubt":
        return choice == "happened"
    if kind == "limit":
        return choice != "stop"
    return kind == "question" or is_instead(record)


class ForkRequest(msgspec.Struct, frozen=True):
    """The new run: its id, who makes it, what is `changed` in its beginning, what becomes of
    people's answers, and what the agent reads first."""

    run: str
    by: str
    changed: dict[str, Any]
    answers: Answers = "reopen"
    instruction: str = ""


def forked(records: Sequence[AnyRecord], at: int | None, wanted: ForkRequest) -> list[AnyRecord]:
    """The records of the new run: a prefix of the old one under a new id, and the line behind which
    the new one begins."""
    by, answers = wanted.by, wanted.answers
    if answers == "keep" and (wanted.changed or wanted.instruction):
        raise Invalid(
            "answers='keep' keeps what people said about this input: leave input= and instruction= out, "
            "or use answers='reopen', which asks them again"
        )
    if answers == "keep" and not by:
        raise Invalid("answers='keep' needs by=: the fork continues by that person's decision")
    where = cuts(records)
    if at is None:
        at = where.boundaries[-1]
    _check_boundary(at, where.boundaries, records)
    if answers == "reopen":
        at = where.before_answers(at)
    first, *rest = map(without_content, records[:at])
    assert isinstance(first, Started)
    begun = msgspec.structs.replace(
        first, run=wanted.run, by=by, forked_from=fork_id(first.run, at), **wanted.changed
    )
    here = Forked(
        of=first.run,
        at_seq=at,
        by=by,
        answers=answers,
        instruction=wanted.instruction,
        requesters=tuple(sorted(requesters(records[:at]))),
    )
    return [begun, *rest, *_upgrades(records, at), here]


def _upgrades(records: Sequence[AnyRecord], at: int) -> list[Upgraded]:
    """A fork is of the version that its original is of now, also where it is cut before the
    upgrade."""
    try:
        return carried(records, at)
    except ValueError as e:
        raise Invalid(
            f"cannot fork at record {at}: the run was upgraded later, and at that record {e}",
            advice="fork it after that",
        ) from None


def _check_boundary(at: Any, possible: Sequence[int], records: Sequence[AnyRecord]) -> None:
    if type(at) is not int:
        raise Invalid(
            f"at= must be the number of a record, for example {possible[-1]}, got {at!r:.80}"
        )
    if at in possible:
        return
    nearest = min(possible, key=lambda seq: abs(seq - at))
    why = "the run has no such record"
    if 0 < at <= len(records):
        why = "a call was in progress, or the run was being cancelled"
        if isinstance(records[at - 1], RunCompleted | RunCancelled):
            why = "the run had ended"
    raise ForkRefused(at, nearest, why)
