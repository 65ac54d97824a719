"""What a file adds to the contract: it is synced, shared, migrated, and refuses what it cannot keep its promises on."""

import asyncio
import itertools
import os
import stat
import subprocess
import sys
import tempfile
import threading
from collections.abc import AsyncGenerator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import apsw
import pytest

from adjourn.core.records import Said, Started, Stepped
from adjourn.errors import StoreError
from adjourn.stores.protocol import Filter
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.sqlite import SQLiteStore, connection, rows
from adjourn.stores.sqlite import migrations as migrate
from adjourn.stores.sqlite import store as sqlite
from adjourn.testing import FakeClock, check_rows
from adjourn.testing.contract.fixtures import TTL, begin, claim, commit, started


@asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncGenerator[SQLiteStore]:
    store = SQLiteStore(str(path), **options)
    try:
        yield store
    finally:
        await store.close()


# Durability


class CountingVFS(apsw.VFS):
    """The operating system's files, with a count of fsyncs."""

    def __init__(self) -> None:
        self.below = apsw.vfs_names()[0]
        self.syncs = 0
        super().__init__("counting", self.below, makedefault=True)

    def xOpen(self, name: Any, flags: Any) -> apsw.VFSFile:  # noqa: N802
        return _CountedFile(self, name, flags)


class _CountedFile(apsw.VFSFile):
    def __init__(self, vfs: CountingVFS, name: Any, flags: Any) -> None:
        self._vfs = vfs
        super().__init__(vfs.below, name, flags)

    def xSync(self, flags: int) -> None:  # noqa: N802
        self._vfs.syncs += 1
        super().xSync(flags)


@pytest.fixture
def disk() -> Iterator[CountingVFS]:
    vfs = CountingVFS()
    yield vfs
    apsw.set_default_vfs(vfs.below)
    vfs.unregister()


async def test_every_connection_logs_ahead_and_syncs_in_full(path: Path) -> None:
    async with opened(path) as store:
        for db in (store._db, store._reading, store._watching):
            assert (db.pragma("journal_mode"), db.pragma("synchronous")) == ("wal", 2)


async def test_what_is_acknowledged_is_synced(disk: CountingVFS, path: Path) -> None:
    async with opened(path) as store:
        lease = await begin(store)
        for n in range(5):
            before = disk.syncs
            await commit(store, lease, [Stepped(call="1.0", key=str(n))])
            assert disk.syncs > before
            await store.deliver("r1", Said(text=str(n)))
            assert disk.syncs > before + 1


async def test_leases_alone_are_not_synced_and_the_next_fact_is(disk: CountingVFS, path: Path) -> None:
    async with opened(path) as store:
        lease = await begin(store)
        before = disk.syncs
        for _ in range(5):
            await store.renew(lease, TTL)
            await store.commit(lease, [], [], seen=2)
            await store.release(lease)
            lease = await claim(store)
        assert disk.syncs == before
        await commit(store, lease, [Stepped(call="1.0", key="a")])
        assert disk.syncs > before


@pytest.mark.parametrize("first", ["lease", "word"])
async def test_a_word_that_shares_its_commit_with_a_lease_is_synced(disk: CountingVFS, path: Path, first: str) -> None:
    """Whatever else is in the batch: one request in it that must last makes the whole batch last."""
    async with opened(path) as store:
        lease = await begin(store)
        busy, free = threading.Event(), threading.Event()

        def hold(_: Any) -> None:
            busy.set()
            free.wait()

        held = asyncio.ensure_future(store._writer.ask(StoreRule(ReadRequest(), hold, light=True)))
        await asyncio.to_thread(busy.wait)
        before, transactions = disk.syncs, store.transactions
        both = [store.renew(lease, TTL), store.deliver("r1", Said(text="hi"))]
        waiting = [asyncio.ensure_future(x) for x in (both if first == "lease" else reversed(both))]
        await asyncio.sleep(0)
        free.set()
        await asyncio.gather(held, *waiting)
        assert disk.syncs > before
        assert store.transactions == transactions + 1, "they were not in one batch: this proves nothing"


