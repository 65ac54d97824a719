"""Connections that wait for work: those that are gone are found before anything is sent."""

import psycopg
import pytest
from tests.stores.postgres.server import PostgresServer

from adjourn.errors import StoreError
from adjourn.stores.postgres import PostgresStore, connections
from adjourn.stores.postgres import store as postgres_store
from adjourn.stores.postgres.connections import Connection, Pool, conninfo, messages, store_error

GONE = "select pg_terminate_backend(pid, 60000) from pg_stat_activity where pid = any(%s)"
PID = "select pg_backend_pid()"


@pytest.fixture
def address(postgres: PostgresServer) -> str:
    return postgres.empty()


def pid(db: Connection) -> int:
    return messages(db, [PID], {})[0][0][0]


def end(address: str, *pids: int) -> None:
    """Returns when the server has ended them."""
    with psycopg.connect(address, autocommit=True) as db:
        assert db.execute(GONE, (list(pids),)).fetchall() == [(True,) for _ in pids]


def test_a_connection_is_used_again(address: str) -> None:
    pool = Pool(conninfo(address))
    with pool.connection() as db:
        first = pid(db)
    with pool.connection() as db:
        assert pid(db) == first
    pool.close()


def test_connections_that_were_cut_while_they_waited_are_replaced_without_an_error(address: str) -> None:
    pool = Pool(conninfo(address))
    with pool.connection() as one, pool.connection() as two, pool.connection() as three:
        waiting = [pid(one), pid(two), pid(three)]
    end(address, *waiting)
    with pool.connection() as db:
        assert pid(db) not in waiting
    pool.close()


def test_a_connection_that_is_cut_at_work_is_not_given_to_anybody_else(address: str) -> None:
    pool = Pool(conninfo(address))
    with pool.connection() as db:
        first = pid(db)
        end(address, first)
        with pytest.raises(psycopg.OperationalError):
            pid(db)
    with pool.connection() as db:
        assert pid(db) != first
    pool.close()


def test_a_connection_in_the_middle_of_a_transaction_is_not_given_to_anybody_else(address: str) -> None:
    pool = Pool(conninfo(address))
    with pool.connection() as db:
        first = pid(db)
        messages(db, ["begin", PID], {})
    with pool.connection() as db:
        assert pid(db) != first
    pool.close()


def test_a_connection_that_is_old_or_that_nobody_needs_is_closed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    pool = Pool(conninfo(address))
    with pool.connection() as used:
        with pool.connection() as spare:
            pass
        monkeypatch.setattr(connections, "IDLE", -1.0)
    assert spare.closed and not used.closed
    monkeypatch.setattr(connections, "LIFETIME", -1.0)
    with pool.connection() as used:
        pass
    assert used.closed
    pool.close()


WRONG = {
    "postgresql://adjourn@127.0.0.1:{port}/nothing": "create database",
    "postgresql://nobody@127.0.0.1:{port}/postgres": "create role",
    "postgresql://adjourn@127.0.0.1:1/adjourn": "start the server",
    "postgresql://adjourn@there.invalid/adjourn": "correct the host",
    "postgresql://closed:x@127.0.0.1:{port}/{database}": "adjourn doctor",
}


@pytest.mark.parametrize("wrong", WRONG)
def test_a_database_that_cannot_be_opened_says_what_to_do(wrong: str, postgres: PostgresServer) -> None:
    database = postgres.fresh().rpartition("/")[2]
    postgres.execute("do $$ begin create role closed login; exception when duplicate_object then null; end $$")
    with pytest.raises(StoreError) as raised:
        PostgresStore(wrong.format(port=postgres.port, database=database))
    assert WRONG[wrong] in (raised.value.advice or ""), raised.value
    assert "\n" not in str(raised.value)


def test_a_disk_that_is_full_and_a_standby_say_what_to_do() -> None:
    full = 'could not extend file "base/5/2619": No space left on device'
    assert "make room" in (store_error("x", psycopg.errors.DiskFull(full)).advice or "")
    standby = "cannot execute UPDATE in a read-only transaction"
    assert "primary" in (store_error("x", psycopg.errors.ReadOnlySqlTransaction(standby)).advice or "")


def test_a_store_that_cannot_be_reached_is_told_at_once_and_one_whose_server_begins_is_waited_for(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    tried: list[str] = []

    def refuse(why: str, times: int) -> None:
        """The server refuses so many connections."""
        tried.clear()

        def attempt(info: str) -> Connection:
            if len(tried) < times:
                tried.append(info)
                raise psycopg.OperationalError(why)
            return connections.connect(info)

        monkeypatch.setattr(postgres_store, "connect", attempt)

    refuse("connection failed: Connection refused", 1)
    with pytest.raises(StoreError, match="start the server"):
        PostgresStore(address)
    for why in ("starting up", "shutting down", "in recovery mode"):
        refuse(f"connection failed: FATAL:  the database system is {why}", 3)
        PostgresStore(address)
        assert len(tried) == 3
    monkeypatch.setattr(postgres_store, "PATIENCE", 0.0)
    refuse("connection failed: FATAL:  the database system is starting up", 2)
    with pytest.raises(StoreError, match="starting up"):
        PostgresStore(address)
    assert len(tried) == 1
