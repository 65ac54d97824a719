"""A run at a glance: its status as people see it, and what it does or waits for now."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from adjourn.core.call import OWING, Phase
from adjourn.core.codec import encode
from adjourn.core.ids import is_undo
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import RunCancelled, RunCompleted
from adjourn.core.state import State
from adjourn.core.tombstone import tombstone
from adjourn.stores.misfit import Misfit
from adjourn.stores.protocol import Halt, RunRow
from adjourn.views.timeline import gist


@dataclass(frozen=True, slots=True)
class Glance:
    """A row, folded. `status` may also be `held`: ready, or waiting, under a halt. `doing` is as it was recorded."""

    row: RunRow
    state: State
    status: str
    doing: str

    def as_json(self) -> dict[str, Any]:
        """The run as data."""
        row, usage = self.row, self.state.usage
        return {
            "run_id": row.id, "agent": row.program, "kind": row.kind, "status": self.status, "now": self.doing,
            "input": self.state.started.input, "session": row.session, "labels": row.labels, "seq": row.seq,
            "open": len(self.state.interrupts), "requests": usage.requests, "tokens": usage.total_tokens,
            "cost": usage.cost, "started_by": self.state.started.by, "created_at": row.created_at,
            "updated_at": row.updated_at,
        }  # fmt: skip


def glance(row: RunRow, state: State, halts: Sequence[Halt], now: float, misfit: Misfit | None = None) -> Glance:
    """Look at a run whose journal was folded; `misfit`: why a worker could not advance it."""
    blocking = [h for h in halts if h.scope in row.blocked]
    if blocking:
        return Glance(row, state, "held", f"halted {blocking[0].scope}: {blocking[0].reason}")
    status = row.shown(now, ())
    if misfit is not None and status == "ready":
        return Glance(row, state, status, misfit.why if misfit.queued else f"no worker fits: {misfit.why}")
    return Glance(row, state, status, _doing(state, status))


def title(i: Interrupt) -> str:
    """What is wanted, in a few words."""
    tool = i.call.tool if i.call else ""
    return {
        "approval": f"{tool} needs approval",
        "in_doubt": f"{tool} may have happened",
        "question": "a question" if i.type == "question" else f"{i.type}: an answer is needed",
        "error": "a step failed",
        "limit": "a limit is reached",
        "undo": "an undo failed",
        "event": f"{i.type}: waits for an event",
        "timer": "sleeps until its time has come",
    }[i.kind]


def _doing(state: State, status: str) -> str:
    match status:
        case "failed" | "waiting" | "stuck":
            return _waiting_for(state)
        case "running":
            return ", ".join(_in_flight(state)) or "model"
        case "pausing":
            return "finishing " + (", ".join(_in_flight(state)) or "the model call")
        case "paused":
            asked = state.pause
            return f"by {asked.by or 'somebody'}" + (f": {asked.reason}" if asked.reason else "") if asked else ""
        case "cancelling":
            return "undoing " + (", ".join(_in_flight(state, undo=True)) or "what was done")
        case "ready":
            return "waits for a worker"
        case _:
            return _ended(state)


def _in_flight(state: State, *, undo: bool = False) -> list[str]:
    calls = [c for c in state.live.values() if c.id not in state.threads and (not undo or is_undo(c.id))]
    intended = [c.tool for c in calls if c.phase == Phase.INTENDED]
    return intended or [c.tool for c in calls if c.phase in OWING]  # a read is not announced before it starts


def _waiting_for(state: State) -> str:
    found = state.interrupts
    if not found:
        return "a timer" if state.open else ""
    first = found[0]
    text = title(first)
    if first.kind in ("question", "error", "limit") and isinstance(what := gist(first.payload), str):
        text = what
    return text + (f", and {len(found) - 1} more" if len(found) > 1 else "")


def _ended(state: State) -> str:
    ended = state.ended
    if state.erased is not None:
        return tombstone(state.erased)
    if isinstance(ended, RunCancelled):
        return f"{len(ended.residue)} left behind" if ended.residue else "nothing left behind"
    if isinstance(ended, RunCompleted):
        if ended.stopped:
            return f"by {ended.stopped}"
        return ended.output if isinstance(ended.output, str) else encode(ended.output).decode()
    return ""
