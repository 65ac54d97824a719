"""A database of an older schema, brought up to date when it is opened, while others work in it; its runs are as they were."""

import asyncio
import os
import re
import subprocess
import sys
from collections.abc import AsyncIterator, Generator
from contextlib import AsyncExitStack, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest
from tests.runtime.process import Process
from tests.runtime.world import Ledger, payer
from tests.stores.postgres import newer
from tests.stores.postgres.server import PostgresServer

from adjourn import Completed, Runtime
from adjourn.core.records import Started
from adjourn.driver.worker_mark import MARK
from adjourn.errors import StoreError
from adjourn.runtime.health import HealthCheck
from adjourn.stores.fleet import Queue
from adjourn.stores.postgres import PostgresStore, migrations
from adjourn.stores.postgres.connections import connect, taken_apart

LIMIT = float(os.environ.get("ADJOURN_TEST_LIMIT", "60"))
WAITING = """
select count(*) from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'
    and query like 'alter table adjourn.run%'
"""
OLD_RUN = """
insert into adjourn.run (id, kind, program, session, labels, title, words, input_digest, seq, head, status, epoch, worker, wake_at,
    blocked, opens, errors, stopped, created_at, updated_at, requesters, salt, erased, chapter, queued, after, after_seq)
values ('old', 'agent', 'clerk', '', '{}', 'hello', 'hello old clerk', '', 0, '\\x00', 'ready', 0, '', 0, '{}', 0, 0, false, 1, 1,
    '{}', '\\x00', 0, 0, false, '', 0)
"""


