"""A database that an older Adjourn made: it is migrated, and a check says what of it is not sealed."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import apsw
import pytest

from adjourn.core.status import ENDED
from adjourn.stores.audit_key import SecretKey
from adjourn.stores.protocol import Filter
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import check_rows

GOLDEN = Path(__file__).parent / "golden"
KEY = SecretKey(b"k" * 32)


def restored(name: str, path: Path) -> None:
    db: Any = apsw.Connection(str(path))
    db.execute((GOLDEN / name).read_text("utf-8"))
    db.close()


@pytest.fixture(params=["schema4.sql"])
async def old(request: pytest.FixtureRequest, path: Path) -> AsyncIterator[SQLiteStore]:
    restored(request.param, path)
    store = SQLiteStore(str(path))
    yield store
    await store.close()


async def test_nothing_in_it_is_broken_and_nothing_is_sealed(old: SQLiteStore) -> None:
    found = await old.verify()
    assert [str(place) for place in found] == []
    assert (found.seal, found.lines, found.records) == (None, 19, 74)
    assert "nothing is sealed" in str(found) and "19 lines and 74 records are chained, not sealed" in str(found)


async def test_the_first_seal_covers_all_of_it(old: SQLiteStore) -> None:
    seal = await old.seal(KEY)
    assert seal is not None
    assert {x.scope for x in seal.covered} == {"", *(row.id for row in await old.runs(Filter()))}
    found = await old.verify([KEY])
    assert list(found) == [] and (found.lines, found.records) == (0, 0)


async def test_its_rows_are_what_its_journals_mean(old: SQLiteStore) -> None:
    going = [row for row in await old.runs(Filter()) if row.status not in ENDED]
    assert len(going) == 4
    for row in going:
        await check_rows(old, row.id)


async def test_an_endpoint_that_was_added_without_a_digest_must_be_there_and_no_more(
    old: SQLiteStore, path: Path
) -> None:
    db: Any = apsw.Connection(str(path))
    db.execute("update endpoint set url = 'https://elsewhere.example/'")
    assert await old.verify() == []
    db.execute("delete from endpoint")
    db.close()
    assert [(x.what, x.scope) for x in await old.verify()] == [("endpoint", "ops")]
