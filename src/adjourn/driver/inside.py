"""Who decides is never what runs: a mark on everything that a worker starts, in its process and below it."""

import os

from adjourn.errors import NotAllowed

MARK = "ADJOURN_INSIDE"


def mark() -> None:
    """From here on, processes that this one starts are inside of its runs."""
    os.environ.setdefault(MARK, str(os.getpid()))


def unmark() -> None:
    """This process runs nothing any more."""
    if os.environ.get(MARK) == str(os.getpid()):
        del os.environ[MARK]


def check_outside(what: str) -> None:
    """Raise `NotAllowed` inside of a run: in a body, or in a process that a worker's process started."""
    from adjourn.agent.context import _current

    pid = os.environ.get(MARK, "")
    if _current.get() is not None or (pid and pid != str(os.getpid())):
        raise NotAllowed(
            f"a run cannot {what}: this is inside of one ({MARK}={pid}); people decide, from outside of it"
        )
