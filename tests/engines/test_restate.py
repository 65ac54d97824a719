"""What a worker asks of a real Restate server, whatever the runs are."""

import asyncio
from types import SimpleNamespace

import pytest
from tests.engines.restate_server import RestateServer, restate

from adjourn.engines import restate as restate_engine
from adjourn.engines.restate import RestateEngine
from adjourn.engines.run_tasks import RunProgress

__all__ = ["restate"]  # a fixture

LIMIT = 20.0


class Advances:
    """What came of each advance of a run, in order; the time that the worker's machine has at each of them."""

    def __init__(self, *found: tuple[float, RunProgress]) -> None:
        self._left, self._now = list(found), 0.0
        self.over = asyncio.Event()

    async def advance(self, run: str, within: float, until: asyncio.Event) -> RunProgress:
        self._now, found = self._left.pop(0)
        if not self._left:
            self.over.set()
        return found

    def time(self) -> float:
        return self._now


async def test_the_wake_of_a_worker_whose_clock_is_ahead_is_not_taken_for_one_that_still_comes(
    restate: RestateServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The next worker, whose clock is right, is asked before the time at which that wake was planned. It plans another."""
    advances = Advances(
        (1000.0, RunProgress(wake_in=0.05, seq=7)),
        (999.5, RunProgress(wake_in=0.6, seq=8)),
        (1000.1, RunProgress(is_over=True, seq=9)),
    )
    monkeypatch.setattr(restate_engine, "time", SimpleNamespace(time=advances.time))
    given = {name: value for name, value in restate.options.items() if name != "kind"}
    engine, tasks = RestateEngine(**given), advances
    await engine.open()
    serving = asyncio.ensure_future(engine.serve(tasks, 1))  # pyright: ignore[reportArgumentType]
    try:
        async with asyncio.timeout(LIMIT):
            while await engine.problems():
                await asyncio.sleep(0.01)
            await engine.wake("r")
            await advances.over.wait()
    finally:
        serving.cancel()
        await asyncio.gather(serving, return_exceptions=True)
        await engine.close()
