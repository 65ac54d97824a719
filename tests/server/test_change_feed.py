"""The stream about everything, from inside: it is kept by changes, whatever the store holds."""

import gc
from typing import Any

from adjourn import Runtime
from adjourn.core.codec import decode, encode
from adjourn.core.interrupt import Interrupt
from adjourn.core.records import Decided, RunCompleted
from adjourn.errors import StoreError
from adjourn.server.change_feed import Change, ChangeFeed
from adjourn.server.open_interrupts import OpenInterrupts
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Filter
from adjourn.stores.rules.inbox_filter import briefly
from adjourn.stores.run_row import RunRow
from adjourn.testing import FakeClock
from adjourn.testing.contract.fixtures import approval, begin, claim, wait_for


class Counting(MemoryStore):
    """Counts what it gives, and fails on purpose."""

    given, fails = 0, False

    async def inbox(self, filter: Filter) -> list[Interrupt]:
        found = await super().inbox(filter)
        self.given += len(found)
        return found

    async def runs(self, filter: Filter) -> list[RunRow]:
        if self.fails:
            raise StoreError("the disk is gone")
        found = await super().runs(filter)
        self.given += len(found)
        return found


class World:
    """A hub over a store in memory that is looked at when the test says so."""

    def __init__(self) -> None:
        self.clock = FakeClock()
        self.store = Counting(self.clock.now)
        self.runtime = Runtime(self.store, [], work=False)
        self.runtime._store = self.store
        self.hub = ChangeFeed(self.runtime)

    async def look(self) -> Change | None:
        """What a look finds."""
        before = self.hub._n
        await self.hub._look()
        return self.hub._changes[-1] if self.hub._n > before else None

    async def changed(self) -> dict[str, Any]:
        found = await self.look()
        assert found is not None
        return decode(encode(found.data))

    def whole(self) -> dict[str, Any]:
        """What a client that comes first is told."""
        return decode(encode(self.hub._whole().data))


async def test_a_look_reads_what_has_changed_and_no_more() -> None:
    world = World()
    for n in range(1_200):
        await wait_for(world.store, approval(), run=f"old{n}")
    world.clock.advance(60)
    assert await world.look() is None
    assert len(world.whole()["open"]) == 1_200
    world.clock.advance(60)
    await wait_for(world.store, approval(), run="new")
    world.store.given = 0
    data = await world.changed()
    assert (data["opened"], data["closed"], data["open_interrupts"]) == (["new:1.0?0"], [], 1_201)
    assert [run["run_id"] for run in data["runs"]] == ["new"]
    assert world.store.given == 2, "one run and one interrupt"
    for _ in range(3):
        world.clock.advance(60)
        assert await world.look() is None
    assert world.store.given == 4, "what was written while one looked is looked at once more"


def test_nothing_that_is_kept_of_open_interrupts_is_gone_through_by_the_collector() -> None:
    """One object for each of 100,000, and the event loop stands still for a tenth of a second whenever it collects."""
    there = OpenInterrupts()
    gc.collect()
    before = len(gc.get_objects())
    there.add(briefly(f"r{n // 2}", f"1.{n}?0", n, "approval", 1.0, 5.0 + n) for n in range(4_000))
    gc.collect()
    assert len(there.refs) == 4_000 and len(gc.get_objects()) - before < 100


async def test_what_is_decided_voided_or_over_is_closed_once() -> None:
    world = World()
    ends = world.clock.now() + 100
    for run, expires in (("decided", 0.0), ("ended", 0.0), ("over", ends)):
        await wait_for(world.store, approval(expires=expires), run=run)
    await world.look()
    await world.store.deliver("decided", Decided(i="1.0?0", verdict="deny", by="ann"))
    assert (await world.changed())["closed"] == ["decided:1.0?0"]
    await world.store.deliver("ended", Decided(i="1.0?0", verdict="deny", by="ann"))
    lease = await claim(world.store, "ended")
    await world.store.commit(lease, [], [RunCompleted()], seen=lease.seq)
    assert (await world.changed())["closed"] == ["ended:1.0?0"]
    world.clock.advance(99)
    assert await world.look() is None
    world.clock.advance(1)
    data = await world.changed()
    assert (data["closed"], data["open_interrupts"]) == (["over:1.0?0"], 0)
    assert await world.look() is None
    inbox = await world.store.inbox(Filter())
    assert {i.ref for i in inbox} == set(world.whole()["open"])


async def test_more_changes_than_fit_on_a_page_are_all_seen() -> None:
    world = World()
    await world.look()
    for n in range(1_100):
        await wait_for(world.store, approval(), run=f"r{n}")
    data = await world.changed()
    assert (len(data["opened"]), len(data["runs"]), data["more"], data["open_interrupts"]) == (1_100, 100, True, 1_100)


async def test_what_changed_while_the_store_could_not_be_read_is_told_later() -> None:
    world = World()
    await world.look()
    await wait_for(world.store, approval(), run="r1")
    world.store.fails = True
    try:
        await world.look()
    except StoreError:
        pass
    world.store.fails = False
    world.clock.advance(600)
    await begin(world.store, "r2")
    assert (await world.changed())["opened"] == ["r1:1.0?0"]


async def test_a_clock_that_was_set_back_hides_nothing() -> None:
    world = World()
    world.clock.advance(5_000)
    await world.look()
    world.clock._now -= 3_600
    await wait_for(world.store, approval(), run="r1")
    assert (await world.changed())["opened"] == ["r1:1.0?0"]
    await wait_for(world.store, approval(), run="r2")
    assert (await world.changed())["opened"] == ["r2:1.0?0"]
