"""Interrupts as data: one in a list, and one with everything that a person needs to decide it."""

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, cast

import msgspec

from adjourn.core.action_digest import action_digest, digest
from adjourn.core.authority import shown_digest
from adjourn.core.belief import disowned
from adjourn.core.codec import encode
from adjourn.core.decision import WORDS, word_of
from adjourn.core.flow_place import place_words
from adjourn.core.ids import StepId, StepIdKind, local_event, question_of
from adjourn.core.interrupt import Interrupt, PendingToolCall, Seat
from adjourn.core.interrupt_kind import ExpiryAction, Kind
from adjourn.core.records import AnyRecord, Asked, Closed, Decided, Emitted, Suspended
from adjourn.core.state import State
from adjourn.core.status import RunStatus
from adjourn.views.audit_entry import AuditEntry
from adjourn.views.call_outcome import CallOutcome, outcome_of
from adjourn.views.decision_view import EarlierApproval, StepDecision, decision_of, expiry_at
from adjourn.views.filled_view import filled
from adjourn.views.item_note_view import NOTES, ItemNoteView, notes_of
from adjourn.views.timeline import Timeline
from adjourn.views.words import InterruptStatus

WHOLE = 4_000
"""Bytes of arguments, payload and schema that a list shows whole; of more it shows the
beginning."""
LINE = 200
"""Characters of each string of what is cut."""
ROOM = 2_000
"""Characters of what is cut, about."""

_ADDRESSED = (StepIdKind.CALL, StepIdKind.GRAPH)
"""What an interrupt may be about, beside a model call, a limit or the run."""


class PendingCallView(msgspec.Struct, frozen=True, kw_only=True):
    """The call that waits, exactly as it would run. `digest` names it."""

    call_id: str
    tool: str
    arguments: dict[str, Any]
    reason: str
    rule: str
    digest: str
    description: str
    effect: str
    undo: bool

    @classmethod
    def of(cls, call: PendingToolCall) -> "PendingCallView":
        """The call with every field."""
        return filled(cls, call)


class SlotView(msgspec.Struct, frozen=True, kw_only=True):
    """One person who must agree: of one of `groups` (none: anyone), says `rule`; `filled_by` is who
    did, "" for no one yet."""

    rule: str
    groups: tuple[str, ...]
    not_requester: bool
    filled_by: str

    @classmethod
    def of(cls, seat: Seat) -> "SlotView":
        """The seat with every field."""
        return filled(cls, seat)


class InterruptSummary(msgspec.Struct, frozen=True, kw_only=True):
    """Something a run waits for. `kind` is one of a closed set, `type` the author's own word.

    `id` is unique in its run, `ref` in the store; `call_id` is the call it is about, "" for a model
    call, a limit or the run itself. `digest` names what a person is shown; `action` is equal for
    two calls of which the same is shown. `requesters`: everyone who shaped the run, where a rule
    wants another person. `disowned`: who decided it before without a signature that counts.
    `assigned_to`: the person, or `group:NAME`, whom people have asked to look at it;
    `snoozed_until`: when the person who asks wants to see it again. `whole`
    False: `payload` and arguments are cut and the schema is left out; read the interrupt itself
        before you decide.
    """

    id: str
    ref: str
    run_id: str
    agent: str
    kind: Kind
    type: str
    call_id: str
    tool: str
    path: str
    digest: str
    action: str
    opened_at: float
    expires_at: float | None
    on_expiry: ExpiryAction
    escalated: bool
    approvers: int
    groups: tuple[str, ...]
    slots: tuple[SlotView, ...]
    requesters: tuple[str, ...]
    disowned: tuple[str, ...]
    choices: dict[str, str]
    seq: int
    payload: Any
    call: PendingCallView | None
    answer_schema: Any
    whole: bool
    assigned_to: str
    snoozed_until: float | None


class VoteView(msgspec.Struct, frozen=True, kw_only=True):
    """Someone who has approved."""

    by: str
    at: float
    note: str


class ClosedView(msgspec.Struct, frozen=True, kw_only=True):
    """What closed an interrupt. `why` is a verdict (`approve`, `deny`, `value`, `instead`,
    `dismiss`), or the reason that it can no longer be decided."""

    why: str
    by: str
    at: float | None
    seq: int | None
    note: str
    edit: dict[str, Any] | None
    value: Any


class InterruptView(InterruptSummary, frozen=True, kw_only=True):
    """An interrupt with what is around it: the run, the agents down to the one that asks, and what
    was decided about it so far.

    `said` is what the agent said when it asked; no one has checked it. `decision` and `outcome`:
    what became of it, and what came of the call. `place`: where it stands in a flow, in words.
    `notes`: what people have left on it, oldest first. `forked_from`: `RUN@RECORD`, if its run is a
    fork. `earlier`: the approval that no longer counted, if it is asked again. `approved_digest`:
    of what was approved, if that was edited; `digest` is of what was asked.
    """

    status: InterruptStatus
    run_status: RunStatus
    title: str
    started_by: str
    agents: tuple[str, ...]
    said: str
    votes: tuple[VoteView, ...]
    closed: ClosedView | None
    decision: StepDecision | None
    outcome: CallOutcome | None
    place: tuple[str, ...]
    attempts: tuple[AuditEntry, ...]
    notes: tuple[ItemNoteView, ...]
    forked_from: str
    earlier: EarlierApproval | None
    approved_digest: str


