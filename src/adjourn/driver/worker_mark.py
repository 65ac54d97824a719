"""Who decides is never what runs: a mark on everything that a worker starts, in its process and
below it.

A guard rail, not a wall: it stops a tool that runs `adjourn approve` or opens a `Runtime`. Whoever
can write the database file is stopped by signed decisions only.
"""

import contextvars
import os
from typing import Any

from adjourn.errors import NotAllowed

MARK = "ADJOURN_INSIDE"
"""In the environment of every process that a worker's process starts: the worker's process id."""

body: contextvars.ContextVar[Any] = contextvars.ContextVar("adjourn_context", default=None)
"""The context of the body that runs here, if one does."""

_working = 0


def mark() -> None:
    """From here on, processes that this one starts are inside of its runs. Once for each worker."""
    global _working  # noqa: PLW0603
    _working += 1
    os.environ.setdefault(MARK, str(os.getpid()))


def unmark() -> None:
    """One worker less; with the last one this process runs nothing any more."""
    global _working  # noqa: PLW0603
    _working -= 1
    if not _working and os.environ.get(MARK) == str(os.getpid()):
        del os.environ[MARK]


def check_outside(what: str) -> None:
    """Raise `NotAllowed` inside of a run: in a body, or in a process that a worker's process
    started."""
    pid = os.environ.get(MARK, "")
    if body.get() is not None:
        raise NotAllowed(
            f"a run cannot {what}: this is a tool's own code",
            advice="only people decide, from outside the run",
        )
    if pid and pid != str(os.getpid()):
        raise NotAllowed(
            (
                f"a run cannot {what}: this process was started by a worker (process {pid}), "
                f"perhaps by one of its tools"
            ),
            advice="people decide from a terminal of their own",
        )
