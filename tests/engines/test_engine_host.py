"""One process under an engine: every wake reaches it, and nothing depends on its good behaviour."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.engines.world import CALLS, counts
from tests.runtime.world import LIMIT, Ledger, refunds

from adjourn import Completed, Paused, Runtime
from adjourn.engines import engine_host
from adjourn.engines.engine_host import EngineHost
from adjourn.engines.run_tasks import NotNow, RunTasks
from adjourn.errors import EngineError, StoreError
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.views.fleet_view import FleetView


class FakeEngine:
    """An engine in this process: a queue. The first `refused` wakes it does not take."""

    name = "Fake"

    def __init__(self, refused: int = 0, reachable: bool = True) -> None:
        self.queue: asyncio.Queue[str] = asyncio.Queue()
        self.refused, self.reachable, self.is_open = refused, reachable, False
        self.heard: list[str] = []

    async def open(self) -> None:
        if not self.reachable:
            raise EngineError("Fake does not answer")
        self.is_open = True

    async def version(self) -> str:
        return ""

    async def problems(self) -> list[tuple[str, str]]:
        return []

    async def wake(self, run: str) -> None:
        if self.refused:
            self.refused -= 1
            raise ConnectionError("Fake is away")
        self.heard.append(run)
        self.queue.put_nowait(run)

    async def serve(self, tasks: RunTasks, slots: int) -> None:
        while True:
            run = await self.queue.get()
            try:
                found = await tasks.advance(run)
            except NotNow:
                self.queue.put_nowait(run)
                await asyncio.sleep(0)
                continue
            if found.more:
                self.queue.put_nowait(run)

    async def close(self) -> None:
        self.is_open = False


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(tmp_path / "ledger")


@pytest.fixture
def store() -> Store:
    return MemoryStore()


@pytest.fixture
async def runtime(store: Store, ledger: Ledger) -> AsyncIterator[Runtime]:
    async with opened(store, ledger) as rt:
        yield rt


def opened(store: Store, ledger: Ledger) -> Runtime:
    programs = [counts(ledger), refunds(ledger)]
    return Runtime(store, programs, resources={"ledger": ledger}, work=False)


def hosted(runtime: Runtime, engine: Any, **options: Any) -> EngineHost:
    return EngineHost(runtime, engine, hold=0.05, **options)


async def test_what_is_started_and_approved_reaches_the_engine_and_goes_on(runtime: Runtime, ledger: Ledger) -> None:
    engine = FakeEngine()
    async with hosted(runtime, engine):
        run = await runtime.start(refunds(ledger), "go")
        outcome = await run.wait(LIMIT)
        assert isinstance(outcome, Paused)
        await runtime.approve(outcome.interrupts[0].id, by="ana")
        assert isinstance(await run.wait(LIMIT), Completed)
    assert {*engine.heard} == {run.id} and not engine.is_open


async def test_a_wake_that_the_engine_does_not_take_is_handed_over_again(runtime: Runtime, ledger: Ledger) -> None:
    engine = FakeEngine(refused=2)
    run = await runtime.start(counts(ledger), "go")
    async with hosted(runtime, engine):
        assert isinstance(await run.wait(LIMIT), Completed)
    assert engine.refused == 0


async def test_an_engine_that_cannot_be_reached_is_named_and_the_store_writes_no_wakes_for_it(runtime: Runtime) -> None:
    with pytest.raises(EngineError, match="does not answer"):
        async with hosted(runtime, FakeEngine(reachable=False)):
            raise AssertionError("it was opened")
    assert not await runtime.store.waking()


async def test_two_engines_on_one_store_repeat_no_call(store: Store, runtime: Runtime, ledger: Ledger) -> None:
    one, two = FakeEngine(), FakeEngine()
    async with opened(store, ledger) as other, hosted(runtime, one), hosted(other, two):
        runs = [await runtime.start(counts(ledger), "go") for _ in range(5)]
        for run in runs:
            one.queue.put_nowait(run.id)
            two.queue.put_nowait(run.id)
        for run in runs:
            assert isinstance(await run.wait(LIMIT), Completed)
    assert Counter(ledger.lines()) == Counter(f"count {run.id} {number}" for run in runs for number in range(CALLS))


async def test_a_worker_under_an_engine_is_listed_among_the_workers(runtime: Runtime) -> None:
    async with hosted(runtime, FakeEngine()):
        fleet: FleetView = await runtime.fleet()
        async with asyncio.timeout(LIMIT):
            while not fleet.workers:
                await asyncio.sleep(0)
                fleet = await runtime.fleet()
        assert {*fleet.workers[0].programs} == {"counts", "refunds"}


async def test_wakes_that_another_process_turned_off_are_wanted_again(runtime: Runtime, ledger: Ledger) -> None:
    async with hosted(runtime, FakeEngine()):
        await runtime.store.waking(False)
        run = await runtime.start(counts(ledger), "go")
        assert isinstance(await run.wait(LIMIT), Completed)


class Failing(MemoryStore):
    """A store whose list of what is due fails once, and which then cannot be told that wakes are wanted."""

    failures = 0

    async def due(self, *args: Any, **options: Any) -> Any:
        if not self.failures:
            self.failures += 1
            raise RuntimeError("a fault of its own")
        return await super().due(*args, **options)

    async def waking(self, wanted: bool | None = None, **options: Any) -> bool:
        if wanted and self.failures == 1:
            self.failures += 1
            raise StoreError("it is away")
        return await super().waking(wanted, **options)


async def test_what_fails_begins_anew(ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(engine_host, "AGAIN", 0.01)
    store = Failing()
    async with opened(store, ledger) as runtime, hosted(runtime, FakeEngine(), patience=0.01):
        async with asyncio.timeout(LIMIT):
            while not store.failures:
                await asyncio.sleep(0)
        await store.waking(False)
        run = await runtime.start(counts(ledger), "go")
        assert isinstance(await run.wait(LIMIT), Completed)
        async with asyncio.timeout(LIMIT):
            while not await store.waking():
                await asyncio.sleep(0)
        assert store.failures == 2
        other = await runtime.start(counts(ledger), "go")
        assert isinstance(await other.wait(LIMIT), Completed)


async def test_a_process_without_work_only_hands_wakes_over(store: Store, runtime: Runtime, ledger: Ledger) -> None:
    engine = FakeEngine()
    async with hosted(runtime, engine, works=False):
        run = await runtime.start(counts(ledger), "go")
        async with asyncio.timeout(LIMIT):
            assert await engine.queue.get() == run.id
        assert await run.status() == "ready"
