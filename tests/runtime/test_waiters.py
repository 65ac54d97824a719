"""Whoever waits for a run is told: nobody looks while this process has it, and others are heard through the store's bell."""

import asyncio
from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest
from tests.runtime.world import LIMIT, Ledger, completed, notes, operator, refunds, slowly

from adjourn import Completed, Paused, Runtime, StoreError
from adjourn.runtime import indexer, waiters
from adjourn.runtime.waiters import Waiters
from adjourn.stores.protocol import Bell

RUNS = 300


class Looks:
    """Counts what a runtime reads of its runs."""

    def __init__(self, rt: Runtime, monkeypatch: pytest.MonkeyPatch) -> None:
        self.loads, self.rows = Counter[str](), Counter[str]()

        async def nothing(*_: Any) -> int:
            return 0

        monkeypatch.setattr(indexer, "bring_up_to_date", nothing)  # on a busy machine it would read, too
        load, get = rt.store.load, rt.store.get

        async def counting_load(run: str, after: int = 0) -> Any:
            self.loads[run] += 1
            return await load(run, after)

        async def counting_get(run: str) -> Any:
            self.rows[run] += 1
            return await get(run)

        monkeypatch.setattr(rt.store, "load", counting_load)
        monkeypatch.setattr(rt.store, "get", counting_get)


async def test_three_hundred_who_wait_for_a_slot_read_three_hundred_journals(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}, concurrency=10) as rt:
        runs = await asyncio.gather(*(rt.start(refunds(ledger), "go", run_id=f"r{n}") for n in range(RUNS)))
        looks = Looks(rt, monkeypatch)
        outcomes = await asyncio.gather(*(run.wait(LIMIT) for run in runs))
        assert all(isinstance(outcome, Paused) for outcome in outcomes)
        assert looks.loads.total() == RUNS
        inbox = await rt.inbox(limit=RUNS)
        looks.loads.clear()
        await asyncio.gather(*(rt.approve(i.ref, by="ann") for i in inbox))
        outcomes = await asyncio.gather(*(run.wait(LIMIT) for run in runs for _ in range(2)))
        assert all(isinstance(outcome, Completed) for outcome in outcomes)
        assert looks.loads.total() == 2 * RUNS


@pytest.mark.parametrize("slots", [1, 100])
async def test_two_who_wait_for_one_run_read_its_journal_once_each(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch, slots: int
) -> None:
    agents = [slowly(ledger), notes(ledger)]
    async with Runtime(address, agents, resources={"ledger": ledger}, concurrency=slots) as rt:
        first = await rt.start(agents[0], "go", run_id="slow")
        await ledger.until("began 1.0")
        second = await rt.start(agents[1], "go", run_id="behind")
        looks = Looks(rt, monkeypatch)
        waiting = [asyncio.create_task(run.wait(LIMIT)) for run in (first, first, second, second)]
        if slots > 1:
            await waiting[2]
        else:
            await asyncio.sleep(0)
            assert not looks.loads["behind"]
        ledger.open("tool")
        assert all(isinstance(outcome, Completed) for outcome in await asyncio.gather(*waiting))
    assert looks.loads == {"slow": 2, "behind": 2}


async def test_a_run_that_another_process_ends_is_heard_of_while_it_waits_for_a_slot_here(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    agents = [slowly(ledger), notes(ledger)]
    async with Runtime(address, agents, resources={"ledger": ledger}, concurrency=1) as rt:
        slow = await rt.start(agents[0], "go", run_id="slow")
        await ledger.until("began 1.0")
        run = await rt.start(agents[1], "go", run_id="behind")
        looks = Looks(rt, monkeypatch)
        waiting = [asyncio.create_task(run.wait(LIMIT)) for _ in range(2)]
        async with Runtime(address, agents, resources={"ledger": ledger}):
            await asyncio.gather(*waiting)
        assert looks.loads == {"behind": 2}
        looks.rows.clear()
        assert await completed(run), "it had ended before anybody began to wait"
        assert (looks.loads["behind"], looks.rows["behind"]) == (3, 1)
        assert await slow.status() == "running"
        ledger.open("tool")
        await completed(slow)


async def test_a_desk_without_programs_reads_a_journal_once_when_its_run_rests(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with (
        Runtime(address, [slowly(ledger)], resources={"ledger": ledger}) as rt,
        Runtime(address, work=False) as desk,
    ):
        for id in ("one", "two"):
            await rt.start(slowly(ledger), "go", run_id=id)
        looks = Looks(desk, monkeypatch)
        waiting = [asyncio.create_task((await desk.get(id)).wait(LIMIT)) for id in ("one", "two")]
        await ledger.until("began 1.0")
        ledger.open("tool")
        await asyncio.gather(*waiting)
    assert looks.loads == {"one": 1, "two": 1}


async def test_a_ring_that_is_missed_costs_time_and_not_the_answer(
    address: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiters, "EVERY", 0.0)
    async with (
        Runtime(address, [operator(ledger)], resources={"ledger": ledger}) as rt,
        Runtime(address, work=False) as desk,
    ):

        def deaf(run: str, bell: Bell, *, words: bool = False) -> Callable[[], None]:
            return lambda: None

        monkeypatch.setattr(desk.store, "subscribe", deaf)
        await rt.start(operator(ledger), "go", run_id="r")
        looks = Looks(desk, monkeypatch)
        outcome = await (await desk.get("r")).wait(LIMIT)
        assert isinstance(outcome, Paused)
        assert looks.loads == {"r": 1}


def test_however_many_wait_a_sweep_sends_few_of_them_to_look_and_in_the_end_all() -> None:
    everybody = Waiters(lambda run: False)
    rung = Counter[str]()
    waiting = [everybody.add(f"r{n}") for n in range(50)]
    for waiter in waiting:
        waiter.ring = lambda run=waiter.run: rung.update([run])  # type: ignore[method-assign]
    for sweep in range(5):
        everybody.nudge(sweep + 10.0)
        everybody.nudge(sweep + 10.5)
        assert rung.total() == (sweep + 1) * waiters.LOOKS
    assert len(rung) == 50
    assert set(rung.values()) == {2}
    for waiter in waiting:
        everybody.remove(waiter)
    assert len(everybody) == 0


async def test_whoever_waits_when_the_runtime_is_closed_hears_of_it(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}, grace=0.05) as rt:
        run = await rt.start(slowly(ledger), "go", run_id="r")
        other = await rt.start(slowly(ledger), "go", run_id="s")
        waiting = [asyncio.create_task(each.wait(LIMIT)) for each in (run, run, other)]
        await ledger.until("began 1.0")
    for task in waiting:
        with pytest.raises(StoreError, match="closed"):
            await task
    ledger.open("tool")
