"""One process under an engine: it tells the engine which runs are due, advances those that the
engine asks for, and sweeps up what the engine forgot."""

import asyncio
import logging
from collections.abc import Awaitable, Callable
from types import TracebackType

from adjourn.engines.backstop import Backstop
from adjourn.engines.engine import Engine
from adjourn.engines.run_tasks import RunTasks
from adjourn.errors import AdjournError, Misused
from adjourn.runtime.runtime import Runtime
from adjourn.runtime.wake_relay import WakeRelay

log = logging.getLogger("adjourn.engines")

PATIENCE = 30.0
"""Seconds for which a run that is due is left to the engine."""
AGAIN = 2.0
"""Seconds after which what failed is tried again, as when the engine gives no work."""
BY = "@engine"
"""Who wants wakes, in the audit."""


class EngineHost:
    """Connects a runtime with an engine, from `async with` to the end of it.

    Without programs in the runtime it only hands over wakes. Inside of it, runs are handed over to
    the engine; two hosts on one store may have different engines: the store decides who has a run.

    Args:
        runtime: an open `Runtime(work=False)`.
        engine: what says when a run is advanced.
        slots: how many runs at the same time; at most those of the runtime.
        works: False: it hands over wakes and advances nothing.
        patience: seconds for which a run that is due is left to the engine.
        hold: seconds after which a wake that the engine did not take is handed over again.
    """

    def __init__(
        self,
        runtime: Runtime,
        engine: Engine,
        *,
        slots: int = 100,
        works: bool = True,
        patience: float = PATIENCE,
        hold: float = 10.0,
    ) -> None:
        self._runtime, self._engine, self._works = runtime, engine, works
        self._slots, self._patience = slots, patience
        self._hold = hold
        self.tasks = RunTasks(runtime)
        self._parts: list[asyncio.Task[None]] = []

    async def __aenter__(self) -> "EngineHost":
        await self._engine.open()
        try:
            await self._want_wakes()
        except BaseException:
            await self._engine.close()
            raise
        self._start(self._hand_over, "relay")
        if self._works and self._runtime.programs:
            backstop = Backstop(self._runtime, self.tasks, patience=self._patience)
            self._runtime.lend_worker()
            self._runtime.keep_sealed()
            self._start(backstop.run, "backstop")
            self._start(self._serve, "serve")
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        for part in self._parts:
            part.cancel()
        await asyncio.gather(*self._parts, return_exceptions=True)
        await self._engine.close()

    def _start(self, work: Callable[[], Awaitable[None]], name: str) -> None:
        task = asyncio.get_running_loop().create_task(_kept(work), name=f"adjourn-engine-{name}")
        self._parts.append(task)

    async def _want_wakes(self) -> None:
        await self._runtime.store.waking(True, by=BY, origin=self._runtime.origin)

    async def _hand_over(self) -> None:
        relay = WakeRelay(self._runtime.store, self._engine.wake, hold=self._hold)
        while True:
            try:
                await relay.run()
            except Misused:  # another process turned them off; this one wants them
                await self._want_wakes()

    async def _serve(self) -> None:
        try:
            await self._engine.serve(self.tasks, self._slots)
            log.warning("%s sent no more work; trying again", self._engine.name)
        except Exception as error:
            log.warning("%s: %s; trying again", self._engine.name, error)


async def _kept(work: Callable[[], Awaitable[None]]) -> None:
    """Begin with it again whenever it ends: what this process is for does not end with an error."""
    while True:
        try:
            await work()
        except AdjournError as error:
            log.warning("%s; trying again", error)
        except Exception:
            log.exception("a part of this worker failed and is restarted")
        await asyncio.sleep(AGAIN)
