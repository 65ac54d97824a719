"""What should be running now, and which moves are due: one pure function for first run, resume and
recovery alike.

It never asks what is running: a call intended at this epoch is, one intended at an older epoch is
in doubt.
"""

from collections.abc import Set
from typing import Any, Literal, Protocol

import msgspec

from adjourn.core import deadlines
from adjourn.core.action_digest import action_digest
from adjourn.core.approval_votes import gate_of, groups_of, people
from adjourn.core.authority import shown_digest
from adjourn.core.belief import is_vouched
from adjourn.core.call import VETOED, Call, Phase, answers_of, had_begun
from adjourn.core.done_calls import latest_first, next_undo, residue, undone
from adjourn.core.doubt import AGAIN, doubtful
from adjourn.core.failure_likeness import UNAUTHORISED
from adjourn.core.flow_events import arrived
from adjourn.core.halt import drop_halted
from adjourn.core.ids import (
    check_step,
    compensation_id,
    is_undo,
    path_of,
    undo_target,
    verify_step,
)
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

UNDO_ATTEMPTS = 3
HOLD = 10.0
"""Seconds a worker keeps a run that only waits to try something again."""


class Step(msgspec.Struct, frozen=True, gc=False):
    """Something the driver runs: a model call, one for a summary, one in the background or its
    withdrawal, a call's body, an undo, a question to the world about a call in doubt, one to hooks
    about a call that is to begin."""

    id: str
    kind: Literal["model", "summary", "call", "undo", "verify", "check", "background", "withdraw"]
    path: str = ""
    call: Call | None = None
    agents: tuple[str, ...] = ()
    attempt: int = 1

    @property
    def name(self) -> str:
        """What it is, for people."""
        if self.call:
            return self.call.tool
        return self.kind

    @property
    def asks_model(self) -> bool:
        """Whether a model is asked: what can be cut off, and done again, without harm."""
        return self.kind in ("model", "summary")


class Refuse(msgspec.Struct, frozen=True, gc=False):
    """The call will not run; the model reads why."""

    error: str
    why: str


class Ask(msgspec.Struct, frozen=True, gc=False):
    """A person must agree first. `unchecked`: nobody is asked before hooks have let it pass."""

    asked: Asked
    unchecked: bool = False


class Go(msgspec.Struct, frozen=True, gc=False):
    """The call may run, as this intent says. `key_ttl`: how long its target remembers an
    idempotency key. `unchecked`: once hooks have let it pass."""

    intended: Intended
    gated: bool = False
    key_ttl: float = 0.0
    unchecked: bool = False


Judged = Refuse | Ask | Go


class Plan(msgspec.Struct, gc=False):
    """What `plan` found. `rest` is what to record when nothing runs and nothing starts; `abort`
    names what must not go on: a kind (`"model"`, `"read"`) or a single step. `at_work`: calls whose
    bodies have not ended in this process, whatever is recorded of them."""

    facts: list[Fact] = []
    moves: list[Move] = []
    start: list[Step] = []
    abort: frozenset[str] = frozenset()
    wake: float = 0.0
    hold: float = 0.0
    rest: Move | None = None
    at_work: Set[str] = frozenset()

    def ask(self, asked: Asked) -> None:
        """Ask a person, once: what several come upon in one plan is one question."""
        for move in self.moves:
            if isinstance(move, Asked) and move.i == asked.i:
                return
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
    """The small pure questions an agent or a flow answers. None may have side effects; each may be
    asked again."""

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


def plan(
    state: State,
    program: Planner,
    now: float,
    halts: Set[str],
    max_deaths: int = MAX_DEATHS,
    at_work: Set[str] = frozenset(),
) -> Plan:
    """The first that applies decides; all it yields goes into one commit. `max_deaths`: see
    `quarantine`; `at_work`: see `Plan`."""
    made = Plan(at_work=at_work)
    if state.status in ENDED:
        return made
    if state.status == Status.CANCELLING:
        _cancelling(made, state, program, now)
    elif state.status == Status.PAUSING:
        if state.pause and state.pause.now:
            made.abort = frozenset({"model"})
        else:
            made.abort = frozenset()
        made.rest = Parked()
    elif state.gave_up:
        made.moves.append(CancelAsked(by=state.gave_up.value, reason="a person gave up on it"))
    elif is_poisoned(state, max_deaths):
        if not is_asked(state):
            made.moves.append(question(state))
    else:
        _working(made, state, program, now)
    if state.submitted:
        from adjourn.core import background

        background.withdraw(made, state, now)
    drop_halted(made, program.name, halts)
    if made.rest is None:
        made.rest = Parked(wake_at=made.wake)
    return made


