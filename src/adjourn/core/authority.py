"""Authority: whose decisions stand behind a call. Pure questions over records, asked wherever a
call may come to run."""

from collections.abc import Callable, Iterable, Sequence
from types import MappingProxyType
from typing import Any

import msgspec

from adjourn.core.action_digest import action_digest, digest
from adjourn.core.approval_votes import agreed_to, are_for_run, empty_seats, gate_of, votes_of
from adjourn.core.decision import decided_at, is_fixed
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import (
    AnyRecord,
    Asked,
    Decided,
    Intended,
    Suspended,
    Verified,
    Yielded,
)
from adjourn.core.requesters import Requesters
from adjourn.core.standing_decision import Known, StandingDecision, under, use_flaw


def shown_digest(run: str, asked: Asked) -> str:
    """What a person agrees to: everything that an approval shows. One that was escalated still
    shows the same."""
    first = asked.carries[0] if asked.carries else asked.i
    said: list[Any] = [
        asked.kind,
        asked.describes,
        asked.effect,
        asked.undo,
        asked.reason,
        list(asked.rules),
        _said(asked.gate),
    ]
    if asked.escalated_gate:  # said before it is escalated as well: who agrees knows who else may
        said.append(_said(asked.escalated_gate))
    if not may_edit(asked):
        said.append("as it is")
    return digest("shown", run, first, asked.action, said, list(asked.requesters), asked.valid_for)


def may_edit(asked: Asked) -> bool:
    """Whether an approver may change the arguments."""
    return not is_fixed(asked.schema)


def may_replace(asked: Asked) -> bool:
    """Whether a result may be given in the place of the call: no value fits the schema `false`."""
    return asked.schema is not False


def _said(gate: Iterable[ApprovalSlot]) -> list[Any]:
    return [(slot.rule, slot.groups, slot.count, slot.not_requester) for slot in gate]


def is_as_shown(run: str, asked: Asked) -> bool:
    """Whether the record says what its digests say: a signature covers those, and nothing else of
    it."""
    action = action_digest(run, asked.call, asked.tool, asked.definition, asked.args)
    return asked.action == action and asked.digest == shown_digest(run, asked)


def lapses(asked: Asked, decisions: Sequence[Decided]) -> float:
    """When the life of the agreement is over; 0.0 for never."""
    return (
        max(map(decided_at, decisions)) + asked.valid_for if asked.valid_for and decisions else 0.0
    )


def _always(_: Decided) -> bool:
    return True


class Grant(msgspec.Struct, gc=False):
    """What people were asked and said about a call. `lives`: the call whose execution lives on
    it."""

    asked: Asked
    decisions: tuple[Decided, ...] = ()
    lives: str = ""

    @property
    def for_run(self) -> bool:
        """Whether all who agreed did so for the whole run."""
        return bool(self.decisions) and are_for_run(self.decisions)


NONE_STANDS: Known = MappingProxyType({})


class Support(msgspec.Struct, frozen=True, gc=False):
    """What is known about decisions beside their records. `genuine`: whether one is signed, where
    that is asked for; `standing`: the standing decisions of the run, as far as they follow one."""

    genuine: Callable[[Decided], bool] = _always
    standing: Known = NONE_STANDS


ALL_GENUINE = Support()


def objection(  # noqa: C901 - a list of reasons, in their order: the invariant stays in one place
    run: str,
    intended: Intended,
    asked: Asked,
    decisions: Sequence[Decided],
    requesters: Requesters,
    now: float,
    spent: bool = False,
    support: Support = ALL_GENUINE,
) -> str:
    """Why these decisions do not stand behind this intent; "" if they do. The invariant, in one
    place.

    `decisions` are those that were recorded for `asked` (and for what it carries over); `spent`: an
    intent lives on them already, and nothing since then says that its execution goes on.
    """
    agreed = agreed_to(asked, decisions)
    if not agreed:
        return "no person has agreed to it"
    agreed = list(filter(support.genuine, agreed))
    if not agreed:
        return "no person whose signature counts here has agreed to it"
    if any(decided.verdict == "deny" for decided in decisions):
        return "it was denied"
    if spent:
        return "the approval has already been used"
    if more := sorted(_rules(intended.gate) - _rules(gate_of(asked))):
        return f"no person was asked about these rules: {', '.join(more)}"
    if intended.grant != asked.i:
        return "something else was agreed to"
    if not is_as_shown(run, asked):
        return "the question is not what the person was shown"
    about, args, edit = (asked.i, *asked.carries), asked.args, None
    for decided in agreed:
        if decided.i not in about or decided.digest != asked.digest:
            return "a decision was about something else"
        if decided.edit is not None:
            args, edit = decided.edit, decided
    if why := standing_flaw(run, support.standing, asked, agreed, now):
        return why
    if edit is not None and not may_edit(asked):
        return "its arguments may not be changed"
    if edit is not None:
        agreed = [edit]  # the others agreed to something else
    if intended.call != asked.call and not are_for_run(agreed):
        return "it was agreed to for another call"
    if action_digest(run, intended.call, asked.tool, asked.definition, args) != intended.digest:
        return "it differs from what was agreed to"
    if (intended.tool, intended.effect, intended.undo) != (asked.tool, asked.effect, asked.undo):
        return "it is described as something other than what was agreed to"
    if intended.agent and args != {"input": intended.input}:
        return "the nested agent would get an input other than the one that was agreed to"
    if asked.expires and max(map(decided_at, agreed)) >= asked.expires:
        return "it was agreed to after it had expired"
    if (until := lapses(asked, agreed)) and now >= until:
        return "the approval is no longer valid"
    gate = dict.fromkeys((*gate_of(asked), *intended.gate))
    empty = empty_seats(gate, votes_of(agreed), requesters)
    return "; ".join(f"a person {_of(slot)} has not agreed" for slot in empty)


def standing_flaw(
    run: str, known: Known, asked: Asked, decisions: Sequence[Decided], now: float
) -> str:
    """Why those of these decisions that follow a standing one do not count; "" if they do."""
    for decided in decisions:
        if (standing := known.get(under(decided))) and not _is_of(run, standing):
            return "the standing decision behind it was made about something else"
    return use_flaw(known, asked, decisions, now)


def _is_of(run: str, standing: StandingDecision) -> bool:
    """Whether it was made about what was shown, in this run and in time."""
    made = standing.made
    for decided in standing.decisions:
        late = bool(made.expires) and decided_at(decided) >= made.expires
        if late or decided.i not in (made.i, *made.carries) or decided.digest != made.digest:
            return False
    return is_as_shown(run, made)


def _rules(gate: Iterable[ApprovalSlot]) -> set[str]:
    return {slot.rule for slot in gate}


def _of(slot: ApprovalSlot) -> str:
    if not slot.groups:
        if slot.not_requester:
            return "else"
        return "who may"
    of = f"of {' or '.join(slot.groups)}"
    if slot.not_requester:
        return f"{of} who did not ask for it"
    return of


def needs_authority(intended: Intended) -> bool:
    """Whether somebody must have agreed to this intent."""
    return bool(intended.gate or intended.grant)


GOING_ON = frozenset({Suspended, Yielded, Verified})


def goes_on(record: AnyRecord) -> str:
    """The call whose execution goes on, if this record says so: the next intent of it is no new
    execution."""
    if type(record) not in GOING_ON:
        return ""
    match record:
        case Suspended() if record.resume_to == "self":
            return record.call
        case Yielded():
            return record.call
        case Verified() if record.answer == "not":
            return record.call
        case _:
            return ""
