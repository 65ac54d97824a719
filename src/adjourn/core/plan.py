"""What should be running now, and which moves are due: one pure function for first run, resume and recovery alike.

It never asks what is running: a call intended at this epoch is, one intended at an older epoch is in doubt.
"""

from collections.abc import Set
from typing import Any, Literal, Protocol

import msgspec

from adjourn.core import deadlines
from adjourn.core.authority import gate_of, people, shown_digest
from adjourn.core.call import Call, Phase, VerifyAnswer, is_answer
from adjourn.core.digest import action_digest
from adjourn.core.doubt import AGAIN
from adjourn.core.failure_likeness import UNAUTHORISED
from adjourn.core.flow_events import arrived
from adjourn.core.halt import halted, scopes
from adjourn.core.ids import compensation_id, is_undo, parse_fork, path_of, undo_id, undo_target, verify_step
from adjourn.core.quarantine import MAX_DEATHS, is_asked, is_poisoned, question
from adjourn.core.records import (
    NEVER,
    Asked,
    CancelAsked,
    Doubted,
    Fact,
    Intended,
    Move,
    Parked,
    Returned,
    RunCancelled,
    RunCompleted,
)
from adjourn.core.state import State
from adjourn.core.status import ENDED, Status
from adjourn.core.trust import is_vouched

UNDO_ATTEMPTS = 3
LEFT = "it was still at work when the run was cancelled: look whether it happened, and undo it by hand"
"""Why a call is residue whose body did not end."""
HOLD = 10.0
"""Seconds a worker keeps a run that only waits to try something again."""


class Step(msgspec.Struct, frozen=True):
    """Something the driver runs: a model call, one for a summary, a call's body, an undo, a question to the world about a
    call in doubt."""

    id: str
    kind: Literal["model", "summary", "call", "undo", "verify"]
    path: str = ""
    call: Call | None = None
    agents: tuple[str, ...] = ()
    attempt: int = 1

    @property
    def asks_model(self) -> bool:
        """Whether a model is asked: what can be cut off, and done again, without harm."""
        return self.kind in ("model", "summary")


class Refuse(msgspec.Struct, frozen=True):
    """The call will not run; the model reads why."""

    error: str
    why: str


class Ask(msgspec.Struct, frozen=True):
    """A person must agree first."""

    asked: Asked


class Go(msgspec.Struct, frozen=True):
    """The call may run, as this intent says. `key_ttl`: how long its target remembers an idempotency key."""

    intended: Intended
    gated: bool = False
    key_ttl: float = 0.0


Judged = Refuse | Ask | Go


class Plan(msgspec.Struct):
    """What `plan` found. `rest` is what to record when nothing runs and nothing starts; `abort` names what must not
    go on: a kind (`"model"`, `"read"`) or a single step."""

    facts: list[Fact] = []
    moves: list[Move] = []
    start: list[Step] = []
    abort: frozenset[str] = frozenset()
    wake: float = 0.0
    hold: float = 0.0
    rest: Move | None = None

    def ask(self, asked: Asked) -> None:
        """Ask a person, once: what several come upon in one plan is one question."""
        if not any(isinstance(move, Asked) and move.i == asked.i for move in self.moves):
            self.moves.append(asked)

    def wake_at(self, when: float) -> None:
        """Look again then, at the latest."""
        if when and (not self.wake or when < self.wake):
            self.wake = when

    def retry_at(self, when: float, now: float) -> None:
        """Try again then. A short wait is not worth giving the run back for: `hold` it."""
        if when - now > HOLD:
            self.wake_at(when)
        else:
            self.hold_until(when)

    def hold_until(self, when: float) -> None:
        """Keep the run until then, by a clock that nobody can set."""
        self.hold = min(self.hold or when, when)


