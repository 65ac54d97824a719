"""Pruning in a SQLite file: no table keeps a row of a run that is gone, and what is missing unsaid is found."""

from pathlib import Path
from typing import Any

import apsw
import pytest
from tests.stores.test_erasing import Canaries, lived
from tests.stores.test_sqlite import opened

from adjourn.core.codec import encode
from adjourn.core.records import CancelAsked, Parked, RunCancelled
from adjourn.core.status import Status
from adjourn.stores.audit import chain
from adjourn.stores.erasure import Pruning
from adjourn.stores.fleet import Misfit
from adjourn.stores.snapshots import Snapshot
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite.connection import connect
from adjourn.stores.sqlite.removal import BESIDE
from adjourn.testing.contract.fixtures import approval, begin, bring, claim, commit

FOREVER = 1e12


def tables(path: Path) -> dict[str, set[str]]:
    """The columns of every table."""
    db: Any = apsw.Connection(str(path))
    names = [name for (name,) in db.execute("select name from sqlite_master where type = 'table'")]
    found = {name: {row[1] for row in db.execute(f"pragma table_xinfo({name})")} for name in names}
    db.close()
    return found


def test_every_table_that_has_rows_of_a_run_is_known_to_what_removes_them(tmp_path: Path) -> None:
    """Whoever adds such a table adds it there as well: else what was erased stays in it."""
    path = tmp_path / "runs.db"
    SQLiteStore(str(path))
    of_runs = {name for name, columns in tables(path).items() if "run" in columns}
    # a trigger keeps the labels; a thread of a guest goes with its run, and takes its rows along
    assert of_runs == {"journal", "letter", "label", "guest_thread", *BESIDE}


async def pruned(store: SQLiteStore, run: str = "r1") -> None:
    row = await store.get(run)
    assert await store.prune(run, Pruning(row.seq, FOREVER, by="ann"))


async def test_of_a_hundred_canaries_none_is_in_a_byte_after_a_scrub(path: Path) -> None:
    canary = Canaries()
    async with opened(path) as store:
        await lived(store, "r5", canary)
        await pruned(store, "r5")
        await store.scrub()
        assert canary.found(path.parent), "pruning alone writes nothing anew"
        assert await store.scrub(pruned=True)
        assert canary.found(path.parent) == {} and await store.verify() == []


async def test_after_an_erasure_a_scrub_takes_what_was_pruned_before_as_well(path: Path) -> None:
    canary = Canaries()
    async with opened(path) as store:
        await lived(store, "r5", canary)
        await pruned(store, "r5")
        await store.erase("r1", by="ann", reason="asked to")
        assert await store.scrub() and canary.found(path.parent) == {}


async def ended(store: SQLiteStore) -> None:
    for n in ("1", "2", "3"):
        await commit(store, await begin(store, f"r{n}"), (), [approval(), Parked()])
        await store.misfits(Misfit(f"r{n}", 3, "x"))
        await store.deliver(f"r{n}", CancelAsked(by="ana"))
        await commit(store, await claim(store, f"r{n}"), (), [RunCancelled()])
        await store.seal()
    await store.hold("run:r3", by="ann", reason="case 7")
    await pruned(store)
    await store.seal()
    assert await store.verify() == []


@pytest.mark.parametrize(
    ("attack", "place", "why"),
    [
        ("delete from run where id = 'r2'", "journal of r2", "the run is missing"),
        ("delete from audit where scope = 'r1' and body like '%prune%'", "audit of r1", "missing"),
        ("delete from hold", "hold run:r3", "it is off, but the audit has no lift of it"),
        (
            "insert into hold values ('run:r2', 'eve', 'x', 1)",
            "hold run:r2",
            "it is on, but the audit does not say who set it",
        ),
        ("update hold set by = 'eve'", "hold run:r3", "the audit has"),
        ("update run set id = 'r1' where id = 'r2'", "rows of r1", "it was pruned, but is still stored"),
    ],
)
async def test_what_goes_without_a_line_of_the_audit_is_missing(path: Path, attack: str, place: str, why: str) -> None:
    async with opened(path) as store:
        await ended(store)
        db: Any = connect(str(path))
        db.execute(attack)
        db.close()
        found = [str(broken) for broken in await store.verify()]
        assert any(line.startswith(place) and why in line for line in found), found


@pytest.mark.parametrize("part", ["seq", "head"])
async def test_a_pruning_that_says_something_else_than_a_seal_names_is_found(path: Path, part: str) -> None:
    """The line of the audit can be forged while it is not sealed; what was sealed of the journal before cannot."""
    async with opened(path) as store:
        await commit(store, await begin(store, "r1"), (), [approval(), Parked()])
        await store.deliver("r1", CancelAsked(by="ana"))
        await commit(store, await claim(store, "r1"), (), [RunCancelled()])
        await store.seal()
        await pruned(store)
        *_, before, last = await store.audit("r1")
        said = last.entry[part]
        other = said - 1 if part == "seq" else "0" * len(said)
        forged = last.body.replace(f'"{part}":{encode(said).decode()}', f'"{part}":{encode(other).decode()}')
        head = chain(before.head, forged)
        db: Any = apsw.Connection(str(path))
        db.execute("update audit set body = ?, head = ? where scope = 'r1' and n = ?", (forged, head, last.n))
        db.execute("update audit_head set head = ? where scope = 'r1'", (head,))
        db.close()
        assert any("its pruned content differs" in str(broken) for broken in await store.verify())


async def test_what_has_ended_is_found_by_its_index_however_many_runs_there_are(path: Path) -> None:
    async with opened(path) as store:
        await bring(store, Status.COMPLETED)
        db: Any = apsw.Connection(str(path))
        from adjourn.stores.sqlite.rows import ENDED_RUNS

        for status in ("completed", "cancelled"):
            plan = db.execute("explain query plan " + ENDED_RUNS.format(status=status), (1.0, 0.0, "", 10)).fetchall()
            assert f"run_{status}" in str(plan) and "TEMP B-TREE" not in str(plan), plan
        db.close()


async def test_a_state_that_is_written_down_late_comes_into_no_run_that_was_erased_or_pruned(path: Path) -> None:
    """Whoever wrote it had looked before: its hash is still the last that an erased journal keeps."""
    async with opened(path) as store:
        for run in ("r1", "r2"):
            await bring(store, Status.COMPLETED, run=run)
            row = await store.get(run)
            late = Snapshot(row.seq, row.head, 1, b"canary", ())
            await store.snapshots().keep(run, late, {})
            assert await store.snapshots().last(run) == (late, {})
            await (store.erase(run, by="ann", reason="asked to") if run == "r1" else pruned(store, run))
            await store.snapshots().keep(run, late, {})
            assert await store.snapshots().last(run) is None
        await store.scrub(pruned=True)
        assert b"canary" not in path.read_bytes() and b"canary" not in Path(f"{path}-wal").read_bytes()
