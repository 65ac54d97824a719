"""Answers, validated: what people say becomes commands here, before anything is recorded."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from adjourn.core.codec import plain
from adjourn.core.decision import INSTEAD, Decision, chosen, is_instead, word_of
from adjourn.core.ids import local_event, public_id, ref_of
from adjourn.core.interrupt import Interrupt
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.records import Decided, Suspended
from adjourn.core.schema_document import EndlessDefaults, filled
from adjourn.core.state import State
from adjourn.core.status import Status
from adjourn.driver.schema_check import check_value
from adjourn.driver.worker_mark import check_outside
from adjourn.errors import AnswerRequired, InterruptClosed, Invalid, InvalidAnswer, UnknownInterrupt


class Missing:
    """No answer was given (None is an answer)."""

    def __repr__(self) -> str:
        return "..."


MISSING: Final = Missing()


async def answered(interrupt: Interrupt, answer: Any, *, by: str = "", digest: str = "") -> Decided:
    """`answer` as a checked command; raises `InvalidAnswer` (or `NotJSON`), with nothing recorded.

    An edit is completed with the defaults of the recorded schema, so that what its author agrees to
    is what runs.
    """
    from adjourn.core.answer import decided  # most processes answer nothing

    if not isinstance(answer, Decision):
        answer = plain(answer, "answer")
    command = decided(interrupt, answer, by, digest)
    if word_of(command) == "dismiss":
        return command
    command = await _with_sealed_result(interrupt, command)
    if interrupt.kind == "question":
        value = await _fitting(interrupt.answer_schema, command.value, "answer", interrupt.ref)
        if value is not command.value:
            command = msgspec.structs.replace(command, value=value)
    elif (
        interrupt.kind == "in_doubt"
        and chosen(command).get("choice") == "happened"
        and interrupt.answer_schema is not None
    ):
        await check_value(interrupt.answer_schema, chosen(command).get("result"), "result")
    elif command.edit is not None:
        command = msgspec.structs.replace(
            command, edit=_completed(interrupt.answer_schema, command.edit)
        )
        await check_value(interrupt.answer_schema, command.edit, "edit")
    return command


async def _fitting(schema: Any, value: Any, what: str, question: str) -> Any:
    """The answer to a question as it is recorded; raises `InvalidAnswer` if it does not fit. A
    secret in it is sealed, and not said."""
    from adjourn.core.secret_places import has_secrets, without_secrets

    if not has_secrets(schema):
        await check_value(schema, value, what)
        return value
    from adjourn.driver.sealed_answers import opened_answer, sealed_answer, silent

    value, _ = opened_answer(schema, value)
    try:
        await check_value(schema, value, what)
    except InvalidAnswer as error:
        raise silent(error, what, without_secrets(schema, value)) from None
    return sealed_answer(schema, value, question)


async def _with_sealed_result(interrupt: Interrupt, command: Decided) -> Decided:
    """The command with the result in it sealed, if a person gives that of a call whose result is a
    secret."""
    name = interrupt.call.secret_result if interrupt.call else None
    key = INSTEAD if is_instead(command) else "result"
    if name is None or key not in chosen(command):
        return command
    from adjourn.core.secret_places import MARK, NAME  # few results are secrets

    schema = {"type": "string", MARK: True, NAME: name}
    sealed = await _fitting(schema, chosen(command)[key], "result", interrupt.ref)
    return msgspec.structs.replace(command, value={**chosen(command), key: sealed})


def _completed(schema: Any, edit: dict[str, Any]) -> dict[str, Any]:
    try:
        return filled(schema, edit)
    except EndlessDefaults as e:
        raise InvalidAnswer(f"edit: {e}", consequence="nothing was recorded") from None


async def check_event(
    state: State, event: str, value: Any, by: str = "", *, named: bool = True
) -> Any:
    """The value of an event as it is recorded; raises unless it may be sent: where it would answer a
    question it is a person's answer, and must fit.

    `named`: whether answers here are always somebody's, as in a store that people share.
    """
    asked = [
        opened.record for opened in state.open.values() if isinstance(opened.record, Suspended)
    ]
    for question in asked:
        if (
            question.kind != "question"
            or not question.event
            or local_event(question.event) != event
        ):
            continue
        check_outside("answer a question")
        if named and not by:
            raise Invalid(
                (
                    f"the event {event!r} answers {public_id(state.run, question.i)!r}, so it "
                    f"needs by=: who answers"
                ),
                advice="wait with ctx.wait_for(event) for an event that is not a person's answer",
            )
        if question.schema is not None:
            place = ref_of(state.run, question.i)
            value = await _fitting(question.schema, value, f"the event {event!r}", place)
    return value


async def answers_for(
    state: State,
    answer: Any,
    answers: Mapping[str, Any] | None,
    approved: bool | None,
    by: str,
    now: float,
) -> list[Decided]:
    """The commands for a run that is resumed with these; all are checked before any is
    delivered."""
    if approved is not None and not isinstance(approved, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidAnswer(f"approved= must be True or False, got {approved!r:.80}")
    given = [x for x in (answer is not MISSING, answers is not None, approved is not None) if x]
    if len(given) > 1:
        raise InvalidAnswer("pass one of answer=, answers= and approved=, not several")
    waiting = {i.id: i for i in state.interrupts if i.kind not in NOT_FOR_PEOPLE}
    if answers is not None and not isinstance(answers, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidAnswer(
            f"answers= must be {{interrupt id: answer}}, got {answers!r:.80}",
            advice="for a single interrupt, pass answer= or approved=",
        )
    if answers is not None:
        return [await _answer(_find(waiting, id), value, by, now) for id, value in answers.items()]
    if not given:
        return [await answered(i, "retry", by=by) for i in waiting.values() if i.kind == "error"]
    if not waiting:
        raise InvalidAnswer(f"the run is not waiting for an answer: it is {state.view}")
    if len(waiting) > 1:
        raise AnswerRequired([(i.id, i.kind) for i in waiting.values()])
    [interrupt] = waiting.values()
    return [await _answer(interrupt, answer if approved is None else approved, by, now)]


def is_answer_needed(state: State, now: float) -> bool:
    """Whether nothing happens without a person: it waits for more than time, and no deadline has
    passed."""
    due = state.parked is not None and 0 < state.parked.wake_at <= now
    return (
        state.status == Status.WAITING
        and any(i.kind != "timer" for i in state.interrupts)
        and not due
    )


async def _answer(interrupt: Interrupt, answer: Any, by: str, now: float) -> Decided:
    if interrupt.expires_at and interrupt.expires_at <= now:
        raise InterruptClosed(interrupt.id, "it expired")
    return await answered(interrupt, answer, by=by)


def _find(waiting: Mapping[str, Interrupt], id: str) -> Interrupt:
    found = next((i for i in waiting.values() if id in (i.id, i.local, i.ref)), None)
    if found is None:
        raise UnknownInterrupt(id, list(waiting))
    return found


def describe(state: State) -> list[tuple[str, str]]:
    """The open interrupts as (id, what), for messages."""
    return [(i.id, i.type if i.kind == "question" else i.kind) for i in state.interrupts]
