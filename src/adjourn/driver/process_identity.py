"""Who a worker is, and whether another one on this machine is dead or alive."""

import os
import socket
from enum import Enum
from functools import cache

from adjourn.core.ids import WorkerId, worker_prefix

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_PAIRS = [a + b for a in _ALPHABET for b in _ALPHABET]
"""What ten bits are written as."""


def new_run_id() -> str:
    """Eighty random bits that a person can read out, for example `7Q2M-41KD-9XKQ-Z0P1`."""
    n, pairs = int.from_bytes(os.urandom(10), "big"), _PAIRS
    first = (
        f"{pairs[n >> 70]}{pairs[n >> 60 & 1023]}-{pairs[n >> 50 & 1023]}{pairs[n >> 40 & 1023]}"
    )
    return f"{first}-{pairs[n >> 30 & 1023]}{pairs[n >> 20 & 1023]}-{pairs[n >> 10 & 1023]}{pairs[n & 1023]}"


@cache
def _machine() -> str:
    """This machine and this view of its processes: a pid means nothing in another container."""
    try:
        space = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        space = "0"
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as file:
            boot = file.read(8)
    except OSError:
        boot = "0"
    return f"{socket.gethostname()}/{boot}/{space}"


STOPPED = ("T", "t")
"""States of a process that somebody has stopped: it is there, and does nothing until it is let go
on."""


def _process(pid: int) -> tuple[str, str]:
    """The state of a process, and when it began, so that a reused pid is not taken for it; ("", "")
    if there is none."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as file:
            fields = file.read().rpartition(")")[2].split()
        if fields[0] == "Z":
            return ("", "")
        return (fields[0], fields[19])
    except OSError:
        pass
    if os.path.isdir("/proc/self"):
        return "", ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return "", ""
    except PermissionError:
        pass
    return "?", "?"


class Life(Enum):
    """What this machine knows of a worker."""

    DEAD = "dead"  # its process is gone
    ALIVE = "alive"  # its process is there, and not stopped
    UNKNOWN = "unknown"  # it is elsewhere, or stopped: only its heartbeat says whether it lives


_workers: set[str] = set()
"""The workers of this process that have not been closed."""


def here() -> str:
    """How the ids of workers on this machine begin: of them it is known whether they live."""
    return worker_prefix(_machine())


def new_worker_id() -> str:
    """A name that is unique and says where its process is. `retire` it when nobody works under it
    any more."""
    pid = os.getpid()
    worker = str(WorkerId(_machine(), str(pid), _process(pid)[1], os.urandom(4).hex()))
    _workers.add(worker)
    return worker


def retire(worker: str) -> None:
    """Nobody in this process works under this name any more, although the process lives."""
    _workers.discard(worker)


def life_of(worker: str) -> Life:
    """Whether a worker of this machine is certainly gone, or certainly there. Workers elsewhere are
    never certain."""
    name = WorkerId.parse(worker)
    pid = name.process
    if name.machine != _machine() or pid is None:
        return Life.UNKNOWN
    state, birth = _process(pid)
    if birth != name.birth:
        return Life.DEAD
    retired = pid == os.getpid() and worker not in _workers
    if retired or state in STOPPED or birth == "?":
        return Life.UNKNOWN
    return Life.ALIVE


def has_its_runs(life: Life, until: float, now: float) -> bool:
    """Whether what a worker took is still its own: nobody else takes it, or gives it away.

    Args:
        life: what this machine knows of it.
        until: when its last beat is over, as the store has it; 0 if it works no more.
        now: the store's time.
    """
    if life is Life.DEAD or not until:
        return False
    return life is Life.ALIVE or until > now


def is_dead(worker: str) -> bool:
    """Whether a worker of this machine is certainly gone."""
    return life_of(worker) is Life.DEAD


def end_if_forked(process: int) -> None:
    """A body forked and came back twice: the copy must not go on as a second worker.

    Args:
        process: the id of the process in which the body began.
    """
    if os.getpid() != process:
        os._exit(0)
