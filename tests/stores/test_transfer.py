"""A whole store is copied to another place, of whichever kind, and both are the same."""

from collections.abc import Generator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from adjourn.core.files import Image
from adjourn.core.records import Parked, RunCompleted, Said
from adjourn.core.status import Status
from adjourn.errors import Conflict, StoreError
from adjourn.stores import transfer as transfer_module
from adjourn.stores.address import file_of, open_store
from adjourn.stores.erasure import Pruning
from adjourn.stores.guest_threads import ThreadChange, ThreadRow
from adjourn.stores.outbox import Endpoint
from adjourn.stores.protocol import Filter, Store
from adjourn.stores.sqlite.connection import connect
from adjourn.stores.transfer import transfer
from adjourn.stores.user_table import KeyRow, SessionRow, UserRow, open_user_table, users_place
from adjourn.testing import check_rows
from adjourn.testing.contract.fixtures import approval, begin, bring, commit, started, wait_for, yes

KINDS = ["sqlite-sqlite", "sqlite-postgres", "postgres-sqlite", "postgres-postgres"]


@pytest.fixture(params=KINDS)
def addresses(request: pytest.FixtureRequest, folder: Path) -> tuple[str, str]:
    """From where, and to where."""
    found: list[str] = []
    for number, kind in enumerate(request.param.split("-")):
        if kind == "sqlite":
            found.append(f"sqlite:///{folder}/{number}.db")
        else:
            found.append(request.getfixturevalue("postgres").empty())
    return found[0], found[1]


async def fill(store: Store) -> None:
    """Something of everything."""
    await store.endpoints(Endpoint("ops", "webhook", "http://127.0.0.1:1/", "s3cret", ("run.completed",)))
    await store.waking(True, by="ana")
    for status in Status:
        await bring(store, status, f"run-{status.value}")
    await wait_for(store, approval(approvers=2), run="votes", labels={"team": "eu"}, session="s1")
    await store.deliver("votes", yes(by="ana"), request="q1")
    await store.deliver("votes", Said(text="\0 and ünïcödé \U0001f600"), request="q2")
    for run in ("erased", "pruned"):
        lease = await begin(store, run)
        await commit(store, lease, (), [RunCompleted()])
    await store.erase("erased", by="ana", reason="request 311")
    await store.prune("pruned", Pruning(seq=3, before=store.now() + 1, by="ana"))
    await store.hold("label:team=eu", by="ana", reason="case 7")
    await store.note([{"verb": "login", "by": "ana"}])
    await store.seal()
    lease = await begin(store, "asleep", input=["look", Image(b"\x89PNG\r\n\x1a\n" + bytes(range(256))).ref])
    await commit(store, lease, (), [Parked(wake_at=store.now() + 1000)])
    rows = [ThreadRow("c/1", b"\0 bytes \xff"), ThreadRow("c/2", b"{}", "tag")]
    await store.guest_threads().change("thread", ThreadChange(put=rows, run="votes", also=("asleep",)))


async def test_users_keys_and_sessions_come_along(addresses: tuple[str, str]) -> None:
    source, target = addresses
    await open_store(source).close()
    with closing(open_user_table(users_place(source))) as old:
        old.add_user(UserRow("ana", "admin", "leads", 1.0))
        old.add_key(KeyRow("a" * 64, "ana", "wxyz", 2.0, 0.0))
        old.add_session(SessionRow("b" * 64, "ana", 1e12, "a" * 64, 3.0))
        await transfer(source, target, by="ana")
        with closing(open_user_table(users_place(target))) as new:
            assert (new.users(), new.all_keys(), new.sessions()) == (old.users(), old.all_keys(), old.sessions())


async def everything(store: Store) -> dict[str, Any]:
    rows = await store.runs(Filter(limit=1000))
    return {
        "rows": [(row.id, row.seq, row.head, row.status, row.labels, row.title) for row in rows],
        "journals": {row.id: await store.load(row.id) for row in rows},
        "files": {row.id: await store.blobs(row.id) for row in rows},
        "inbox": [item.id for item in await store.inbox(Filter(limit=1000))],
        "audit": [line.body for line in await store.audit(limit=10_000)],
        "seals": await store.seals(limit=1000),
        "halts": await store.halt(""),
        "holds": await store.hold(""),
        "id": await store.identity(),
        "erasures": await store.erasures(),
        "threads": await store.guest_threads().rows("thread", ""),
    }


