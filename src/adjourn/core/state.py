"""The fold: what a journal means. A state is never written anywhere; it is this, computed again.

People's records commute with facts, so a worker may fold its own facts before it knows where they
will stand. Therefore nothing here may compare the seq of a fact.
"""

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from adjourn.core import conversation_effects as conversation
from adjourn.core import doubt, record_effects
from adjourn.core import flow_events as events
from adjourn.core import records as r
from adjourn.core.approval_votes import Vote, votes_of
from adjourn.core.authority import Grant, goes_on
from adjourn.core.belief import Belief
from adjourn.core.call import (
    OWING,
    Basis,
    Call,
    Failures,
    OpenInterrupt,
    Phase,
    UndoState,
    VerifyAnswer,
    deeds,
    had_begun,
    registered,
)
from adjourn.core.chapter import begun
from adjourn.core.conversation_effects import Submission, input_message, input_text, root_thread
from adjourn.core.decision_effects import DECIDED, LOST, is_settled, lapsed, memo_of
from adjourn.core.done_calls import Effects
from adjourn.core.flow_fold import FlowFold
from adjourn.core.graph import read_graph
from adjourn.core.ids import (
    StepId,
    StepIdKind,
    ancestors,
    compensation_number,
    is_undo,
    natural_key,
    parse_fork,
    path_of,
    question_id,
    undo_target,
)
from adjourn.core.interrupt import Interrupt, view
from adjourn.core.interrupt_kind import OF_CALLS
from adjourn.core.messages import Message, UserMessage
from adjourn.core.record_parts import CancelCause
from adjourn.core.requesters import shapes
from adjourn.core.signatures import Trust
from adjourn.core.standing_decision import StandingDecision
from adjourn.core.status import ENDED, Status, after, run_status
from adjourn.core.thread import PendingMessage, Thread, late_message
from adjourn.core.transcript import Transcript
from adjourn.core.usage import Usage


