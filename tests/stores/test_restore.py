"""`restore`: a bad backup or a database in use changes nothing; nothing is deleted; who comes from before comes too late."""

import asyncio
import os
import shutil
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import pytest
from msgspec.structs import replace
from tests.stores.test_sqlite import opened

from adjourn.core.records import CancelAsked, Claimed, Parked, Restored, Said
from adjourn.core.status import Status
from adjourn.errors import Conflict, Invalid, LeaseLost, NotFound, StoreError
from adjourn.stores.audit_key import SecretKey
from adjourn.stores.last_restore import last_restore
from adjourn.stores.seals import Anchor
from adjourn.stores.sqlite.restore import copy_database, restore
from adjourn.stores.tenant_store import TenantStore
from adjourn.testing.contract.fixtures import begin, claim, commit, replied, started
from adjourn.testing.oracle import check_rows


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "runs.db"


@pytest.fixture
def backup(tmp_path: Path) -> Path:
    return tmp_path / "backup.db"


def back_up(path: Path, to: Path) -> None:
    db: Any = apsw.Connection(str(path))
    copy_database(db, str(to))
    db.close()


def change(path: Path, sql: str) -> None:
    db: Any = apsw.Connection(str(path))
    db.execute(sql)
    db.close()


async def two_runs(path: Path) -> None:
    async with opened(path) as store:
        await begin(store, "r1")
        await begin(store, "r2")


def in_folder(path: Path) -> dict[str, bytes]:
    return {file.name: file.read_bytes() for file in path.parent.iterdir() if file.is_file()}


def damaged(backup: Path) -> None:
    whole = bytearray(backup.read_bytes())
    whole[4096 : 4096 + 3000] = b"\xff" * 3000
    backup.write_bytes(whole)


BAD: dict[str, tuple[Callable[[Path], Any], str]] = {
    "damaged": (damaged, "damaged|cannot be read"),
    "no database": (lambda b: b.write_text("a text, long enough to be taken for a database" * 50), "cannot be read"),
    "of something else": (lambda b: (b.unlink(), change(b, "create table mine (n)")), "not an Adjourn database"),
    "empty": (lambda b: b.write_bytes(b""), "not a backup"),
    "newer": (lambda b: change(b, "pragma user_version = 999"), "newer version"),
    "edited": (
        lambda b: change(b, "update journal set body = replace(body, 'agent', 'Agent') where seq = 1"),
        "was modified",
    ),
}


@pytest.mark.parametrize("how", BAD)
async def test_a_bad_backup_is_refused_before_anything_is_touched(path: Path, backup: Path, how: str) -> None:
    await two_runs(path)
    back_up(path, backup)
    spoil, why = BAD[how]
    spoil(backup)
    before = in_folder(path)
    with pytest.raises(StoreError, match=why):
        await restore(str(backup), str(path))
    assert in_folder(path) == before


async def test_a_backup_that_is_not_there_or_is_the_database_itself_is_refused(path: Path, backup: Path) -> None:
    await two_runs(path)
    with pytest.raises(NotFound):
        await restore(str(backup), str(path))
    backup.symlink_to(path)
    with pytest.raises(Invalid):
        await restore(str(backup), str(path))


async def test_a_database_in_use_is_refused_and_the_process_is_named(path: Path, backup: Path) -> None:
    await two_runs(path)
    back_up(path, backup)
    user = await asyncio.create_subprocess_exec(
        sys.executable, "-m", "tests.stores.process", "talk", f"sqlite:///{path}", "p", "1",
        stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE,
    )  # fmt: skip
    try:
        assert user.stdout is not None
        assert await user.stdout.readline()
        with pytest.raises(Conflict, match=rf"in use by process {user.pid}\b"):
            await restore(str(backup), str(path))
        assert len(list(path.parent.glob("*replaced*"))) == 0
    finally:
        user.kill()
        await user.wait()
    assert (await restore(str(backup), str(path))).held == 2, "the dead hold nothing, although they left their log"


async def test_a_database_in_use_by_this_process_is_refused(path: Path, backup: Path) -> None:
    async with opened(path) as store:
        await begin(store)
        back_up(path, backup)
        with pytest.raises(Conflict, match="in use"):
            await restore(str(backup), str(path))
        await store.deliver("r1", Said(text="still here"))


async def test_what_was_there_is_kept_with_its_last_records_and_is_the_way_back(path: Path, backup: Path) -> None:
    await two_runs(path)
    back_up(path, backup)
    async with opened(path) as store:
        await store.deliver("r1", Said(text="after the backup"))
    done = [await restore(str(backup), str(path)) for _ in range(2)]
    assert len({x.kept for x in done}) == 2
    assert os.stat(path).st_mode & 0o077 == 0
    shutil.copy(done[0].kept, path)
    async with opened(path) as store:
        assert isinstance((await store.load("r1"))[-1][1], Said)
    assert not list(path.parent.glob("*restoring*"))