async def test_all_of_it_is_there_and_both_are_halted(addresses: tuple[str, str]) -> None:
    source, target = addresses
    store = open_store(source)
    await fill(store)
    pulse = store.pulse()
    pulse.end("w1")
    pulse.close()
    await store.close()
    done = await transfer(source, target, by="ana")
    assert done.runs == 11 and done.seals == 1 and done.records > 40 and done.threads == 1
    one, other = open_store(source), open_store(target)
    assert await everything(one) == await everything(other)
    assert [halt.scope for halt in await other.halt("")] == ["*"]
    assert len(await other.blobs("asleep")) == 1
    assert await other.verify() == []
    for row in await other.runs(Filter(limit=1000)):
        if not row.erased:
            await check_rows(other, row.id)
    assert await other.deliver("votes", yes(by="ana"), request="q1") == await one.deliver(
        "votes", yes(by="ana"), request="q1"
    )
    assert await other.waking()
    await one.close()
    await other.close()


async def test_what_is_there_already_is_not_touched(addresses: tuple[str, str]) -> None:
    source, target = addresses
    for address, run in ((source, "mine"), (target, "theirs")):
        store = open_store(address)
        await store.create(started(run))
        await store.close()
    with pytest.raises(Conflict, match="nothing was copied"):
        await transfer(source, target, by="ana")
    store = open_store(target)
    assert [row.id for row in await store.runs(Filter())] == ["theirs"]
    await store.close()


async def test_while_a_worker_is_at_work_nothing_is_copied(addresses: tuple[str, str]) -> None:
    source, target = addresses
    store = open_store(source)
    await begin(store)
    await store.close()
    with pytest.raises(Conflict, match="worker w1 is running on"):
        await transfer(source, target, by="ana")
    store = open_store(source)
    assert await store.halt("") == []
    await store.close()


async def test_what_somebody_has_edited_is_not_copied(folder: Path) -> None:
    path = folder / "one.db"
    store = open_store(f"sqlite:///{path}")
    await store.create(started())
    await store.close()
    db: Any = connect(str(path))
    db.execute("update run set title = 'other'")
    db.close()
    with pytest.raises(StoreError, match="nothing was copied"):
        await transfer(f"sqlite:///{path}", f"sqlite:///{folder}/two.db", by="ana")
    assert not (folder / "two.db").exists()


MADE_AGAIN = {"label", "zone", "index_due"}
"""Written with the row of a run, from what it says: for lists by label and by time, and what is to be indexed."""
OF_EVERY_STORE = {"config", "schema_version", "person_version"}
"""There before anything is copied."""


def tables(address: str) -> set[str]:
    """Those that have rows."""
    if address.startswith("sqlite"):
        with closing(connect(str(file_of(address)))) as db:
            names = [
                name
                for (name,) in db.execute(
                    "select name from pragma_table_list where schema = 'main' and type = 'table' and name not like 'sqlite%'"
                )
            ]
            return {name for name in names if list(db.execute(f'select 1 from "{name}" limit 1'))}
    with psycopg.connect(address) as db:
        names = [name for (name,) in db.execute("select tablename from pg_tables where schemaname = 'adjourn'")]
        return {name for name in names if db.execute(f"select 1 from adjourn.{name} limit 1".encode()).fetchone()}


def lose(address: str, table: str) -> None:
    """A row of a table."""
    if address.startswith("sqlite"):
        with closing(connect(str(file_of(address)))) as db:
            db.execute("pragma foreign_keys = off")
            key = [name for (name,) in db.execute("select name from pragma_table_info(?) where pk", (table,))]
            one = f"({', '.join(key)})" if key else "rowid"
            db.execute(
                f'delete from "{table}" where {one} in (select {", ".join(key) or "rowid"} from "{table}" limit 1)'
            )
        return
    with psycopg.connect(address) as db:
        db.execute("set session_replication_role = replica")  # what refers to it stays
        db.execute(f"delete from adjourn.{table} where ctid in (select ctid from adjourn.{table} limit 1)".encode())


@pytest.mark.parametrize("kind", ["sqlite", "postgres"])
async def test_a_copy_that_lost_a_row_of_any_table_is_not_said_to_be_one(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    def place(name: str) -> str:
        if kind == "sqlite":
            return f"sqlite:///{folder}/{name}.db"
        return request.getfixturevalue("postgres").empty()

    source, whole = f"sqlite:///{folder}/source.db", place("whole")
    store = open_store(source)
    await fill(store)
    pulse = store.pulse()
    pulse.end("w1")
    pulse.close()
    await store.close()
    await transfer(source, whole, by="ana")
    filling, unseen = transfer_module._filling, set[str]()  # pyright: ignore[reportPrivateUsage]
    written = tables(whole) - OF_EVERY_STORE
    for table in sorted(written):

        @contextmanager
        def one_lost(address: str, identity: tuple[str, int], table: str = table) -> Generator[Any]:
            with filling(address, identity) as found:
                yield found
            lose(address, table)

        monkeypatch.setattr(transfer_module, "_filling", one_lost)
        try:
            await transfer(source, place(table), by="ana")
        except StoreError as e:
            assert "differs from what was copied" in str(e)
        else:
            unseen.add(table)
    assert unseen == MADE_AGAIN & written