class State(msgspec.Struct, gc=False):
    """A run, folded: plain data, which can be written down and read again. Mutable and fast; only
    `fold` changes it. With `trust`, only decisions count that it believes. `head`: the hash of its
    journal's chain at `seq`, if somebody has said it.
    `chapter`: the record at which the last chapter begins.
    `before`: what was said in earlier turns. Without it all is folded the same, but that cannot be
        read."""

    trust: Trust | None = None
    before: Transcript | None = None
    belief: Belief = msgspec.field(default_factory=Belief)
    run: str = ""
    started: r.Started = r.Started(run="", kind="", program="")
    status: Status | None = None
    seq: int = 0
    head: bytes = b""
    epoch: int = 0
    at: float = 0.0
    usage: Usage = Usage()
    steps: int = 0
    deaths: int = 0
    lost: int = 0
    waited: float = 0.0
    resting: float = 0.0
    live: dict[str, Call] = {}
    owed: dict[str, None] = {}
    effects: Effects = msgspec.field(default_factory=Effects)
    open: dict[str, OpenInterrupt] = {}
    ids: set[str] = set()
    asked_count: dict[str, int] = {}
    faults: dict[str, Failures] = {}
    grants: dict[str, Grant] = {}
    granted: dict[str, str] = {}
    standing: dict[str, StandingDecision] = {}
    requesters: frozenset[str] = frozenset()
    forked_at: int = 0
    accepted: r.Accepted | None = None
    threads: dict[str, Thread] = {}
    submitted: dict[str, Submission] = {}
    bodies: dict[str, Any] = {}
    flow: FlowFold | None = None
    pause: r.PauseAsked | None = None
    cancel: r.CancelAsked | None = None
    gave_up: CancelCause = CancelCause.NONE
    extended: dict[str, float] = {}
    stop_now: str = ""
    flags: frozenset[str] = frozenset()
    called: frozenset[str] = frozenset()
    parked: r.Parked | None = None
    ended: r.RunCompleted | r.RunCancelled | None = None
    late: dict[str, r.Late] = {}
    erased: r.Erased | None = None
    chapter: int = 0

    def fold(self, seq: int, record: r.AnyRecord, *, counts: bool = True) -> None:
        """Take in one record; `seq` 0 means: mine, its place is not known yet. If it does not
        count, only the status moves."""
        status = after(self.status, record)
        if status is None:
            raise ValueError(
                f"a {type(record).__name__} cannot follow status {self.status} (record {seq})"
            )
        self.status = status
        if seq > self.seq:
            self.seq, self.head = seq, b""
        self.at = record.at
        kind = type(record)
        if not counts:
            self.belief.void |= {seq}
        elif kind in _SHAPING:
            by = shapes(record, self._kind_of(record))
            _ON[kind](self, seq, record)
            if by and by not in self.requesters:
                self.requesters |= {by}
        else:
            _ON[kind](self, seq, record)
            if call := goes_on(record):
                self._lives_on(call, "")

    def _kind_of(self, record: r.AnyRecord) -> str:
        if type(record) is r.Decided:
            opened = self.open.get(record.i)
        else:
            opened = None
        if opened:
            return opened.record.kind
        return ""

    def _lives_on(self, call: str, now: str) -> None:
        for grant in self.grants.values():
            if grant.lives == call:
                grant.lives = now

    def fold_all(self, records: Iterable[tuple[int, r.AnyRecord]]) -> "State":
        """Fold many; returns itself. Raises `FoldAgain`, and changes nothing, if one takes back
        what is folded already, or reads it differently."""
        for seq, record, counts in self.belief.sifted(self, records):
            self.fold(seq, record, counts=counts)
        return self

    def become(self, other: "State") -> None:
        """Be what another state is."""
        for name in self.__struct_fields__:
            setattr(self, name, getattr(other, name))

    # Views

    @property
    def fingerprint(self) -> dict[str, Any]:
        """What its program was when it began or was upgraded, or the one that somebody accepted
        since. Where decisions are signed, never the accepted one."""
        trusted = self.accepted is not None and self.trust is None
        if self.accepted is not None and trusted:
            return self.accepted.fingerprint
        return self.started.fingerprint

    def open_records(self) -> list[r.Asked | r.Suspended]:
        """The interrupts, timers and events that the run waits for now."""
        return [opened.record for opened in self.open.values()]

    def open_suspensions(self) -> list[r.Suspended]:
        """The calls' own questions, timers and events that are open."""
        return [record for record in self.open_records() if isinstance(record, r.Suspended)]

    def in_phase(self, *phases: Phase) -> list[Call]:
        """The calls that live and are in one of these phases."""
        return [call for call in self.live.values() if call.phase in phases]

    @property
    def interrupts(self) -> list[Interrupt]:
        """What is open, as people see it. A cancelling run shows only what its undoing needs."""
        cancelling = self.status in (Status.CANCELLING, Status.STUCK)
        found: list[Interrupt] = []
        for opened in sorted(
            self.open.values(),
            key=lambda opened: natural_key(opened.record.call or opened.record.i),
        ):
            record = opened.record
            if not cancelling or _undoing(record):
                votes = self._votes(record.i)
                found.append(
                    view(self.run, opened.seq, record, votes, self.requesters, opened.disowned)
                )
        return found

    def _votes(self, interrupt: str) -> list[Vote]:
        """Who has agreed so far."""
        grant = self.grants.get(interrupt)
        if grant:
            return votes_of(grant.decisions)
        return []

    @property
    def failed(self) -> bool:
        """Waiting with only errors open."""
        kinds = {record.kind for record in self.open_records()}
        return self.status == Status.WAITING and kinds == {"error"}

    @property
    def view(self) -> str:
        """The status that people see, as far as the journal alone can say."""
        if self.status is None:
            return ""
        stopped = isinstance(self.ended, r.RunCompleted) and bool(self.ended.stopped)
        return run_status(self.status, failed=self.failed, stopped=stopped).value

    def agents_under(self, path: str) -> tuple[str, ...]:
        """The agents on the way down to `path`, also those that a conversation was handed over to,
        without the one that the run is of."""
        root, found = self.threads.get(""), list[str]()
        if root is not None:
            found += root.agents[1:]
        for above in ancestors(path):
            if above in self.threads:
                found += self.threads[above].agents
        return tuple(found)

    def next_interrupt(self, of: str) -> str:
        """The next local interrupt id of a call or step; the same again after a crash."""
        return question_id(of, self.asked_count.get(of, 0))

    @property
    def messages(self) -> list[Message]:
        """The root agent's conversation so far."""
        root = self.threads.get("")
        if root is None:
            return []
        return list(root.whole() if self.ended else root.request())

    # Folding

    def _started(self, _seq: int, record: r.Started) -> None:
        self.run, self.started = record.run, record
        if record.requesters:
            self.requesters |= set(record.requesters)
        if record.forked_from:
            self.forked_at = parse_fork(record.forked_from)[1]
        if record.kind == "agent":
            self.threads[""] = root_thread(record, self.before)
        elif record.graph is not None:
            self.flow = FlowFold(read_graph(record.graph), touched=record.at)
            self.flow.begin(record.input)
            self._activate()

    def _released(self, _seq: int, record: r.Released) -> None:
        # What was cut off was paid for. It is no step: it will be taken again.
        self.usage = self.usage + record.usage

    def _intended(self, _seq: int, record: r.Intended) -> None:
        call = self.live.get(record.call)
        if call is None:  # an undo is spawned by its own intent
            call = self.live[record.call] = Call(record.call, record.tool, None)
        call.attempt, call.epoch, call.effect = record.attempt, self.epoch, record.effect
        call.undo, call.digest = record.undo, record.digest
        call.verified, call.doubt, call.at = VerifyAnswer.NONE, "", record.at
        call.left = call.denied = False
        call.inherited = self.seq <= self.forked_at
        call.basis = None
        if grant := self.grants.get(record.grant):
            call.grant, grant.lives = record.grant, record.call
            if self.trust is not None:
                call.basis = Basis(record, grant.asked, tuple(grant.decisions))
        self._phase(call, Phase.INTENDED)
        if record.agent and record.call not in self.threads:
            thread = self.threads[record.call] = Thread(
                record.call, record.agent, at=record.at, waited=self.waited
            )
            thread.transcript.append(input_message(record.input))

    def _returned(self, _seq: int, record: r.Returned) -> None:
        self.deaths = self.lost = 0
        events.moved(self, record)
        if call := self.live.get(record.call):
            if record.agent and (thread := self.threads.get(call.path)):
                thread.hands_to = record.agent
            self._finish(call, record.value, record.error, ran=record.ran, kept=bool(record.why))

    def _suspended(self, seq: int, record: r.Suspended) -> None:
        self.deaths = self.lost = 0
        if conversation.is_response_wait(record):
            conversation.response_waits(self, record)
            self._opened(record, seq)
            return
        call = self.live[record.call]
        call.suspended, call.resume_to = record.i, record.resume_to
        self._phase(call, Phase.SUSPENDED)
        if record.resume_to != "self":
            self._effect(call)
        events.moved(self, record)
        self._opened(record, seq)
        if self.flow is not None:
            self.flow.waits(record.call)
            self._activate()

    def _stepped(self, _seq: int, record: r.Stepped) -> None:
        self.deaths = self.lost = 0
        if call := self.live.get(record.call):
            call.memo[record.key] = record.value

    def _yielded(self, _seq: int, record: r.Yielded) -> None:
        self.deaths = self.lost = 0
        self._phase(self.live[record.call], Phase.CLEARED)

    def _faulted(self, _seq: int, record: r.Faulted) -> None:
        self.deaths = self.lost = 0
        old = self.faults.get(record.step)
        count = 1 + (old.count if old else 0)
        self.faults[record.step] = Failures(
            count, record.error, record.kind, record.transient, record.retry_at
        )
        step = StepId.parse(record.step)
        if step.kind is StepIdKind.MODEL:
            self.threads[step.path].requests += 1
            conversation.submission_failed(self, step.path)
        elif step.kind is StepIdKind.SUMMARY:
            self.threads[step.path].summaries += 1
        elif call := self.live.get(record.step):
            self._phase(call, Phase.FAULTED)

    def _disowned(self, _seq: int, record: r.Disowned) -> None:
        self.belief.recorded(record)
        if opened := self.open.get(record.i):
            opened.disowned = tuple(dict.fromkeys((*opened.disowned, record.by)))

    def _asked(self, seq: int, record: r.Asked) -> None:
        self._opened(record, seq)
        if record.kind in OF_CALLS:
            carried: list[r.Decided] = []
            for old in record.carries:
                if old in self.grants:
                    carried += self.grants[old].decisions
            self.grants[record.i] = Grant(record, tuple(carried))
            self.open[record.i].votes = {decided.by: decided.note for decided in carried}
        if record.step in self.faults:
            self.faults[record.step].asked = True
        call = self.live.get(record.call)
        if call is None or record.undoing:
            return
        self._phase(call, Phase.ASKED)
        if record.queue and not call.queued:
            call.queued = True
            self.threads[call.path].fill(
                call.id,
                f"queued for approval: {record.reason or record.tool}. Go on; the result will follow.",
                False,
            )

    def _closed(self, _seq: int, closed: r.Closed) -> None:
        opened = self.open.pop(closed.i, None)
        if opened is None:
            return
        self._touched(closed.at)
        if closed.heard and self.flow is not None:
            self.flow.take(closed.heard)
        record = opened.record
        call = self.live.get(record.call)
        if call is None:
            return
        if isinstance(record, r.Suspended):
            self._unsuspend(call, record, closed.why, closed.value)
        elif record.kind == "approval" and closed.why in ("expired", "abandoned"):
            lapsed(self, call)
        elif record.kind == "approval":
            self._phase(call, Phase.NEW)

    def _unsuspend(self, call: Call, suspended: r.Suspended, why: str, value: Any) -> None:
        """The answer, the event or the time is there, or never came."""
        lost = LOST.get(why, "")
        call.suspended = ""
        if suspended.resume_to == "self":
            call.memo[suspended.key] = memo_of(suspended, value, lost)
            self._phase(call, Phase.CLEARED)
        elif suspended.event and self.flow is not None and call.id in self.flow.tokens:
            self.live.pop(call.id, None)
            self._phase(call, Phase.RETURNED)
            self.flow.ended(call.id)
            self._activate()
        else:
            self._finish(call, value, lost and lost + had_begun(call.memo), ran=True)

    def _decided(self, _seq: int, record: r.Decided) -> None:
        opened = self.open[record.i]
        if isinstance(opened.record, r.Asked) and not is_settled(self, opened.record, record):
            return
        del self.open[record.i]
        self._touched(record.at)
        DECIDED[opened.record.kind](self, opened.record, record)

    def _touched(self, at: float) -> None:
        """A flow's own closing waits from here on anew."""
        if self.flow is not None:
            self.flow.touched = max(self.flow.touched, at)

    def _told(self, seq: int, text: str, at: float, parts: tuple[Any, ...] = ()) -> None:
        if "" in self.threads:
            self.threads[""].say(seq, text, at, parts)
        elif self.flow is not None:
            self.flow.notes.append(text)

    # Parts

    def _activate(self) -> None:
        """A flow's tokens have come to chunks, agents or conditions: after everything that moves
        them."""
        if self.flow is not None:
            for spawned in self.flow.spawned():
                self._spawn(
                    Call(spawned.id, spawned.tool, spawned.value, kind=spawned.kind, of=spawned.of)
                )

    def _spawn(self, call: Call) -> None:
        self.live[call.id] = call
        self.owed[call.id] = None

    def _phase(self, call: Call, phase: Phase) -> None:
        call.phase = phase
        call.checked, call.veto = 0, ""  # what hooks said was about this one beginning
        if phase in OWING:
            self.owed[call.id] = None
        else:
            self.owed.pop(call.id, None)

    def _opened(self, record: r.Asked | r.Suspended, seq: int) -> None:
        self.open[record.i] = OpenInterrupt(
            record, seq, heard=self.flow.events if self.flow is not None else 0
        )
        self.ids.add(record.i)
        key = record.call or (record.step if isinstance(record, r.Asked) else "")
        self.asked_count[key] = self.asked_count.get(key, 0) + 1

    def _effect(self, call: Call) -> None:
        """Its body has done what it does: from here on a cancel has something to undo, or to
        list."""
        # A call without an intent was a `read`: nothing else starts without one.
        if call.attempt and call.effect != "read" and not is_undo(call.id):
            self.effects[call.id] = call

    def _taken_back(self, undo: str, how: UndoState = UndoState.UNDONE) -> None:
        """An undo, or one of a body's own compensations, is done."""
        target = self.effects.get(undo_target(undo)) or self.live[undo_target(undo)]
        number = compensation_number(undo)
        if number is not None:
            target.compensated |= {number}
            # There may be more to take back: another compensation, what the tool's own undo is
            # for, or what a body does that was left at work.
            covered = not target.compensations and not target.undo and not target.undone
            if how.is_undone and (target.left or not covered):
                return
        target.undone = how

    def _comes_late(self, call: Call, did: bool) -> bool:
        """A cancel had left this body, which has registered something: is what it did, if it did
        something, for a person to look at? It is if a compensation has begun before it ended, and
        there is no undo beside it."""
        call.undo = call.undo and did
        if call.undone.is_undone:
            call.undone = UndoState.NONE
        begun = any(is_undo(id) and undo_target(id) == call.id for id in self.live)
        return not call.undo and (begun or bool(call.compensated))

    def _finish(self, call: Call, value: Any, error: str, *, ran: bool, kept: bool = False) -> None:
        self.live.pop(call.id, None)
        if (grant := self.grants.get(call.grant)) and not grant.for_run:
            del self.grants[call.grant]
        self._phase(call, Phase.RETURNED)
        call.value, call.error, call.ran = value, error, ran
        noted, call.memo = deeds(call.memo), registered(call.memo) if call.left else {}
        self.faults.pop(call.id, None)
        self._leave(call.id)
        if is_undo(call.id):
            self._taken_back(call.id)
            return
        # An error says that nothing was done, unless its body has noted something as done.
        did = bool(noted) or (ran and (not error or kept or call.id in self.effects))
        call.left = bool(call.memo) and self._comes_late(call, did)
        if did or call.memo:
            self._effect(call)
        if self.flow is not None and call.id in self.flow.tokens:
            self.flow.given(call.id, value)
            self._activate()
            return
        if call.queued:
            self._report(
                call.path,
                PendingMessage(late_message(call.tool, value, error, ran), call=call.id),
            )
        elif thread := self.threads.get(call.path):
            content = error if error else value
            if call.edited and not error:
                content = {"ran_with_edited_arguments": call.args, "result": value}
            thread.fill(call.id, content, bool(error))

    def _report(self, path: str, late: PendingMessage) -> None:
        """A result that comes late is for its agent, or, if that has ended, for the nearest one
        above that still talks."""
        while path and path not in self.live:
            path = path_of(path)
        if path in self.threads:
            self.threads[path].tell(late)
        elif self.flow is not None and isinstance(late.message, UserMessage):
            self.flow.notes.append(late.message.text)

    def _leave(self, path: str) -> None:
        """An agent has ended: what came late and it has not read goes to the one above."""
        if thread := self.threads.get(path):
            late = [pending for pending in thread.pending if pending.call]
            thread.pending = tuple(pending for pending in thread.pending if not pending.call)
            for pending in late:
                self._report(path, pending)


