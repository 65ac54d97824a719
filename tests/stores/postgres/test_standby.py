"""A worker whose address leads to a standby says so, goes on trying, and works once that one is promoted."""

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from pathlib import Path

import psycopg
import pytest
from tests.logs import ours
from tests.runtime.world import Ledger, refunds
from tests.stores.postgres.server import PostgresServer, programs
from tests.stores.postgres.standby import Standby

from adjourn import Paused, Runtime
from adjourn.cli.commands import doctor
from adjourn.errors import StoreError
from adjourn.runtime.health import HealthCheck
from adjourn.stores.postgres import store as postgres_store

LIMIT = 60.0


class Replica:
    """A database, and the standby that follows its server."""

    def __init__(self, primary: PostgresServer, standby: Standby) -> None:
        self.primary, self.server = primary, standby
        self.written = primary.fresh()
        self.address = standby.address(self.written.rpartition("/")[2])

    async def follow(self) -> None:
        """Wait until the standby has what its primary has now."""
        with psycopg.connect(self.written) as db:
            [(upto,)] = db.execute("select pg_current_wal_lsn()").fetchall()
        async with asyncio.timeout(LIMIT):
            while not await asyncio.to_thread(self._has, upto):
                await asyncio.sleep(0.01)

    def _has(self, upto: str) -> bool:
        with psycopg.connect(self.server.address("postgres")) as db:
            [(there,)] = db.execute("select pg_last_wal_replay_lsn() >= %s::pg_lsn", (upto,)).fetchall()
        return there


@pytest.fixture
async def replica(postgres: PostgresServer) -> AsyncIterator[Replica]:
    found = programs()
    assert found is not None
    with PostgresServer(found) as primary, Standby(found, primary) as server:
        assert isinstance(server, Standby)
        made = Replica(primary, server)
        await made.follow()
        yield made


def said(caplog: pytest.LogCaptureFixture, words: str) -> list[str]:
    return [record.getMessage() for record in ours(caplog) if words in record.getMessage()]


async def until(found: Callable[[], object]) -> None:
    async with asyncio.timeout(LIMIT):
        while not found():
            await asyncio.sleep(0.01)


async def test_a_worker_on_a_standby_says_what_is_wrong_once_and_goes_on_when_it_is_promoted(
    replica: Replica, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    ledger = Ledger(tmp_path / "ledger")
    async with Runtime(replica.written, work=False) as desk:
        await desk.start(refunds(ledger), "go", run_id="r")
    await replica.follow()
    with caplog.at_level(logging.WARNING, logger="adjourn"):
        async with Runtime(replica.address, [refunds(ledger)], resources={"ledger": ledger}) as rt:
            await until(lambda: said(caplog, "is a standby"))
            found = await HealthCheck(rt).health()
            assert not found.is_ready and "is a standby" in found.store and "promote" in found.store
            assert [run.run_id for run in await rt.runs()] == ["r"], "it can be read"
            await asyncio.to_thread(replica.server.promote)
            outcome = await (await rt.get("r")).wait(LIMIT)
            assert isinstance(outcome, Paused)
            await until(lambda: said(caplog, "is writable again"))
            assert (await HealthCheck(rt).health()).is_ready
    [once] = said(caplog, "is a standby")
    assert "name the primary server in the address, or promote this one" in once and "Trying again" in once
    assert len(said(caplog, "is writable again")) == 1
    assert not said(caplog, "announcements are not received"), "that is no other trouble"


async def test_whoever_writes_to_a_standby_is_told_what_to_do_and_the_doctor_names_it(
    replica: Replica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(postgres_store, "PATIENCE", 0.0)
    async with Runtime(replica.address, work=False) as desk:
        with pytest.raises(StoreError, match=r"name the primary server in the address, or promote this one"):
            await desk.halt("tool:pay", by="ana", reason="test")
    found = [one async for one in doctor._all(replica.address, False)]
    [wrong] = [one for one in found if one.level == "wrong"]
    assert (wrong.name, wrong.text) == ("writable", "this server is a standby: nothing can be written")
    assert wrong.advice == ("Name", "the primary server in the address, or promote this one")
    assert not [one for one in found if one.advice and "listen=" in one.advice[1]], "a standby announces nothing"
