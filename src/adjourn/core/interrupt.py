"""Interrupts: the only way to wait. What opens one, what closes one, which answers fit."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, Literal, cast

import msgspec

from adjourn.core.authority import Vote, gate_of, seated
from adjourn.core.decision import DISMISSED, INSTEAD, Decision
from adjourn.core.digest import digest as digest_all
from adjourn.core.ids import StepId, local_of, path_of, public_id, ref_of
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import Asked, Decided, Suspended
from adjourn.errors import InvalidAnswer, StaleDecision, bare

Kind = Literal["approval", "question", "event", "timer", "limit", "error", "in_doubt", "undo"]

CHOICES: dict[str, dict[str, str]] = {
    "in_doubt": {
        "happened": "it happened; give its result as {'choice': 'happened', 'result': …}",
        "run": "it did not happen: run it",
        "cancel": "give up and undo",
    },
    "in_doubt!": {
        "happened": "it happened: undo it",
        "not": "it did not happen: nothing to undo",
        "leave": "leave it; it is listed as residue",
    },
    "error": {"retry": "try the failed step again", "cancel": "give up and undo"},
    "limit": {
        "extend": "go on; {'choice': 'extend', 'amount': n} says by how much",
        "stop": "end the run here",
    },
    "undo": {
        "retry": "run the undo again",
        "done": "it is done",
        "leave": "leave it; it is listed as residue",
    },
}


class PendingToolCall(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """The call that waits for approval, exactly as it would run.

    Attributes:
        call_id: the call's id.
        tool: its name.
        arguments: the arguments.
        reason: why a person is asked.
        rule: the rule that asks.
        digest: identifies exactly this action.
        description: what the tool's definition says.
        effect: what the tool does to the world.
        undo: whether it can be undone.
    """

    call_id: str
    tool: str
    arguments: dict[str, Any]
    reason: str = ""
    rule: str = ""
    digest: str = ""
    description: str = ""
    effect: str = ""
    undo: bool = False


class Seat(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One person who must agree. The seats of one rule are for different people; one person may sit
    in seats of several rules.

    Attributes:
        rule: the rule that requires it.
        groups: the groups of which the person must be a member; empty: everybody may sit here.
        not_requester: whether those who shaped the run are excluded.
        filled_by: who has agreed; empty: still open.
    """

    rule: str
    groups: tuple[str, ...] = ()
    not_requester: bool = False
    filled_by: str = ""


