"""A PostgreSQL database, looked at without changing it: not even its schema is brought up to
date."""

import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg

from adjourn.stores.address import without_password
from adjourn.stores.database import Database, median_of
from adjourn.stores.postgres.connections import (
    PROMOTE,
    Connection,
    connect,
    messages,
    named,
    store_error,
    taken_apart,
)
from adjourn.stores.postgres.migrations import newest, pending, schema_of
from adjourn.stores.postgres.server_report import ServerReport, server_report
from adjourn.stores.postgres.standby_notice import READ_ONLY

_SIZE = """
select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
where c.relnamespace = 'adjourn'::regnamespace and c.relkind = 'r'
"""
_RESTORED = """
select count(distinct r.n) from adjourn.run r join adjourn.journal j on j.run = r.n
where r.status = 'paused' and j.body like '{"t":"restored"%%' and not exists (
    select 1 from adjourn.journal k where k.run = r.n and k.seq > j.seq and k.body like '{"t":"resumed"%%')
"""
_READ_ONLY = "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean"
_WRITE = "begin; select pg_current_xact_id(); commit"


class PostgresDatabase(Database):
    """See `Database`. Every look has a connection of its own; raises `StoreError` if there is no
    way there. PostgreSQL looks after its own pages."""

    _within = "adjourn."

    def __init__(self, address: str) -> None:
        self.address, self.where = address, without_password(address)
        self._info, _ = taken_apart(address)

    @contextmanager
    def _looking(self) -> Generator[Connection]:
        try:
            with connect(self._info) as db:
                yield db
        except psycopg.Error as e:
            raise store_error(self.where, e) from e

    def rows(self, sql: str, **values: Any) -> list[tuple[Any, ...]]:
        """See `Database.rows`."""
        with self._looking() as db:
            return messages(db, [named(sql)], values)[0]

    def _begins(self, text: str) -> str:
        return f"starts_with({text}, :beginning)"

    @property
    def schema(self) -> int:
        """See `Database.schema`."""
        with self._looking() as db:
            return schema_of(db)

    @property
    def size(self) -> int:
        """See `Database.size`."""
        return self.rows(_SIZE)[0][0]

    @property
    def newest_schema(self) -> int:
        """See `Database.newest_schema`."""
        return newest()

    def pending(self) -> list[int]:
        """See `Database.pending`."""
        return [number for number, _ in pending(self.schema, self.where)]

    def restored(self) -> int:
        """See `Database.restored`."""
        return self.rows(_RESTORED)[0][0]

    def obstacle(self) -> str:
        """See `Database.obstacle`."""
        [(is_read_only,)] = self.rows(_READ_ONLY)
        return f"{READ_ONLY}; {PROMOTE}" if is_read_only else ""

    def report(self) -> ServerReport:
        """What there is to know of its server, and of the way to it."""
        try:
            return server_report(self.address, time.time)
        except psycopg.Error as e:
            raise store_error(self.where, e) from e

    def commit_time(self) -> float:
        """See `Database.commit_time`."""
        with self._looking() as db:
            return median_of(lambda _: messages(db, [_WRITE], {}), time.perf_counter)
