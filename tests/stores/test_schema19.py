"""A database of schema 19, with all that a long life leaves: a conversation by reference, a snapshot and a chapter, a run that was
erased, one that was pruned, holds and a seal. It opens for ever, and its runs continue."""

import gzip
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from tests.stores.old_world import chatter, clerk, paid
from tests.stores.test_old_databases import GOLDEN, KEY

from adjourn import Completed, RunErased, RunHeld, RunPruned, Runtime
from adjourn.core.messages import UserMessage
from adjourn.core.records import Chapter
from adjourn.core.state import State
from adjourn.core.status import ENDED
from adjourn.driver.cold_start import folded
from adjourn.errors import UnknownRun
from adjourn.stores.protocol import Filter
from adjourn.stores.sqlite import SQLiteStore
from adjourn.testing import check_rows


@pytest.fixture
async def old(path: Path) -> AsyncIterator[SQLiteStore]:
    paid.clear()
    path.write_bytes(gzip.decompress((GOLDEN / "schema19.db.gz").read_bytes()))
    store = SQLiteStore(str(path))
    yield store
    await store.close()


async def test_its_chains_its_seal_and_its_chapter_hold(old: SQLiteStore) -> None:
    found = await old.verify([KEY])
    assert list(found) == [] and found.is_signed


async def test_its_rows_are_what_its_journals_mean(old: SQLiteStore) -> None:
    going = [row for row in await old.runs(Filter()) if row.status not in ENDED]
    assert {row.id for row in going} == {"fresh", "turn-2", "paused"}
    for row in going:
        await check_rows(old, row.id)


async def test_what_it_kept_of_a_long_turn_is_what_its_journal_means(old: SQLiteStore) -> None:
    records = await old.load("turn-2")
    assert [x.format for _, x in records if isinstance(x, Chapter)] == [2]
    state = await folded(old, "turn-2")
    state.head = b""
    assert state == State().fold_all(records)


async def test_its_conversation_continues(old: SQLiteStore) -> None:
    async with Runtime(old, [chatter()]) as rt:
        run = await rt.get("turn-2")
        [item] = await rt.inbox(run="turn-2")
        await rt.approve(item, by="ana")
        assert isinstance(await run.wait(60), Completed)
        said = [message.text for message in await run.messages() if isinstance(message, UserMessage)]
        assert said[:2] == ["hello", "look at many things"] and said[-1].endswith("and one more")
        assert {request.proof for request in await run.requests()} == {"as sent"}
        assert list(await old.verify([KEY])) == []
    assert paid == ["c"]


async def test_what_was_erased_pruned_or_held_stays_so(old: SQLiteStore) -> None:
    async with Runtime(old, [agent := clerk()]) as rt:
        with pytest.raises(RunErased, match="erased by ana: asked for"):
            await (await rt.get("gone")).checkpoint()
        with pytest.raises(UnknownRun):
            await old.get("pruned")
        with pytest.raises(RunPruned):
            await rt.start(agent, "again", run_id="pruned")
        with pytest.raises(RunHeld, match="a case"):
            await (await rt.get("done")).erase(by="ana", reason="asked for")
        assert (await rt.prune(older=0, by="ana")).held == 1