async def test_a_hundred_runs_use_far_fewer_syncs_than_commits(disk: CountingVFS, path: Path) -> None:
    async with opened(path) as store:

        async def one(run: str) -> int:
            await store.create(started(run))
            lease = await claim(store, run)
            seq = lease.seq
            for n in range(10):
                seq = (await store.commit(lease, [Stepped(call="1.0", key=str(n))], [], seen=seq)).seq
            return seq

        before, commits, transactions = disk.syncs, store.commits, store.transactions
        assert await asyncio.gather(*(one(f"r{n}") for n in range(100))) == [12] * 100
        commits = store.commits - commits
        assert commits == 100 * 12
        assert disk.syncs - before <= commits / 10
        assert store.transactions - transactions <= commits / 10


async def test_one_run_alone_needs_one_sync_a_commit(disk: CountingVFS, path: Path) -> None:
    async with opened(path) as store:
        lease = await begin(store)
        before = disk.syncs
        for n in range(20):
            await commit(store, lease, [Stepped(call="1.0", key=str(n))])
        assert disk.syncs - before == 20


# One file, several stores


async def test_what_one_store_knows_of_a_run_ends_when_another_writes_to_it(path: Path) -> None:
    async with opened(path) as one, opened(path) as two:
        lease = await begin(one)
        seq = lease.seq
        for n in range(10):
            said = await two.deliver("r1", Said(text=str(n)))
            done = await one.commit(lease, [Stepped(call="1.0", key=str(n))], [], seen=seq)
            assert [s for s, _ in done.records] == [said]
            assert (done.seq, done.clean) == (said + 1, False)
            seq = done.seq
        await check_rows(one, "r1")
        await check_rows(two, "r1")


async def test_a_halt_set_by_one_store_is_known_to_the_other_at_once(path: Path) -> None:
    async with opened(path) as one, opened(path) as two:
        lease = await begin(one)
        assert not (await one.commit(lease, [], [], seen=2)).halts
        await two.halt("tool:send")
        assert (await one.commit(lease, [], [], seen=2)).halts == {"tool:send"}
        await two.halt("tool:send", lift=True)
        assert not (await one.commit(lease, [], [], seen=2)).halts


@pytest.mark.parametrize("words", [False, True])
async def test_a_word_through_another_store_is_heard_soon(path: Path, words: bool) -> None:
    async with opened(path) as one, opened(path) as two:
        await begin(one)
        rung = asyncio.Event()
        one.subscribe("r1", rung.set, words=words)
        await two.deliver("r1", Said(text="hi"))
        await asyncio.wait_for(rung.wait(), 1)


async def test_a_word_is_heard_although_its_run_was_touched_before_anybody_looked(path: Path) -> None:
    async with opened(path) as one, opened(path) as two:
        lease = await begin(one)
        await one.commit(lease, [Stepped(call="1.0", key="a")], [], seen=2)
        rung = asyncio.Event()
        one.subscribe("r1", rung.set, words=True)
        await asyncio.sleep(2 * sqlite.HOT)  # whatever rings for nothing has rung
        rung.clear()
        await two.deliver("r1", Said(text="hi"))
        await one.renew(lease, TTL)
        await asyncio.wait_for(rung.wait(), 1)


async def test_a_halt_through_another_store_is_heard_soon(path: Path) -> None:
    async with opened(path) as one, opened(path) as two:
        await begin(one)
        rung = asyncio.Event()
        one.subscribe("r1", rung.set, words=True)
        await asyncio.sleep(2 * sqlite.HOT)
        rung.clear()
        await two.halt("*")
        await asyncio.wait_for(rung.wait(), 1)


