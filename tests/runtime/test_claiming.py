"""The sweep takes many runs in one transaction: as many as it has slots for, none twice, none for ever."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.runtime.world import LIMIT

from adjourn import Agent, Runtime, testing, tool
from adjourn.core.records import Claimed
from adjourn.stores.memory import MemoryStore
from adjourn.stores.protocol import Lease
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import FakeClock, ScriptedModel, call


def clerk(version: int = 1, gate: asyncio.Event | None = None) -> Agent[Any]:
    """An agent whose only tool waits for the gate. Its second version is another program."""

    async def stamp(page: int) -> str:
        """Stamp a page."""
        if gate is not None:
            await gate.wait()
        return "stamped"

    async def stamp_all(page: int, copies: int) -> str:
        """Stamp a page and its copies."""
        return "stamped"

    body: Any = stamp_all if version > 1 else stamp
    return Agent("clerk", model=ScriptedModel([call("stamp", page=1)], "done"), tools=[tool(name="stamp")(body)])


class Counting(MemoryStore):
    """A store that says what was claimed, and what was taken one by one."""

    def __init__(self, now: Callable[[], float]) -> None:
        super().__init__(now)
        self.limits: list[int] = []
        self.claimed: list[str] = []
        self.acquired: list[str] = []

    async def claim(self, *args: Any, **options: Any) -> list[Lease]:
        """See `Store.claim`."""
        leases = await super().claim(*args, **options)
        self.limits.append(args[3])
        self.claimed += [lease.run for lease in leases]
        return leases

    async def acquire(self, run: str, *args: Any, **options: Any) -> Lease | None:
        """See `Store.acquire`."""
        self.acquired.append(run)
        return await super().acquire(run, *args, **options)


async def _claims(store: Any, run: str) -> list[Claimed]:
    return [record for _, record in await store.load(run) if isinstance(record, Claimed)]


async def _until(env: testing.Env, runs: list[str], status: str) -> None:
    async with asyncio.timeout(LIMIT):
        while {(await env.runtime.store.get(run)).status.value for run in runs} != {status}:
            await env.skip(1)


async def _started(store: Any, agent: Agent[Any], runs: list[str], **options: Any) -> None:
    """Start these in a process that does not work."""
    async with Runtime(store, work=False) as rt:
        for run in runs:
            await rt.start(agent, "go", run_id=run, **options)


async def test_the_sweep_claims_as_many_as_it_has_free_slots_and_takes_nothing_one_by_one() -> None:
    clock, gate = FakeClock(), asyncio.Event()
    store, agent = Counting(clock.now), clerk(gate=gate)
    runs = [f"r{n}" for n in range(5)]
    await _started(store, agent, runs)
    async with testing.env([agent], store=store, clock=clock, concurrency=2) as env:
        await env.settle()
        assert (store.limits, store.claimed) == ([2], ["r0", "r1"])
        await env.skip(5)
        assert store.limits == [2], "there is no free slot: nothing is asked for"
        gate.set()
        await _until(env, runs, "completed")
        assert (sorted(store.claimed), store.acquired) == (runs, [])


async def test_what_this_process_wakes_itself_the_sweep_leaves_alone(tmp_path: Path) -> None:
    """The first start registers the program: the sweep looks for the first time while the run is being written."""
    for n in range(10):
        async with Runtime(f"sqlite:///{tmp_path}/{n}.db") as rt:
            for run in ("r1", "r2"):
                await rt.start(clerk(), "go", run_id=run)
            for run in ("r1", "r2"):
                await (await rt.get(run)).wait(LIMIT)
                assert len(await _claims(rt.store, run)) == 1


async def test_two_workers_on_one_file_take_nothing_twice_and_leave_nothing(tmp_path: Path) -> None:
    path = f"sqlite:///{tmp_path}/a.db"
    runs = [f"r{n:02}" for n in range(30)]
    await _started(path, clerk(), runs)
    async with (
        Runtime(path, [clerk()], concurrency=3) as one,
        Runtime(path, [clerk()], concurrency=3) as two,
        asyncio.timeout(LIMIT),
    ):
        for run in runs:
            await (await one.get(run)).wait(LIMIT)
        assert {run: len(await _claims(one.store, run)) for run in runs} == dict.fromkeys(runs, 1)
        workers = {(await _claims(one.store, run))[0].worker for run in runs}
        assert workers == {one.worker.id, two.worker.id}


async def test_a_run_that_fits_nobody_stays_as_it_is_until_a_worker_that_fits_claims_it(tmp_path: Path) -> None:
    """Two workers of another version find that it does not fit. Neither takes it, and neither asks again."""
    clock, runs = FakeClock(), ["r1", "r2"]
    stores = [SQLiteStore(str(tmp_path / "a.db"), now=clock.now) for _ in range(3)]
    await _started(stores[0], clerk(), runs)
    before = {run: await stores[0].load(run) for run in runs}
    try:
        async with (
            testing.env([clerk(2)], store=stores[0], clock=clock) as one,
            testing.env([clerk(2)], store=stores[1], clock=clock) as two,
        ):
            refusals = [env.runtime.worker.advancer.refusals for env in (one, two)]
            async with asyncio.timeout(LIMIT):
                while not all(run in refused for run in runs for refused in refusals):
                    await asyncio.sleep(0.01)
                    await one.skip(1)
            for _ in range(5):
                await one.skip(1)
                await two.settle()
            assert {run: await stores[0].load(run) for run in runs} == before
            assert {note.run for note in await stores[0].misfits()} == {*runs}
            async with testing.env([clerk()], store=stores[2], clock=clock) as fits:
                async with asyncio.timeout(LIMIT):
                    while {(await stores[0].get(run)).status.value for run in runs} != {"completed"}:
                        await asyncio.sleep(0.01)
                        await fits.skip(1)
            assert {len(await _claims(stores[0], run)) for run in runs} == {1}
    finally:
        for store in stores:
            await store.close()


async def test_a_run_that_waits_for_its_turn_in_its_session_is_not_claimed() -> None:
    clock, gate = FakeClock(), asyncio.Event()
    store, agent = Counting(clock.now), clerk(gate=gate)
    await _started(store, agent, ["r1", "r2"], session="s", queue="session", after=None)
    async with testing.env([agent], store=store, clock=clock) as env:
        await env.skip(5)
        assert store.claimed == ["r1"]
        gate.set()
        await _until(env, ["r1", "r2"], "completed")
        assert (store.claimed, store.acquired) == (["r1", "r2"], [])