def resting(plan: Plan) -> Parked | None:
    """The park that follows once people have been asked, if that is all there is to do: it goes
    into the same commit."""
    if not isinstance(plan.rest, Parked):
        return None
    wakes = [plan.rest.wake_at]
    for move in plan.moves:
        if not isinstance(move, Asked) or move.queue or move.remind_every:
            return None
        wakes.append(move.expires)
    return Parked(wake_at=min(filter(None, wakes), default=NEVER), blocked=plan.rest.blocked)


def wind_up(plan: Plan, state: State, end: RunCompleted) -> None:
    """End the run as soon as nothing is in flight: cut model calls, start no more, wait for calls
    and for what is in doubt."""
    plan.start = [step for step in plan.start if not step.asks_model]
    plan.abort |= {"model"}
    for record in state.open_records():
        if record.call and record.kind in ("in_doubt", "error"):
            return
    plan.rest = end


def _working(plan: Plan, state: State, program: Planner, now: float) -> None:
    plan.moves += arrived(state)
    if plan.moves:  # before any deadline: what came in time was in time
        return
    deadlines.due(plan, state, now)
    if plan.moves:
        return
    for id in list(state.owed):
        _owed(plan, state, program, state.live[id], now)
    if state.standing:
        from adjourn.core import standing_answers

        plan.moves += standing_answers.answers(state, plan.moves, now)
    if not plan.facts:
        program.next(state, now, plan)


def _owed(plan: Plan, state: State, program: Planner, call: Call, now: float) -> None:
    if call.phase == Phase.FAULTED:
        _faulted(plan, state, program, call, now)
        return
    judged = program.judge(state, call, now)
    lost = call.phase == Phase.DOUBT and call.lost
    if lost and (doubted := _perhaps_begun(call, judged)):
        plan.facts.append(doubted)
    elif call.phase == Phase.DOUBT and not lost:
        _doubt(plan, state, call, judged, now)
    elif isinstance(judged, Refuse):
        plan.facts.append(_refused(call, judged))
    elif isinstance(judged, Ask):
        _ask(plan, call, judged)
    else:
        _go(plan, call, judged)


def _refused(call: Call, refuse: Refuse) -> Returned:
    """It does not run, or, if its body had stopped to wait, does not continue: what it did
    stands."""
    error = refuse.error + had_begun(call.memo)
    return Returned(call=call.id, error=error, why=refuse.why, ran=call.begun)


def _check(plan: Plan, call: Call, under: tuple[str, ...]) -> None:
    plan.start.append(Step(check_step(call.id), "check", call.path, call, under))


def _go(plan: Plan, call: Call, go: Go) -> None:
    intended = go.intended
    if go.unchecked:
        _check(plan, call, intended.under)
        return
    if intended.effect != "read" or go.gated or intended.agent:
        plan.moves.append(intended)
    if not intended.agent:
        plan.start.append(Step(call.id, "call", call.path, call, intended.under, intended.attempt))


def _faulted(plan: Plan, state: State, program: Planner, call: Call, now: float) -> None:
    fault = state.faults.get(call.id)
    if fault is None or fault.asked:
        return
    judged = program.judge(state, call, now)
    if fault.transient and isinstance(judged, Refuse) and judged.why == VETOED:
        error = f"{judged.error} After a failed attempt: {fault.error}"
        plan.facts.append(Returned(call=call.id, error=error))
    elif not fault.transient or isinstance(judged, Refuse):
        if isinstance(judged, Go):
            effect = judged.intended.effect
        else:
            effect = call.effect
        payload: dict[str, Any] = {
            "error": fault.error,
            "kind": fault.kind,
            "step": call.id,
            "tool": call.tool,
            "effect": effect,
        }
        if answers_of(call):
            payload["answered"] = True
        plan.moves.append(
            Asked(
                i=state.next_interrupt(call.id),
                kind="error",
                call=call.id,
                step=call.id,
                payload=payload,
            )
        )
    elif fault.retry_at > now:
        plan.retry_at(fault.retry_at, now)
    elif isinstance(judged, Ask):  # what was agreed to does not hold any more
        _ask(plan, call, judged)
    else:
        _go(plan, call, judged)


