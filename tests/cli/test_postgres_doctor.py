"""What `adjourn doctor` says of a PostgreSQL server, for each thing that may be wrong with it."""

import json
from collections.abc import Callable
from typing import Any

import psycopg
import pytest
from msgspec.structs import replace
from tests.cli.conftest import Said
from tests.stores.postgres.server import PostgresServer

from adjourn.cli.doctor.finding import Finding
from adjourn.cli.doctor.postgres_checks import server
from adjourn.errors import StoreError
from adjourn.stores.postgres import server_report
from adjourn.stores.postgres.database import PostgresDatabase
from adjourn.stores.postgres.server_report import ServerReport

Run = Callable[..., Said]
SETTINGS = {
    "server_version_num": "150004", "server_encoding": "UTF8", "fsync": "on", "synchronous_commit": "on",
    "full_page_writes": "on", "autovacuum": "on", "max_connections": "100", "superuser_reserved_connections": "3",
    "default_transaction_read_only": "off", "synchronous_standby_names": "",
}  # fmt: skip
GOOD = ServerReport(settings=SETTINGS, connections=10, collation="C.UTF-8", heard=0.001)
NAMES = [
    "server", "writable", "durable", "rights", "pooler", "notify", "skew", "text", "transactions", "vacuum", "connections",
]  # fmt: skip


def told(report: ServerReport) -> dict[str, Finding]:
    return {finding.name: finding for finding in server(report, None)}


def of(**settings: str) -> ServerReport:
    return replace(GOOD, settings={**SETTINGS, **settings})


def test_a_server_that_is_in_order_gets_no_advice() -> None:
    found = server(GOOD, None)
    assert [finding.name for finding in found] == NAMES
    assert {finding.level for finding in found} == {"fine"}


BAD: list[tuple[ServerReport, str, str, str]] = [
    (of(server_version_num="120009"), "server", "wrong", "12.9 is too old"),
    (replace(GOOD, is_standby=True), "writable", "wrong", "standby"),
    (of(default_transaction_read_only="on"), "writable", "wrong", "read-only"),
    (of(fsync="off"), "durable", "wrong", "fsync is off"),
    (of(synchronous_commit="off"), "durable", "wrong", "synchronous_commit is off"),
    (of(full_page_writes="off"), "durable", "look", "torn pages"),
    (of(synchronous_standby_names="b"), "durable", "wrong", "none is connected"),
    (replace(GOOD, open=("interrupt",)), "rights", "wrong", "every role"),
    (replace(GOOD, closed=("journal", "run")), "rights", "wrong", "may not write journal, run"),
    (replace(GOOD, has_trigrams=False), "rights", "wrong", "pg_trgm"),
    (replace(GOOD, may_create=False), "rights", "look", "upgrades need another role"),
    (replace(GOOD, pooled=True), "pooler", "look", "no way around it"),
    (replace(GOOD, heard=None), "notify", "look", "do not arrive"),
    (replace(GOOD, skew=61.0), "skew", "look", "ahead of the server"),
    (replace(GOOD, skew=-61.0), "skew", "look", "behind the server"),
    (of(server_encoding="SQL_ASCII"), "text", "wrong", "SQL_ASCII"),
    (replace(GOOD, oldest_transaction=7200.0, oldest_process=77), "transactions", "look", "process 77"),
    (replace(GOOD, frozen_age=1_900_000_000), "vacuum", "wrong", "1,900,000,000"),
    (of(autovacuum="off"), "vacuum", "look", "only grow"),
    (replace(GOOD, dead=(("run", 100, 90_000),)), "vacuum", "look", "90,000 dead rows"),
    (replace(GOOD, connections=95), "connections", "look", "2 connections of 100"),
]


@pytest.mark.parametrize(("report", "name", "level", "text"), BAD, ids=[f"{row[1]}: {row[3]}" for row in BAD])
def test_what_is_wrong_is_said_with_advice(report: ServerReport, name: str, level: str, text: str) -> None:
    found = told(report)
    assert (found[name].level, text in found[name].text) == (level, True), found[name]
    assert found[name].advice is not None
    assert [other for other in found if found[other].level != "fine"] == [name]


def test_a_pooler_with_a_way_around_it_is_fine() -> None:
    found = told(replace(GOOD, pooled=True, listens_elsewhere=True, synchronous_standbys=1))
    assert (found["pooler"].level, found["durable"].text) == ("fine", "commits wait for 1 synchronous standby")


def test_a_real_server_is_asked_and_everything_is_known(
    postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_report, "HEARD_WITHIN", 60.0)  # however busy this machine is
    address = postgres.fresh()
    with psycopg.connect(address) as other:
        process = other.info.backend_pid
        other.execute("select 1")
        report = PostgresDatabase(address).report()
    assert report.version >= 130_000
    assert report.settings.keys() == SETTINGS.keys()
    assert (report.is_standby, report.pooled, report.listens_elsewhere) == (False, False, False)
    assert report.heard is not None and abs(report.skew) < 60
    assert report.connections >= 2 and report.free_connections > 0
    assert report.oldest_transaction > 0 and report.oldest_process == process
    assert (report.open, report.closed, report.has_trigrams, report.may_create) == ((), (), True, True)


def test_what_everybody_may_write_and_what_a_role_may_not_is_found(postgres: PostgresServer) -> None:
    address = postgres.fresh()
    name = address.rpartition("/")[2]
    postgres.execute("grant update on adjourn.interrupt to public", name)
    assert PostgresDatabase(address).report().open == ("interrupt",)
    role = f"reader_{name}"
    postgres.execute(f"create role {role} login", name)
    try:
        postgres.execute(f"grant usage on schema adjourn to {role}", name)
        report = PostgresDatabase(address.replace("//adjourn@", f"//{role}@")).report()
        assert "journal" in report.closed and not report.may_create
    finally:
        postgres.execute(f"drop owned by {role}", name)
        postgres.execute(f"drop role {role}", name)


def test_the_command_asks_the_server_and_its_exit_code_says_whether_something_is_wrong(
    adjourn: Run, postgres: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    address = postgres.fresh()

    def examine(report: ServerReport) -> tuple[int, dict[str, Any]]:
        def given(_: PostgresDatabase) -> ServerReport:
            return report

        monkeypatch.setattr(PostgresDatabase, "report", given)
        said = adjourn("doctor", "--json", "--db", address)
        return said.code, {found["name"]: found for found in json.loads(said.out)["findings"]}

    code, found = examine(GOOD)
    assert code == 0 and found.keys() >= {*NAMES, "store", "journals", "audit"}
    code, found = examine(of(fsync="off"))
    assert code == 1 and found["durable"]["advice"] == ["Set it", "fsync = on"]


def test_a_server_that_is_not_there_is_said_without_the_password(adjourn: Run) -> None:
    said = adjourn("doctor", "--db", "postgresql://adjourn:hunter2@127.0.0.1:1/none")
    assert said.code == 1 and "pg_hba.conf" in said.out
    assert "hunter2" not in said.out + said.err
    with pytest.raises(StoreError):
        PostgresDatabase("postgresql://127.0.0.1:1/none").report()