def _undoing(record: r.Asked | r.Suspended) -> bool:
    return isinstance(record, r.Asked) and record.undoing


_SHAPING = frozenset({r.Started, r.Decided, r.Said, r.Emitted, r.Resumed, r.Forked})
_ON: dict[type, Callable[[State, int, Any], None]] = {
    r.Started: State._started,
    r.Claimed: record_effects.claimed,
    r.Released: State._released,
    r.Replied: conversation.replied,
    r.Broke: conversation.broke,
    r.Submitted: conversation.submitted,
    r.Summarised: conversation.summarised,
    r.Intended: State._intended,
    r.Returned: State._returned,
    r.Suspended: State._suspended,
    r.Stepped: State._stepped,
    r.Checked: conversation.checked,
    r.Yielded: State._yielded,
    r.Faulted: State._faulted,
    r.Doubted: doubt.doubted,
    r.Verified: doubt.verified,
    r.Late: doubt.late,
    r.Disowned: State._disowned,
    r.Restored: doubt.restored,
    r.Asked: State._asked,
    r.Closed: State._closed,
    r.Reminded: record_effects.reminded,
    r.Decided: State._decided,
    r.PauseAsked: record_effects.pause_asked,
    r.Resumed: record_effects.resumed,
    r.CancelAsked: record_effects.cancel_asked,
    r.Said: record_effects.said,
    r.Emitted: events.emitted,
    r.Forked: record_effects.forked,
    r.Revoked: record_effects.revoked,
    r.Accepted: record_effects.accepted,
    r.Upgraded: record_effects.upgraded,
    r.Erased: record_effects.erased,
    r.Chapter: begun,
    r.Parked: record_effects.parked,
    r.RunCompleted: record_effects.completed,
    r.RunCancelled: record_effects.completed,
}

__all__ = [
    "ENDED",
    "OWING",
    "Call",
    "Failures",
    "Grant",
    "OpenInterrupt",
    "Phase",
    "State",
    "input_text",
]
