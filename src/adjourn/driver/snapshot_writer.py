"""Writing a run's state down, so that its next cold start need not fold the whole journal."""

import asyncio
import logging
from typing import Any

import msgspec

from adjourn.core.snapshot_part import SnapshotPart
from adjourn.core.state import State
from adjourn.errors import AdjournError
from adjourn.stores.protocol import Store
from adjourn.stores.snapshots import Snapshot

log = logging.getLogger("adjourn.driver")

OFTEN = 1_000
"""So many records must have come before a state is written down again. Most runs never have as
many."""


class Captured(msgspec.Struct, frozen=True):
    """All that is to be written of a state. The state may go on meanwhile."""

    run: str
    seq: int
    head: bytes
    rest: bytes
    stretches: tuple[SnapshotPart, ...]
    parts: dict[SnapshotPart, Any]


async def captured(store: Store, state: State) -> Captured | None:
    """What is to be written of a state, if enough has come since one of its run was. Nobody else
    may go on with it meanwhile."""
    if state.seq < OFTEN:
        return None
    from adjourn.core import snapshot as image

    if not image.is_fit(state):
        return None
    seq, known = await store.snapshots().known(state.run)
    if state.seq - seq < OFTEN:
        return None
    state = image.own(state)
    wanted = image.stretches(state)
    parts = {which: image.stretch(state, which) for which in wanted if which not in known}
    return Captured(state.run, state.seq, state.head, image.rest(state), tuple(wanted), parts)


async def write_down(store: Store, found: Captured) -> None:
    """Keep it. Nobody depends on that: what goes wrong is said in the log, and nothing else."""
    from adjourn.core import snapshot as image

    try:
        bodies = {
            which: await asyncio.to_thread(image.packed, part)
            for which, part in found.parts.items()
        }
        rest = await asyncio.to_thread(image.packed, found.rest)
        snapshot = Snapshot(found.seq, found.head, image.FORMAT, rest, found.stretches)
        await store.snapshots().keep(found.run, snapshot, bodies)
    except (AdjournError, OverflowError) as e:
        log.warning(
            "run %s: no snapshot was written, its next cold start takes longer: %s", found.run, e
        )
