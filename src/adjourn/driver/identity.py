"""Who a worker is, and whether another one on this machine is dead."""

import os
import secrets
import socket
from functools import cache

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"


def new_run_id() -> str:
    """Eighty random bits that a person can read out, for example `7Q2M-41KD-9XKQ-Z0P1`."""
    n = secrets.randbits(80)
    text = "".join(_ALPHABET[(n >> shift) & 31] for shift in range(75, -1, -5))
    return "-".join(text[k : k + 4] for k in (0, 4, 8, 12))


@cache
def _machine() -> str:
    """This machine and this view of its processes: a pid means nothing in another container."""
    try:
        space = str(os.stat("/proc/self/ns/pid").st_ino)
    except OSError:
        space = "0"
    try:
        with open("/proc/sys/kernel/random/boot_id", encoding="ascii") as f:
            boot = f.read(8)
    except OSError:
        boot = "0"
    return f"{socket.gethostname()}/{boot}/{space}"


def _birth(pid: int) -> str:
    """When the process began, so that a reused pid is not taken for it; "" if there is no such process."""
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii", errors="replace") as f:
            fields = f.read().rpartition(")")[2].split()
        return "" if fields[0] == "Z" else fields[19]
    except OSError:
        pass
    if os.path.isdir("/proc/self"):
        return ""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return ""
    except PermissionError:
        return "?"
    return "?"


def new_worker_id() -> str:
    """A name that is unique and says where its process is."""
    return f"{_machine()}|{os.getpid()}|{_birth(os.getpid())}|{secrets.token_hex(4)}"


def is_dead(worker: str) -> bool:
    """Whether a worker of this machine is certainly gone. Workers elsewhere are never certain."""
    machine, _, rest = worker.partition("|")
    pid, _, birth = rest.partition("|")
    if machine != _machine() or not pid.isdigit():
        return False
    return _birth(int(pid)) != birth.partition("|")[0]
