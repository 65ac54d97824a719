"""A PostgreSQL database, looked at without changing it: not even its schema is brought up to
date."""

import statistics
import time
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

import psycopg

from adjourn.stores.address import without_password
from adjourn.stores.postgres.connections import (
    PROMOTE,
    Connection,
    connect,
    messages,
    store_error,
    taken_apart,
)
from adjourn.stores.postgres.migrations import newest, pending, schema_of
from adjourn.stores.postgres.server_report import ServerReport, server_report
from adjourn.stores.postgres.standby_notice import READ_ONLY
from adjourn.stores.rows import first_column

TRIES = 20
"""Commits that are timed."""
_COUNTS = """
select 'runs', count(*) from adjourn.run union all select 'records', count(*) from adjourn.journal
union all select 'open', count(*) from adjourn.interrupt where state = 'open'
union all select 'halts', count(*) from adjourn.halt
"""
_STATUSES = "select status, count(*) from adjourn.run group by status order by 2 desc"
_SIZE = """
select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint from pg_class c
where c.relnamespace = 'adjourn'::regnamespace and c.relkind = 'r'
"""
_RESTORED = """
select count(distinct r.n) from adjourn.run r join adjourn.journal j on j.run = r.n
where r.status = 'paused' and j.body like '{"t":"restored"%%' and not exists (
    select 1 from adjourn.journal k where k.run = r.n and k.seq > j.seq and k.body like '{"t":"resumed"%%')
"""
_RUNS_LIKE = """
select id, status || '  ' || program || '  ' || title from adjourn.run
where starts_with(id, %(beginning)s) order by n desc limit %(most)s
"""
_ITEMS_LIKE = """
select r.id || ':' || x.i, x.kind || '  ' || r.program || '  ' || r.title
from adjourn.interrupt x join adjourn.run r on r.n = x.run
where x.state = 'open' and starts_with(r.id || ':' || x.i, %(beginning)s)
order by x.opened_at limit %(most)s
"""
_READ_ONLY = "select pg_is_in_recovery() or current_setting('transaction_read_only')::boolean"
_WRITE = "begin; select pg_current_xact_id(); commit"


class PostgresDatabase:
    """See `Database`. Every look has a connection of its own; raises `StoreError` if there is no
    way there."""

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
        """What a statement gives."""
        with self._looking() as db:
            return messages(db, [sql], values)[0]

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

    def counts(self) -> dict[str, Any]:
        """See `Database.counts`."""
        return {**dict(self.rows(_COUNTS)), "statuses": dict(self.rows(_STATUSES))}

    def programs(self) -> list[str]:
        """See `Database.programs`."""
        return first_column(self.rows("select distinct program from adjourn.run"))

    def newest(self) -> float:
        """See `Database.newest`."""
        return self.rows("select coalesce(max(updated_at), 0) from adjourn.run")[0][0]

    def restored(self) -> int:
        """See `Database.restored`."""
        return self.rows(_RESTORED)[0][0]

    def runs_like(self, beginning: str, most: int) -> list[tuple[str, str]]:
        """See `Database.runs_like`."""
        return list(map(_pair, self.rows(_RUNS_LIKE, beginning=beginning, most=most)))

    def items_like(self, beginning: str, most: int) -> list[tuple[str, str]]:
        """See `Database.items_like`."""
        return list(map(_pair, self.rows(_ITEMS_LIKE, beginning=beginning, most=most)))

    def obstacle(self) -> str:
        """See `Database.obstacle`."""
        [(is_read_only,)] = self.rows(_READ_ONLY)
        return f"{READ_ONLY}; {PROMOTE}" if is_read_only else ""

    def damage(self, *, deep: bool) -> list[str]:
        """See `Database.damage`. PostgreSQL looks after its own pages."""
        return []

    def report(self) -> ServerReport:
        """What there is to know of its server, and of the way to it."""
        try:
            return server_report(self.address, time.time)
        except psycopg.Error as e:
            raise store_error(self.where, e) from e

    def commit_time(self) -> float:
        """See `Database.commit_time`."""
        took: list[float] = []
        with self._looking() as db:
            for _ in range(TRIES):
                began = time.perf_counter()
                messages(db, [_WRITE], {})
                took.append(time.perf_counter() - began)
        return statistics.median(took)


def _pair(row: tuple[Any, ...]) -> tuple[str, str]:
    return row[0], row[1]
