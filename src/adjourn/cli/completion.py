"""What the shell offers while a person types: runs and items of the database, and programs in the
files here.

It only reads, imports nothing of the user's, and says nothing if something is wrong: a prompt is no
place for errors.
"""

import ast
import os
import re
from pathlib import Path
from typing import Any

import typer

MOST = 50
_ID = re.compile(r"[A-Za-z0-9._:?/-]+")
"""Ids with other characters are not offered: shells evaluate what a completion says, and people
choose ids."""


def complete_runs(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The newest runs whose id begins so."""
    sql = (
        "select id, status || '  ' || program || '  ' || title from run where substr(id, "
        "1, ?1) = ?2 order by n desc limit ?3"
    )
    elsewhere = (
        "select id, status || '  ' || program || '  ' || title from adjourn.run where "
        "starts_with(id, %(begun)s) "
        "order by n desc limit %(most)s"
    )
    return _found(ctx, sql, elsewhere, incomplete)


def complete_items(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """What waits for a person, by its id."""
    sql = (
        "select r.id || ':' || x.i as item, x.kind || '  ' || r.program || '  ' || r.title from interrupt x "
        "join run r on r.n = x.run where x.state = 'open' and substr(item, 1, ?1) = ?2 "
        "order by x.opened_at limit ?3"
    )
    elsewhere = (
        "select r.id || ':' || x.i, x.kind || '  ' || r.program || '  ' || r.title from adjourn.interrupt x "
        "join adjourn.run r on r.n = x.run where x.state = 'open' and starts_with(r.id || "
        "':' || x.i, %(begun)s) "
        "order by x.opened_at limit %(most)s"
    )
    return _found(ctx, sql, elsewhere, incomplete)


def _found(ctx: typer.Context, sql: str, elsewhere: str, begun: str) -> list[tuple[str, str]]:
    """What a file says to `sql`, or PostgreSQL to `elsewhere`."""
    from adjourn.cli.opened_database import address_of
    from adjourn.stores.address import file_of, is_postgres

    try:
        address = address_of(ctx.params.get("db"))
        path = file_of(address)
        rows: list[Any] = []
        if is_postgres(address):
            from adjourn.stores.postgres.database import PostgresDatabase

            rows = PostgresDatabase(address).rows(elsewhere, begun=begun, most=MOST)
        elif path and Path(path).is_file():
            rows = _in_file(path, sql, (len(begun), begun, MOST))
        return [(id, _harmless(what)) for id, what in rows if _ID.fullmatch(id)]
    except Exception:
        return []


def _in_file(path: str, sql: str, values: tuple[Any, ...]) -> list[Any]:
    import apsw

    db: Any = apsw.Connection(path, flags=apsw.SQLITE_OPEN_READONLY)
    try:
        return db.execute(sql, values).fetchall()
    finally:
        db.close()


def _harmless(text: str) -> str:
    """A few words about it, without anything that a shell could act on."""
    return "".join(c if c.isalnum() or c in " .,_-" else " " for c in text[:60])


def complete_programs(ctx: typer.Context, incomplete: str) -> list[str]:
    """`app.py:`, then the names that the file gives to something, read without running it."""
    place, found, _ = incomplete.partition(":")
    if found:
        names = [f"{place}:{name}" for name in _names(place)]
        return [name for name in names if name.startswith(incomplete)]
    folder, _, begun = incomplete.rpartition("/")
    try:
        files = sorted(
            f for f in os.listdir(folder or ".") if f.startswith(begun) and f.endswith(".py")
        )
    except OSError:
        return []
    return [f"{folder}/{file}:" if folder else f"{file}:" for file in files][:MOST]


def _names(place: str) -> list[str]:
    try:
        tree = ast.parse(Path(place).read_text("utf-8"))
    except (OSError, ValueError, SyntaxError):
        return []
    names: list[str] = []
    for node in tree.body:
        match node:
            case ast.Assign(
                targets=[ast.Name(id=name)], value=ast.Call() | ast.List() | ast.Tuple()
            ):
                names.append(name)
            case ast.AnnAssign(target=ast.Name(id=name)):
                names.append(name)
            case ast.FunctionDef(name=name):
                names.append(name)
            case _:
                pass
    return [name for name in names if not name.startswith("_")]