def _ask(plan: Plan, call: Call, ask: Ask) -> None:
    if ask.unchecked:
        _check(plan, call, ask.asked.under)
    else:
        plan.moves.append(ask.asked)


def _perhaps_begun(call: Call, judged: Judged) -> Doubted | None:
    """What a call is that has no intent here, and may have begun in a time that was lost with its
    store. None: it does no harm to begin it now, or it may not begin at all."""
    if isinstance(judged, Refuse) or (isinstance(judged, Go) and judged.intended.agent):
        return None
    if isinstance(judged, Go):
        what = judged.intended
    else:
        what = judged.asked
    if what.effect in ("", "read"):
        return None
    return Doubted(call=call.id, why=call.doubt, effect=what.effect, undo=what.undo)


def _doubt(plan: Plan, state: State, call: Call, judged: Judged, now: float) -> None:
    """By effect: again, again with the same key, ask the world, ask a person."""
    if isinstance(judged, Go):
        go = judged
    else:
        go = None
    forgotten = go is not None and go.key_ttl > 0 and now - call.at > go.key_ttl
    if go and (
        call.effect == "read"
        or (call.effect == "idempotent" and not forgotten and call.doubts < AGAIN)
    ):
        _go(plan, call, go)
    elif not _asks_the_world(plan, state, call, now):
        plan.moves.append(in_doubt(state, call, undoing=False, judged=judged))


def _asks_the_world(plan: Plan, state: State, call: Call, now: float) -> bool:
    """Whether somebody else than a person may know about a call in doubt: its own body, which is
    still at work here, or the target."""
    joins = call.id in plan.at_work
    if not joins and (call.effect != "verifiable" or call.verified):
        return False
    if not joins and call.settles > now:
        plan.hold_until(call.settles)
    else:
        plan.start.append(
            Step(verify_step(call.id), "verify", call.path, call, state.agents_under(call.path))
        )
    return True


def in_doubt(state: State, call: Call, *, undoing: bool, judged: Judged | None = None) -> Asked:
    """The question to a person about a call that may or may not have happened. It is for whoever
    may let the call run."""
    old = state.grants.get(call.grant)
    if old:
        gate = gate_of(old.asked)
    else:
        gate = ()
    rules, valid_for, definition = (
        (old.asked.rules, old.asked.valid_for, old.asked.definition) if old else ((), NEVER, "")
    )
    args, secret = call.args, old.asked.secret_result if old else None
    if isinstance(judged, Ask):
        new = judged.asked
        gate, rules, valid_for = new.gate, new.rules, new.valid_for
        definition, args, secret = new.definition, new.args, new.secret_result
    elif isinstance(judged, Go):
        secret = judged.intended.secret_result
    asked = Asked(
        gate=gate,
        rules=rules,
        valid_for=valid_for,
        definition=definition,
        action=action_digest(state.run, call.id, call.tool, definition, args),
        requesters=tuple(sorted(state.requesters)),
        approvers=people(gate),
        groups=groups_of(gate),
        i=state.next_interrupt(call.id),
        kind="in_doubt",
        call=call.id,
        tool=call.tool,
        args=args,
        effect=call.effect,
        undo=call.undo,
        undoing=undoing,
        reason=call.doubt,
        under=state.agents_under(call.path),
        payload={"question": f"Did {call.tool} happen?", "call": call.id, "attempt": call.attempt},
        schema=state.flow.needs(call.id) if state.flow is not None and not undoing else None,
        secret_result=secret,
    )
    return msgspec.structs.replace(asked, digest=shown_digest(state.run, asked))


def unauthorised(state: State, call: str, tool: str, why: str) -> Asked:
    """The question to a person about a call that the store did not let begin: no decisions stand
    behind it."""
    return Asked(
        i=state.next_interrupt(call),
        kind="error",
        call=call,
        step=call,
        tool=tool,
        payload={
            "error": f"{tool} cannot start: {why}",
            "step": call,
            "tool": tool,
            "kind": UNAUTHORISED,
        },
    )


