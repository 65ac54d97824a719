"""A run's state from what a store has of it, without holding up the event loop.

A fold of a long journal takes seconds. It is done in slices, between which others have their turn;
a snapshot saves most of it. A snapshot that cannot be read costs nothing but the fold: the journal
is the truth.
"""

import asyncio
import logging
from collections.abc import Iterable, Sequence

import msgspec

from adjourn.core.belief import FoldAgain
from adjourn.core.records import AnyRecord
from adjourn.core.signatures import Trust
from adjourn.core.state import State
from adjourn.driver.earlier_turns import EarlierTurns
from adjourn.errors import BrokenHistory
from adjourn.stores.protocol import Store

log = logging.getLogger("adjourn.driver")
_encode = msgspec.json.Encoder().encode

SLICE = 250
"""So many records are folded before others have their turn: a few milliseconds."""
UNPACKED = 4
"""How many times as large a part of a snapshot is when it is opened, about."""


async def fold_in_slices(state: State, records: Iterable[tuple[int, AnyRecord]]) -> State:
    """Fold many records; gives the state. Raises `FoldAgain`, and has changed nothing, as
    `State.fold_all` does."""
    for count, (seq, record, counts) in enumerate(state.belief.sifted(state, records), 1):
        state.fold(seq, record, counts=counts)
        if count % SLICE == 0:
            await asyncio.sleep(0)
    return state


def size_of(records: Iterable[tuple[int, AnyRecord]]) -> int:
    """Bytes of these records in a journal."""
    return sum(len(_encode(record)) for _, record in records)


async def _sized(records: Sequence[tuple[int, AnyRecord]]) -> int:
    """`size_of`; in a thread if that takes longer than going there."""
    if len(records) <= SLICE:
        return size_of(records)
    return await asyncio.to_thread(size_of, records)


async def folded(
    store: Store, run: str, trust: Trust | None = None, earlier: EarlierTurns | None = None
) -> State:
    """The run's state, from its snapshot and what came since, or from its whole journal. Raises
    `UnknownRun`; with `earlier`, what was said in the turns before it is in it, too, and
    `BrokenHistory` is raised if that is another conversation.

    With `trust`, always from the whole journal: nobody else's fold says whom this one believes.
    """
    return (await folded_and_sized(store, run, trust, earlier))[0]


async def folded_and_sized(
    store: Store, run: str, trust: Trust | None = None, earlier: EarlierTurns | None = None
) -> tuple[State, int]:
    """The same, and about how many bytes of a journal are in it."""
    found, after = None, 0
    if trust is None:
        found = await _restored(store, run)
    if found is not None:
        after = found[0].seq
    elif trust is None and (chapter := (await store.get(run)).chapter):
        found, after = (State(), 0), chapter - 1
    if found is not None:
        tail = await store.load(run, after)
        try:
            state = await fold_in_slices(found[0], tail)
            return await _with_earlier(state, earlier), found[1] + await _sized(tail)
        except BrokenHistory:
            raise
        # an upgrade, or a word that no longer counts: what came before is read differently
        except FoldAgain:
            pass
        # whatever a state that is not of this journal makes the fold stumble over
        except Exception:
            log.exception(
                (
                    "run %s: its journal does not continue from its snapshot; the journal is "
                    "folded from the beginning"
                ),
                run,
            )
    records = await store.load(run)
    before = await earlier.of(records) if earlier else None
    return await fold_in_slices(State(trust, before), records), await _sized(records)


async def _with_earlier(state: State, earlier: EarlierTurns | None) -> State:
    """The state, with what was said in the turns before it. Raises `BrokenHistory`."""
    before = await earlier.before(state.started) if earlier else None
    if before is not None:
        root = state.threads[""]
        root.transcript = await asyncio.to_thread(root.transcript.behind, before)
        state.before = before
    return state


async def _restored(store: Store, run: str) -> tuple[State, int] | None:
    """The state that was written down; None if there is none, or none that this version can
    read."""
    found = await store.snapshots().last(run)
    if found is None:
        return None
    import zlib

    from adjourn.core import snapshot as image  # most runs never have a snapshot

    if found[0].format != image.FORMAT:
        return None
    snapshot, bodies = found
    try:
        state = await asyncio.to_thread(image.read, snapshot.rest, bodies)
    except (msgspec.MsgspecError, zlib.error, KeyError, ValueError):
        log.warning(
            "run %s: its snapshot cannot be read; the journal is folded from the beginning", run
        )
        return None
    if (state.run, state.seq, state.head) != (run, snapshot.seq, snapshot.head):
        return None
    return state, UNPACKED * (len(snapshot.rest) + sum(map(len, bodies.values())))
