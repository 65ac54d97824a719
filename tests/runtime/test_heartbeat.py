"""One heartbeat per worker, from a thread of its own: neither a blocked loop nor many runs make a difference to it."""

import asyncio
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.logs import ours
from tests.runtime.world import LIMIT, Ledger, completed, notes, slowly

from adjourn import Agent, Runtime, tool
from adjourn.errors import StoreError
from adjourn.runtime.heartbeat import Heartbeat
from adjourn.stores.memory import MemoryStore
from adjourn.stores.memory.heartbeat import MemoryPulse
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite.connection import connect
from adjourn.testing import FakeClock, ScriptedModel, call

LEASE = 0.3


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "a.db")


def beats(path: str, worker: str) -> Callable[[], float]:
    """Until when a worker lives, as another process sees it."""
    db = connect(path)
    return lambda: next((until for (until,) in db.execute("select until from worker where id = ?", (worker,))), 0.0)


async def test_a_tool_that_holds_the_event_loop_does_not_stop_the_heart(path: str) -> None:
    held, free = threading.Event(), threading.Event()

    @tool(effect="unsafe")
    async def parse() -> str:
        """Hold the event loop until somebody outside has seen two beats."""
        held.set()
        free.wait(LIMIT)
        return "parsed"

    agent = Agent("blocker", model=ScriptedModel([call("parse")], "done"), tools=[parse])
    async with Runtime(f"sqlite:///{path}", [agent], lease=LEASE) as rt:
        until = beats(path, rt.worker.id)
        found: list[float] = []

        def outside() -> None:
            held.wait(LIMIT)
            found.append(until())
            while len(found) < 3:
                if (now := until()) > found[-1]:
                    found.append(now)
            free.set()

        watcher = asyncio.get_running_loop().run_in_executor(None, outside)
        run = await rt.start(agent, "go")
        await completed(run)
        await watcher
    assert found[2] > found[1] > found[0] > 0


async def test_a_worker_without_runs_does_not_beat(path: str, ledger: Ledger) -> None:
    async with Runtime(f"sqlite:///{path}", [notes(ledger)], lease=LEASE, resources={"ledger": ledger}) as rt:
        until = beats(path, rt.worker.id)
        assert until() == 0.0
        await completed(await rt.start(notes(ledger), "go"))
        heart: Any = rt.worker.advancer.heartbeat
        async with asyncio.timeout(LIMIT):
            while not heart._idle:
                await asyncio.sleep(0.01)
        assert not heart._wanted


async def test_a_runtime_that_is_closed_leaves_no_worker_behind(path: str, ledger: Ledger) -> None:
    async with Runtime(f"sqlite:///{path}", [notes(ledger)], resources={"ledger": ledger}) as rt:
        until = beats(path, rt.worker.id)
        await completed(await rt.start(notes(ledger), "go"))
        assert until() > 0.0
    assert until() == 0.0


async def test_a_run_that_was_taken_while_nobody_heard_the_heart_is_let_go_at_once(path: str, ledger: Ledger) -> None:
    """Its body would go on for long; the worker learns of it from its own late beat, not from its next commit."""
    clock = FakeClock()
    store = SQLiteStore(path, now=clock.now)
    try:
        async with Runtime(store, [slowly(ledger)], lease=LEASE, resources={"ledger": ledger}) as rt:
            await rt.start(slowly(ledger), "go", run_id="r1")
            await ledger.until("began 1.0")
            clock.advance(3600)
            assert await store.acquire("r1", "thief", 1e6, replaces=rt.worker.id) is not None
            clock.advance(3600)
            async with asyncio.timeout(LIMIT):
                while rt.worker.drives("r1"):
                    await asyncio.sleep(0.01)
    finally:
        await store.close()
    assert ledger.lines() == ["began 1.0"]


class Failing(MemoryPulse):
    """A heart whose beats do not arrive, so many times."""

    failures = 0
    beaten = threading.Event()

    def beat(self, worker: str, ttl: float) -> bool:
        if self.failures:
            self.failures -= 1
            raise StoreError("the disk is full")
        self.beaten.set()
        return super().beat(worker, ttl)


async def test_beats_that_fail_do_not_end_the_heart(caplog: pytest.LogCaptureFixture) -> None:
    store = MemoryStore()
    pulse = Failing(store.now, {})
    pulse.failures = 2
    store.pulse = lambda: pulse
    heart = Heartbeat(store, "w1", 0.03, lambda: None)
    heart.need(True)
    assert await asyncio.get_running_loop().run_in_executor(None, pulse.beaten.wait, LIMIT)
    await heart.close()
    assert [r.getMessage() for r in ours(caplog)] == ["worker w1 missed a heartbeat: the disk is full"] * 2


def test_a_heart_whose_loop_is_gone_stops() -> None:
    """A runtime that nobody closed must not look alive for as long as its process lives."""
    store = MemoryStore()
    hearts: list[Any] = []

    async def left_open() -> None:
        heart = Heartbeat(store, "w1", 0.03, lambda: None)
        heart.need(True)
        hearts.append(heart)

    asyncio.run(left_open())
    hearts[0]._thread.join(LIMIT)
    assert not hearts[0]._thread.is_alive()