def summary_of(interrupt: Interrupt, agent: str) -> InterruptSummary:
    """An interrupt, complete.

    Args:
        interrupt: the interrupt.
        agent: the agent or flow of its run.
    """
    call = interrupt.call
    return filled(
        InterruptSummary,
        interrupt,
        agent=agent,
        call_id=call_id_of(interrupt),
        tool=call.tool if call else "",
        action=action_of(interrupt),
        slots=tuple(map(SlotView.of, interrupt.slots)),
        call=PendingCallView.of(call) if call else None,
        whole=True,
        assigned_to="",
        snoozed_until=None,
    )


class Shortened(NamedTuple):
    """What a list shows of an interrupt that is too large for it; what was asked does not change,
    so this can be kept."""

    payload: Any
    call: PendingToolCall | None
    digest: str
    action: str


def shortened(interrupt: Interrupt) -> Shortened | None:
    """The beginning of what an interrupt contains; None if a list shows all of it."""
    if len(encode((interrupt.payload, interrupt.call, interrupt.answer_schema))) <= WHOLE:
        return None
    call = interrupt.call
    if call is not None:
        call = msgspec.structs.replace(
            call,
            arguments=cast("dict[str, Any]", cut(call.arguments)),
            description=_short(call.description, LINE),
            reason=_short(call.reason, LINE),
            rule=_short(call.rule, LINE),
        )
    return Shortened(cut(interrupt.payload), call, interrupt.digest, action_of(interrupt))


def line_of(interrupt: Interrupt, agent: str, short: Shortened | None) -> InterruptSummary:
    """An interrupt as a list shows it.

    Args:
        interrupt: the interrupt.
        agent: the agent or flow of its run.
        short: what is shown of it, if that is not all; see `shortened`.
    """
    if short is None:
        return summary_of(interrupt, agent)
    shown = msgspec.structs.replace(
        interrupt, payload=short.payload, call=short.call, answer_schema=None
    )
    return msgspec.structs.replace(
        summary_of(shown, agent), digest=short.digest, action=short.action, whole=False
    )


def view_of(
    interrupt: Interrupt,
    state: State,
    timeline: Timeline,
    *,
    title: str,
    run_status: RunStatus,
    records: Iterable[tuple[int, AnyRecord]] = (),
    attempts: Iterable[AuditEntry] = (),
) -> InterruptView:
    """An interrupt with everything around it.

    Args:
        interrupt: the interrupt, open or not.
        state: the folded journal of its run.
        timeline: the same journal as steps.
        title: the run's title.
        run_status: the status that people see of the run.
        records: the journal from the record on that opened it.
        attempts: the lines of the audit about it.
    """
    is_open = any(other.id == interrupt.id for other in state.interrupts)
    since = list(records)
    votes, closed = decisions(interrupt, since)
    lines = list(attempts)
    notes = notes_of(lines)
    return filled(
        InterruptView,
        summary_of(interrupt, state.started.program),
        assigned_to=_assigned(notes) if is_open else "",
        status=InterruptStatus.OPEN if is_open else _status(closed),
        run_status=run_status,
        title=title,
        started_by=state.started.by,
        agents=agents_of(state, interrupt),
        said=said(state, timeline, interrupt),
        votes=tuple(votes),
        closed=None if is_open else closed,
        decision=None if is_open else _decision(interrupt, closed, votes),
        outcome=None if is_open else outcome_of(timeline.call(call_id_of(interrupt))),
        place=place_words(call_id_of(interrupt)),
        attempts=tuple(line for line in lines if line.verb not in NOTES),
        notes=tuple(notes),
        forked_from=state.started.forked_from,
        earlier=timeline.earlier.get(interrupt.local),
        approved_digest="" if is_open else _approved_digest(interrupt, since, closed),
    )


def _approved_digest(
    interrupt: Interrupt, records: Iterable[tuple[int, AnyRecord]], closed: ClosedView | None
) -> str:
    """What would have been shown of a call as it was edited; "" if it was not."""
    if closed is None or closed.edit is None or closed.why != "approve":
        return ""
    for seq, asked in records:
        if seq == interrupt.seq and isinstance(asked, Asked):
            run, edit = interrupt.run_id, closed.edit
            action = action_digest(run, asked.call, asked.tool, asked.definition, edit)
            return shown_digest(run, msgspec.structs.replace(asked, args=edit, action=action))
    return ""


def _assigned(notes: Iterable[ItemNoteView]) -> str:
    """To whom an item was given last."""
    found = ""
    for note in notes:
        if note.verb in ("assign", "unassign"):
            found = note.to
    return found


