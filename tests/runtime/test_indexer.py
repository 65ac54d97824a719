"""The index of runs is brought up to date before a search and by the way, and a step never waits for it."""

import asyncio
import logging

import pytest
from tests.logs import ours
from tests.runtime.world import LIMIT, Ledger, completed, notes

from adjourn import Runtime
from adjourn.core.records import RunCompleted
from adjourn.driver.clock import SystemClock
from adjourn.errors import Invalid, StoreError
from adjourn.runtime import indexer
from adjourn.runtime.indexer import Indexer, bring_up_to_date
from adjourn.stores.memory import MemoryStore
from adjourn.stores.memory.run_index import MemoryRunIndex
from adjourn.testing import FakeClock
from adjourn.testing.contract.fixtures import begin, commit, started


async def test_a_run_is_found_by_what_it_did_as_soon_as_it_has_ended(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [agent := notes(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(agent, "a letter to the king", labels={"team": "eu"}, by="ana")
        await completed(run)
        for text in ("letter king", "by:ana", "label.team:eu", "agent:notes", "status:completed king"):
            assert [found.run_id for found in await rt.runs(search=text)] == [run.id], text
        assert await rt.runs(search="queen") == await rt.runs(search="letter", agent="other") == []
        with pytest.raises(Invalid, match="unknown key 'kosts'"):
            await rt.runs(search="kosts:3")
        await run.erase(by="ann", reason="asked to")
        assert await rt.runs(search="king") == []


async def test_a_search_leaves_the_rest_of_a_long_queue_to_others(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(indexer, "AT_ONCE", 2)
    store = MemoryStore()
    for number in range(7):
        await store.create(started(f"r{number}"))
    assert await bring_up_to_date(store, 5) == 5
    assert [row.id for row, _ in await store.run_index().stale(10)] == ["r1", "r0"], "the newest are first"
    assert await bring_up_to_date(store, 5) == 2
    assert await bring_up_to_date(store, 5) == 0


async def test_it_looks_by_itself_until_it_is_closed() -> None:
    store = MemoryStore()
    at_work = Indexer(store, SystemClock(), every=0.001)
    at_work.start()
    at_work.start()
    await commit(store, await begin(store), (), [RunCompleted(output="wombat")])
    async with asyncio.timeout(LIMIT):
        while await store.run_index().stale(1):
            await asyncio.sleep(0)
    await at_work.close()
    await store.create(started("r2"))
    assert [row.id for row, _ in await store.run_index().stale(10)] == ["r2"]
    await at_work.close()


class _Failing(MemoryStore):
    """A store whose index cannot be read at first."""

    tries = 0

    def run_index(self) -> MemoryRunIndex:
        self.tries += 1
        if self.tries < 4:
            raise StoreError("the disk is full")
        return super().run_index()


async def test_a_store_that_fails_is_told_of_once_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    store = _Failing()
    await store.create(started())
    at_work = Indexer(store, SystemClock(), every=0.001)
    with caplog.at_level(logging.WARNING, "adjourn.index"):
        at_work.start()
        async with asyncio.timeout(LIMIT):
            while store.tries < 5:
                await asyncio.sleep(0)
        await at_work.close()
    said = [record.getMessage() for record in ours(caplog) if record.name == "adjourn.index"]
    assert said == ["the index of runs is not up to date: the disk is full"]


class _Slow(MemoryStore):
    """A store that takes two seconds to say which runs have no entry, by a clock that only it moves."""

    def __init__(self, clock: FakeClock) -> None:
        super().__init__()
        self._slow = clock

    def run_index(self) -> MemoryRunIndex:
        self._slow.advance(2.0)
        return super().run_index()


@pytest.mark.parametrize(("busy", "pauses"), [(True, [30.0, 30.0, 30.0]), (False, [4.0, 4.0, 4.0])])
async def test_while_runs_go_on_it_takes_a_small_part_of_the_time(
    monkeypatch: pytest.MonkeyPatch, busy: bool, pauses: list[float]
) -> None:
    monkeypatch.setattr(indexer, "AT_ONCE", 2)
    waited: list[float | None] = []

    class Noting(FakeClock):
        async def wait(self, bell: asyncio.Event, seconds: float | None) -> None:
            waited.append(None if bell.is_set() else seconds)  # a bell that still rings is no wait
            if waited.count(50.0) > 1:
                await bell.wait()
            bell.set()  # as clocks do when the time has passed

    clock = Noting()
    store = _Slow(clock)
    for number in range(6):
        await store.create(started(f"r{number}"))
    at_work = Indexer(store, clock, every=50.0, is_busy=lambda: busy)
    monkeypatch.setattr(indexer, "SHARE", 15)
    at_work.start()
    async with asyncio.timeout(LIMIT):
        while waited.count(50.0) < 2:
            await asyncio.sleep(0)
    await at_work.close()
    assert waited == [50.0, *pauses, 50.0]
    assert await store.run_index().stale(1) == []