class Planner(Protocol):
    """The small pure questions an agent or a flow answers. None may have side effects; each may be asked again."""

    @property
    def name(self) -> str:
        """By which runs find it."""
        ...

    def judge(self, state: State, call: Call, now: float) -> Judged:
        """May this call run now?"""
        ...

    def next(self, state: State, now: float, plan: Plan) -> None:
        """Add what is due beside the calls: model calls, limits, ends."""
        ...


def plan(state: State, program: Planner, now: float, halts: Set[str], max_deaths: int = MAX_DEATHS) -> Plan:
    """The first that applies decides; all it yields goes into one commit. `max_deaths`: see `quarantine`."""
    p = Plan()
    if state.status in ENDED:
        return p
    if state.status == Status.CANCELLING:
        _cancelling(p, state, program, now)
    elif state.status == Status.PAUSING:
        p.abort = frozenset({"model"}) if state.pause and state.pause.now else frozenset()
        p.rest = Parked()
    elif state.gave_up:
        p.moves.append(CancelAsked(by=state.gave_up, reason="a person gave up on it"))
    elif is_poisoned(state, max_deaths):
        if not is_asked(state):
            p.moves.append(question(state))
    else:
        _working(p, state, program, now)
    _drop_halted(p, state, program, halts)
    if p.rest is None:
        p.rest = Parked(wake_at=p.wake)
    return p


def resting(p: Plan) -> Parked | None:
    """The park that follows once people have been asked, if that is all there is to do: it goes into the same commit."""
    plain = all(isinstance(m, Asked) and not m.queue and not m.remind_every for m in p.moves)
    if not plain or not isinstance(p.rest, Parked):
        return None
    deadlines = [m.expires for m in p.moves if isinstance(m, Asked) and m.expires]
    wakes = [w for w in (p.rest.wake_at, *deadlines) if w]
    return Parked(wake_at=min(wakes, default=NEVER), blocked=p.rest.blocked)


def wind_up(p: Plan, state: State, end: RunCompleted) -> None:
    """End the run as soon as nothing is in flight: cut model calls, start no more, wait for calls and for what is in doubt."""
    p.start = [step for step in p.start if not step.asks_model]
    p.abort |= {"model"}
    if not any(o.record.call and o.record.kind in ("in_doubt", "error") for o in state.open.values()):
        p.rest = end


def _working(p: Plan, state: State, program: Planner, now: float) -> None:
    p.moves += arrived(state)
    if p.moves:  # before any deadline: what came in time was in time
        return
    deadlines.due(p, state, now)
    if p.moves:
        return
    for id in list(state.owed):
        _owed(p, state, program, state.live[id], now)
    if not p.facts:
        program.next(state, now, p)


def _owed(p: Plan, state: State, program: Planner, call: Call, now: float) -> None:
    if call.phase == Phase.FAULTED:
        _faulted(p, state, program, call, now)
        return
    judged = program.judge(state, call, now)
    lost = call.phase == Phase.DOUBT and call.lost
    if lost and (doubted := _perhaps_begun(call, judged)):
        p.facts.append(doubted)
    elif call.phase == Phase.DOUBT and not lost:
        _doubt(p, state, call, judged, now)
    elif isinstance(judged, Refuse):
        p.facts.append(Returned(call=call.id, error=judged.error, why=judged.why, ran=False))
    elif isinstance(judged, Ask):
        p.moves.append(judged.asked)
    else:
        _go(p, call, judged)


def _go(p: Plan, call: Call, go: Go) -> None:
    x = go.intended
    if x.effect != "read" or go.gated or x.agent:
        p.moves.append(x)
    if not x.agent:
        p.start.append(Step(call.id, "call", call.path, call, x.under, x.attempt))