def call_id_of(interrupt: Interrupt) -> str:
    """The call that it is about; "" for an interrupt of a model call, of a limit or of the run
    itself."""
    if interrupt.call:
        return interrupt.call.call_id
    subject = question_of(interrupt.local)
    addressed = subject and StepId.parse(subject).kind in _ADDRESSED
    return subject if addressed else ""


def action_of(interrupt: Interrupt) -> str:
    """Names the action, whoever wants it: equal for two calls if everything that is shown of them
    is; "" without a call."""
    call = interrupt.call
    if call is None or interrupt.kind != "approval":
        return ""
    shown = [
        call.tool,
        call.description,
        call.effect,
        call.undo,
        call.reason,
        call.rule,
        interrupt.approvers,
        interrupt.groups,
        interrupt.on_expiry,
    ]
    return digest("shown", shown, call.arguments, interrupt.answer_schema)


def agents_of(state: State, interrupt: Interrupt) -> tuple[str, ...]:
    """The agents from the root down to the one that an interrupt is about."""
    return (state.started.program, *state.agents_under(interrupt.path))


def said(state: State, timeline: Timeline, interrupt: Interrupt) -> str:
    """What the agent said when it asked for the call; without a call, the last words of the
    agent."""
    call_id = call_id_of(interrupt)
    if call_id in timeline.words:
        return timeline.words[call_id]
    thread = state.threads.get(interrupt.path) or state.threads.get("")
    return thread.text if thread else ""


def decisions(
    interrupt: Interrupt, records: Iterable[tuple[int, AnyRecord]]
) -> tuple[Sequence[VoteView], ClosedView | None]:
    """Who approved an interrupt so far, and who or what closed it last; an expiry is no one's
    denial, and what a worker has disowned was decided by no one.

    Args:
        interrupt: the interrupt.
        records: the journal from the record on that opened it; none: nothing is said about it.
    """
    votes: list[VoteView] = []
    closed = ClosedView(why="void", by="", at=None, seq=None, note="", edit=None, value=None)
    event = ""
    found = list(records)
    void = disowned(record for _, record in found)
    for seq, record in found:
        match record:
            case Suspended() if seq == interrupt.seq and record.kind == "question":
                event = record.event
            case Closed() if record.i == interrupt.local:
                closed = filled(ClosedView, record, seq=seq, by="", note="", edit=None)
            case Emitted() if closed.seq is None and event and local_event(event) == record.event:
                closed = filled(ClosedView, record, seq=seq, why="value", note="", edit=None)
            case Decided() if record.i == interrupt.local and seq not in void:
                closed = filled(ClosedView, record, seq=seq, why=word_of(record))
                if record.verdict == "approve":
                    votes.append(VoteView(by=record.by, at=record.at, note=record.note))
            case _:
                pass
    return votes, closed if found else None


def _decision(
    interrupt: Interrupt, closed: ClosedView | None, votes: Sequence[VoteView]
) -> StepDecision | None:
    """What became of an interrupt; None if it only became void."""
    if closed is None or closed.at is None:
        return None
    if closed.why == "expired":
        return expiry_at(closed.at, interrupt.opened_at)
    if closed.why not in WORDS:
        return None
    verdict = "deny" if closed.why in ("instead", "dismiss") else closed.why
    record = Decided(
        i=interrupt.local,
        verdict=cast("Any", verdict),
        value=closed.value,
        edit=closed.edit,
        by=closed.by,
        note=closed.note,
        at=closed.at,
    )
    arguments = interrupt.call.arguments if interrupt.call else None
    made = decision_of(record, arguments, interrupt.opened_at, None)
    if closed.why == "approve":
        return msgspec.structs.replace(made, by=tuple(dict.fromkeys(vote.by for vote in votes)))
    return made


def _status(closed: ClosedView | None) -> InterruptStatus:
    """How an interrupt that is not open was closed."""
    if closed is None:
        return InterruptStatus.VOID
    if closed.why in WORDS:
        return InterruptStatus.DECIDED
    return InterruptStatus(closed.why)


def cut(value: Any) -> Any:
    """The beginning of a value: the same shape, with fewer parts and shorter strings."""
    return _Knife(ROOM).cut(value)


class _Knife:
    def __init__(self, room: int) -> None:
        self._room = room

    def cut(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._take(_short(value, min(LINE, max(1, self._room))))
        if isinstance(value, dict):
            found = cast("dict[str, Any]", value)
            return {
                self._take(_short(name, LINE)): self.cut(part)
                for name, part in found.items()
                if self._room > 0
            }
        if isinstance(value, list):
            return [self.cut(part) for part in cast("list[Any]", value) if self._room > 0]
        self._room -= 20
        return value

    def _take(self, text: str) -> str:
        self._room -= len(text) + 2
        return text


def _short(text: str, most: int) -> str:
    if len(text) <= most:
        return text
    return f"{text[:most]}…"