async def test_who_begins_to_follow_a_run_does_not_wait_for_a_slow_look(path: Path) -> None:
    async with opened(path) as one, opened(path) as two:
        await begin(one)
        one.subscribe("", lambda: None)
        await asyncio.sleep(sqlite.HOT)  # nobody follows a run: the next look is a second away
        rung = asyncio.Event()
        one.subscribe("r1", rung.set)
        await two.deliver("r1", Said(text="hi"))
        await asyncio.wait_for(rung.wait(), sqlite.IDLE / 2)


async def test_many_stores_open_the_same_new_file_at_once(path: Path) -> None:
    def open_and_write(n: int) -> bool:
        async def main() -> bool:
            async with opened(path) as store:
                return await store.create(Started(run=f"r{n}", kind="agent", program="clerk"))

        return asyncio.run(main())

    made = await asyncio.gather(*(asyncio.to_thread(open_and_write, n) for n in range(8)))
    assert all(made)
    async with opened(path) as store:
        assert {row.id for row in await store.runs(Filter())} == {f"r{n}" for n in range(8)}


async def test_one_store_serves_event_loops_in_several_threads(path: Path) -> None:
    async with opened(path) as store:
        await store.create(started())

        def talk(name: str) -> list[int]:
            async def main() -> list[int]:
                return [await store.deliver("r1", Said(text=f"{name}{n}")) for n in range(20)]

            return asyncio.run(main())

        seqs = await asyncio.gather(*(asyncio.to_thread(talk, name) for name in "abcd"))
        assert sorted(seq for some in seqs for seq in some) == list(range(2, 82))


@pytest.mark.unwatched
async def test_what_is_known_of_a_run_outlives_what_another_process_writes_elsewhere(path: Path) -> None:
    async with opened(path) as one, opened(path) as two:
        lease = await begin(one)
        await two.create(started("r2"))
        statements: list[str] = []

        def traced(_: Any, sql: str, __: Any) -> bool:
            statements.append(sql)
            return True

        one._db.exec_trace = traced
        await one.commit(lease, [Stepped(call="1.0", key="a")], [], seen=2)
        whole = [sql for sql in statements if "from run" in sql and "title" in sql]
        assert not whole, "it read the whole row again"
        await two.deliver("r1", Said(text="hi"))
        done = await one.commit(lease, [Stepped(call="1.0", key="b")], [], seen=3)
        one._db.exec_trace = None
        assert [seq for seq, _ in done.records] == [4]
        assert (await two.get("r1")).seq == 5
        assert not await one.verify()


async def test_a_process_is_not_rung_for_what_it_writes_itself(path: Path) -> None:
    """Whatever another process writes meanwhile: a drive that is rung makes an empty commit only to look."""
    async with opened(path) as one, opened(path) as two:
        lease = await begin(one)
        await two.create(started("r2"))
        rung: list[str] = []
        one.subscribe("r1", lambda: rung.append("r1"), words=True)
        for n in range(3):
            await one.commit(lease, [Stepped(call="1.0", key=str(n))], [], seen=2 + n)
            await two.deliver("r2", Said(text=str(n)))
            one._ring_changed()
        assert not rung
        await two.deliver("r1", Said(text="hi"))
        one._ring_changed()
        assert rung == ["r1"]


async def test_only_what_others_may_have_written_is_a_reason_to_look_at_runs(path: Path) -> None:
    async with opened(path) as one, opened(path) as two:
        await one.create(started("r1"))
        others = one._others
        others.begin()
        await one.create(started("r2"))
        assert not others.wrote(True), "it was this process, as far as anybody knows"
        await one.create(started("r3"))
        assert not others.wrote(True), "it was, until r2; r3 is not known yet"
        assert others.wrote(False), "our writer has begun nothing since, so it cannot say"
        assert not others.wrote(False)
        await two.create(started("r4"))
        assert others.wrote(True), "our writer was not at work, so it was another"
        assert not others.wrote(False)


