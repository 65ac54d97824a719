"""Bringing the schema of a PostgreSQL database up to date, one process at a time, while others go
on with what they know."""

from importlib import resources

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
    """Apply what is pending, in one transaction under a lock: whoever comes at the same time waits,
    and finds it done."""
    _check_settings(db, where)
    if not pending(schema_of(db), where):
        return
    with db.transaction():
        messages(db, [_LOCK], {})
        messages(db, [_MAKE], {})
        for number, text in pending(schema_of(db), where):
            if number == 1:
                _find_trigrams(db)
            db.execute(text.encode())
            messages(
                db,
                ["insert into adjourn.schema_version (number) values (%(number)s)"],
                {"number": number},
            )


def _find_trigrams(db: Connection) -> None:
    """The extension by which texts are found; its names may be in a schema that nobody looks in."""
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
