"""Interrupts: the only way to wait. What opens one, what closes one, which answers fit."""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Any, cast

import msgspec

from adjourn.core.action_digest import digest as digest_all
from adjourn.core.approval_votes import Vote, gate_of, seated
from adjourn.core.ids import StepId, local_of, path_of, public_id, ref_of
from adjourn.core.interrupt_kind import OF_CALLS, ExpiryAction, Kind
from adjourn.core.record_parts import ApprovalSlot
from adjourn.core.records import Asked, Suspended

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
    "error": {"retry": "retry the failed step", "cancel": "give up and undo"},
    "error_answered": {
        "retry": "retry the failed step",
        "ask": "drop the last answer and ask again",
        "cancel": "give up and undo",
    },
    "limit": {
        "extend": "continue; {'choice': 'extend', 'amount': n} sets by how much",
        "stop": "end the run here",
    },
    "check": {"pass": "let it pass", "stop": "end the run here"},
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
        secret_result: the name under which its result is sealed, also one that a person gives; None:
            its result is no secret.
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
    secret_result: str | None = None


class Seat(msgspec.Struct, frozen=True, omit_defaults=True, gc=False):
    """One person who must agree. The seats of one rule are for different people; one person may sit
    in seats of several rules.

    Attributes:
        rule: the rule that requires it.
        groups: the groups of which the person must be a member; empty: every approver may sit here.
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
        groups: the groups of which an approver must be a member; empty: every approver may.
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
    on_expiry: ExpiryAction = "deny"
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
        "not signed by a person whom this worker trusts: "
        f"{', '.join(name or 'no name' for name in names)}"
    )


def choices(record: Asked | Suspended) -> dict[str, str]:
    """What may be chosen, for the kinds that are not a free question."""
    if not isinstance(record, Asked):
        return {}
    if record.kind == "in_doubt" and record.undoing:
        return CHOICES["in_doubt!"]
    if record.kind == "limit" and _dict(record.payload).get("hook"):
        return CHOICES["check"]
    if record.kind == "error" and _dict(record.payload).get("answered"):
        return CHOICES["error_answered"]
    return CHOICES.get(record.kind, {})


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
        path = StepId.parse(record.call).path
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
    if not asked.call or asked.kind not in OF_CALLS:
        return None
    return PendingToolCall(  # in the order of the fields, see `view`
        asked.call,
        asked.tool,
        _arguments(asked.args),
        asked.reason,
        ", ".join(asked.rules),
        asked.digest,
        asked.describes,
        asked.effect,
        asked.undo,
        asked.secret_result,
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
    texts, said = dict[str, str](), list[str]()
    for rule, text in zip(dict.fromkeys(slot.rule for slot in gate), rules, strict=False):
        said.append(text)
        texts[rule] = text
        if (number := said.count(text)) > 1:  # another rule, although it reads the same
            texts[rule] = f"{text} ({number})"
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