class Interrupt(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """What a run waits for. Every verb takes its `id`, its `ref`, or the interrupt itself.

    Attributes:
        id: unique in its run.
        run_id: the run's id.
        kind: approval, question, event, timer, limit, error, in_doubt or undo.
        type: the author's own word.
        payload: what the person is shown.
        call: the tool call that is to be approved, or None.
        answer_schema: what an answer must fit, as a JSON Schema.
        path: the nested agent that asks; empty for the run's own.
        opened_at: when it was asked, in seconds since 1970.
        expires_at: when it expires, or None.
        choices: the answers that are possible, with their meaning, where it is a choice.
        on_expiry: what happens when it expires: deny, cancel or escalate.
        approvers: how many people must approve.
        groups: the groups of which an approver must be a member; empty: everybody may approve.
        seq: the record that asked.
        slots: the people who must approve, each with the rule that requires them.
        requesters: who shaped the run.
        disowned: who decided it before without a signature that a worker trusts, so that it is open
            again.
        escalated: it expired once and was asked again.
    """

    id: str
    run_id: str
    kind: Kind
    type: str
    payload: Any = None
    call: PendingToolCall | None = None
    answer_schema: dict[str, Any] | bool | None = None
    path: str = ""
    opened_at: float = 0.0
    expires_at: float | None = None
    choices: dict[str, str] = {}
    on_expiry: str = "deny"
    approvers: int = 1
    groups: tuple[str, ...] = ()
    seq: int = 0
    slots: tuple[Seat, ...] = ()
    requesters: tuple[str, ...] = ()
    disowned: tuple[str, ...] = ()
    escalated: bool = False

    @property
    def local(self) -> str:
        """Its id inside its run."""
        return local_of(self.run_id, self.id)

    @property
    def ref(self) -> str:
        """Its name that is unique in the store: `RUN:local`."""
        return ref_of(self.run_id, self.local)

    @property
    def digest(self) -> str:
        """Names what a person is shown of it: the call's digest, or one over everything that a
        question says."""
        if self.call and self.call.digest:
            return self.call.digest
        return digest_all(
            "interrupt",
            self.run_id,
            self.id,
            self.seq,
            self.kind,
            self.type,
            self.payload,
            self.answer_schema,
        )


def unsigned(names: Iterable[str]) -> str:
    """Why something is open again, in words."""
    return (
        f"not signed by anybody this worker trusts: {', '.join(name or 'nobody' for name in names)}"
    )


def choices(record: Asked | Suspended) -> dict[str, str]:
    """What may be chosen, for the kinds that are not a free question."""
    if not isinstance(record, Asked):
        return {}
    if record.kind == "in_doubt" and record.undoing:
        return CHOICES["in_doubt!"]
    known = CHOICES.get(record.kind, {})
    if record.kind == "error" and _dict(record.payload).get("answered"):
        return {
            "retry": known["retry"],
            "ask": "drop the last answer and ask again",
            "cancel": known["cancel"],
        }
    return known


def view(
    run: str,
    seq: int,
    record: Asked | Suspended,
    votes: Sequence[Vote] = (),
    requesters: frozenset[str] = frozenset(),
    disowned: tuple[str, ...] = (),
) -> Interrupt:
    """The interrupt that `record` opened, as people see it.

    `votes` are those who have agreed so far, `requesters` everybody who has shaped the run,
    `disowned` those whose decisions did not count.
    """
    id, ends = public_id(run, record.i), record.expires or None
    if isinstance(record, Suspended):
        path = path_of(record.call)
        return Interrupt(
            id,
            run,
            record.kind,
            record.type,
            record.payload,
            None,
            record.schema,
            path,
            record.at,
            ends,
            on_expiry=record.on_expiry,
            seq=seq,
            disowned=disowned,
        )
    if record.call:
        path = path_of(record.call)
    else:
        path = StepId.parse(record.step).path
    # In the order of the fields: nineteen of them by name take five times as long, and an inbox
    # shows fifty at once.
    return Interrupt(
        id,
        run,
        record.kind,
        record.kind,
        record.payload,
        _call(record),
        record.schema,
        path,
        record.at,
        ends,
        choices(record),
        "deny" if record.escalated else record.on_expiry,  # a question is escalated once
        record.approvers,
        record.groups,
        seq,
        _seats(record, votes, requesters),
        tuple(sorted(requesters)) if record.not_requester else (),
        disowned,
        record.escalated,
    )


def _call(asked: Asked) -> PendingToolCall | None:
    if not asked.call or asked.kind not in ("approval", "in_doubt"):
        return None
    return PendingToolCall(
        call_id=asked.call,
        tool=asked.tool,
        arguments=_arguments(asked.args),
        reason=asked.reason,
        rule=", ".join(asked.rules),
        digest=asked.digest,
        description=asked.describes,
        effect=asked.effect,
        undo=asked.undo,
    )


def _seats(asked: Asked, votes: Sequence[Vote], requesters: frozenset[str]) -> tuple[Seat, ...]:
    gate, rules = gate_of(asked), asked.rules
    if votes:
        return _filled(gate, rules, votes, requesters)
    return _empty(gate, rules)


@lru_cache(maxsize=256)
def _empty(gate: tuple[ApprovalSlot, ...], rules: tuple[str, ...]) -> tuple[Seat, ...]:
    """Most of an inbox is of a few rules, and nobody has agreed yet."""
    return _filled(gate, rules, (), frozenset())


def _filled(
    gate: tuple[ApprovalSlot, ...],
    rules: tuple[str, ...],
    votes: Sequence[Vote],
    requesters: frozenset[str],
) -> tuple[Seat, ...]:
    texts = dict(zip(dict.fromkeys(slot.rule for slot in gate), rules, strict=False))
    found: list[Seat] = []
    for slot, by in seated(gate, votes, requesters):
        found.append(
            Seat(texts.get(slot.rule, slot.rule), slot.groups, slot.not_requester, by or "")
        )
    return tuple(found)


def _dict(value: Any) -> dict[str, Any]:
    if isinstance(value, dict):
        return cast("dict[str, Any]", value)
    return {}


def _arguments(value: Any) -> dict[str, Any]:
    """A tool's arguments; a chunk has one, its input."""
    if value is None or isinstance(value, dict):
        return _dict(value)
    return {"input": value}


def decided(interrupt: Interrupt, answer: Any, by: str = "", digest: str = "") -> Decided:
    """`answer` (a `Decision`, True/False, or a value) as the record to deliver; raises
    `InvalidAnswer` if it does not fit.

    The schema is not looked at here.
    """
    kind, local = interrupt.kind, interrupt.local
    if kind in ("event", "timer"):
        raise InvalidAnswer(
            f"interrupt {bare(local)} is waiting for "
            f"{'an event' if kind == 'event' else 'time'}, not for an answer"
        )
    if kind == "approval":
        return _approval(interrupt, answer, by, digest)
    if isinstance(answer, Decision) and answer.verdict == "dismiss":
        return _dismissal(interrupt, answer, by, digest)
    if isinstance(answer, Decision) and answer.verdict == "instead":
        raise InvalidAnswer(
            f"interrupt {bare(interrupt.id)} ({kind}) is no approval: only a call that waits for one "
            f"can get its result from a person"
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
    if interrupt.call:
        shown = interrupt.call.digest
    else:
        shown = ""
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
            f"interrupt {bare(interrupt.id)} is an approval: it must be answered with Decision.approve(...), "
            f"Decision.deny(...), True or False, got {answer!r:.80}",
            consequence="nothing was approved",
        )
    if interrupt.call:
        shown = interrupt.call.digest
    else:
        shown = ""
    if digest and shown and digest != shown:
        raise StaleDecision(interrupt.id, digest, shown)
    if answer.edit is not None and interrupt.answer_schema is False:
        raise InvalidAnswer(
            f"interrupt {bare(interrupt.id)}: a rule lets nobody change these arguments",
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
        edit=answer.edit,
        by=by,
        note=answer.note,
        digest=digest or shown,
        scope="" if answer.scope == "once" else answer.scope,
    )


def _choice(interrupt: Interrupt, value: Any) -> dict[str, Any]:
    if isinstance(value, str):
        given: Any = {"choice": value}
    else:
        given = value
    chosen = _dict(given)
    choice = chosen.get("choice")
    if not isinstance(choice, str) or choice not in interrupt.choices:
        listed = "; ".join(f"{name!r}: {what}" for name, what in interrupt.choices.items())
        raise InvalidAnswer(
            f"interrupt {bare(interrupt.id)} ({interrupt.kind}) must be answered with one "
            f"of: {listed}, got {value!r:.80}"
        )
    amount = chosen.get("amount")
    if amount is not None and (type(amount) not in (int, float) or not 0 < amount < float("inf")):
        raise InvalidAnswer(f"amount must be a positive number, got {amount!r:.80}")
    return chosen
