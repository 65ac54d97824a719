"""What there is to know of a PostgreSQL server and of the way to it, for whoever looks after it.
Nothing is changed."""

from collections.abc import Callable
from typing import Any

import msgspec
import psycopg

from adjourn.stores.postgres.connections import Connection, connect, messages, taken_apart

HEARD_WITHIN = 2.0
"""Seconds that an announcement has to arrive."""
CHANNEL = "adjourn_doctor"
_SETTINGS = """
select name, setting from pg_settings where name in ('server_version_num', 'server_encoding', 'fsync',
    'synchronous_commit', 'full_page_writes', 'autovacuum', 'max_connections', 'superuser_reserved_connections',
    'default_transaction_read_only', 'synchronous_standby_names')
"""
_STATE = """
select pg_is_in_recovery(), pg_backend_pid(), extract(epoch from clock_timestamp())::float8,
    (select count(*) from pg_stat_activity where backend_type = 'client backend'),
    (select age(datfrozenxid) from pg_database where datname = current_database()),
    (select datcollate from pg_database where datname = current_database()),
    has_database_privilege(current_database(), 'create'),
    exists (select 1 from pg_extension where extname = 'pg_trgm'),
    (select count(*) from pg_stat_replication where sync_state in ('sync', 'quorum'))
"""
_OLDEST = """
select extract(epoch from clock_timestamp() - xact_start)::float8, pid from pg_stat_activity
where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()
    and xact_start is not null order by xact_start limit 1
"""
_CLOSED = """
select relname from pg_class where relnamespace = to_regnamespace('adjourn') and relkind = 'r'
    and not (has_table_privilege(oid, 'select') and has_table_privilege(oid, 'insert')
        and has_table_privilege(oid, 'update') and has_table_privilege(oid, 'delete')) order by relname
"""
_OPEN = """
select distinct c.relname from pg_class c, aclexplode(c.relacl) a
where c.relnamespace = to_regnamespace('adjourn') and c.relkind = 'r' and a.grantee = 0
    and a.privilege_type in ('INSERT', 'UPDATE', 'DELETE', 'TRUNCATE') order by c.relname
"""
_DEAD = """
select relname, n_live_tup, n_dead_tup from pg_stat_user_tables where schemaname = 'adjourn'
    and n_dead_tup > 10000 and n_dead_tup > n_live_tup / 2 order by n_dead_tup desc limit 3
"""


class ServerReport(msgspec.Struct, frozen=True, kw_only=True):
    """What was found. Times are seconds; `skew`: how far this machine's clock is ahead of the
    server's.

    `pooled`: something between here and the server hands out its connections. `heard`: seconds that
    an announcement took, None if none came. `listens_elsewhere`: the address names another way for
    announcements. `closed`: tables that this role may not write; `open`: tables that everybody may.
    `dead`: tables with more dead rows than is good, with their live and dead rows.
    """

    settings: dict[str, str]
    is_standby: bool = False
    pooled: bool = False
    skew: float = 0.0
    connections: int = 0
    frozen_age: int = 0
    collation: str = ""
    may_create: bool = True
    has_trigrams: bool = True
    synchronous_standbys: int = 0
    oldest_transaction: float = 0.0
    oldest_process: int = 0
    closed: tuple[str, ...] = ()
    open: tuple[str, ...] = ()
    dead: tuple[tuple[str, int, int], ...] = ()
    listens_elsewhere: bool = False
    heard: float | None = None

    @property
    def version(self) -> int:
        """For example 150004."""
        return int(self.settings.get("server_version_num", "0"))

    @property
    def free_connections(self) -> int:
        """How many more clients the server takes."""
        most = int(self.settings.get("max_connections", "0"))
        kept = int(self.settings.get("superuser_reserved_connections", "0"))
        return most - kept - self.connections


def server_report(address: str, clock: Callable[[], float]) -> ServerReport:
    """Ask the server.

    Raises `psycopg.Error` if there is no way to it.

    Args:
        address: of the database.
        clock: this machine's time.
    """
    info, direct = taken_apart(address)
    with connect(info) as db:
        began = clock()
        [state] = messages(db, [_STATE], {})[0]
        ended = clock()
        settings, oldest, closed, opened, dead = messages(
            db, [_SETTINGS, _OLDEST, _CLOSED, _OPEN, _DEAD], {}
        )
        since, process = (0.0, 0) if not oldest else oldest[0]
        heard = _heard(db, direct, clock)
        return ServerReport(
            settings=dict(settings),
            is_standby=state[0],
            pooled=state[1] != db.info.backend_pid,
            skew=(began + ended) / 2 - state[2],
            connections=state[3],
            frozen_age=state[4],
            collation=state[5],
            may_create=state[6],
            has_trigrams=state[7],
            synchronous_standbys=state[8],
            oldest_transaction=since,
            oldest_process=process,
            closed=_names(closed),
            open=_names(opened),
            dead=tuple((table, live, gone) for table, live, gone in dead),
            listens_elsewhere=direct != info,
            heard=heard,
        )


def _names(rows: list[tuple[Any, ...]]) -> tuple[str, ...]:
    return tuple(name for (name,) in rows)


def _heard(db: Connection, direct: str, clock: Callable[[], float]) -> float | None:
    """How long an announcement of `db` takes to who listens; None if it does not come."""
    try:
        with connect(direct) as listening:
            listening.execute("listen " + CHANNEL)
            began = clock()
            db.execute("select pg_notify(%(channel)s, '')", {"channel": CHANNEL})
            for _ in listening.notifies(timeout=HEARD_WITHIN, stop_after=1):
                return max(0.0, clock() - began)
    except psycopg.Error:
        return None
    return None
