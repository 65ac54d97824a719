"""What was decided about a call, as data: by whom, after how long, why, and what was changed."""

import json
from typing import Any, cast

import msgspec

from adjourn.core.decision import word_of
from adjourn.core.records import Decided
from adjourn.core.standing_decision import stands, under
from adjourn.views.words import DECISIONS, DecisionKind

SHOWN = 60
"""Characters of a value in a line of text."""
_VERDICTS: dict[str, DecisionKind] = {
    "approve": DecisionKind.APPROVED,
    "deny": DecisionKind.DENIED,
    "value": DecisionKind.ANSWERED,
    "instead": DecisionKind.INSTEAD,
    "dismiss": DecisionKind.DISMISSED,
}


class EditedArgument(msgspec.Struct, frozen=True, kw_only=True):
    """An argument that a person changed. `old` is null for one that was added, `new` for one that
    was removed."""

    name: str
    old: Any
    new: Any
    added: bool
    removed: bool


class StepDecision(msgspec.Struct, frozen=True, kw_only=True):
    """What became of a question. `by`: who decided, none for an expiry; `after`: seconds since it
    was asked; `choice`: what was chosen, where there were choices; `changes`: what an edit changed.
    `stands`: for which later calls it stands as well, in words; `under`: the interrupt whose
    standing decision answered it."""

    verdict: DecisionKind
    by: tuple[str, ...]
    note: str
    at: float
    after: float
    scope: str
    choice: str
    changes: tuple[EditedArgument, ...]
    stands: str = ""
    under: str = ""


class EarlierApproval(msgspec.Struct, frozen=True, kw_only=True):
    """An approval of the same call that no longer counts, so that it is asked again. `valid_for`:
    how many seconds it held, and it was over before the call ran; 0: it did not end, but the rules,
    the tool or the arguments had changed."""

    by: tuple[str, ...]
    at: float
    valid_for: float


def earlier_approval(
    decision: StepDecision | None, valid_for: float, now: float
) -> EarlierApproval | None:
    """What was agreed to before it is asked again; None if nobody had agreed.

    Args:
        decision: what was decided when it was asked last.
        valid_for: how many seconds an approval held then; 0 for ever.
        now: when it is asked again.
    """
    if decision is None or decision.verdict != DecisionKind.APPROVED:
        return None
    lapsed = bool(valid_for) and now >= decision.at + valid_for
    return EarlierApproval(by=decision.by, at=decision.at, valid_for=valid_for if lapsed else 0.0)


def decision_of(
    record: Decided, arguments: Any, asked_at: float, earlier: StepDecision | None
) -> StepDecision:
    """A person's decision.

    Args:
        record: what was recorded.
        arguments: what the call was to run with.
        asked_at: when it was asked.
        earlier: an approval of the same question by another person, who is named too.
    """
    voters: tuple[str, ...] = ()
    if (
        earlier is not None
        and earlier.verdict == DecisionKind.APPROVED
        and record.verdict == "approve"
    ):
        voters = tuple(name for name in earlier.by if name != record.by)
    value: Any = record.value
    choice = ""
    if isinstance(value, dict):
        choice = str(cast("dict[str, Any]", value).get("choice", ""))
    return StepDecision(
        verdict=_VERDICTS[word_of(record)],
        by=(*voters, record.by),
        note=record.note,
        at=record.at,
        after=max(0.0, record.at - asked_at),
        scope=record.scope,
        choice=choice,
        changes=changes_of(arguments, record.edit),
        stands=_stands(record),
        under=under(record),
    )


def _stands(record: Decided) -> str:
    says = stands(record)
    if says is None:
        return ""
    return says.text


def expiry_at(at: float, asked_at: float) -> StepDecision:
    """No one has decided in time.

    Args:
        at: when it expired.
        asked_at: when it was asked.
    """
    return StepDecision(
        verdict=DecisionKind.EXPIRED,
        by=(),
        note="",
        at=at,
        after=max(0.0, at - asked_at),
        scope="",
        choice="",
        changes=(),
    )


def changes_of(old: Any, edit: dict[str, Any] | None) -> tuple[EditedArgument, ...]:
    """What an edit changed, argument by argument; nothing without an edit."""
    if edit is None:
        return ()
    before: dict[str, Any] = {}
    if isinstance(old, dict):
        before = cast("dict[str, Any]", old)
    return tuple(
        EditedArgument(
            name=name,
            old=before.get(name),
            new=edit.get(name),
            added=name not in before,
            removed=name not in edit,
        )
        for name in dict.fromkeys((*before, *edit))
        if name not in before or name not in edit or before[name] != edit[name]
    )


def decision_line(decision: StepDecision) -> str:
    """A decision in one line of text: who decided what, what they changed, and why."""
    if decision.verdict == DecisionKind.EXPIRED:
        return f"{DECISIONS[decision.verdict]}: no one answered"
    if decision.choice:
        word = f"«{decision.choice}»"
    else:
        word = DECISIONS[decision.verdict]
    people = " and ".join(name or "an unknown person" for name in decision.by)
    said = f"{word} by {people}"
    if decision.changes:
        said = f"edited, {said}, {', '.join(map(_change_line, decision.changes))}"
    if decision.under:
        said = f"{said}, standing decision {decision.under}"
    if decision.stands:
        said = f"{said}, stands for {decision.stands}"
    if decision.note:
        said = f"{said}: {decision.note}"
    return said


def _change_line(change: EditedArgument) -> str:
    if change.added:
        return f"+ {change.name} {_value(change.new)}"
    if change.removed:
        return f"− {change.name}"
    return f"{change.name} {_value(change.old)} → {_value(change.new)}"


def _value(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    if len(text) <= SHOWN:
        return text
    return f"{text[:SHOWN]}…"
