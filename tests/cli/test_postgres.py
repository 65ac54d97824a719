"""Every command on a database in PostgreSQL; what makes no sense there says what to do instead."""

import asyncio
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.cli import shop
from tests.cli.conftest import Said, begin
from tests.stores.postgres.server import PostgresServer

from adjourn import Runtime
from adjourn.stores.last_restore import last_restore
from adjourn.stores.postgres import PostgresStore

Run = Callable[..., Said]


@pytest.fixture
def db(postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database that every command means."""
    address = postgres.fresh()
    monkeypatch.setenv("ADJOURN_DB", address)
    return address


@pytest.fixture
def refund(db: str) -> str:
    """A run in it that waits for the approval of a refund."""
    return asyncio.run(begin(shop.refunds, db=db))[0]


def test_what_is_in_it_is_counted_and_its_schema_is_said(adjourn: Run, refund: str, db: str) -> None:
    found = adjourn("db", "info", "--json").json
    assert (found["runs"], found["open"], found["path"], found["schema"]) == (1, 1, db, found["newest"])
    assert "waiting" in adjourn("db", "info").out
    assert adjourn("db", "upgrade", "--check").code == 0


def test_a_database_with_nothing_in_it_is_made_by_migrate_alone(adjourn: Run, postgres: PostgresServer) -> None:
    address = postgres.empty()
    for words in (["runs"], ["db", "info"], ["inbox"]):
        said = adjourn(*words, "--db", address)
        assert said.code == 2 and "there is no database at" in said.err
    assert adjourn("db", "upgrade", "--check", "--db", address).code == 1
    assert adjourn("runs", "--db", address).code == 2, "a look has made nothing"
    assert adjourn("db", "upgrade", "--db", address).code == 0
    assert adjourn("runs", "--db", address).code == 0


def test_a_run_is_shown_decided_and_audited(adjourn: Run, refund: str, db: str) -> None:
    assert refund in adjourn("runs").out
    assert refund in adjourn("show", refund).out
    [item] = adjourn("inbox", "--json").json
    said = adjourn("approve", item["id"], "--by", "ann", "--digest", item["call"]["digest"][:16])
    assert said.code == 0, said.err
    assert asyncio.run(status(db, refund)) == "ready"
    assert "approve" in adjourn("audit", refund).out
    assert adjourn("audit", "verify").code == 0


def test_its_users_are_in_it_and_decide_with_their_keys(
    adjourn: Run, refund: str, db: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = adjourn("user", "add", "ana", "--role", "admin", "--users", str(tmp_path / "people")).out.strip()
    said = adjourn("user", "copy", str(tmp_path / "people"))
    assert said.code == 0 and "1 user copied" in said.err
    assert [user["name"] for user in adjourn("user", "list", "--json").json] == ["ana"]
    assert "already has users" in adjourn("user", "copy", str(tmp_path / "people")).err
    [item] = adjourn("inbox", "--json").json
    words = ["approve", item["id"], "--digest", item["call"]["digest"][:16]]
    assert "needs a key" in adjourn(*words).err
    monkeypatch.setenv("ADJOURN_KEY", key)
    assert adjourn(*words).code == 0
    assert "copy users" in adjourn("audit", "--security").out


async def status(db: str, run: str) -> str:
    async with Runtime(db) as rt:
        return await (await rt.get(run)).status()


def test_runs_are_steered_halted_held_erased_and_pruned(adjourn: Run, refund: str) -> None:
    for words in (
        ["halt", "agent:refunds", "--reason", "incident"],
        ["unhalt", "agent:refunds", "--reason", "over"],
        ["hold", refund, "--reason", "case 7"],
        ["hold", refund, "--lift"],
        ["cancel", refund, "--reason", "enough"],
    ):
        said = adjourn(*words, "--by", "ann")
        assert said.code == 0, (words, said.err)
    assert adjourn("db", "prune", "--older", "1m", "--dry-run").code == 0


def test_doctor_and_check_look_at_it(adjourn: Run, refund: str, db: str) -> None:
    found = adjourn("doctor", "--json").json
    names = [finding["name"] for finding in found["findings"]]
    assert found["ok"] and {"store", "journals", "audit", "clock", "workers"} <= {*names}
    assert adjourn("db", "check").code == 0


def test_what_was_erased_is_scrubbed(adjourn: Run, db: str) -> None:
    [run] = asyncio.run(begin(shop.refunds, db=db))
    asyncio.run(cancelled(db, run))
    said = adjourn("erase", run, "--reason", "request 311", "--by", "ann", "--yes")
    assert said.code == 0, said.err
    assert adjourn("db", "scrub", "--json").json == {"scrubbed": True}
    assert adjourn("db", "prune", "--older", "1m", "--status", "cancelled", "--by", "ann").code == 0


async def cancelled(db: str, run: str) -> None:
    async with Runtime(db, [shop.refunds]) as rt:
        handle = await rt.get(run)
        await handle.cancel(by="ann")
        await handle.wait(20)


@pytest.mark.parametrize(
    ("words", "advice"), [(["backup", "copy.db"], "pg_dump"), (["restore", "copy.db"], "adjourn db restored")]
)
def test_a_copy_is_made_and_put_back_with_postgresql_s_own_tools(
    adjourn: Run, refund: str, words: list[str], advice: str
) -> None:
    said = adjourn("db", *words)
    assert said.code == 2 and advice in said.err


async def restored_at(db: str) -> float:
    store = PostgresStore(db)
    try:
        return await last_restore(store)
    finally:
        await store.close()


def test_a_database_that_was_put_back_has_its_runs_paused(adjourn: Run, refund: str, db: str) -> None:
    done = adjourn("db", "restored", "--by", "ann", "--json").json
    assert (done["runs"], done["held"]) == (1, 1)
    assert asyncio.run(status(db, refund)) == "paused"
    assert asyncio.run(restored_at(db)) > time.time() - 600
    assert "restore" in adjourn("audit", refund).out
    assert adjourn("audit", "verify").code == 0


def test_a_database_in_which_a_worker_is_at_work_is_left_alone(adjourn: Run, refund: str, db: str) -> None:
    async def beat() -> None:
        store = PostgresStore(db)
        pulse = store.pulse()
        pulse.beat("w1", 600.0)
        pulse.close()
        await store.close()

    asyncio.run(beat())
    said = adjourn("db", "restored", "--by", "ann")
    assert said.code == 1 and "worker w1 is running on" in said.err
    assert asyncio.run(status(db, refund)) == "waiting"


def test_no_password_is_shown(adjourn: Run, postgres: PostgresServer) -> None:
    secret = postgres.fresh().replace("adjourn@", "adjourn:hunter2@")
    for words in (["db", "info"], ["doctor"], ["inbox"], ["db", "backup", "x"]):
        said = adjourn(*words, "--db", secret)
        assert "hunter2" not in said.out + said.err, words
    away = "postgresql://adjourn:hunter2@127.0.0.1:1/nowhere"
    said = adjourn("runs", "--db", away)
    assert said.code == 1 and "hunter2" not in said.err and "127.0.0.1" in said.err