def _faulted(p: Plan, state: State, program: Planner, call: Call, now: float) -> None:
    fault = state.faults.get(call.id)
    if fault is None or fault.asked:
        return
    judged = program.judge(state, call, now)
    if not fault.transient or isinstance(judged, Refuse):
        effect = judged.intended.effect if isinstance(judged, Go) else call.effect
        payload: dict[str, Any] = {
            "error": fault.error, "kind": fault.kind, "step": call.id, "tool": call.tool, "effect": effect,
        }  # fmt: skip
        if any(is_answer(key, memo) for key, memo in call.memo.items()):
            payload["answered"] = True
        p.moves.append(
            Asked(i=state.next_interrupt(call.id), kind="error", call=call.id, step=call.id, payload=payload)
        )
    elif fault.retry_at > now:
        p.retry_at(fault.retry_at, now)
    elif isinstance(judged, Go):
        _go(p, call, judged)


def _perhaps_begun(call: Call, judged: Judged) -> Doubted | None:
    """What a call is that has no intent here, and may have begun in a time that was lost with its store. None: it does no
    harm to begin it now, or it may not begin at all."""
    if isinstance(judged, Refuse) or (isinstance(judged, Go) and judged.intended.agent):
        return None
    what = judged.intended if isinstance(judged, Go) else judged.asked
    if what.effect in ("", "read"):
        return None
    return Doubted(call=call.id, why=call.doubt, effect=what.effect, undo=what.undo)


def _doubt(p: Plan, state: State, call: Call, judged: Judged, now: float) -> None:
    """By effect: again, again with the same key, ask the world, ask a person."""
    go = judged if isinstance(judged, Go) else None
    forgotten = go is not None and go.key_ttl > 0 and now - call.at > go.key_ttl
    if go and (call.effect == "read" or (call.effect == "idempotent" and not forgotten and call.doubts < AGAIN)):
        _go(p, call, go)
    elif call.effect == "verifiable" and not call.verified and call.settles > now:
        p.hold_until(call.settles)
    elif call.effect == "verifiable" and not call.verified:
        p.start.append(Step(verify_step(call.id), "verify", call.path, call, state.agents_under(call.path)))
    else:
        p.moves.append(in_doubt(state, call, undoing=False, judged=judged))


def in_doubt(state: State, call: Call, *, undoing: bool, judged: Judged | None = None) -> Asked:
    """The question to a person about a call that may or may not have happened. It is for whoever may let the call run."""
    old = state.grants.get(call.grant)
    gate = gate_of(old.asked) if old else ()
    rules, valid_for, definition = (
        (old.asked.rules, old.asked.valid_for, old.asked.definition) if old else ((), NEVER, "")
    )
    args = call.args
    if isinstance(judged, Ask):
        x = judged.asked
        gate, rules, valid_for, definition, args = x.gate, x.rules, x.valid_for, x.definition, x.args
    asked = Asked(
        gate=gate, rules=rules, valid_for=valid_for, definition=definition,
        action=action_digest(state.run, call.id, call.tool, definition, args),
        requesters=tuple(sorted(state.requesters)), approvers=people(gate), groups=tuple(sorted({g for s in gate for g in s.groups})),
        i=state.next_interrupt(call.id), kind="in_doubt", call=call.id, tool=call.tool, args=args,
        effect=call.effect, undo=call.undo, undoing=undoing, reason=call.doubt, under=state.agents_under(call.path),
        payload={"question": f"Did {call.tool} happen?", "call": call.id, "attempt": call.attempt},
        schema=state.flow.needs(call.id) if state.flow is not None and not undoing else None,
    )  # fmt: skip
    return msgspec.structs.replace(asked, digest=shown_digest(state.run, asked))


def unauthorised(state: State, call: str, tool: str, why: str) -> Asked:
    """The question to a person about a call that the store did not let begin: no decisions stand behind it."""
    return Asked(
        i=state.next_interrupt(call), kind="error", call=call, step=call, tool=tool,
        payload={"error": f"{tool} may not begin: {why}", "step": call, "tool": tool, "kind": UNAUTHORISED},
    )  # fmt: skip