async def test_a_database_of_the_first_schema_is_opened_and_its_runs_have_no_priority(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.empty()
    first, *_ = migrations.scripts()

    def make() -> None:
        with monkeypatch.context() as only, connect(taken_apart(address)[0]) as db:
            only.setattr(migrations, "scripts", lambda: [first])
            migrations.bring_up_to_date(db, address)
            db.execute(OLD_RUN)

    await asyncio.to_thread(make)
    store = await asyncio.to_thread(PostgresStore, address)
    try:
        assert (await store.get("old")).priority == 0
        await store.create(Started(run="new", kind="agent", program="clerk", options={"priority": 3}))
        assert [row.id for row in await store.due(["clerk"])] == ["new", "old"]
        assert await store.queues() == [Queue("clerk", 2, 1.0, 0)]
        assert await store.roster() == []
    finally:
        await store.close()


@pytest.fixture
async def reader(postgres: PostgresServer) -> AsyncIterator[psycopg.AsyncConnection]:
    """Somebody who has read the table of runs, and has not ended the transaction."""
    address = postgres.fresh()
    async with await psycopg.AsyncConnection.connect(address) as db:
        await db.execute("select count(*) from adjourn.run")
        yield db


def address_of(reader: psycopg.AsyncConnection) -> str:
    return f"postgresql://adjourn@127.0.0.1:{reader.info.port}/{reader.info.dbname}"


@contextmanager
def upgrade(address: str) -> Generator[subprocess.Popen[str]]:
    """A process of a newer version, that brings the schema up to date."""
    with subprocess.Popen(
        [sys.executable, "-m", "tests.stores.postgres.newer", address],
        stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={k: v for k, v in os.environ.items() if k != MARK},
    ) as process:  # fmt: skip
        try:
            yield process
        finally:
            process.kill()


async def test_an_old_worker_goes_on_while_two_newer_processes_wait_for_a_reader_and_upgrade(
    reader: psycopg.AsyncConnection, tmp_path: Path
) -> None:
    """Whoever waits to change a table stops everybody behind it: so it never waits for long."""
    address, ledger = address_of(reader), Ledger(tmp_path / "ledger")
    options: dict[str, Any] = {"address": address, "ledger": ledger.path, "agents": ["payer"], "wall": False}
    async with AsyncExitStack() as stack, asyncio.timeout(LIMIT):
        worker = await Process.begin(**options)
        stack.push_async_callback(worker.kill)
        desk = await stack.enter_async_context(Runtime(address, resources={"ledger": ledger}, work=False))
        look = await stack.enter_async_context(await psycopg.AsyncConnection.connect(address, autocommit=True))

        async def pays(name: str) -> None:
            run = await desk.start(payer(ledger), "go", run_id=name)
            assert isinstance(await run.wait(LIMIT), Completed)

        upgrades = [stack.enter_context(upgrade(address)) for _ in range(2)]
        for number in range(2):
            while not (await (await look.execute(WAITING)).fetchall())[0][0]:
                assert all(process.poll() is None for process in upgrades)
                await asyncio.sleep(0.01)
            await pays(f"meanwhile-{number}")
        assert all(process.poll() is None for process in upgrades), "the reader is still there"
        await reader.rollback()
        for process in upgrades:
            said, _ = await asyncio.to_thread(process.communicate)
            assert process.returncode == 0, said
        numbers = await (await look.execute("select number from adjourn.schema_version order by 1")).fetchall()
        assert [number for (number,) in numbers] == [*(number for number, _ in migrations.scripts()), newer.NUMBER]
        await pays("after")
        assert (await HealthCheck(desk).health()).is_ready, "an old process that goes on is not taken out of service"
        assert sorted(ledger.lines()) == ["paid after", *(f"paid meanwhile-{number}" for number in range(2))]
        assert await desk.verify() == []


async def test_an_upgrade_that_somebody_keeps_waiting_names_them_and_has_changed_nothing(
    reader: psycopg.AsyncConnection, monkeypatch: pytest.MonkeyPatch
) -> None:
    known = migrations.scripts()
    monkeypatch.setattr(migrations, "scripts", lambda: [*known, (newer.NUMBER, newer.SCRIPT)])
    monkeypatch.setattr(migrations, "LONGEST", 0.05)
    monkeypatch.setattr(migrations, "TRIES", 2)
    with pytest.raises(StoreError, match=rf"process {reader.info.backend_pid} .* has been open") as raised:
        await asyncio.to_thread(PostgresStore, address_of(reader))
    assert f"pg_terminate_backend({reader.info.backend_pid})" in str(raised.value)
    assert await (await reader.execute("select max(number) from adjourn.schema_version")).fetchone() == (known[-1][0],)


def test_the_extension_for_searching_is_found_wherever_it_is(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Providers keep extensions in a schema of their own, in which nobody looks for names."""
    address = postgres.empty()
    name = address.rpartition("/")[2]
    postgres.execute("create schema extensions", name)
    postgres.execute("create extension pg_trgm schema extensions", name)
    known = migrations.scripts()
    with connect(taken_apart(address)[0]) as db:
        for until in range(1, len(known) + 1):  # each version of Adjourn after the other
            monkeypatch.setattr(migrations, "scripts", lambda until=until: known[:until])
            migrations.bring_up_to_date(db, address)
        assert migrations.schema_of(db) == known[-1][0]


BYTES = """
select c.relname || '.' || a.attname from pg_attribute a join pg_class c on c.oid = a.attrelid
where c.relnamespace = 'adjourn'::regnamespace and c.relkind in ('r', 'i') and a.attnum > 0 and not a.attisdropped
    and a.attcollation not in (0, '"C"'::regcollation)
"""
"""Columns of tables and indexes whose text is not compared byte by byte."""


def test_text_is_compared_byte_by_byte_whatever_the_locale_of_the_database_is(postgres: PostgresServer) -> None:
    """Two are compared for nothing but being the same, which a locale does not change."""
    with psycopg.connect(postgres.fresh()) as db:
        found = {name for (name,) in db.execute(BYTES).fetchall()}
    assert found == {"blob.digest", "blob_pkey.digest", "run_key.wrapped"}


ADDS = re.compile(
    r"create (table|function|or replace function|trigger)|insert into|with|update|delete from|alter table \S+ add column|comment on",
    re.I,
)
BEFORE_THE_RULE = 9
MADE = re.compile(r"create table (?:if not exists )?(\S+)", re.I)
INDEX = re.compile(r"create (?:unique )?index \S+ on (\S+)|alter table (\S+) alter column", re.I)


def test_a_migration_only_adds_so_that_older_processes_go_on() -> None:
    """An index of a table that is there would stop all who write to it, for as long as the table is large."""
    for number, script in migrations.scripts():
        if number > BEFORE_THE_RULE:
            text = re.sub(r"--.*", "", script)
            for found in too_much(re.sub(r"\$(\w*)\$.*?\$\1\$", "''", text, flags=re.S)):
                raise AssertionError(f"{number}: {found!r} does more than add")
    assert too_much("drop table adjourn.run") and too_much("create index x on adjourn.run (n)")
    assert not too_much("create table adjourn.new (n int);\ncreate index x on adjourn.new (n);")


def too_much(text: str) -> list[str]:
    """The statements of a migration that older processes might notice."""
    made = set(MADE.findall(text))
    found: list[str] = []
    for statement in filter(None, map(str.strip, text.split(";"))):
        index = INDEX.match(statement)
        if not ADDS.match(statement) and not (index and (index[1] or index[2]) in made):
            found.append(statement)
    return found
