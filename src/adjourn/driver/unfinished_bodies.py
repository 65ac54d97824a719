"""Bodies of this process that are still at work, by run and call: whoever takes the run again asks
here first.

A body is in flight until it has ended, not until somebody stops waiting for it. A thread cannot be
stopped, and a task may ignore that it was cancelled; neither is verified or repeated while it is at
work.
"""

import asyncio
from collections.abc import Container
from typing import Any

from adjourn.core.records import Fact
from adjourn.driver.threads import Flight

_threads: dict[tuple[str, str], tuple[Flight, Any]] = {}
_left: dict[tuple[str, str], asyncio.Task[Fact]] = {}
_unread: dict[tuple[str, str], Flight] = {}
NONE: frozenset[str] = frozenset()


def took_off(run: str, call: str, flight: Flight, context: Any) -> None:
    """A body of this call is about to begin in a thread; `context` is what it uses."""
    _threads[run, call] = (flight, context)
    flight.on_end = lambda: _down(run, call, flight)


def _down(run: str, call: str, flight: Flight) -> None:
    found = _threads.get((run, call))
    if found is not None and found[0] is flight:
        _threads.pop((run, call), None)


def in_thread(run: str, call: str) -> tuple[Flight, Any] | None:
    """The thread that is at work for this call, and its context."""
    found = _threads.get((run, call))
    if found is not None and not found[0].ended:
        return found
    return None


def keep(run: str, key: str, flight: Flight) -> None:
    """An undo or a verify is about to begin in a thread; how it ends is kept until somebody has
    read it."""
    _unread[run, key] = flight


def unread(run: str, key: str) -> Flight | None:
    """The thread that is at work for this, or has ended without anybody having read how."""
    return _unread.get((run, key))


def read(run: str, key: str) -> None:
    """Somebody knows how it ended."""
    _unread.pop((run, key), None)


def are_at_work(runs: Container[str]) -> bool:
    """Whether a body of one of these runs is still at work in this process."""
    for (run, _), (flight, _) in tuple(_threads.items()):
        if run in runs and not flight.ended:
            return True
    return any(run in runs and not task.done() for (run, _), task in tuple(_left.items()))


def calls_at_work(run: str) -> frozenset[str]:
    """The calls of this run whose bodies are still at work where they can be waited for."""
    if not _threads and not _left:
        return NONE
    calls = {call for its_run, call in (*_threads, *_left) if its_run == run}
    return frozenset(call for call in calls if in_thread(run, call) or as_task(run, call))


def leave(run: str, call: str, task: asyncio.Task[Fact]) -> None:
    """Nobody waits for this task any more; it goes on by itself until it ends."""
    _left[run, call] = task
    task.add_done_callback(lambda _: _landed(run, call, task))


def _landed(run: str, call: str, task: asyncio.Task[Fact]) -> None:
    if _left.get((run, call)) is task:
        del _left[run, call]


def as_task(run: str, call: str) -> asyncio.Task[Fact] | None:
    """The task of this event loop that was left at work for this call."""
    task = _left.get((run, call))
    if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
        return None
    return task