async def test_a_database_that_is_damaged_or_gone_can_be_restored(path: Path, backup: Path) -> None:
    await two_runs(path)
    back_up(path, backup)
    path.write_bytes(b"\xff" * 8192)
    Path(f"{path}-wal").write_bytes(b"of the damaged one")
    done = await restore(str(backup), str(path))
    assert Path(done.kept).read_bytes() == b"\xff" * 8192
    assert Path(f"{done.kept}-wal").read_bytes() == b"of the damaged one"
    async with opened(path) as store:
        assert await store.verify() == []
    path.unlink()
    done = await restore(str(backup), str(path))
    assert done.kept == "" and path.exists()


async def test_a_database_of_something_else_is_not_replaced(path: Path, backup: Path) -> None:
    await two_runs(path)
    back_up(path, backup)
    other = path.with_name("other.db")
    change(other, "create table mine (n)")
    with pytest.raises(StoreError, match="not an Adjourn database"):
        await restore(str(backup), str(other))


async def test_a_worker_of_the_time_that_was_lost_can_commit_nothing(path: Path, backup: Path) -> None:
    await two_runs(path)
    back_up(path, backup)
    async with opened(path) as store:
        lost = await store.acquire("r1", "later", 60.0, replaces="w1")
        assert lost is not None
    await restore(str(backup), str(path))
    async with opened(path) as store:
        row = await store.get("r1")
        assert (row.status, row.worker, row.lease_until) == (Status.PAUSED, "", 0.0)
        for stale in (lost, replace(lost, epoch=lost.epoch + 1000)):
            with pytest.raises(LeaseLost):
                await commit(store, stale, [replied()], seen=row.seq)
        assert await store.acquire("r1", "new", 60.0) is None
        await check_rows(store, "r1")


async def test_a_run_that_was_being_cancelled_goes_on_with_that(path: Path, backup: Path) -> None:
    async with opened(path) as store:
        await begin(store, "r1")
        await store.deliver("r1", CancelAsked(by="ann"))
        lease = await begin(store, "r2")
        await store.deliver("r2", CancelAsked(by="ann"))
        tail = await commit(store, lease, seen=2)
        await commit(store, lease, [], [Parked()], seen=tail.seq)
    back_up(path, backup)
    await restore(str(backup), str(path))
    async with opened(path) as store:
        assert [(await store.get(run)).status for run in ("r1", "r2")] == [Status.CANCELLING, Status.STUCK]
        lease = await claim(store, "r1")
        [*_, (_, restored), (_, claimed)] = lease.records
        assert isinstance(claimed, Claimed) and isinstance(restored, Restored)
        assert lease.epoch == restored.epoch + 1
        assert await store.verify() == []


async def test_the_audit_says_who_restored_and_the_seals_hold(path: Path, backup: Path) -> None:
    key = SecretKey(b"x" * 32)
    async with opened(path) as store:
        await begin(store, "r1")
        await store.seal(key)
    back_up(path, backup)
    async with opened(path) as store:
        await store.create(started("r2"))
        lost = await store.seal(key)
        assert lost is not None
        anchor = Anchor.of(await store.identity(), lost)
    await restore(str(backup), str(path), by="ops")
    async with opened(path) as store:
        for _ in range(2):  # before and after there is another seal of this number
            found = await store.verify([key], since=anchor)
            [place] = list(found)
            assert place.what == "anchor" and "ops restored a backup" in place.why and "last seal was 1" in place.why
            await store.seal(key)
        assert [x.k for x in await store.seals()] == [1, 2] and await store.verify([key]) == []
        [line] = [x.entry for x in await store.audit("") if x.entry["verb"] == "restore"]
        assert (line["by"], line["runs"], line["seal"]) == ("ops", 1, 1)
        assert [x.entry["verb"] for x in await store.audit("r1")][-1] == "restore"


async def test_the_same_backup_twice_gives_two_epochs_also_if_nothing_is_left_of_the_time_between(
    path: Path, backup: Path
) -> None:
    await two_runs(path)
    back_up(path, backup)
    epochs: list[int] = []
    for day in range(2):
        path.unlink()
        await restore(str(backup), str(path), now=lambda day=day: 1e9 + 86400 * day)
        async with opened(path) as store:
            epochs.append((await store.get("r1")).epoch)
    assert epochs[1] - epochs[0] > 1_000_000 and epochs[0] > 1_000_000


async def test_a_clock_that_was_set_back_gives_no_epoch_that_was_used(path: Path, backup: Path) -> None:
    await two_runs(path)
    back_up(path, backup)
    for n in range(2):
        await restore(str(backup), str(path), now=lambda n=n: 1e9 - 86400 * n)
    async with opened(path) as store:
        epoch = (await store.get("r1")).epoch
    assert epoch > 1e12, "above what the replaced file had"


async def test_a_store_says_when_it_was_last_restored(path: Path, backup: Path) -> None:
    await two_runs(path)
    async with opened(path) as store:
        assert await last_restore(store) == 0.0
    back_up(path, backup)
    for at in (5_000_000_000.0, 5_000_000_060.5):
        await restore(str(backup), str(path), by="ops", now=lambda at=at: at)
        async with opened(path) as store:
            assert await last_restore(store) == await last_restore(TenantStore(store, "acme")) == at
