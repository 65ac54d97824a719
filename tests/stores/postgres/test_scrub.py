"""What was erased is in no file of the cluster; what was encrypted never was in one, also not in its log."""

import base64
from pathlib import Path
from typing import Any

import psycopg
from tests.stores.postgres.server import PostgresServer
from tests.stores.test_erasing import Canaries, lived

from adjourn.runtime.indexer import bring_up_to_date
from adjourn.secrets import KeyRing
from adjourn.stores.fleet import Misfit
from adjourn.stores.guest_threads import ThreadChange, ThreadRow
from adjourn.stores.postgres.scrub import CONTENT, NOTED, TABLES
from adjourn.stores.postgres.store import PostgresStore
from adjourn.stores.sealed_threads import SealedThreads
from adjourn.testing.contract.fixtures import begin


def forms(word: str) -> list[bytes]:
    """A canary as it is, in base64 and in hex."""
    raw = word.encode()
    return [raw, base64.b64encode(raw), raw.hex().encode()]


def files_with(server: PostgresServer, canary: Canaries) -> dict[str, int]:
    """How many canaries are in which file of the cluster, once all of it is on the disk."""
    server.execute("checkpoint")
    wanted = [form for word in canary.words for form in forms(word)]
    common = [form[:12] for form in forms(canary.words[0])]
    found: dict[str, int] = {}
    for file in sorted((server.folder / "data").rglob("*")):
        data = read(file)
        if any(start in data for start in common) and (count := sum(form in data for form in wanted)):
            found[str(file.relative_to(server.folder / "data"))] = count
    return found


def read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:  # a folder, a socket, or one that was removed meanwhile
        return b""


def prepared(server: PostgresServer) -> str:
    """A database that compresses nothing: a canary that is there is found."""
    address = server.fresh()
    with psycopg.connect(address) as db:
        sql = (
            "select table_name, column_name from information_schema.columns "
            "where table_schema = 'adjourn' and data_type in ('text', 'bytea', 'jsonb', 'json', 'ARRAY')"
        )
        for table, column in db.execute(sql).fetchall():
            db.execute(f"alter table adjourn.{table} alter column {column} set storage external".encode())
    return address


def columns_noted(address: str) -> set[str]:
    """The columns of which the server knows values."""
    with psycopg.connect(address) as db:
        return {name for (name,) in db.execute(NOTED.encode()).fetchall()}


async def grown(store: Any, canary: Canaries) -> None:
    """Runs, one of them full of canaries; a guest's thread with more; and what the server notes of them."""
    for n in range(10):  # so that the server notes what the others have, and what this one has
        await begin(
            store, f"other-{n}", input=f"{n} something else", labels={"customer": f"number {n}"}, by=f"person {n}"
        )
        await store.misfits(Misfit(f"other-{n}", 1, f"{n} does not fit"))
    await lived(store, "r5", canary)
    rows = [ThreadRow("c/1", canary().encode()), ThreadRow("c/2", base64.b64encode(canary().encode()))]
    await SealedThreads(store).change("r5", ThreadChange(put=rows, run="r5"))


async def test_of_a_hundred_canaries_none_is_in_a_file_of_the_cluster(postgres: PostgresServer) -> None:
    canary, address = Canaries(8), prepared(postgres)
    store = PostgresStore(address)
    await grown(store, canary)
    await bring_up_to_date(store)
    postgres.execute("analyze", address.rpartition("/")[2])  # as autovacuum does
    plans = columns_noted(address)
    before = files_with(postgres, canary)
    assert sum(before.values()) > 150 and any(name.endswith("/2619") for name in before), "else nothing is shown here"
    await store.erase("r5", by="ann", reason="asked to")
    assert await store.scrub()
    after = files_with(postgres, canary)
    assert [name for name in after if not name.startswith("pg_wal/")] == []
    left = columns_noted(address)
    assert {"run.status", "run.title", "journal.seq"} <= plans & left, "it plans by what is there"
    assert await store.verify() == []
    assert len(await store.load("r4")) > 40
    await store.close()


async def test_of_an_encrypted_run_nothing_was_ever_in_a_file(postgres: PostgresServer) -> None:
    canary, address = Canaries(9), prepared(postgres)
    store: Any = PostgresStore(address)
    store.encrypt(KeyRing({"k1": b"k" * 32}))
    await grown(store, canary)
    await bring_up_to_date(store)
    postgres.execute("analyze", address.rpartition("/")[2])
    assert len(canary.words) > 100 and files_with(postgres, canary) == {}
    await store.close()


async def test_what_is_said_of_columns_is_what_the_schema_has(postgres: PostgresServer) -> None:
    """The type that a scrub sets is the one that a column has; and no column with content is left out."""
    with psycopg.connect(postgres.fresh()) as db:
        sql = (
            "select c.relname || '.' || a.attname, format_type(a.atttypid, a.atttypmod), a.attcollation::regcollation::text "
            "from pg_attribute a join pg_class c on c.oid = a.attrelid join pg_namespace n on n.oid = c.relnamespace "
            "where n.nspname = 'adjourn' and c.relkind = 'r' and a.attnum > 0 and not a.attisdropped"
        )
        found = {name: (type, collation) for name, type, collation in db.execute(sql).fetchall()}
    for type, columns in CONTENT.items():
        for column in columns:
            kind, collation = found[column]
            assert type == (f"text collate {collation}" if kind == "text" else kind), column
            assert column.partition(".")[0] in (*TABLES, "label")
    bytes_of = {name for name, (kind, _) in found.items() if kind == "bytea" and name.partition(".")[0] in TABLES}
    assert bytes_of - {*CONTENT["bytea"]} == {"run.head", "run.salt", "journal.head", "snapshot.head"}
