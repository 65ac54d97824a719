"""Files that hold what only their owner should read."""

import os
import stat
from contextlib import suppress

PARTS = ("", "-wal", "-shm", "-journal")
"""A SQLite database and what SQLite puts beside it."""
OWNER, GROUP = 0o600, 0o060


def make_private(path: str, like: str = "") -> None:
    """Make the file at `path` if there is none, and `tighten` it. What SQLite makes beside it later
    has its rights."""
    os.close(os.open(path, os.O_CREAT | os.O_RDWR, _rights(like)))
    tighten(path, like)


def tighten(path: str, like: str = "") -> None:
    """Close the file at `path` and its parts, those that there are, to everybody but their owner.

    `like` names another file: its group may use this one too, if it may use that one. A part of
    another owner stays as it is: only its owner can change it.
    """
    for part in PARTS:
        mode = _mode(path + part)
        if mode & ~_rights(like):
            with suppress(OSError):
                os.chmod(path + part, mode & _rights(like))


def _rights(like: str) -> int:
    return OWNER | (_mode(like) & GROUP if like else 0)


def _mode(path: str) -> int:
    try:
        return stat.S_IMODE(os.stat(path).st_mode)
    except OSError:
        return 0
