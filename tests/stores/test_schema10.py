"""A database of schema 10, from before records had one key: it is migrated, its seal still holds, and its runs go on."""

from collections.abc import AsyncIterator
from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.stores.old_world import clerk, paid
from tests.stores.test_old_databases import KEY, restored

from adjourn import AlreadyDecided, Cancelled, Completed, Runtime
from adjourn.core.status import ENDED
from adjourn.stores.protocol import Filter
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import check_rows


@pytest.fixture
async def old(path: Path) -> AsyncIterator[SQLiteStore]:
    paid.clear()
    restored("schema10.sql", path)
    store = SQLiteStore(str(path))
    yield store
    await store.close()


async def test_its_chains_and_its_seal_hold(old: SQLiteStore) -> None:
    found = await old.verify([KEY])
    assert list(found) == []
    assert found.is_signed
    assert (found.lines, found.records) == (1, 3)  # what came after the seal


async def test_its_rows_are_what_its_journals_mean(old: SQLiteStore) -> None:
    going = [row for row in await old.runs(Filter()) if row.status not in ENDED]
    assert {row.id for row in going} == {"fresh", "half", "second", "paused"}
    for row in going:
        await check_rows(old, row.id)


async def test_its_runs_go_on_with_the_decisions_that_they_have(old: SQLiteStore) -> None:
    async with Runtime(old, [clerk()]) as rt:
        for run in ("fresh", "half", "second", "paused"):
            if run == "paused":
                await (await rt.get(run)).resume(by="ana")
            handle = await rt.get(run)
            while not isinstance(outcome := await handle.wait(60), Completed):
                for item, by in product(await rt.inbox(run=run), ("ana", "bo")):
                    with suppress(AlreadyDecided):  # ana has agreed to some in her time
                        await rt.approve(item, by=by)
            assert outcome.output == "done"
        assert list(await old.verify([KEY])) == []
    assert sorted(paid) == ["a", "a", "b", "b", "b", "b"]  # what had been paid is not paid again


async def test_what_it_did_can_be_undone(old: SQLiteStore) -> None:
    async with Runtime(old, [clerk()]) as rt:
        run = await rt.get("second")
        await run.cancel(by="ana")
        assert isinstance(await run.wait(60), Cancelled)
    assert paid == ["refund a"]


async def test_a_change_of_any_old_record_shows(old: SQLiteStore, path: Path) -> None:
    db: Any = apsw.Connection(str(path))
    db.execute("update journal set body = replace(body, 'order for done', 'order for me') where seq = 1")
    db.close()
    assert ("journal of", "done") in {(x.what, x.scope) for x in await old.verify()}
