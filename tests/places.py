"""Where tests put databases that do not outlive them: into memory where there is room, else on the disk.

A file in memory that cannot grow ends its process with a bus error. So what others left there must not be in the way.
"""

import os
import shutil
import tempfile
from pathlib import Path

MEMORY = Path("/dev/shm")
ROOM = 2 << 30
"""Bytes that must be free in memory, and in the file system that stands in it."""


def free_memory() -> int:
    """Bytes of memory that nothing uses, as the kernel estimates them; everything where it does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
    except OSError:
        return ROOM
    named = dict(line.split(":", 1) for line in lines)
    return int(named["MemAvailable"].split()[0]) * 1024 if "MemAvailable" in named else ROOM


def has_room(folder: Path) -> bool:
    """Whether files may grow in a file system that stands in memory."""
    return os.access(folder, os.W_OK) and min(shutil.disk_usage(folder).free, free_memory()) >= ROOM


def every_place() -> list[Path]:
    """The folders that `place` chooses from, the best one first."""
    return [*([MEMORY] if MEMORY.is_dir() else []), Path(tempfile.gettempdir())]


def place() -> Path:
    """The folder for what does not last: in memory, if there is room for it."""
    *memory, disk = every_place()
    return next(filter(has_room, memory), disk)


def place_for_programs() -> Path:
    """The folder under which `tmp_path` is: in memory as well, unless nothing that is written there may be run."""
    found, disk = place(), every_place()[-1]
    return disk if os.statvfs(found).f_flag & os.ST_NOEXEC else found


def new_folder(prefix: str = "adjourn-") -> Path:
    """A new folder in that place. Whoever makes it removes it."""
    return Path(tempfile.mkdtemp(prefix=prefix, dir=place()))