@pytest.mark.parametrize("rests", [True, False])
async def test_a_word_of_others_between_our_own_writes_is_looked_at(path: Path, rests: bool) -> None:
    async with opened(path) as one, opened(path) as two:
        await one.create(started("r1"))
        one._others.begin()
        await one.create(started("r2"))
        await two.deliver("r1", Said(text="hi"))
        assert not one._others.wrote(True), "nobody knows yet"
        if not rests:
            await one.create(started("r3"))
        assert one._others.wrote(not rests), "our writer has found it, or does not say"
        one._others.look_again()
        assert one._others.wrote(False), "it could not be looked at"
        assert not one._others.wrote(False)


async def test_a_process_that_writes_all_the_time_hears_others(path: Path) -> None:
    async with opened(path) as one, opened(path) as two:
        await one.create(started("r1"))
        heard = asyncio.Event()
        end = one.subscribe("r1", heard.set, words=True)
        await two.deliver("r1", Said(text="hi"))
        async with asyncio.timeout(60):
            for n in itertools.count():
                await one.create(started(f"mine {n}"))
                if heard.is_set():
                    break
        end()


async def test_few_lines_that_are_read_as_one_row_are_those_that_are_read_one_by_one(path: Path) -> None:
    async with opened(path) as store:
        lease = await begin(store)
        for n in range(6):
            said = [Stepped(call="1.0", key=str(n), value="two\nlines\u2028and more " * n)]
            await store.commit(lease, said, [], seen=2 + n)
        assert [seq for seq, _ in await store.load("r1", 3)] == [4, 5, 6, 7, 8]

    db = connection.connect(str(path))

    def check() -> None:
        for after in range(10):
            one_by_one = db.execute(rows.TAIL, (rows.key(1, after), rows.key(2, 0))).fetchall()
            assert rows.read_tail(db, 1, after, 8) == one_by_one
            assert rows.read_tail(db, 1, after, after + rows.FEW + 1) == one_by_one

    check()
    assert rows.read_tail(db, 2, 0, 8) == [], "there is no such run"
    db.limit(apsw.SQLITE_LIMIT_LENGTH, 600)
    assert rows._read_together(db, (rows.key(1, 0), rows.key(2, 0))) is None, "it is too much for one"
    check()
    db.limit(apsw.SQLITE_LIMIT_LENGTH, 1_000_000)
    for erased in (5, 8, 1):
        db.execute("update journal set body = null where key = ?", (rows.key(1, erased),))
        check()
    db.close()


# When it goes wrong


async def test_a_cancelled_caller_does_not_cut_a_transaction_in_half(path: Path) -> None:
    async with opened(path) as store:
        await store.create(started())
        gate = threading.Event()
        blocked = asyncio.ensure_future(store._writer.ask(StoreRule(ReadRequest(), lambda _: gate.wait(5))))
        await asyncio.sleep(0.01)
        words = [asyncio.ensure_future(store.deliver("r1", Said(text=str(n)))) for n in range(5)]
        await asyncio.sleep(0)
        words[2].cancel()
        gate.set()
        done = await asyncio.gather(*words, return_exceptions=True)
        await blocked
        assert [isinstance(x, asyncio.CancelledError) for x in done] == [n == 2 for n in range(5)]
        assert [r.text for _, r in await store.load("r1") if isinstance(r, Said)] == ["0", "1", "2", "3", "4"]


async def test_a_full_disk_is_an_error_for_all_who_wrote_and_passes(path: Path) -> None:
    async with opened(path) as store:
        await store.create(started())
        store._db.pragma("max_page_count", int(store._db.pragma("page_count")) + 4)
        big = [store.deliver("r1", Said(text="x" * 20_000)) for _ in range(5)]
        done = await asyncio.gather(*big, return_exceptions=True)
        failed = [x for x in done if isinstance(x, StoreError)]
        assert failed and all("full" in str(x) for x in failed)
        said = [seq for seq, r in await store.load("r1") if isinstance(r, Said)]
        assert said == [x for x in done if isinstance(x, int)]
        store._db.pragma("max_page_count", 1_000_000)
        await store.deliver("r1", Said(text="x" * 20_000))
        await check_rows(store, "r1")


