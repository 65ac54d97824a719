"""Answers, validated: what people say becomes commands here, before anything is recorded."""

from collections.abc import Mapping
from typing import Any, Final

from adjourn.core.codec import plain
from adjourn.core.decision import Decision
from adjourn.core.interrupt import decided, public_id
from adjourn.core.records import Asked, Decided, Suspended
from adjourn.core.schema import check
from adjourn.core.state import State
from adjourn.errors import AnswerRequired, InterruptClosed, InvalidAnswer, UnknownInterrupt


class Missing:
    """No answer was given (None is an answer)."""

    def __repr__(self) -> str:
        return "..."


MISSING: Final = Missing()


def answered(record: Asked | Suspended, answer: Any, *, by: str = "", digest: str = "") -> Decided:
    """`answer` as a checked command; raises `InvalidAnswer` (or `NotJSON`), with nothing recorded."""
    if not isinstance(answer, Decision):
        answer = plain(answer, "answer")
    command = decided(record, answer, by, digest)
    if isinstance(record, Suspended):
        check(record.schema, command.value, "answer")
    elif command.edit is not None:
        check(record.schema, command.edit, "edit")
    return command


def answers_for(
    state: State, answer: Any, answers: Mapping[str, Any] | None, approved: bool | None, by: str, now: float
) -> list[Decided]:
    """The commands for a run that is resumed with these; all are checked before any is delivered."""
    if approved is not None and not isinstance(approved, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidAnswer(f"approved= is True or False, not {approved!r:.80}")
    given = [x for x in (answer is not MISSING, answers is not None, approved is not None) if x]
    if len(given) > 1:
        raise InvalidAnswer("pass one of answer=, answers= and approved=, not several")
    waiting = {o.record.i: o.record for o in state.open.values() if o.record.kind not in ("timer", "event")}
    for record in waiting.values():
        if given and record.expires and record.expires <= now:
            raise InterruptClosed(public_id(state.run, record.i), "it expired")
    if answers is not None:
        return [answered(_find(state, waiting, id), value, by=by) for id, value in answers.items()]
    if not given:
        errors = [x for x in waiting.values() if x.kind == "error"]
        return [answered(x, "retry", by=by) for x in errors]
    if len(waiting) != 1:
        if not waiting:
            raise InvalidAnswer(f"the run waits for no answer: it is {state.view}")
        raise AnswerRequired([(public_id(state.run, i), x.kind) for i, x in waiting.items()])
    [record] = waiting.values()
    return [answered(record, answer if approved is None else approved, by=by)]


def _find(state: State, waiting: Mapping[str, Asked | Suspended], id: str) -> Asked | Suspended:
    local = id.removeprefix(f"{state.run}:")
    if local not in waiting:
        raise UnknownInterrupt(id, [public_id(state.run, i) for i in waiting])
    return waiting[local]


def describe(state: State) -> list[tuple[str, str]]:
    """The open interrupts as (id, what), for messages."""
    return [(i.id, i.type if i.kind == "question" else i.kind) for i in state.interrupts]
