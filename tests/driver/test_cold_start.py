"""Snapshots: a cold start costs the end of a journal, and nobody is held up meanwhile. They are caches, never the truth."""

import asyncio
import time
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.again import in_time

from adjourn.core import snapshot as image
from adjourn.core.messages import Text, ToolCall
from adjourn.core.records import (
    AnyRecord,
    CancelAsked,
    Claimed,
    Intended,
    Parked,
    Replied,
    Returned,
    RunCompleted,
    Said,
    Started,
)
from adjourn.core.state import State
from adjourn.driver import cold_start
from adjourn.driver.cold_start import folded
from adjourn.driver.snapshot_writer import captured, write_down
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.snapshots import Snapshot
from adjourn.stores.sqlite import SQLiteStore


def journal(turns: int, run: str = "r") -> list[AnyRecord]:
    """A run of so many turns, each with a call that is done and can be undone: three records."""
    made: list[AnyRecord] = [Started(run=run, kind="agent", program="a", input="go", at=1.0), Claimed(epoch=1, at=1.0)]
    for n in range(turns):
        part = ToolCall(id=f"c{n}", tool="book", args={"n": n, "text": "x" * 60})
        call = f"{n}.0"
        made.append(Replied(parts=(Text(text="I book it " * 8), part), at=2.0))
        made.append(Intended(call=call, tool="book", effect="idempotent", undo=True, at=2.0))
        made.append(Returned(call=call, value={"booked": n, "text": "y" * 60}, at=2.0))
    return [*made, Parked(at=3.0)]


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    made: Any = MemoryStore() if request.param == "memory" else SQLiteStore(str(tmp_path / "x.db"))
    yield made
    await made.close()


async def filled(store: Store, turns: int, run: str = "r") -> State:
    """A run in a store; its state, with its place in the chain."""
    first, *rest = journal(turns, run)
    assert isinstance(first, Started)
    await store.create(first, rest)
    return await at_its_place(store, run)


async def at_its_place(store: Store, run: str) -> State:
    state, row = State().fold_all(await store.load(run)), await store.get(run)
    state.head = row.head
    return state


async def kept(store: Store, state: State) -> bool:
    found = await captured(store, state)
    if found is not None:
        await write_down(store, found)
    return found is not None


