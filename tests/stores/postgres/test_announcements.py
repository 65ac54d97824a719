"""What one process announces, workers of others hear at once; they do not wait for their next look."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest
from tests.runtime.world import Ledger, refunds
from tests.stores.postgres.server import PostgresServer

from adjourn import Completed, Paused, Runtime
from adjourn.core.records import Said, Stepped
from adjourn.runtime import worker
from adjourn.stores.postgres.store import PostgresStore
from adjourn.testing.contract.fixtures import claim, started

LIMIT = 30.0


@pytest.fixture
async def two(postgres: PostgresServer) -> AsyncIterator[tuple[PostgresStore, PostgresStore]]:
    address = postgres.fresh()
    one, other = PostgresStore(address), PostgresStore(address)
    yield one, other
    await one.close()
    await other.close()


async def test_a_word_a_start_and_a_hand_back_elsewhere_ring_and_neither_a_step_nor_what_is_written_here(
    two: tuple[PostgresStore, PostgresStore],
) -> None:
    one, other = two
    rung: list[str] = []
    end = one.hear(lambda run: rung.append(run))
    await other.create(started("r"))
    while not rung:  # from the first word that is heard it listens
        await other.deliver("r", Said(text="hello"))
        await asyncio.sleep(0.01)
    await marked(other, rung)
    before = len(rung)
    lease = await claim(other, "r")
    await other.commit(lease, [Stepped(call="1.0", key="1")], [], seen=lease.seq)
    await one.deliver("r", Said(text="from here"))
    await other.release(lease)
    await marked(other, rung)
    assert len(rung) == before + 2, "the hand-back and the mark"
    end()


async def marked(other: PostgresStore, rung: list[str]) -> None:
    """Wait for all that was announced so far: announcements come in the order of their commits."""
    known = 0
    while len(rung) > known:  # each look is behind whatever was on its way
        known = len(rung)
        await asyncio.sleep(0.1)
    await other.create(started(f"mark {known}"))
    async with asyncio.timeout(LIMIT):
        while len(rung) == known:
            await asyncio.sleep(0.01)


async def test_a_worker_takes_what_is_answered_in_another_process_without_waiting_for_its_sweep(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    monkeypatch.setattr(worker, "SWEEP", 600.0)
    address, options = postgres.fresh(), dict[str, Any](resources={"ledger": ledger})
    async with Runtime(address, [refunds(ledger)], **options), Runtime(address, work=False, **options) as desk:
        while not await is_heard(desk):
            await asyncio.sleep(0.01)
        for number in range(3):
            run = await desk.start(refunds(ledger), "go", run_id=f"r{number}")
            outcome = await run.wait(LIMIT)
            assert isinstance(outcome, Paused)
            await desk.approve(outcome.interrupts[0].id, by="ana")
            assert isinstance(await run.wait(LIMIT), Completed)


async def is_heard(desk: Runtime) -> bool:
    """Whether somebody listens already."""
    store = desk.store
    assert isinstance(store, PostgresStore)
    sql = "select 1 from pg_stat_activity where query = 'listen adjourn' and datname = current_database()"
    return bool(await store.rows(sql))


async def test_a_word_while_a_commit_turns_out_to_need_locks_is_seen_by_it(
    two: tuple[PostgresStore, PostgresStore], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The oracle looks at a message that carried nothing, too: that the run has moved meanwhile is no failure."""
    one, other = two
    await one.create(started("r"))
    lease = await claim(one, "r")
    loop = asyncio.get_running_loop()

    def not_plain(_: Any) -> bool:
        asyncio.run_coroutine_threadsafe(other.deliver("r", Said(text="hello")), loop).result(LIMIT)
        return False

    monkeypatch.setattr("adjourn.stores.postgres.store.is_plain", not_plain)
    done = await one.commit(lease, [Stepped(call="1.0", key="1")], [], seen=lease.seq)
    assert [type(record) for _, record in done.records] == [Said], "what it had not seen"
    assert [type(record) for _, record in await other.load("r")][-2:] == [Said, Stepped]
