"""A runtime for tests: in memory, with time that can be skipped."""

import asyncio
from collections.abc import AsyncGenerator, Iterable
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Any

from adjourn.agent.agent import Agent
from adjourn.flow.flow import Flow
from adjourn.runtime.runtime import Runtime
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Store
from adjourn.testing.fake_clock import FakeClock


class Env:
    """A running `Runtime` (`.runtime`) under a `FakeClock` (`.clock`)."""

    def __init__(self, runtime: Runtime, clock: FakeClock) -> None:
        self.runtime, self.clock = runtime, clock

    async def skip(self, duration: float | timedelta) -> None:
        """Move time by `duration` and let everything that has become due happen."""
        self.clock.advance(duration)
        await self.settle()

    async def settle(self) -> None:
        """Let everything run that can run without time passing."""
        for _ in range(200):
            await asyncio.sleep(0)


@asynccontextmanager
async def env(
    programs: Iterable[Agent[Any] | Flow] = (),
    *,
    store: Store | None = None,
    clock: FakeClock | None = None,
    **options: Any,
) -> AsyncGenerator[Env]:
    """A runtime in memory under a fake clock: `async with testing.env([agent]) as env:`;
    `await env.skip(3600)` makes an hour pass.

    Args:
        programs: the agents and flows.
        store: another store than one in memory.
        clock: another fake clock.
        options: as for `Runtime`.
    """
    clock = clock or FakeClock()
    runtime = Runtime(store or MemoryStore(now=clock.now), programs, **options)
    runtime.clock = clock
    async with runtime:
        yield Env(runtime, clock)
