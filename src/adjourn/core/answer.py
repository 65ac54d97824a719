"""What a person answers to an interrupt, as the record to deliver; or why it does not fit."""

from typing import Any, cast

import msgspec

from adjourn.core.codec import plain
from adjourn.core.decision import DISMISSED, INSTEAD, LARGEST_EXTENSION, Decision, is_fixed
from adjourn.core.interrupt import Interrupt
from adjourn.core.interrupt_kind import NOT_FOR_PEOPLE
from adjourn.core.records import Decided
from adjourn.core.standing_decision import STANDS, Standing
from adjourn.errors import InvalidAnswer, StaleDecision, bare


def decided(interrupt: Interrupt, answer: Any, by: str = "", digest: str = "") -> Decided:
    """`answer` (a `Decision`, True/False, or a value) as the record to deliver; raises
    `InvalidAnswer` if it does not fit.

    The schema is not looked at here.
    """
    kind, local = interrupt.kind, interrupt.local
    if kind in NOT_FOR_PEOPLE:
        raise InvalidAnswer(
            f"interrupt {bare(local)} is waiting for "
            f"{'an event' if kind == 'event' else 'time'}, not for an answer",
            advice=f"send it: await run.emit({interrupt.type!r})" if kind == "event" else "",
        )
    if kind == "approval":
        return _approval(interrupt, answer, by, digest)
    if isinstance(answer, Decision) and answer.verdict == "dismiss":
        return _dismissal(interrupt, answer, by, digest)
    if isinstance(answer, Decision) and answer.verdict == "instead":
        raise InvalidAnswer(
            f"interrupt {bare(interrupt.id)} ({kind}) is not an approval: a person can give "
            "the result of a call only while it waits for approval"
        )
    if isinstance(answer, Decision):
        value = {"approve": True, "deny": False, "value": answer.value_}[answer.verdict]
        if answer.edit is not None:
            raise InvalidAnswer("edit= is for approvals: this interrupt has no call to edit")
        note = answer.note
    else:
        value, note = answer, ""
    if kind != "question":
        value = _choice(interrupt, value)
    shown = interrupt.call.digest if interrupt.call else ""
    return Decided(i=local, verdict="value", value=value, by=by, note=note, digest=digest or shown)


def _dismissal(interrupt: Interrupt, answer: Decision, by: str, digest: str) -> Decided:
    if interrupt.kind != "question":
        raise InvalidAnswer(
            f"interrupt {bare(interrupt.id)} ({interrupt.kind}) cannot be dismissed: only a question can"
        )
    return Decided(
        i=interrupt.local,
        verdict="deny",
        value={DISMISSED: True},
        by=by,
        note=answer.note,
        digest=digest,
    )


def _approval(interrupt: Interrupt, answer: Any, by: str, digest: str) -> Decided:
    if answer is True or answer is False:
        answer = Decision("approve" if answer else "deny")
    if isinstance(answer, Decision) and answer.verdict == "dismiss":
        return _dismissal(interrupt, answer, by, digest)
    if not isinstance(answer, Decision) or answer.verdict == "value":
        raise InvalidAnswer(
            f"interrupt {bare(interrupt.id)} is an approval: it must be answered with "
            f"Decision.approve(...), Decision.deny(...), True or False, got {answer!r:.80}",
            consequence="nothing was approved",
        )
    shown = interrupt.call.digest if interrupt.call else ""
    if digest and shown and digest != shown:
        raise StaleDecision(interrupt.id, digest, shown)
    if answer.edit is not None and is_fixed(interrupt.answer_schema):
        raise InvalidAnswer(
            f"interrupt {bare(interrupt.id)}: these arguments cannot be changed: a rule says so, "
            "or the call has begun",
            advice="approve it as it is, or deny it with a note",
        )
    if answer.verdict == "instead":
        return Decided(
            i=interrupt.local,
            verdict="deny",
            value={INSTEAD: answer.value_},
            by=by,
            note=answer.note,
            digest=digest or shown,
        )
    assert answer.verdict in ("approve", "deny")
    return Decided(
        i=interrupt.local,
        verdict=answer.verdict,
        value=None if answer.stands is None else {STANDS: _terms(answer.stands)},
        edit=answer.edit,
        by=by,
        note=answer.note,
        digest=digest or shown,
        scope="" if answer.scope == "once" else answer.scope,
    )


def _terms(stands: Standing) -> Any:
    return plain(msgspec.to_builtins(stands), "stands")


def _choice(interrupt: Interrupt, value: Any) -> dict[str, Any]:
    chosen: dict[str, Any] = {}
    if isinstance(value, str):
        chosen = {"choice": value}
    elif isinstance(value, dict):
        chosen = cast("dict[str, Any]", value)
    choice = chosen.get("choice")
    if not isinstance(choice, str) or choice not in interrupt.choices:
        listed = "; ".join(f"{name!r}: {what}" for name, what in interrupt.choices.items())
        raise InvalidAnswer(
            f"interrupt {bare(interrupt.id)} ({interrupt.kind}) must be answered with one "
            f"of: {listed}, got {value!r:.80}"
        )
    amount = chosen.get("amount")
    if amount is not None and (
        type(amount) not in (int, float) or not 0 < amount <= LARGEST_EXTENSION
    ):
        raise InvalidAnswer(
            f"amount must be a positive number, at most {LARGEST_EXTENSION:,}, got {amount!r:.80}"
        )
    return chosen
