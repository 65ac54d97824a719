"""What is gone is noticed by whoever waits: a database that was deleted, a worker that closed and lives on."""

import asyncio
from pathlib import Path

import pytest
from tests.runtime.world import LIMIT, Ledger, paused, slowly

from adjourn import Runtime, StoreError
from adjourn.core.records import Claimed
from adjourn.driver.process_identity import Life
from adjourn.runtime import advancer
from adjourn.runtime.worker import Worker
from adjourn.stores.protocol import LEFT


async def test_whoever_waits_for_a_run_hears_that_its_database_was_deleted(
    address: str, db: str, ledger: Ledger
) -> None:
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}, grace=0.05) as rt:
        run = await rt.start(slowly(ledger), "go", run_id="r1")
        await ledger.until("began 1.0")
        async with Runtime(address, work=False) as desk:
            waiting = asyncio.create_task((await desk.get(run.id)).wait(LIMIT))
            await asyncio.sleep(0)
            Path(db).unlink()
            with pytest.raises(StoreError, match="deleted or replaced"):
                await waiting
            with pytest.raises(StoreError, match="deleted or replaced"):
                await desk.runs()
        ledger.open("tool")


def alive(owner: str) -> Life:
    return Life.ALIVE


@pytest.mark.parametrize("left", [True, False])
async def test_a_worker_that_closed_and_lives_on_gives_its_runs_up_when_its_bodies_have_ended(
    address: str, ledger: Ledger, left: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process sees that this one is alive; what counts is what the worker has said."""
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}, grace=0.05) as rt:
        await rt.start(slowly(ledger), "go", run_id="r1")
        await ledger.until("began 1.0")
    monkeypatch.setattr(advancer, "life_of", alive)
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}, work=False) as rt:
        row = await rt.store.get("r1")
        assert row.worker
        assert row.lease_until == 0.0
        row.lease_until = LEFT if left else 0.0
        worker = rt.worker
        assert isinstance(worker, Worker)
        assert worker._consider(row) == (not left)  # pyright: ignore[reportPrivateUsage]
    async with Runtime(address, [slowly(ledger)], resources={"ledger": ledger}) as rt:
        await paused(await rt.get("r1"))
        claims = [x for _, x in await rt.store.load("r1") if isinstance(x, Claimed)]
        assert len(claims) >= 2
        assert not any(x.lost for x in claims), "it closed: that is no death"
