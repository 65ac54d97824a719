"""The newest lines of the audit follow from those before them, and a look that has an end says how far it went."""

from contextlib import closing
from pathlib import Path

from adjourn.stores.address import open_store
from adjourn.stores.chain_tail import checked_tail
from adjourn.stores.sqlite.connection import connect
from adjourn.testing.contract.fixtures import approval, wait_for, yes


async def test_every_line_is_looked_at_and_found_whole(tmp_path: Path) -> None:
    store = open_store(f"sqlite:///{tmp_path / 'runs.db'}")
    try:
        await wait_for(store, approval(tool="send"))
        await store.deliver("r1", yes())
        found = await checked_tail(store, 10)
        assert (found.lines, found.is_all, found.broken) == (2, True, ())
        found = await checked_tail(store, 1)
        assert (found.lines, found.is_all, found.broken) == (1, False, ())
    finally:
        await store.close()


async def test_a_line_that_was_edited_is_named_and_so_is_one_whose_neighbour_is_gone(tmp_path: Path) -> None:
    file = tmp_path / "runs.db"
    store = open_store(f"sqlite:///{file}")
    try:
        await wait_for(store, approval(tool="send"))
        await store.deliver("r1", yes())
        with closing(connect(str(file))) as db, db:
            [(body,)] = list(db.execute("select body from audit where scope = 'r1' and n = 2"))
            db.execute("update audit set body = replace(body, 'ana', 'eve') where scope = 'r1' and n = 2")
        [place] = (await checked_tail(store, 10)).broken
        assert (place.scope, place.n) == ("r1", 2) and "edited" in place.why
        with closing(connect(str(file))) as db, db:
            db.execute("update audit set body = ? where scope = 'r1' and n = 2", (body,))
            db.execute("delete from audit where scope = 'r1' and n = 1")
        [place] = (await checked_tail(store, 10)).broken
        assert (place.scope, place.n, place.why) == ("r1", 1, "it is missing")
    finally:
        await store.close()
