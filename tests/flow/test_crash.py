"""Die at every commit, fail at every operation of the store, pause at every boundary: the same final state each time."""

import asyncio
import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
from tests.crash.scenarios import World
from tests.flow.orders import FINAL, answer, orders
from tests.flow.world import execution

from adjourn import Completed, Execution, Flow, Paused, Run, Runtime
from adjourn.core.records import PauseAsked, Returned
from adjourn.errors import Conflict, Refused, StoreError
from adjourn.stores.memory import MemoryStore
from adjourn.testing import Env, FakeClock, Fault, Faulty, env

LIMIT = 60.0
VARIANTS = ("idempotent", "unsafe")


def killed(*arguments: str) -> list[dict[str, Any]]:
    """Campaigns in processes of their own, side by side: one for each variant."""
    command = [sys.executable, "-m", "tests.flow.orders"]
    running = [subprocess.Popen([*command, v, *arguments], stdout=subprocess.PIPE, text=True) for v in VARIANTS]
    try:
        reports = [json.loads(process.communicate(timeout=1_800)[0]) for process in running]
        assert [process.returncode for process in running] == [0, 0]
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return reports


def test_death_at_every_commit_changes_nothing() -> None:
    """By SIGKILL, before and after every transaction, on SQLite; where chunks are unsafe, a person is asked."""
    for report in killed():
        assert report["failures"] == []
        assert report["expected"]["output"] == FINAL
        assert report["recoveries"] == report["deaths"] >= 40


@pytest.mark.crash
def test_death_at_every_commit_and_in_the_recovery_changes_nothing() -> None:
    for report in killed("--pairs", "11"):
        assert report["failures"] == []
        assert report["recoveries"] >= 100


async def ended(rt: Runtime, run: Run[Any], world: World) -> dict[str, Any]:
    """Act for the person until the run has ended; its final state."""
    while True:
        outcome = await run.wait(LIMIT)
        if isinstance(outcome, Completed):
            return outcome.output
        assert isinstance(outcome, Paused), outcome
        for interrupt in outcome.interrupts:
            await rt.answer(interrupt.id, answer(interrupt, world), by="ann")


def sound(world: World, variant: str, state: Any, when: str) -> None:
    """The same state as if nothing had happened, and nothing unsafe was done twice."""
    assert state == FINAL, when
    calls = [call for _, call, _ in world.lines()]
    assert variant != "unsafe" or len(calls) == len(set(calls)), when


async def insisted(test: Env, flow: Flow, world: World) -> dict[str, Any]:
    """Start it and answer it, again and again if the store fails, and let time pass; its final state."""
    rt = test.runtime
    async with asyncio.timeout(LIMIT):
        while True:
            try:
                run = await rt.start(flow, "go", run_id="r")
                if await run.status() == "completed":
                    return (await run.state()).state
                for interrupt in await rt.inbox(run="r"):
                    await rt.answer(interrupt.id, answer(interrupt, world), by="ann")
            except (StoreError, Conflict):
                pass
            await test.skip(1)


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.parametrize("fault", [Fault.BEFORE, Fault.AFTER, Fault.LATE])
async def test_a_store_that_fails_at_any_operation_changes_nothing(tmp_path: Path, variant: str, fault: Fault) -> None:
    at, tripped = 0, True
    while tripped:
        world, flow, clock = World(tmp_path / f"world{at}"), orders(variant), FakeClock()
        faulty = Faulty(MemoryStore(now=clock.now), at, fault)
        async with env([flow], store=faulty, clock=clock, resources={"world": world}) as test:
            sound(world, variant, await insisted(test, flow, world), f"{fault} at operation {at}")
        tripped, at = faulty.tripped, at + 1
    assert at > 40


