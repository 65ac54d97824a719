"""Bodies of this process that are still at work, by store, run and call: whoever takes the run again
asks here first.

A body is in flight until it has ended, not until somebody stops waiting for it. A thread cannot be
stopped, and a task may ignore that it was cancelled; neither is verified or repeated while it is at
work.
"""

import asyncio
from collections.abc import Container, Mapping
from typing import Any

from adjourn.core.call import Call
from adjourn.core.records import Fact
from adjourn.driver.located_run import LocatedCall, LocatedRun, located_work
from adjourn.driver.threads import Flight

_threads: dict[LocatedCall, tuple[Flight, Any]] = {}
_left: dict[LocatedCall, asyncio.Task[Fact]] = {}
_unread: dict[LocatedCall, Flight] = {}
NONE: frozenset[str] = frozenset()


def took_off(place: LocatedCall, flight: Flight, context: Any) -> None:
    """A body of this call is about to begin in a thread; `context` is what it uses."""
    _threads[place] = (flight, context)
    flight.on_end = lambda: _down(place, flight)


def _down(place: LocatedCall, flight: Flight) -> None:
    found = _threads.get(place)
    if found is not None and found[0] is flight:
        _threads.pop(place, None)


def in_thread(place: LocatedCall) -> tuple[Flight, Any] | None:
    """The thread that is at work for this call, and its context."""
    found = _threads.get(place)
    if found is not None and not found[0].ended:
        return found
    return None


def keep(place: LocatedCall, flight: Flight) -> None:
    """An undo or a verify is about to begin in a thread; how it ends is kept until somebody has
    read it."""
    _unread[place] = flight


def unread(place: LocatedCall) -> Flight | None:
    """The thread that is at work for this, or has ended without anybody having read how."""
    return _unread.get(place)


def read(place: LocatedCall) -> None:
    """Somebody knows how it ended."""
    _unread.pop(place, None)


def are_any() -> bool:
    """Whether any body of this process is at work where it can be waited for: most often none is,
    and no call needs to be looked for."""
    return bool(_threads or _left)


def are_at_work(home: str, runs: Container[str]) -> bool:
    """Whether a body of one of these runs of a store is still at work in this process."""
    for place, (flight, _) in tuple(_threads.items()):
        if place.run in runs and place.home == home and not flight.ended:
            return True
    return any(
        place.run in runs and place.home == home and not task.done()
        for place, task in tuple(_left.items())
    )


def calls_at_work(place: LocatedRun, calls: Mapping[str, Call]) -> frozenset[str]:
    """The calls of this run whose bodies are still at work where they can be waited for. `calls`:
    those that are in flight, as the run knows them."""
    if not _threads and not _left:
        return NONE
    home, run = place
    there = {at for at in (*_threads, *_left) if at.run == run and at.home == home}
    return frozenset(
        at.call
        for at in there
        if (in_thread(at) or as_task(at)) and (not at.key or _is_of(at, place, calls))
    )


def _is_of(at: LocatedCall, place: LocatedRun, calls: Mapping[str, Call]) -> bool:
    call = calls.get(at.call)
    return call is not None and located_work(place, call) == at


def leave(place: LocatedCall, task: asyncio.Task[Fact]) -> None:
    """Nobody waits for this task any more; it goes on by itself until it ends."""
    _left[place] = task
    task.add_done_callback(lambda _: _landed(place, task))


def _landed(place: LocatedCall, task: asyncio.Task[Fact]) -> None:
    if _left.get(place) is task:
        del _left[place]


def as_task(place: LocatedCall) -> asyncio.Task[Fact] | None:
    """The task of this event loop that was left at work for this call."""
    task = _left.get(place)
    if task is None or task.done() or task.get_loop() is not asyncio.get_running_loop():
        return None
    return task
