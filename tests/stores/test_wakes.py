"""Wakes in a SQLite file: between processes, in a batch, and over a restore."""

from pathlib import Path
from typing import Any

import pytest
from tests.stores.test_sqlite import opened
from tests.stores.test_transaction import one_batch, stale_lease

from adjourn.core.records import Parked, Said
from adjourn.core.status import Status
from adjourn.stores.sqlite.connection import connect
from adjourn.stores.sqlite.restore import restore
from adjourn.testing.contract.fixtures import begin, bring, started, wait_for
from adjourn.testing.contract.wakes import woken


async def test_who_has_the_file_open_hears_at_once_that_another_wants_wakes(path: Path) -> None:
    async with opened(path) as worker, opened(path) as relay:
        await worker.create(started())
        assert await relay.waking(True, by="ana")
        assert await woken(relay) == ["r1"]
        await worker.deliver("r1", Said(text="hi"))
        assert await woken(relay) == ["r1"]
        await relay.waking(False)
        await worker.deliver("r1", Said(text="hi"))
        assert await worker.waking() is False
        assert await woken(relay) == []


async def test_in_one_batch_each_sees_the_wakes_of_those_before_it(path: Path) -> None:
    async with opened(path) as store:
        await store.waking(True)
        await store.halt("tool:pay")
        await wait_for(store, run="halted", parked=Parked(blocked=("tool:pay",)))
        lease = await begin(store, "held")
        await woken(store)
        async with one_batch(store) as batch:
            batch(store.create(started("new")))
            batch(store.commit(lease, (), [Parked(blocked=("tool:pay",))], seen=lease.seq))
            batch(store.halt("tool:pay", lift=True))
            first = batch(store.wakes(take=10))
            batch(store.deliver("new", Said(text="hi")))
            then = batch(store.wakes(take=10))
        assert sorted(wake.run for wake in await first) == ["halted", "held", "new"]
        assert [wake.run for wake in await then] == ["new"]


async def test_what_another_rule_of_the_batch_refuses_leaves_the_wakes_of_the_others(path: Path) -> None:
    async with opened(path) as store:
        await store.waking(True)
        await wait_for(store, run="r0")
        await woken(store)
        async with one_batch(store) as batch:
            batch(store.create(started("r1")))
            refused = batch(store.commit(stale_lease("r0"), (), [Parked(wake_at=1.0)], seen=1))
            batch(store.create(started("r2")))
        with pytest.raises(Exception, match="epoch"):
            await refused
        assert await woken(store) == ["r1", "r2"]


async def test_wakes_that_are_due_are_found_by_their_index(path: Path) -> None:
    async with opened(path) as store:
        await store.waking(True)
    db: Any = connect(str(path))
    sql = "select w.n, r.id, w.not_before from wake w join run r on r.n = w.run where w.not_before <= ? order by w.not_before, w.n limit ?"
    plan = str(db.execute("explain query plan " + sql, (1.0, 10)).fetchall())
    db.close()
    assert "wake_time" in plan and "TEMP B-TREE" not in plan, plan


async def test_of_the_runs_of_a_backup_those_are_woken_that_go_on(path: Path) -> None:
    """Most are paused, and resumed by a word; what is being cancelled goes on being cancelled."""
    async with opened(path) as store:
        await store.waking(True)
        await bring(store, Status.CANCELLING, "cancelling")
        await wait_for(store, run="waiting", parked=Parked(wake_at=1.0))
        await woken(store)
    back = path.with_name("restored.db")
    await restore(str(path), str(back))
    async with opened(back) as store:
        assert await woken(store) == ["cancelling"]
        assert (await store.get("waiting")).status == Status.PAUSED
