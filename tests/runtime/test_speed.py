"""What a runtime does not do: load what it knows, sync once per commit, keep a parked run busy."""

import asyncio
from typing import Any

import pytest
from tests.runtime.world import LIMIT, Ledger, notes, operator, paused, refunds

from adjourn import Completed, Paused, Runtime
from adjourn.core.records import AnyRecord
from adjourn.stores.sqlite import SQLiteStore


async def test_an_answer_to_a_parked_run_costs_the_tail_and_not_the_journal(
    db: str, ledger: Ledger, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SQLiteStore(db)
    loaded: list[AnyRecord] = []
    acquire, load = store.acquire, store.load

    async def counting_acquire(*args: Any, **options: Any) -> Any:
        lease = await acquire(*args, **options)
        if lease is not None:
            loaded.extend(record for _, record in lease.records)
        return lease

    async def counting_load(run: str, after: int = 0) -> Any:
        records = await load(run, after)
        loaded.extend(record for _, record in records)
        return records

    async with Runtime(store, [operator(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(operator(ledger), "go")
        outcome = await paused(run)
        for n in range(100):
            await run.say(f"message {n}", by="ann")
        await rt.inbox()
        async with asyncio.timeout(LIMIT):
            while (await store.get(run.id)).status != "waiting":
                await asyncio.sleep(0.001)
        async with asyncio.timeout(LIMIT):
            await rt.worker.rested(run.id)
        monkeypatch.setattr(store, "acquire", counting_acquire)
        monkeypatch.setattr(store, "load", counting_load)
        await rt.answer(outcome.interrupts[0].id, "yes", by="ann")
        async with asyncio.timeout(LIMIT):
            while (await store.get(run.id)).status != "completed":
                await asyncio.sleep(0.001)
    await store.close()
    assert [type(record).__name__ for record in loaded] == ["Decided", "Claimed"]


async def test_a_hundred_runs_at_once_share_their_syncs(db: str, ledger: Ledger) -> None:
    store = SQLiteStore(db)
    async with Runtime(store, [notes(ledger)], resources={"ledger": ledger}) as rt:
        runs = await asyncio.gather(*(rt.start(notes(ledger), "go", run_id=f"r{n}") for n in range(100)))
        outcomes = await asyncio.gather(*(run.wait(LIMIT) for run in runs))
        assert all(isinstance(outcome, Completed) for outcome in outcomes)
    await store.close()
    assert sorted(ledger.lines()) == ["note a"] * 100 + ["note b"] * 100
    assert (
        700 <= store.commits < 720
    )  # each run: create, acquire, five of its loop; nobody commits nothing only to look
    assert store.transactions < store.commits / 4


async def test_a_hundred_runs_at_once_wait_and_go_on(address: str, ledger: Ledger) -> None:
    async with Runtime(address, [refunds(ledger)], resources={"ledger": ledger}, concurrency=20) as rt:
        runs = await asyncio.gather(*(rt.start(refunds(ledger), "go", run_id=f"r{n}") for n in range(100)))
        assert all(isinstance(outcome, Paused) for outcome in await asyncio.gather(*(r.wait(LIMIT) for r in runs)))
        inbox = await rt.inbox(limit=1000)
        assert len(inbox) == 100
        await asyncio.gather(*(rt.approve(i.id, by="ann") for i in inbox))
        assert all(isinstance(outcome, Completed) for outcome in await asyncio.gather(*(r.wait(LIMIT) for r in runs)))
    assert sorted(ledger.lines()) == sorted(f"refund r{n} A1 500" for n in range(100))


async def test_g12_a_parked_run_has_no_task_no_lease_and_no_subscription(db: str, ledger: Ledger) -> None:
    store = SQLiteStore(db)
    async with Runtime(store, [refunds(ledger)], resources={"ledger": ledger}) as rt:
        run = await rt.start(refunds(ledger), "go")
        await run.wait(LIMIT)
        async with asyncio.timeout(LIMIT):
            await rt.worker.rested(run.id)
        row = await store.get(run.id)
        assert (row.worker, row.lease_until, row.wake_at) == ("", 0.0, 0.0)
        assert store._bells.runs == []
        assert not [t for t in asyncio.all_tasks() if run.id in t.get_name()]
    await store.close()
