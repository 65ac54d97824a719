"""Workers that live and die inside this process, on one store, with time that moves only when somebody waits."""

# pyright: reportArgumentType=false, reportUnknownArgumentType=false, reportUnknownVariableType=false

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from tests.control.world import LIMIT, Ledger, solo

from adjourn import Agent, Run, Runtime
from adjourn.core.records import AnyRecord
from adjourn.driver.process_identity import retire
from adjourn.driver.worker_mark import unmark
from adjourn.runtime.heartbeat import Heartbeat
from adjourn.runtime.worker import Worker
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock

LEASE = 60.0


class Stage:
    """A store, a clock, a ledger and whoever works at the moment."""

    def __init__(
        self, store: Store, clock: FakeClock, ledger: Ledger, agents: list[Agent[Any]], **options: Any
    ) -> None:
        self.store, self.clock, self.ledger, self.agents = store, clock, ledger, agents
        self.options = {"lease": LEASE, "grace": 5.0, **options}
        self.rt: Runtime | None = None
        self.dead: list[Heartbeat] = []

    async def live(self) -> Runtime:
        """A new worker."""
        rt = Runtime(self.store, self.agents, resources={"ledger": self.ledger}, **self.options)
        rt.clock = self.clock
        self.rt = await rt.__aenter__()
        return self.rt

    async def die(self) -> None:
        """What a store sees of a crash: nothing more comes, and the lease is still there."""
        assert self.rt is not None
        worker = self.rt.worker
        assert isinstance(worker, Worker)
        worker._closing = worker.advancer._closing = True
        tasks = [t for t in (worker._sweeper, *worker._drives.values()) if t is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self.rt = None
        worker.advancer.heartbeat.need(False)
        self.dead.append(worker.advancer.heartbeat)
        retire(worker.id)
        unmark()  # its process would be gone
        self.clock.advance(LEASE + 1)

    async def start(self, play: dict[str, Any], agent: int = 0, **options: Any) -> Run[Any]:
        rt = self.rt or await self.live()
        return await rt.start(self.agents[agent], play, run_id=play["run"], **options)

    async def until(self, true: Callable[[], Any], *, hurry: float = 0.5) -> None:
        """Wait for something, letting time pass."""
        async with asyncio.timeout(LIMIT):
            while not true():
                for _ in range(4):
                    await asyncio.sleep(0.001)
                    if true():
                        return
                self.clock.advance(hurry)

    async def rest(self, run: Run[Any], *statuses: str) -> str:
        """Wait until the run is at one of these (any rest, if none are given)."""
        wanted = statuses or ("waiting", "held", "failed", "paused", "stuck", "completed", "cancelled", "stopped")
        async with asyncio.timeout(LIMIT):
            while (status := await run.status()) not in wanted:
                await asyncio.sleep(0.001)
                self.clock.advance(0.1)
        return status

    async def records(self, run: str) -> list[AnyRecord]:
        return [record for _, record in await self.store.load(run)]

    async def outcome(self, run: Run[Any]) -> Any:
        return await run.wait(LIMIT)


@asynccontextmanager
async def stage(
    folder: Path, *agents: Callable[[Ledger], Agent[Any]] | Agent[Any], memory: bool = False, **options: Any
) -> AsyncGenerator[Stage]:
    """A stage on a SQLite file in `folder` (or in memory), with these agents (`solo` if none)."""
    clock = FakeClock()
    ledger = Ledger(folder / "ledger")
    store: Store = MemoryStore(now=clock.now) if memory else SQLiteStore(str(folder / "runs.db"), now=clock.now)
    made = [a if isinstance(a, Agent) else a(ledger) for a in agents or (solo,)]
    on = Stage(store, clock, ledger, made, **options)
    try:
        yield on
    finally:
        if on.rt is not None:
            await on.rt.__aexit__()
        for heart in on.dead:
            await heart.close()
        await store.close()
