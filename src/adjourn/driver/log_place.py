"""To which run and which step a line of a log belongs: known from where it is written."""

import asyncio
from typing import NamedTuple

from adjourn.driver.worker_mark import body

RUN, STEP = "adjourn-run:", "adjourn:"
"""How the names of the tasks begin that drive a run, and that perform a step of one."""


class LogPlace(NamedTuple):
    """A run, and a step of it; "" where there is none."""

    run: str = ""
    step: str = ""


def log_place() -> LogPlace:
    """Where the code that asks is: in a body, also in its thread, in a step, or in the drive of a
    run."""
    if (context := body.get()) is not None:
        return LogPlace(context.run_id, context.call_id)
    try:
        task = asyncio.current_task()
    except RuntimeError:  # no event loop runs in this thread
        task = None
    if task is None:
        return LogPlace()
    name = task.get_name()
    if name.startswith(RUN):
        return LogPlace(name.removeprefix(RUN))
    if name.startswith(STEP):
        run, _, step = name.removeprefix(STEP).partition(":")
        return LogPlace(run, step)
    return LogPlace()
