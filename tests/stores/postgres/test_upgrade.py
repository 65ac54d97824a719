"""A database of an older schema, brought up to date when it is opened; its runs are as they were."""

import asyncio

import pytest
from tests.stores.postgres.server import PostgresServer

from adjourn.core.records import Started
from adjourn.stores.fleet import Queue
from adjourn.stores.postgres import PostgresStore, migrations
from adjourn.stores.postgres.connections import connect, taken_apart

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
