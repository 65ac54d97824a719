"""Bringing the schema of a PostgreSQL database up to date, one process at a time, while others go
on with what they know."""

import time
from importlib import resources

from psycopg.errors import DeadlockDetected, LockNotAvailable

from adjourn.errors import StoreError
from adjourn.stores.postgres.connections import Connection, messages
from adjourn.stores.postgres.locks import OURS, SCHEMA

_LOCK = f"select pg_advisory_xact_lock({OURS}, {SCHEMA})"
_MAKE = """
create schema if not exists adjourn;
create table if not exists adjourn.schema_version (number integer primary key, at timestamptz not null default now())
"""
_THERE = "select to_regclass('adjourn.schema_version') is not null"
_NUMBER = "select coalesce(max(number), 0) from adjourn.schema_version"
_TRIGRAMS = "select extnamespace::regnamespace::text from pg_extension where extname = 'pg_trgm'"
_BLOCKING = """
select a.pid, a.application_name, extract(epoch from clock_timestamp() - a.xact_start)::float8 from pg_stat_activity a
where a.pid <> pg_backend_pid() and a.xact_start is not null and a.pid in (
    select l.pid from pg_locks l join pg_class c on c.oid = l.relation
    where l.granted and c.relnamespace = 'adjourn'::regnamespace)
order by a.xact_start limit 1
"""
LONGEST = 3.0
"""Seconds for which a change of a table waits for those who use it: whoever wants to use it meanwhile
waits behind it. PostgreSQL ends a vacuum that is in the way after one."""
TRIES = 20
"""So often it is tried; with the pauses between them, for two minutes."""


def scripts() -> list[tuple[int, str]]:
    """All of them, in order, each with its number."""
    folder = resources.files("adjourn.stores.postgres") / "migrations"
    found: list[tuple[int, str]] = []
    for file in folder.iterdir():
        if file.name.endswith(".sql"):
            found.append((int(file.name.split("_")[0]), file.read_text("utf-8")))
    return sorted(found)


def newest() -> int:
    """The number of the schema that this version knows."""
    return scripts()[-1][0]


def schema_of(db: Connection) -> int:
    """The number of a database's schema; 0 if it has none."""
    [(there,)] = messages(db, [_THERE], {})[0]
    if there:
        return messages(db, [_NUMBER], {})[0][0][0]
    return 0


def pending(version: int, where: str) -> list[tuple[int, str]]:
    """What is to be done from this version on; raises `StoreError` if a newer Adjourn has made
    it."""
    found = scripts()
    if version > found[-1][0]:
        text = f"{where} was created by a newer version (schema {version}, supported up to {found[-1][0]})"
        raise StoreError(text, consequence="nothing was changed", advice="upgrade Adjourn")
    return [(number, text) for number, text in found if number > version]


def bring_up_to_date(db: Connection, where: str) -> None:
    """Apply what is pending, each script in a transaction of its own, under a lock: whoever comes at
    the same time waits, and finds it done. Raises `StoreError` if somebody uses a table for too
    long."""
    _check_settings(db, where)
    while pending(schema_of(db), where):
        with db.transaction():
            messages(db, [_LOCK], {})
            messages(db, [_MAKE], {})
            for number, text in pending(schema_of(db), where)[:1]:
                _apply(db, number, text, where)


def _apply(db: Connection, number: int, text: str, where: str) -> None:
    """Apply one script, with the lock. While somebody uses its tables it waits in short pieces, and
    leaves the others as much time in between."""
    _find_trigrams(db)
    messages(db, [f"set local lock_timeout = {round(LONGEST * 1000)}"], {})
    for tried in range(1, TRIES + 1):
        try:
            with db.transaction():
                db.execute(text.encode())
            break
        except (LockNotAvailable, DeadlockDetected) as e:
            if tried == TRIES:
                raise _blocked(db, where) from e
            time.sleep(LONGEST)
    added = "insert into adjourn.schema_version (number) values (%(number)s)"
    messages(db, [added], {"number": number})


def _blocked(db: Connection, where: str) -> StoreError:
    """Who is in the way."""
    found = messages(db, [_BLOCKING], {})[0]
    text, advice = "its tables are in use", "try again"
    if found:
        [(process, name, seconds)] = found
        text = f"a transaction of process {process} ({name or 'unnamed'}) has been open for {seconds:.0f} s"
        advice = f"end it, select pg_terminate_backend({process}), and try again"
    return StoreError(
        f"{where}: its schema cannot be upgraded: {text}",
        consequence="nothing else was changed",
        advice=advice,
    )


def _find_trigrams(db: Connection) -> None:
    """The extension by which texts are found; its names may be in a schema that nobody looks in."""
    if not messages(db, [_TRIGRAMS], {})[0]:
        messages(db, ["create extension if not exists pg_trgm"], {})
    [(schema,)] = messages(db, [_TRIGRAMS], {})[0]
    messages(db, [f"set local search_path = adjourn, public, {schema}"], {})


def _check_settings(db: Connection, where: str) -> None:
    """What our statements depend on."""
    encoding = db.info.parameter_status("server_encoding")
    if encoding != "UTF8":
        raise StoreError(
            f"{where}: its encoding is {encoding}",
            consequence="nothing was changed",
            advice="create a database with encoding UTF8",
        )
    if db.info.parameter_status("standard_conforming_strings") != "on":
        raise StoreError(
            f"{where}: set standard_conforming_strings = on", consequence="nothing was changed"
        )
