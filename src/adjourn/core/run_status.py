"""The status that people see of a run. It is decided here, once, for every list, page and
message."""

from enum import StrEnum

from adjourn.core.status import Status


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
