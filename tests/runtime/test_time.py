"""Deadlines by the clock, sleeps across processes."""

from typing import Any

import pytest
from tests.runtime.conftest import Begin
from tests.runtime.world import LIMIT, Ledger, completed, expiring, naps

from adjourn import Cancelled, InterruptClosed, Paused, Run
from adjourn.core.records import CancelAsked, Closed, Decided
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing.env import Env, env
from adjourn.testing.fake_clock import FakeClock


async def asked(e: Env) -> tuple[Run[Any], str]:
    run = await e.runtime.start(expiring(), "go")
    outcome = await run.wait(LIMIT)
    assert isinstance(outcome, Paused)
    return run, outcome.interrupts[0].id


async def test_an_approval_that_nobody_gives_in_time_expires_and_is_no_denial(ledger: Ledger) -> None:
    async with env([expiring()], resources={"ledger": ledger}) as e:
        run, _ = await asked(e)
        await e.skip(59)
        assert await run.status() == "waiting"
        await e.skip(1)
        outcome = await completed(run)
        assert "expired" in outcome.output
        records = [record for _, record in await e.runtime.store.load(run.id)]
    assert [x.why for x in records if isinstance(x, Closed)] == ["expired"]
    assert not [x for x in records if isinstance(x, Decided)]
    assert ledger.lines() == []


async def test_an_expiry_can_cancel_the_run(ledger: Ledger) -> None:
    agent = expiring("cancel")
    async with env([agent], resources={"ledger": ledger}) as e:
        run = await e.runtime.start(agent, "go")
        await run.wait(LIMIT)
        await e.skip(60)
        assert isinstance(await run.wait(LIMIT), Cancelled)
        records = [record for _, record in await e.runtime.store.load(run.id)]
    assert [x.by for x in records if isinstance(x, CancelAsked)] == ["@expiry"]
    assert ledger.lines() == []


async def test_a_late_answer_is_refused_by_the_clock_before_anybody_recorded_the_expiry(ledger: Ledger) -> None:
    async with env([expiring()], resources={"ledger": ledger}) as e:
        run, interrupt = await asked(e)
        e.clock.advance(60)  # nothing has run yet
        with pytest.raises(InterruptClosed, match="expired"):
            await e.runtime.approve(interrupt, by="ann")
        await e.settle()
        await completed(run)
    assert ledger.lines() == []


async def test_an_answer_in_time_beats_the_deadline(ledger: Ledger) -> None:
    async with env([expiring()], resources={"ledger": ledger}) as e:
        run, interrupt = await asked(e)
        await e.skip(59)
        await e.runtime.approve(interrupt, by="ann")
        await e.skip(2)
        await completed(run)
    assert ledger.lines() == ["note a"]


async def test_a_deadline_runs_while_the_run_is_paused_and_counts_on_resume(ledger: Ledger) -> None:
    async with env([expiring()], resources={"ledger": ledger}) as e:
        run, interrupt = await asked(e)
        await run.pause(by="ann")
        await e.skip(61)
        assert await run.status() == "paused"
        with pytest.raises(InterruptClosed, match="expired"):
            await e.runtime.approve(interrupt, by="ann")
        await run.resume(by="ann")
        await completed(run)
    assert ledger.lines() == []


async def test_expiry_on_a_file_across_two_runtimes(db: str, ledger: Ledger) -> None:
    clock = FakeClock()
    store = SQLiteStore(db, now=clock.now)
    try:
        async with env([expiring()], store=store, clock=clock, resources={"ledger": ledger}) as e:
            run, _ = await asked(e)
        clock.advance(3600)
        async with env([expiring()], store=store, clock=clock, resources={"ledger": ledger}) as e:
            await completed(await e.runtime.get(run.id))
    finally:
        await store.close()
    assert ledger.lines() == []


async def test_a_sleep_is_a_parked_run_and_what_came_before_it_is_not_done_again(ledger: Ledger) -> None:
    async with env([naps(ledger)], resources={"ledger": ledger}) as e:
        run = await e.runtime.start(naps(ledger), "go")
        await e.settle()
        assert await run.status() == "waiting"
        assert e.runtime.worker.advancer.running == {}
        assert await e.runtime.inbox() == []
        await e.skip(0.5)
        assert ledger.lines() == ["before"]
        await e.skip(0.5)
        await completed(run)
    assert ledger.lines() == ["before", "after"]


async def test_a_sleep_goes_on_in_another_process(begin: Begin, ledger: Ledger) -> None:
    first = await begin("naps")
    await first.do("start", agent="naps", run="r1")
    await ledger.until("before")
    await first.kill()
    second = await begin("naps")
    assert (await second.do("wait", run="r1"))["output"] == "awake"
    assert ledger.lines()[-1] == "after"
    assert ledger.lines().count("after") == 1
