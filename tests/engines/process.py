"""Worker processes under an engine, whose wakes may be dropped, doubled, late and out of order.

`python -m tests.engines.process '{"address": …, "ledger": …, "engine": {…}}'` works until the end of its input.
"""

import asyncio
import json
import os
import random
import sys
from contextlib import AsyncExitStack, suppress
from datetime import timedelta
from typing import Any

from tests.engines.world import PROGRAMS, VERSIONS
from tests.runtime.process import Process
from tests.runtime.world import Ledger

from adjourn import Runtime
from adjourn.cli.engine_options import EngineOptions
from adjourn.driver.worker_mark import MARK
from adjourn.engines.engine import Engine
from adjourn.engines.engine_host import EngineHost
from adjourn.engines.run_tasks import RunTasks

HEARTBEAT = timedelta(seconds=2)
SLOTS = 40
START = 60.0
"""Seconds that a worker has to begin, on a machine with much else to do."""


class EngineWorker(Process):
    """One on the other side of two pipes."""

    @classmethod
    async def begin(cls, **options: Any) -> "EngineWorker":
        """Start it and wait until it works."""
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "tests.engines.process", json.dumps(options),
            stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, env={k: v for k, v in os.environ.items() if k != MARK},
        )  # fmt: skip
        self = cls(process)
        assert process.stdout is not None
        async with asyncio.timeout(START):
            assert json.loads(await process.stdout.readline()) == "open"
        return self

    @property
    def pid(self) -> int:
        """Its number."""
        return self._process.pid


class Unruly:
    """An engine that loses every fourth wake, doubles some, and delivers others late, so out of order."""

    def __init__(self, engine: Engine, seed: int) -> None:
        self._engine, self._chance, self.name = engine, random.Random(seed), engine.name
        self._late: set[asyncio.Task[None]] = set()

    async def open(self) -> None:
        await self._engine.open()

    async def wake(self, run: str) -> None:
        what = self._chance.choice(["lose", "double", "delay", "keep"])
        if what == "delay":
            task = asyncio.create_task(self._later(run))
            self._late.add(task)
            task.add_done_callback(self._late.discard)
        elif what != "lose":
            await self._engine.wake(run)
        if what == "double":
            await self._engine.wake(run)

    async def _later(self, run: str) -> None:
        await asyncio.sleep(self._chance.random())
        with suppress(Exception):  # an engine that is away has lost it
            await self._engine.wake(run)

    async def serve(self, tasks: RunTasks, slots: int) -> None:
        await self._engine.serve(tasks, slots)

    async def version(self) -> str:
        return await self._engine.version()

    async def problems(self) -> list[tuple[str, str]]:
        return await self._engine.problems()

    async def close(self) -> None:
        for task in self._late:
            task.cancel()
        await asyncio.gather(*self._late, return_exceptions=True)
        await self._engine.close()


async def serve(
    address: str,
    ledger: str,
    engine: dict[str, str],
    unruly: int = -1,
    patience: float = 30.0,
    version: str = "",
    **options: Any,
) -> None:
    """Work until the end of the input; of VERSIONS this one, if it is named."""
    book, chosen = Ledger(ledger), EngineOptions(**engine).choice().engine
    programs = [make(book) for make in (PROGRAMS | VERSIONS.get(version, {})).values()]
    options |= {"resources": {"ledger": book}, "concurrency": SLOTS, "work": chosen is None}
    async with AsyncExitStack() as stack:
        rt = await stack.enter_async_context(Runtime(address, programs, **options))
        if chosen is not None:
            if unruly >= 0:
                chosen = Unruly(chosen, unruly)
            host = EngineHost(rt, chosen, slots=SLOTS, patience=patience, hold=1.0)
            await stack.enter_async_context(host)
        print(json.dumps("open"), flush=True)
        await asyncio.to_thread(sys.stdin.read)


def hasten(kind: str) -> None:
    """Engines that find a dead worker within seconds."""
    if kind == "temporal":
        from adjourn.engines import temporal, temporal_workflow

        temporal.HEARTBEAT = temporal_workflow.HEARTBEAT = HEARTBEAT


if __name__ == "__main__":
    given = json.loads(sys.argv[1])
    hasten(given["engine"]["kind"])
    asyncio.run(serve(**given))