async def paused_at(n: int, world: World, variant: str, *, now: bool, reload: bool) -> bool:
    """Pause when the journal has `n` records, look that nothing more begins, go on; False if it never came to that."""
    store = MemoryStore()
    asked = False

    class Pausing:
        """A store to which somebody says `pause` right after the commit that makes the journal so long."""

        def __getattr__(self, name: str) -> Any:
            return getattr(store, name)

        async def commit(self, *args: Any, **options: Any) -> Any:
            nonlocal asked
            done = await store.commit(*args, **options)
            if not asked and done.seq >= n:
                asked = True
                try:
                    await store.deliver("r", PauseAsked(by="ann", now=now))
                except Refused:
                    asked = (await store.get("r")).status == "completed"
            return done

    flow = orders(variant)
    async with env([flow], store=cast("Any", Pausing()), resources={"world": world}) as test:
        run = await test.runtime.start(flow, "go", run_id="r")
        while not asked and (await store.get("r")).status != "completed":
            await answered(test.runtime, run, world)
        await test.settle()
        if await run.status() == "completed":
            return False
        assert await run.status() == "paused"
        before = len(await store.load("r"))
        await test.skip(3600)
        assert len(await store.load("r")) == before
        if not reload:
            await run.resume(by="ann")
            sound(world, variant, await ended(test.runtime, run, world), f"paused at {n}")
            return True
    async with env([again := orders(variant)], store=store, resources={"world": world}) as test:
        run = await test.runtime.start(again, "go", run_id="r")
        await run.resume(by="ann")
        sound(world, variant, await ended(test.runtime, run, world), f"paused at {n}, resumed elsewhere")
    return True


async def answered(rt: Runtime, run: Run[Any], world: World) -> None:
    """Answer one thing that waits, if there is one."""
    for interrupt in (await rt.inbox(run=run.id))[:1]:
        await rt.answer(interrupt.id, answer(interrupt, world), by="ann")
    await asyncio.sleep(0)


@pytest.mark.parametrize("now", [False, True])
@pytest.mark.parametrize("variant", VARIANTS)
async def test_a_pause_at_every_boundary_changes_nothing(tmp_path: Path, variant: str, now: bool) -> None:
    n, paused = 2, 0
    while await paused_at(n, World(tmp_path / f"world{n}"), variant, now=now, reload=n % 2 == 0):
        n, paused = n + 1, paused + 1
    assert paused > 35


async def test_undisturbed_every_call_has_one_result(tmp_path: Path) -> None:
    world, flow = World(tmp_path / "world"), orders("unsafe")
    async with env([flow], resources={"world": world}) as test:
        run = await test.runtime.start(flow, "go", run_id="r")
        sound(world, "unsafe", await ended(test.runtime, run, world), "undisturbed")
        results = [r.call for _, r in await test.runtime.store.load("r") if isinstance(r, Returned)]
    assert len(results) == len(set(results)) == 17


async def to_its_end(one: Execution, world: World) -> dict[str, Any]:
    """Act for the person until an execution has nothing left to do; its final state."""
    async with asyncio.timeout(LIMIT):
        while one.pending_interrupts:
            interrupt = next(iter(one.pending_interrupts.values()))
            await one.continue_with(interrupt.id, answer(interrupt, world), by="ann")
        return await one.close()


@pytest.mark.parametrize("variant", VARIANTS)
async def test_an_execution_saved_at_every_commit_goes_on_elsewhere(
    tmp_path: Path, variant: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    world, saves = World(tmp_path / "world"), list[tuple[str, World]]()
    one = execution(orders(variant), resources={"world": world})
    commit = one._store.commit

    async def saving(*args: Any, **options: Any) -> Any:
        done = await commit(*args, **options)
        there = World(tmp_path / f"world{len(saves)}")  # the world as it is at this moment
        if world.path.exists():
            shutil.copy(world.path, there.path)
        saves.append((one.save().to_json(), there))
        return done

    monkeypatch.setattr(one._store, "commit", saving)
    await one.start("go")
    sound(world, variant, await to_its_end(one, world), "undisturbed")
    for n, (saved, there) in enumerate(saves):
        again = execution(orders(variant), resources={"world": there}).load(saved)
        if again.status not in ("completed", "cancelled"):
            await again.resume()
        sound(there, variant, await to_its_end(again, there), f"saved at commit {n}")
    assert len(saves) > 12