def _cancelling(p: Plan, state: State, program: Planner, now: float) -> None:
    """Settle what is in flight, then undo the latest effect, one at a time, then end."""
    p.abort = frozenset({"model", "read"})
    lost = [call for call in state.live.values() if call.phase == Phase.DOUBT and call.lost]
    p.facts += filter(None, (_perhaps_begun(call, program.judge(state, call, now)) for call in lost))
    if p.facts:
        return
    waiting, alone = False, distrusted(state, program, now)
    for call in reversed(list(state.live.values())):
        if call.phase == Phase.INTENDED or undo_target(call.id) not in alone:
            waiting |= _settle(p, state, call, now)
    if p.moves or p.start or waiting:
        return
    for call in [*reversed(started(state)), *reversed(state.effects.values())]:
        if call.undo and not call.undone and not call.inherited and not call.left and call.id not in alone:
            _intend_undo(p, state, undo_id(call.id), call.tool, 1)
            return
    p.moves.append(RunCancelled(undone=tuple(undone(state)), residue=tuple(residue(state, alone))))


def distrusted(state: State, program: Planner, now: float) -> frozenset[str]:
    """Calls that are said to have begun, need an agreement, and have none that this worker believes: they are left alone."""
    if state.trust is None:
        return frozenset()
    begun = (call for call in (*state.live.values(), *state.effects.values()) if call.attempt and not is_undo(call.id))
    return frozenset(call.id for call in begun if not _is_trusted(state, program, call, now))


def _is_trusted(state: State, program: Planner, call: Call, now: float) -> bool:
    judged = program.judge(state, call, now)
    if isinstance(judged, Go):
        return not judged.gated or is_vouched(state, call, judged.intended.gate)
    gate = judged.asked.gate if isinstance(judged, Ask) else ()
    if isinstance(judged, Ask) and call.basis is not None and call.basis.asked.escalated:
        gate = judged.asked.escalated_gate or gate
    return is_vouched(state, call, gate)


def started(state: State) -> list[Call]:
    """Calls whose body ran and stopped to wait: an effect may stand, without a result."""
    return [
        c for c in state.live.values()
        if c.attempt and not is_undo(c.id) and c.id not in state.effects and c.verified != VerifyAnswer.NOT_HAPPENED
    ]  # fmt: skip


_SETTLED = (VerifyAnswer.NOT_HAPPENED, VerifyAnswer.GIVEN_UP)


def doubtful(call: Call) -> bool:
    """Whether nobody knows if it happened, also if a person was asked already and has not answered."""
    asked = call.phase == Phase.ASKED and bool(call.doubt) and call.verified not in _SETTLED
    return (call.phase == Phase.DOUBT and call.verified != VerifyAnswer.NOT_HAPPENED) or asked


def undone(state: State) -> list[str]:
    """The calls that were undone, latest first."""
    return [c.id for c in [*reversed(started(state)), *reversed(state.effects.values())] if c.undone.is_undone]


def residue(state: State, alone: Set[str] = frozenset()) -> list[dict[str, Any]]:
    """What stays: undo failed or left, in doubt, and every completed call that is not `read` and has no undo.

    `alone`: calls that nobody this worker trusts has agreed to; whether they happened is for a person to find out.
    """
    left: list[dict[str, Any]] = []
    for call in [*state.effects.values(), *started(state)]:
        if call.undone.is_undone or call.effect == "read" or call.id in state.threads:
            continue
        doubted = call.phase == Phase.DOUBT or (call.phase == Phase.ASKED and call.doubt)
        why = call.undone.value or ("in doubt" if doubted else "it has no undo")
        if call.left:
            why = LEFT
        if call.inherited:
            why = f"inherited: done by {parse_fork(state.started.forked_from)[0]}, which can undo it"
        if call.id in alone:
            why = "nobody this worker trusts agreed to it: look whether it happened, and undo it by hand"
        left.append({"call": call.id, "tool": call.tool, "arguments": call.args, "why": why})
    return left


