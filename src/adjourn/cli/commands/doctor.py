"""`adjourn doctor`: is everything in order here, and if not, what to do."""

import asyncio
import platform
from collections.abc import AsyncIterator
from typing import Annotated

import typer

from adjourn.cli import event_loop
from adjourn.cli.doctor import checks as health
from adjourn.cli.doctor import engine_checks
from adjourn.cli.doctor.finding import Finding, exit_of, fine, look, print_findings, wrong
from adjourn.cli.error_report import says
from adjourn.cli.opened_database import address_of
from adjourn.cli.options import Db, Json
from adjourn.cli.terminal.console import give, out
from adjourn.errors import StoreError
from adjourn.runtime.runtime import Runtime
from adjourn.stores.address import (
    VARIABLE,
    NoDatabase,
    database_at,
    file_of,
    is_postgres,
    without_password,
)
from adjourn.stores.database import Database
from adjourn.stores.sqlite.database import DatabaseFile
from adjourn.stores.user_table import users_place

app = typer.Typer()


@app.command()
@says("Not examined")
def doctor(
    db: Db = None,
    as_json: Json = False,
    deep: Annotated[
        bool,
        typer.Option("--deep", help="Also check every page of the file; slow for a large one."),
    ] = False,
) -> None:
    """Check the installation and the store, and print advice. Nothing is changed.

    Exits with 1 if there is a problem. Warnings are not problems.
    """

    async def examine() -> list[Finding]:
        return [finding async for finding in _all(db, deep)]

    found = asyncio.run(examine())
    if not give(as_json, {"ok": not exit_of(found), "findings": [f.as_json() for f in found]}):
        print_findings(found, out())
    raise typer.Exit(exit_of(found))


async def _all(db: str | None, deep: bool) -> AsyncIterator[Finding]:
    yield _versions()
    yield health.secret()
    yield health.files()
    address = address_of(db)
    if file_of(address) is None and not is_postgres(address):
        text = f"{address} is not a database; only those are examined"
        yield look("store", text, "Name one", "adjourn doctor --db PATH")
        return
    try:
        database = database_at(address)
        for finding in _server(database, db):
            yield finding
        if database.obstacle():  # what follows would write
            return
        for finding in health.store(database, db):
            yield finding
        if database.schema and database.schema <= database.newest_schema:
            async for finding in _inside(database, db, deep):
                yield finding
    except NoDatabase:
        start = ("Start one", "adjourn worker app.py:agent")
        text = f"there is no database at {file_of(address) or without_password(address)!r}"
        yield (
            wrong("store", text, "Name another", f"--db or {VARIABLE}")
            if db
            else look("store", text, *start)
        )
    except StoreError as e:
        yield health.unreadable(e, is_postgres(address))


def _server(database: Database, db: str | None) -> list[Finding]:
    """The server of a database that has one."""
    if not is_postgres(database.address):
        return []
    from adjourn.cli.doctor import postgres_checks
    from adjourn.stores.postgres.database import PostgresDatabase

    assert isinstance(database, PostgresDatabase)
    return postgres_checks.server(database.report(), db)


async def _inside(database: Database, db: str | None, deep: bool) -> AsyncIterator[Finding]:
    for finding in await health.is_whole(database, db, deep=deep):
        yield finding
    if isinstance(database, DatabaseFile):
        yield health.rights(database)
    if database.schema == database.newest_schema:
        async with Runtime(database.address) as rt:
            yield health.clock(database, rt.store.now())
            for found in (
                await health.workers(rt, database.programs(), db),
                await health.people(rt, db),
                health.restored(database, db),
                await health.letters(rt, db),
                await engine_checks.engine(rt),
                [await health.decisions(rt)],
                await health.users(rt, users_place(database.address), db),
            ):
                for finding in found:
                    yield finding


def _versions() -> Finding:
    from importlib.metadata import version
    from importlib.util import find_spec

    import apsw

    modules = {
        "server": "starlette",
        "models": "pydantic_ai",
        "signing": "cryptography",
        "fast": "uvloop",
    }
    extras = [name for name, module in modules.items() if find_spec(module)]
    said = (
        f"adjourn {version('adjourn')}, Python {platform.python_version()}, SQLite "
        f"{apsw.sqlite_lib_version()}, "
        f"event loop of worker and serve: {event_loop.name()}"
    )
    return fine("versions", said + (f", with {', '.join(extras)}" if extras else ""), extras=extras)
