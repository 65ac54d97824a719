"""A copy of the process that a tool forked must not continue as a second worker."""

import os


def end_if_forked(process: int) -> None:
    """A body forked and came back twice: the copy must not go on as a second worker.

    Args:
        process: the id of the process in which the body began.
    """
    if os.getpid() != process:
        os._exit(0)