def loads(store: Store, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """From where on its journals are read."""
    found: list[int] = []
    load = store.load

    async def counted(run: str, after: int = 0) -> Any:
        found.append(after)
        return await load(run, after)

    monkeypatch.setattr(store, "load", counted)
    return found


async def test_a_cold_start_reads_only_what_came_since_the_snapshot(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = await filled(store, 1_100)
    assert await kept(store, state)
    read = loads(store, monkeypatch)
    again = await folded(store, "r")
    assert read == [state.seq]
    before = again.threads[""].transcript.segments
    assert before and all(isinstance(part, image.Packed) and part.is_packed for part in before)
    state.head = again.head
    assert again == state
    assert again.threads[""].transcript[5] == state.threads[""].transcript[5]


async def test_what_was_said_after_the_snapshot_is_folded_onto_it(store: Store) -> None:
    assert await kept(store, await filled(store, 400))
    await store.deliver("r", Said(text="more", by="ana"))
    again = await folded(store, "r")
    assert again == State().fold_all(await store.load("r"))


async def test_a_short_run_has_no_snapshot_and_a_long_one_another_after_a_thousand_records(store: Store) -> None:
    assert not await kept(store, await filled(store, 300, "short"))
    state = await filled(store, 400)
    assert await kept(store, state)
    assert not await kept(store, state)
    assert (await store.snapshots().known("r"))[0] == state.seq


async def test_stretches_are_written_once(store: Store) -> None:
    first = await filled(store, 1_100)
    assert await kept(store, first)
    _, before = await store.snapshots().known("r")
    assert {which.path for which in before} == {"", image.EFFECTS}
    first.seq += 1_000  # as if so much had come since
    found = await captured(store, first)
    assert found is not None and not found.parts and set(found.stretches) == set(before)


@pytest.mark.parametrize("what", ["format", "head", "rest", "another run's"])
async def test_a_snapshot_that_is_not_of_this_journal_is_ignored(store: Store, what: str) -> None:
    state = await filled(store, 400)
    found = await captured(store, state)
    assert found is not None
    other = await filled(store, 401, "other")
    rest = image.packed(found.rest)
    forged = msgspec.structs.replace(state, head=b"another", steps=1)
    wrong = {
        "format": Snapshot(state.seq, state.head, image.FORMAT + 1, rest, found.stretches),
        "head": Snapshot(state.seq, b"another", image.FORMAT, image.packed(image.rest(forged)), found.stretches),
        "rest": Snapshot(state.seq, state.head, image.FORMAT, rest[:-9], found.stretches),
        "another run's": Snapshot(state.seq, state.head, image.FORMAT, image.packed(image.rest(other)), ()),
    }[what]
    await store.snapshots().keep("r", wrong, {which: image.packed(part) for which, part in found.parts.items()})
    again = await folded(store, "r")
    again.head = state.head
    assert again == state


async def test_a_snapshot_from_which_the_journal_does_not_go_on_costs_a_fold(store: Store) -> None:
    state = await filled(store, 400)
    found = await captured(store, state)
    assert found is not None
    state.live, state.status = {}, None
    forged = Snapshot(state.seq, found.head, image.FORMAT, image.packed(image.rest(state)), found.stretches)
    await store.snapshots().keep("r", forged, {which: image.packed(part) for which, part in found.parts.items()})
    await store.deliver("r", Said(text="more", by="ana"))
    assert await folded(store, "r") == State().fold_all(await store.load("r"))


@pytest.mark.parametrize("path", ["", image.EFFECTS])
async def test_one_damaged_byte_of_a_stretch_costs_a_fold_and_is_never_met_later(store: Store, path: str) -> None:
    state = await filled(store, 1_100)
    found = await captured(store, state)
    assert found is not None
    parts = {which: image.packed(part) for which, part in found.parts.items()}
    damaged = next(which for which in parts if which.path == path)
    parts[damaged] = parts[damaged][:500] + bytes([parts[damaged][500] ^ 1]) + parts[damaged][501:]
    snapshot = Snapshot(state.seq, state.head, image.FORMAT, image.packed(found.rest), found.stretches)
    await store.snapshots().keep("r", snapshot, parts)
    again = await folded(store, "r")
    again.head = state.head
    assert again == state


async def test_what_was_done_long_ago_is_unpacked_when_somebody_looks_back(store: Store) -> None:
    state = await filled(store, 1_100)
    assert await kept(store, state)
    again = await folded(store, "r")
    assert (again.effects.packed, len(again.effects)) == (1_000, 1_100)
    call = again.effects["1099.0"]
    again.effects["1100.0"] = call
    assert again.effects.packed == 1_000, "what is new has nothing to do with what is old"
    assert list(again.effects) == [*state.effects, "1100.0"]
    assert [call.id for call in reversed(again.effects.values())][1:] == list(reversed(state.effects))
    assert again.effects.packed == 0


async def test_a_snapshot_of_a_snapshot_writes_only_what_is_new_and_unpacks_nothing(store: Store) -> None:
    assert await kept(store, await filled(store, 1_100))
    again = await folded(store, "r")
    again.head, again.seq = (await store.get("r")).head, again.seq + 1_000  # as if so much had come since
    found = await captured(store, again)
    assert found is not None and not found.parts
    assert again.effects.packed == 1_000


async def test_a_snapshot_of_another_format_is_not_even_read(store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    state = await filled(store, 400)
    found = await captured(store, state)
    assert found is not None
    later = Snapshot(state.seq, state.head, image.FORMAT + 1, image.packed(found.rest), found.stretches)
    await store.snapshots().keep("r", later, {which: image.packed(part) for which, part in found.parts.items()})
    read = loads(store, monkeypatch)
    await folded(store, "r")
    assert read == [0]


async def test_whoever_trusts_only_some_people_folds_for_themselves(
    store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await kept(store, await filled(store, 400))

    class Nobody:
        def flaw(self, run: str, record: Any, of: str) -> str:
            return "nobody is trusted"

    read = loads(store, monkeypatch)
    assert (await folded(store, "r", Nobody())).trust is not None
    assert read == [0]


async def test_an_erased_run_leaves_no_snapshot(store: Store) -> None:
    first, *rest = journal(400)
    assert isinstance(first, Started)
    await store.create(first, [*rest[:-1], RunCompleted(output="x", at=4.0)])
    assert await kept(store, await at_its_place(store, "r"))
    await store.erase("r", by="ana")
    assert await store.snapshots().last("r") is None
    assert await store.snapshots().known("r") == (0, ())


async def test_a_state_is_not_written_down_while_what_was_done_is_taken_back(store: Store) -> None:
    await filled(store, 400)
    await store.deliver("r", CancelAsked(by="ana"))
    assert not await kept(store, await at_its_place(store, "r"))


# The event loop


async def test_others_have_their_turn_between_the_slices_of_a_fold(monkeypatch: pytest.MonkeyPatch) -> None:
    records = list(enumerate(journal(1_000), 1))
    state, most, before = State(), 0, 0

    async def others() -> None:
        nonlocal most, before
        while before < len(records):
            await asyncio.sleep(0)
            most, before = max(most, state.seq - before), state.seq

    watching = asyncio.create_task(others())
    await asyncio.sleep(0)
    await cold_start.fold_in_slices(state, records)
    await watching
    assert state.seq == len(records)
    assert most <= cold_start.SLICE


@pytest.mark.parametrize("with_snapshot", [False, True])
async def test_no_cold_start_of_a_long_run_holds_up_the_loop_for_long(tmp_path: Path, with_snapshot: bool) -> None:
    store = SQLiteStore(str(tmp_path / "x.db"))
    state = await filled(store, 6_600)
    if with_snapshot:
        assert await kept(store, state)
    longest, goes_on = 0.0, True

    async def others() -> None:
        nonlocal longest
        while goes_on:
            began = time.thread_time()  # what this thread did meanwhile, whoever else has the machine
            await asyncio.sleep(0.001)
            longest = max(longest, time.thread_time() - began)

    watching = asyncio.create_task(others())
    again = await folded(store, "r")
    goes_on = False
    await watching
    await store.close()
    assert again.seq == state.seq
    in_time(longest, 0.15)  # measured: 5–20 ms; at 20,000 records it was 200–900
