"""What the shell offers while a person types: runs and items of the database, and programs in the
files here.

It only reads, imports nothing of the user's, and says nothing if something is wrong: a prompt is no
place for errors.
"""

import ast
import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from adjourn.stores.database import Database

MOST = 50
_ID = re.compile(r"[A-Za-z0-9._:?/-]+")
"""Ids with other characters are not offered: shells evaluate what a completion says, and people
choose ids."""


def complete_runs(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """The newest runs whose id begins so."""
    return _found(ctx, lambda database: database.runs_like(incomplete, MOST))


def complete_items(ctx: typer.Context, incomplete: str) -> list[tuple[str, str]]:
    """What waits for a person, by its id."""
    return _found(ctx, lambda database: database.items_like(incomplete, MOST))


def _found(
    ctx: typer.Context, look: "Callable[[Database], list[tuple[str, str]]]"
) -> list[tuple[str, str]]:
    from adjourn.cli.opened_database import address_of
    from adjourn.cli.tenant_option import VARIABLE, tenant
    from adjourn.stores.address import database_at

    if tenant() or os.environ.get(VARIABLE):  # what is looked at has the runs of all tenants
        return []
    try:
        rows = look(database_at(address_of(ctx.params.get("db"))))
        return [(id, _harmless(what)) for id, what in rows if _ID.fullmatch(id)]
    except Exception:
        return []


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
