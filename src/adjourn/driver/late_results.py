"""Results that come when nobody waits for them any more."""

import asyncio
import logging
from collections.abc import Container
from typing import TypeGuard

from adjourn.core.records import Fact, Faulted, Late, Returned
from adjourn.errors import Refused
from adjourn.stores.protocol import Journals, Lease

log = logging.getLogger("adjourn.driver")

_recording: set[asyncio.Task[None]] = set()


def is_end(fact: Fact, calls: Container[str] | None = None) -> TypeGuard[Returned | Faulted]:
    """Whether a body ended with this for good: it has a result, or an error that is not tried
    again. `calls`: if it is one of these."""
    if isinstance(fact, Returned):
        return calls is None or fact.call in calls
    return (
        isinstance(fact, Faulted) and not fact.transient and (calls is None or fact.step in calls)
    )


def record_late(store: Journals, lease: Lease, fact: Returned | Faulted, *, seen: int) -> None:
    """Record how a body ended that was left at work: as its result, or behind the run's end.

    Args:
        store: where the run is.
        lease: under which the body began; if another worker has the run by now, nothing is
            recorded.
        fact: how it ended.
        seen: the last record that its driver knew.
    """
    recording = asyncio.get_running_loop().create_task(
        _record(store, lease, fact, seen), name="adjourn-late"
    )
    _recording.add(recording)
    recording.add_done_callback(_recording.discard)


async def all_recorded(timeout: float) -> None:
    """Wait until what has ended by now is recorded, `timeout` seconds at most."""
    if mine := {task for task in _recording if task.get_loop() is asyncio.get_running_loop()}:
        await asyncio.wait(mine, timeout=timeout)


async def _record(store: Journals, lease: Lease, fact: Returned | Faulted, seen: int) -> None:
    call, value = (fact.call, fact.value) if isinstance(fact, Returned) else (fact.step, None)
    try:
        try:
            await store.commit(lease, [fact], [], seen=seen)
        except Refused:  # the run is at its end
            late = Late(call=call, value=value, error=fact.error)
            await store.commit(lease, [late], [], seen=seen)
    except Exception as e:
        log.warning(
            "run %s: call %s ended when the run no longer waited for it; %s", lease.run, call, e
        )