def _cancelling(plan: Plan, state: State, program: Planner, now: float) -> None:
    """Settle what is in flight, then undo the latest effect, one at a time, then end."""
    plan.abort = frozenset({"model", "read"})
    for call in state.in_phase(Phase.DOUBT):
        if call.lost and (doubted := _perhaps_begun(call, program.judge(state, call, now))):
            plan.facts.append(doubted)
    if plan.facts:
        return
    waiting, alone = False, distrusted(state, program, now)
    for call in reversed(list(state.live.values())):
        if call.phase == Phase.INTENDED or undo_target(call.id) not in alone:
            waiting |= _settle(plan, state, call, now)
    if plan.moves or plan.start or waiting:
        return
    for call in latest_first(state):
        if call.id not in alone and (undo := next_undo(call)):
            _intend_undo(plan, state, undo, call.tool, 1)
            return
    plan.moves.append(
        RunCancelled(undone=tuple(undone(state)), residue=tuple(residue(state, alone)))
    )


def distrusted(state: State, program: Planner, now: float) -> frozenset[str]:
    """Calls that are said to have begun, need an agreement, and have none that this worker
    believes: they are left alone."""
    if state.trust is None:
        return frozenset()
    found: set[str] = set()
    for call in (*state.live.values(), *state.effects.values()):
        if call.attempt and not is_undo(call.id) and not _is_trusted(state, program, call, now):
            found.add(call.id)
    return frozenset(found)


def _is_trusted(state: State, program: Planner, call: Call, now: float) -> bool:
    judged = program.judge(state, call, now)
    if isinstance(judged, Go):
        return not judged.gated or is_vouched(state, call, judged.intended.gate)
    if isinstance(judged, Ask):
        gate = judged.asked.gate
    else:
        gate = ()
    if isinstance(judged, Ask) and call.basis is not None and call.basis.asked.escalated:
        gate = judged.asked.escalated_gate or gate
    return is_vouched(state, call, gate)


def _settle(plan: Plan, state: State, call: Call, now: float) -> bool:
    """One live call of a cancelling run; True while it must be waited for."""
    for record in state.open_records():
        if record.call == call.id and isinstance(record, Asked) and record.undoing:
            return True
    undoing = is_undo(call.id)
    if call.phase == Phase.INTENDED:
        return call.id not in state.threads
    if undoing:
        return _settle_undo(plan, state, call, now)
    at_work = call.id in plan.at_work and not call.left
    if at_work and doubtful(call) and _asks_the_world(plan, state, call, now):
        return True
    if call.compensations:
        undo = compensation_id(call.id, call.compensations[0])
        if undo not in state.live and not plan.start:
            _intend_undo(plan, state, undo, call.tool, 1)
        return True
    if call.undone:
        return False
    if call.inherited or call.left:
        return False
    if doubtful(call) and _asks_the_world(plan, state, call, now):
        return True
    if doubtful(call) and call.effect != "read" and call.undo:
        plan.moves.append(in_doubt(state, call, undoing=True))
        return True
    return False


def _settle_undo(plan: Plan, state: State, call: Call, now: float) -> bool:
    fault = state.faults.get(call.id)
    if call.phase == Phase.FAULTED and fault and not fault.asked:
        if fault.count >= UNDO_ATTEMPTS:
            plan.moves.append(_undo_failed(state, call, fault.error, fault.count))
        elif fault.retry_at > now:
            plan.retry_at(fault.retry_at, now)
        else:
            _intend_undo(plan, state, call.id, call.tool, call.attempt + 1)
    elif call.phase == Phase.DOUBT and call.attempt >= AGAIN:
        plan.moves.append(_undo_failed(state, call, call.doubt, call.attempt))
    elif call.phase in (Phase.DOUBT, Phase.CLEARED):
        _intend_undo(plan, state, call.id, call.tool, call.attempt + 1)
    return True


def _undo_failed(state: State, call: Call, error: str, attempts: int) -> Asked:
    """The question to a person about an undo that does not work, or that kills its workers."""
    return Asked(
        i=state.next_interrupt(call.id),
        kind="undo",
        call=call.id,
        step=call.id,
        tool=call.tool,
        undoing=True,
        payload={"error": error, "undo": call.tool, "attempts": attempts},
        under=state.agents_under(path_of(call.id)),
    )


def _intend_undo(plan: Plan, state: State, id: str, tool: str, attempt: int) -> None:
    target = undo_target(id)
    call = state.effects.get(target) or state.live[target]
    under = state.agents_under(call.path)
    plan.moves.append(
        Intended(call=id, tool=tool, attempt=attempt, effect="idempotent", under=under, why="undo")
    )
    plan.start.append(Step(id, "undo", call.path, call, under, attempt))
