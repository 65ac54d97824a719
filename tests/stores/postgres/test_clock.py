"""A machine whose clock is wrong goes by the clock of the database: it takes nobody's runs, and nothing is too early or too late."""

import time
from pathlib import Path

import pytest
from tests.runtime.world import LIMIT, Ledger, call, naps, refund
from tests.stores.postgres.server import PostgresServer

from adjourn import Agent, Completed, Paused, Runtime
from adjourn.core.records import Parked, Said
from adjourn.errors import LeaseBusy
from adjourn.policy import Policy, ask
from adjourn.stores.postgres.store import PostgresStore
from adjourn.testing import ScriptedModel
from adjourn.testing.contract.fixtures import TTL, claim, started

HOUR = 3600.0
NEAR = 300.0
"""Far more than a test takes, and far less than the clocks differ."""


WRONG = pytest.mark.parametrize("by", [HOUR, -HOUR], ids=["ahead", "behind"])


def put_wrong(monkeypatch: pytest.MonkeyPatch, by: float) -> float:
    """From now on this machine's clock is; what time it is."""
    right = time.time
    monkeypatch.setattr(time, "time", lambda: right() + by)
    return right()


@WRONG
async def test_a_worker_whose_clock_is_wrong_takes_no_run_that_another_has_and_dates_by_the_database(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch, by: float
) -> None:
    address = postgres.fresh()
    good = PostgresStore(address)
    await good.create(started("r"))
    await claim(good, "r", worker="good")
    now = put_wrong(monkeypatch, by)
    odd = PostgresStore(address)
    assert await odd.claim(["clerk"], "odd", TTL, 5) == []
    with pytest.raises(LeaseBusy):
        await odd.acquire("r", "odd", TTL)
    await odd.create(started("s"))
    lease = await claim(odd, "s", worker="odd")
    await odd.deliver("s", Said(text="hello"))
    pulse = odd.pulse()
    pulse.beat("odd", TTL)
    assert await good.claim(["clerk"], "good", TTL, 5) == [], "whose heartbeat is dated by the database"
    for store in (good, odd):
        until = (await store.workers())["odd"]
        assert abs(until - TTL - now) < NEAR
        assert abs(store.now() - now) < NEAR
    records = [record for _, record in await good.load("s")]
    assert len(records) == lease.seq + 1
    assert all(abs(record.at - now) < NEAR for record in records)
    pulse.end("odd")
    pulse.close()
    await good.close()
    await odd.close()


@WRONG
async def test_where_every_clock_but_the_database_s_is_wrong_timers_and_expiries_are_in_time(
    postgres: PostgresServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, by: float
) -> None:
    now = put_wrong(monkeypatch, by)
    ledger, address = Ledger(tmp_path / "ledger"), postgres.fresh()
    model = ScriptedModel([call("refund", order="A1", cents=500)], "refunded")
    pays = Agent("pays", model=model, tools=[refund], policy=Policy([ask("refund", expires_in=LIMIT)]))
    programs = [naps(ledger), pays]
    async with Runtime(address, programs, resources={"ledger": ledger}) as rt:
        sleeping, asking = await rt.start(naps(ledger), "go"), await rt.start(pays, "go")
        outcome = await asking.wait(LIMIT)
        assert isinstance(outcome, Paused)
        assert abs((outcome.interrupts[0].expires_at or 0.0) - LIMIT - now) < NEAR
        await rt.approve(outcome.interrupts[0].id, by="ana")
        for run in (sleeping, asking):
            assert isinstance(await run.wait(LIMIT), Completed)
            times = [record.at for _, record in await rt.store.load(run.id)]
            assert all(abs(at - now) < NEAR for at in times)
            assert times == sorted(times)
        parked = [record for _, record in await rt.store.load(sleeping.id) if isinstance(record, Parked)]
        assert [abs(record.wake_at - now) < NEAR for record in parked] == [True]
