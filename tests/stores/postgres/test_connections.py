"""Connections that wait for work: those that are gone are found before anything is sent."""

import psycopg
import pytest
from tests.stores.postgres.server import PostgresServer

from adjourn.stores.postgres import connections
from adjourn.stores.postgres.connections import Connection, Pool, conninfo, messages

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
