"""However many watch a run, each of its records is read once and encoded once."""

import asyncio

import pytest

from adjourn import Runtime
from adjourn.core.records import AnyRecord, CancelAsked, RunCancelled, RunCompleted, Said
from adjourn.server import record_stream as tape
from adjourn.server.record_stream import Tapes, event_of
from adjourn.server.sse import run_events
from adjourn.stores.memory import MemoryStore
from adjourn.testing.contract.fixtures import begin

CLIENTS = 50


class Counting(MemoryStore):
    """Counts the records that it gives."""

    given = 0

    async def load(self, run: str, after: int = 0) -> list[tuple[int, AnyRecord]]:
        found = await super().load(run, after)
        self.given += len(found)
        await asyncio.sleep(0)  # as if a thread had to be waited for
        return found


class Watched:
    """A run in memory, and those who watch it."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.store = Counting()
        self.runtime = Runtime(self.store, [], work=False)
        self.runtime._store = self.store
        self.tapes = Tapes()
        self.encoded = 0

        def counted(seq: int, record: AnyRecord) -> bytes:
            self.encoded += 1
            return event_of(seq, record)

        monkeypatch.setattr(tape, "event_of", counted)

    async def client(self, after: int = 0, most: int | None = None) -> list[bytes]:
        events = run_events(self.runtime, self.tapes, "r1", after)
        found: list[bytes] = []
        async for event in events:
            found.append(event)
            if len(found) == most:
                break
        await events.aclose()
        return found


async def live(store: MemoryStore) -> int:
    """A run that says something now and then, to its end; its last record."""
    lease = await store.acquire("r1", "w1", 30.0)
    assert lease is not None
    seq = lease.seq
    for n in range(20):
        seq = await store.deliver("r1", Said(text=f"word {n}"))
        for _ in range(n % 3):
            await asyncio.sleep(0)
    await store.deliver("r1", CancelAsked())
    done = await store.commit(lease, [], [RunCancelled()], seen=seq + 1)
    return done.seq


async def test_fifty_clients_cost_one_reading_and_one_encoding_of_each_record(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    lease = await begin(watched.store)
    await watched.store.release(lease)
    clients = [asyncio.ensure_future(watched.client()) for _ in range(CLIENTS)]
    await asyncio.sleep(0)
    last = await live(watched.store)
    found = await asyncio.gather(*clients)
    assert all(one == found[0] for one in found)
    assert [event.split(b"\n")[0] for event in found[0][:-1]] == [b"id: %d" % (n + 1) for n in range(last)]
    assert (watched.store.given, watched.encoded) == (last, last)
    assert not watched.tapes._tapes, "nothing is kept of a run that nobody watches"


async def test_who_begins_earlier_than_the_others_or_is_far_behind_gets_everything(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(tape, "KEPT", 500)
    watched = Watched(monkeypatch)
    lease = await begin(watched.store)
    await watched.store.release(lease)
    late = asyncio.ensure_future(watched.client(after=2))
    await asyncio.sleep(0)
    early = asyncio.ensure_future(watched.client())
    slow = run_events(watched.runtime, watched.tapes, "r1", 0)
    first = await anext(slow)
    last = await live(watched.store)
    rest = [first, *[event async for event in slow]]
    means = [event_of(seq, record) for seq, record in await MemoryStore.load(watched.store, "r1")]
    assert len(means) == last
    assert (await early)[:-1] == means == rest[:-1]
    assert (await late)[:-1] == means[2:]


async def test_nobody_is_told_what_was_erased_meanwhile(monkeypatch: pytest.MonkeyPatch) -> None:
    watched = Watched(monkeypatch)
    lease = await begin(watched.store, input="a canary")
    slow, other = [run_events(watched.runtime, watched.tapes, "r1", 0) for _ in range(2)]
    await anext(other)
    await watched.store.commit(lease, [], [RunCompleted(output="a canary")], seen=lease.seq)
    await watched.store.erase("r1", by="ann", reason="asked to")
    found = b"".join([event async for event in slow])
    assert b"canary" not in found and b"erased" in found
    await other.aclose()
