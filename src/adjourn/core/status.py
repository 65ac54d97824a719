"""Every legal move of a run's status, and the status that people see of it. Nothing outside this
file decides either."""

from enum import StrEnum

from adjourn.core.records import (
    CancelAsked,
    Chapter,
    Claimed,
    Decided,
    Emitted,
    Erased,
    Forked,
    Late,
    Parked,
    PauseAsked,
    Record,
    Restored,
    Resumed,
    RunCancelled,
    RunCompleted,
    Said,
    Started,
)


class Status(StrEnum):
    """Where a run is. `running`, `failed` and `stopped` are views, not statuses."""

    READY = "ready"
    WAITING = "waiting"
    PAUSING = "pausing"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    STUCK = "stuck"
    COMPLETED = "completed"
    CANCELLED = "cancelled"


S = Status
_WORDS = (Decided, Said, Emitted)

NEXT: dict[Status, dict[type[Record], Status]] = {
    S.READY: {
        Claimed: S.READY,
        Parked: S.WAITING,
        RunCompleted: S.COMPLETED,
        PauseAsked: S.PAUSING,
        CancelAsked: S.CANCELLING,
        Restored: S.PAUSED,
        **dict.fromkeys(_WORDS, S.READY),
    },
    S.WAITING: {
        Claimed: S.READY,
        PauseAsked: S.PAUSED,
        CancelAsked: S.CANCELLING,
        Restored: S.PAUSED,
        **dict.fromkeys(_WORDS, S.READY),
    },
    S.PAUSING: {
        Claimed: S.PAUSING,
        Parked: S.PAUSED,
        PauseAsked: S.PAUSING,
        Resumed: S.READY,
        CancelAsked: S.CANCELLING,
        Restored: S.PAUSED,
        **dict.fromkeys(_WORDS, S.PAUSING),
    },
    S.PAUSED: {
        Resumed: S.READY,
        CancelAsked: S.CANCELLING,
        Restored: S.PAUSED,
        **dict.fromkeys(_WORDS, S.PAUSED),
    },
    S.CANCELLING: {
        Claimed: S.CANCELLING,
        Parked: S.STUCK,
        RunCancelled: S.CANCELLED,
        Decided: S.CANCELLING,
        Restored: S.CANCELLING,
    },
    S.STUCK: {Claimed: S.CANCELLING, Decided: S.CANCELLING, Restored: S.STUCK},
    S.COMPLETED: {},
    S.CANCELLED: {},
}

RUNNABLE = frozenset({S.READY, S.PAUSING, S.CANCELLING})
ENDED = frozenset({S.COMPLETED, S.CANCELLED})
CANCELS = frozenset({S.CANCELLING, S.STUCK, S.CANCELLED})
"""Statuses in which a second cancel is acknowledged and nothing is appended."""

_STEERING = frozenset(
    {
        Claimed,
        Parked,
        RunCompleted,
        RunCancelled,
        PauseAsked,
        Resumed,
        CancelAsked,
        Decided,
        Said,
        Emitted,
        Restored,
    }
)


def after(status: Status | None, record: Record) -> Status | None:
    """The status after `record`, or None if the table does not admit it. Other worker records keep
    the status."""
    kind = type(record)
    if status is not None and kind in _STEERING:
        return NEXT[status].get(kind)
    if status is None or kind in _SELDOM:
        return _after_seldom(status, record)
    if status in ENDED:
        return None
    return status


_SELDOM = frozenset({Erased, Forked, Late, Started})


def _after_seldom(status: Status | None, record: Record) -> Status | None:
    # all that is left of a journal, also for whoever knew only its beginning
    if type(record) is Erased:
        return S(record.status)
    if status is None:
        if type(record) is Chapter:
            return Status(record.state.get("status", ""))
        if isinstance(record, Started):
            return S.READY
        return None
    if type(record) is Forked and status not in ENDED and status not in CANCELS:
        return S.READY
    if type(record) is Late and status == S.CANCELLED:
        return status
    return None


class RunStatus(StrEnum):
    """The statuses that are stored (see `Status`), and four that follow from them and from what is
    around the run."""

    READY = "ready"
    RUNNING = "running"
    WAITING = "waiting"
    HELD = "held"
    FAILED = "failed"
    PAUSING = "pausing"
    PAUSED = "paused"
    CANCELLING = "cancelling"
    STUCK = "stuck"
    COMPLETED = "completed"
    STOPPED = "stopped"
    CANCELLED = "cancelled"


def run_status(
    status: Status,
    *,
    held: bool = False,
    leased: bool = False,
    failed: bool = False,
    stopped: bool = False,
) -> RunStatus:
    """What people see; the first of these that is true.

    Args:
        status: the stored status.
        held: it waits for a halt to be lifted, and the halt is on.
        leased: a worker that is alive has the run; it is then `running`, if it is ready.
        failed: all of its open interrupts are errors; it is then `failed`, if it is waiting.
        stopped: it was completed by a limit.
    """
    if held:
        return RunStatus.HELD
    if leased and status == Status.READY:
        return RunStatus.RUNNING
    if failed and status == Status.WAITING:
        return RunStatus.FAILED
    if stopped and status == Status.COMPLETED:
        return RunStatus.STOPPED
    return RunStatus(status.value)


def to_mermaid() -> str:
    """The state diagram of the docs, made from the table."""
    lines = ["stateDiagram-v2", "    [*] --> ready: started"]
    for status, moves in NEXT.items():
        for record, to in moves.items():
            tag = record.__struct_config__.tag
            if to != status:
                lines.append(f"    {status.value} --> {to.value}: {tag}")
    lines += [f"    {end.value} --> [*]" for end in sorted(ENDED)]
    return "\n".join(lines)