def _settle(p: Plan, state: State, call: Call, now: float) -> bool:
    """One live call of a cancelling run; True while it must be waited for."""
    asked = any(
        o.record.call == call.id and isinstance(o.record, Asked) and o.record.undoing for o in state.open.values()
    )
    if asked:
        return True
    undoing = is_undo(call.id)
    if call.phase == Phase.INTENDED:
        return call.id not in state.threads
    if undoing:
        return _settle_undo(p, state, call, now)
    if call.compensations:
        undo = compensation_id(call.id, call.compensations[0])
        if undo not in state.live and not p.start:
            _intend_undo(p, state, undo, call.tool, 1)
        return True
    if call.undone:
        return False
    if call.inherited or call.left:
        return False
    if doubtful(call) and call.effect == "verifiable" and not call.verified and call.settles > now:
        p.hold_until(call.settles)
        return True
    if doubtful(call) and call.effect == "verifiable" and not call.verified:
        p.start.append(Step(verify_step(call.id), "verify", call.path, call, state.agents_under(call.path)))
        return True
    if doubtful(call) and call.effect != "read" and call.undo:
        p.moves.append(in_doubt(state, call, undoing=True))
        return True
    return False


def _settle_undo(p: Plan, state: State, call: Call, now: float) -> bool:
    fault = state.faults.get(call.id)
    if call.phase == Phase.FAULTED and fault and not fault.asked:
        if fault.count >= UNDO_ATTEMPTS:
            p.moves.append(_undo_failed(state, call, fault.error, fault.count))
        elif fault.retry_at > now:
            p.retry_at(fault.retry_at, now)
        else:
            _intend_undo(p, state, call.id, call.tool, call.attempt + 1)
    elif call.phase == Phase.DOUBT and call.attempt >= AGAIN:
        p.moves.append(_undo_failed(state, call, call.doubt, call.attempt))
    elif call.phase in (Phase.DOUBT, Phase.CLEARED):
        _intend_undo(p, state, call.id, call.tool, call.attempt + 1)
    return True


def _undo_failed(state: State, call: Call, error: str, attempts: int) -> Asked:
    """The question to a person about an undo that does not work, or that kills its workers."""
    return Asked(
        i=state.next_interrupt(call.id), kind="undo", call=call.id, step=call.id, tool=call.tool, undoing=True,
        payload={"error": error, "undo": call.tool, "attempts": attempts},
        under=state.agents_under(path_of(call.id)),
    )  # fmt: skip


def _intend_undo(p: Plan, state: State, id: str, tool: str, attempt: int) -> None:
    target = undo_target(id)
    call = state.effects.get(target) or state.live[target]
    under = state.agents_under(call.path)
    p.moves.append(Intended(call=id, tool=tool, attempt=attempt, effect="idempotent", under=under, why="undo"))
    p.start.append(Step(id, "undo", call.path, call, under, attempt))


def _drop_halted(p: Plan, state: State, program: Planner, halts: Set[str]) -> None:
    """Take out what a halt names; if that was all there was to do, the run is blocked until it is lifted."""
    if not halts:
        return
    blocked: set[str] = set()
    kept: list[Move] = []
    stopped: set[str] = set()
    for move in p.moves:
        found = halted(move, program.name, halts)
        blocked |= found
        if found and isinstance(move, Intended):
            stopped.add(move.call)
        else:
            kept.append(move)
    starts: list[Step] = []
    for step in p.start:
        named = scopes((program.name, *step.agents), step.call.tool if step.call else "") & halts
        blocked |= named
        if step.id not in stopped and not named:
            starts.append(step)
    p.abort |= {step.id for step in p.start} - {step.id for step in starts}
    p.moves, p.start = kept, starts
    if blocked:
        p.rest = Parked(wake_at=p.wake, blocked=tuple(sorted(blocked)))