async def test_a_file_that_somebody_keeps_locked_is_an_error_and_passes(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(connection, "BUSY_SECONDS", 0.05)
    async with opened(path) as store:
        await store.create(started())
        other: Any = apsw.Connection(str(path))
        other.execute("begin immediate")
        with pytest.raises(StoreError, match=r"locked|Busy"):
            await store.deliver("r1", Said(text="hi"))
        assert (await store.get("r1")).seq == 1  # readers are not kept out
        other.execute("rollback")
        other.close()
        assert await store.deliver("r1", Said(text="hi")) == 2


async def test_a_lock_that_passes_is_waited_for(path: Path) -> None:
    async with opened(path) as store:
        await store.create(started())
        other: Any = apsw.Connection(str(path))
        other.execute("begin immediate")
        word = asyncio.ensure_future(store.deliver("r1", Said(text="hi")))
        await asyncio.sleep(0.05)
        assert not word.done()
        other.execute("rollback")
        other.close()
        assert await asyncio.wait_for(word, 5) == 2


async def test_a_damaged_file_is_an_error_that_names_it(path: Path) -> None:
    async with opened(path) as store:
        await store.create(started())
        for n in range(200):
            await store.deliver("r1", Said(text="x" * 500 + str(n)))
    data = bytearray(path.read_bytes())
    for page in range(4096, len(data), 4096):
        data[page : page + 200] = b"\xff" * 200
    path.write_bytes(data)
    with pytest.raises(StoreError, match=r"adjourn\.db"):
        async with opened(path) as store:
            await store.load("r1")
            await store.deliver("r1", Said(text="hi"))


# Migrations


def schema(path: Path) -> tuple[int, list[Any]]:
    db: Any = apsw.Connection(str(path))
    try:
        return db.pragma("user_version"), db.execute("select name, sql from sqlite_schema order by name").fetchall()
    finally:
        db.close()


def newest() -> int:
    return migrate.migrations()[-1][0]


async def test_a_new_file_gets_the_newest_schema(path: Path) -> None:
    async with opened(path):
        pass
    version, tables = schema(path)
    assert version == newest()
    assert {"run", "journal", "interrupt", "request", "halt"} <= {name for name, _ in tables}


async def test_an_empty_file_is_a_new_file(path: Path) -> None:
    path.touch()
    async with opened(path) as store:
        assert await store.create(started())


async def test_opening_again_changes_nothing(path: Path) -> None:
    async with opened(path) as store:
        await store.create(started())
    before = schema(path)
    async with opened(path) as store:
        assert (await store.get("r1")).seq == 1
    assert schema(path) == before


@pytest.mark.parametrize("version", range(1, newest()))
async def test_an_older_file_is_brought_up_to_date(path: Path, version: int) -> None:
    db: Any = apsw.Connection(str(path))
    for number, sql in migrate.migrations()[:version]:
        db.execute(sql)
        db.execute(f"pragma user_version = {number}")
    db.close()
    async with opened(path) as store:
        await store.create(started())
    async with opened(path.with_name("new.db")):
        pass
    assert schema(path) == schema(path.with_name("new.db"))


async def test_a_newer_file_is_refused_and_left_alone(path: Path) -> None:
    async with opened(path) as store:
        await store.create(started())
    db: Any = apsw.Connection(str(path))
    db.execute(f"pragma user_version = {newest() + 7}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(
        StoreError,
        match=rf"newer version .schema {newest() + 7}, supported up to {newest()}.*nothing was changed.*upgrade Adjourn",
    ):
        SQLiteStore(str(path))
    assert path.read_bytes() == before


async def test_a_migration_that_fails_is_taken_back_as_a_whole(path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(path):
        pass
    before = schema(path)

    def lacking(after: int) -> list[tuple[int, str]]:
        return [(after + 1, "create table half (x); create table half (x);")]

    monkeypatch.setattr(migrate, "migrations", lacking)
    with pytest.raises(StoreError, match=r"adjourn\.db"):
        SQLiteStore(str(path))
    assert schema(path) == before


def test_migrations_are_numbered_without_gaps() -> None:
    numbers = [number for number, _ in migrate.migrations()]
    assert numbers == list(range(1, len(numbers) + 1))


# What is refused


def test_a_file_that_is_not_a_database_is_refused_and_left_alone(path: Path) -> None:
    path.write_text("Dear diary, " * 500)
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"adjourn\.db.*not a database"):
        SQLiteStore(str(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("version", [0, 1])
def test_a_database_of_something_else_is_refused_and_left_alone(path: Path, version: int) -> None:
    db: Any = apsw.Connection(str(path))
    db.execute(f"create table recipes (name); pragma user_version = {version}")
    db.close()
    before = path.read_bytes()
    with pytest.raises(StoreError, match=r"is not an Adjourn database.*another path"):
        SQLiteStore(str(path))
    assert path.read_bytes() == before


def test_a_missing_folder_is_named(folder: Path) -> None:
    with pytest.raises(StoreError, match=r"directory .*missing.* does not exist.*create it"):
        SQLiteStore(str(folder / "missing" / "adjourn.db"))


def test_a_folder_is_not_a_file(folder: Path) -> None:
    with pytest.raises(StoreError, match="cannot be opened"):
        SQLiteStore(str(folder))


READ_ONLY = """
import os, sys
from adjourn.errors import StoreError
from adjourn.stores.rules.reads_and_writes import ReadRequest
from adjourn.stores.rules.transaction import StoreRule
from adjourn.stores.sqlite import SQLiteStore
if os.geteuid() == 0:
    os.setgroups([])
    os.setgid(65534)
    os.setuid(65534)
try:
    SQLiteStore(sys.argv[1])
except StoreError as e:
    print(e)
"""


@pytest.mark.parametrize("exists", [False, True], ids=["a new file", "an old file"])
async def test_a_read_only_folder_is_named(exists: bool) -> None:
    # Not in the fixture's folder, which only its owner may enter: root has to become somebody else to be refused anything.
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adjourn.db"
        if exists:
            async with opened(path) as store:
                await store.create(started())
            path.chmod(0o444)
        Path(folder).chmod(0o555)
        done = subprocess.run(
            [sys.executable, "-c", READ_ONLY, str(path)], capture_output=True, text=True, timeout=60, check=False
        )
        assert done.returncode == 0, done.stderr
        assert str(path) in done.stdout
        assert "cannot be opened" in done.stdout
        assert os.listdir(folder) == (["adjourn.db"] if exists else [])


# Time


async def test_the_store_has_no_other_clock_than_the_one_it_was_given(path: Path) -> None:
    clock = FakeClock(start=1000.0)
    async with opened(path, now=clock.now) as store:
        lease = await begin(store)
        await commit(store, lease, [Stepped(call="1.0", key="a")])
        await store.deliver("r1", Said(text="hi"))
        await store.halt("*")
    db: Any = apsw.Connection(str(path))
    try:
        for table in ("run", "journal", "interrupt", "request", "halt"):
            for row in db.execute(f"select * from {table}").fetchall():
                assert not [x for x in row if isinstance(x, float) and x > 2000]
    finally:
        db.close()


@pytest.mark.skipif(os.name != "posix", reason="modes are POSIX's")
async def test_a_new_database_is_for_its_owner_and_an_old_one_is_left_as_it_is(tmp_path: Path) -> None:
    path = tmp_path / "new.db"
    for mode in (0o600, 0o640):
        store = SQLiteStore(str(path))
        await store.create(Started(run="r", kind="agent", program="p"))
        assert {stat.S_IMODE(f.stat().st_mode) for f in tmp_path.glob("new.db*") if "live" not in f.name} == {mode}
        await store.close()
        path.chmod(0o640)
