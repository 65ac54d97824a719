"""`adjourn db`: the database file itself: what is in it, its schema, a copy of it, whether it is whole."""

import asyncio
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import msgspec
import typer
from rich.text import Text

from adjourn.cli.database import address_of, file_of, with_runtime
from adjourn.cli.doctor.checks import is_whole
from adjourn.cli.doctor.finding import exit_of, print_findings
from adjourn.cli.error_report import says
from adjourn.cli.options import By, Db, Json, Reason
from adjourn.cli.person import person
from adjourn.cli.terminal.console import out, print_json, say
from adjourn.cli.terminal.format import DIM, count
from adjourn.cli.terminal.hints import command, quoted
from adjourn.errors import Conflict, Invalid, StoreError
from adjourn.runtime.runtime import Runtime
from adjourn.stores.rules.restore import when
from adjourn.stores.sqlite.file import DatabaseFile, newest_schema
from adjourn.stores.sqlite.migrations import pending
from adjourn.stores.sqlite.restore import restore as restored_from
from adjourn.views.visible import visible

app = typer.Typer(
    name="db", help="The database file: info, migrate, backup, restore, check, prune, scrub.", no_args_is_help=True
)


def _file(db: str | None) -> DatabaseFile:
    address = address_of(db)
    path = file_of(address)
    if path is None:
        raise Invalid(f"{address!r} is not a file; name one with --db")
    file = DatabaseFile(path)
    if not file.schema:
        raise StoreError(f"{path!r} is not an Adjourn database; nothing was changed; name another with --db")
    return file


@app.command()
@says("Not shown")
def info(db: Db = None, as_json: Json = False) -> None:
    """Show a database's schema, size, runs and records. Nothing is changed."""
    file = _file(db)
    found: dict[str, Any] = {
        "path": file.path,
        "schema": file.schema,
        "newest": newest_schema(),
        "bytes": file.size,
        **file.counts(),
    }
    if as_json:
        print_json(found)
        return
    rows = [
        ("path", visible(file.path)),
        ("schema", f"{file.schema}" + ("" if file.schema == newest_schema() else f" of {newest_schema()}")),
        ("size", f"{file.size:,} bytes"),
        ("runs", f"{found['runs']:,}"),
        *((f"  {status}", f"{n:,}") for status, n in found["statuses"].items()),
        ("records", f"{found['records']:,}"),
        ("open", f"{count(found['open'], 'interrupt')}"),
        ("halts", f"{found['halts']:,}"),
    ]
    out().print(*(Text.assemble((f"{name:<13}", DIM), text) for name, text in rows))


@app.command()
@says("Not migrated")
def migrate(
    db: Db = None,
    check: Annotated[bool, typer.Option("--check", help="Change nothing; exit with 1 if an update is needed.")] = False,
    as_json: Json = False,
) -> None:
    """Update a database's schema. Every command that opens it does that, too; this one does nothing else."""
    file = _file(db)
    before = file.schema
    todo = [number for number, _ in pending(before, repr(file.path))]
    if todo and not check:

        async def touch() -> None:
            async with Runtime(address_of(db)):
                pass

        asyncio.run(touch())
    after = file.schema
    if as_json:
        print_json({"path": file.path, "from": before, "to": after, "pending": todo if check else []})
    elif not todo:
        out().print(f"schema {after}: nothing to do")
    else:
        out().print(
            f"schema {before}: {count(len(todo), 'migration')} to do" if check else f"schema {before} → {after}"
        )
    if todo and check:
        raise typer.Exit(1)


@app.command()
@says("Not copied")
def backup(
    target: Annotated[str, typer.Argument(metavar="FILE", help="File of the copy; it must not exist yet.")],
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Copy a database as of one moment, while workers continue. The copy is verified, and only its owner can read it."""
    file = _file(db)
    if Path(target).exists():
        raise Conflict(f"there is a file {target!r} already; name another, nothing was copied")
    try:
        file.copy_to(target)
    except OSError as e:
        raise StoreError(f"{target!r} cannot be written: {e.strerror or e}; name another place") from None
    copy = DatabaseFile(target)
    if damage := copy.damage(deep=True):
        raise StoreError(f"the copy {target!r} is damaged: {damage[0]}; check the database with `adjourn db check`")
    found: dict[str, Any] = {
        "path": target,
        "bytes": copy.size,
        **{k: v for k, v in copy.counts().items() if k != "statuses"},
    }
    if as_json:
        print_json(found)
    else:
        out().print(visible(target))
        runs, records = count(found["runs"], "run"), count(found["records"], "record")
        say(Text(f"{runs}, {records}, {found['bytes']:,} bytes. Users and keys are in a file of their own.", style=DIM))


@app.command()
@says("Not restored")
def restore(
    backup: Annotated[
        str, typer.Argument(metavar="BACKUP", help="A copy made by `adjourn db backup`; it is only read.")
    ],
    db: Db = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Replace a database that is not open by a backup; the old one is kept under another name.

    Every run that has not ended is paused, and what it may have done since the backup is in doubt: check it, then resume it.
    """
    address = address_of(db)
    path = file_of(address)
    if path is None:
        raise Invalid(f"{address!r} is not a file; name one with --db")
    name = person(db, by, right="admin", what="restoring a backup").name
    done = asyncio.run(restored_from(backup, path, by=name))
    if as_json:
        print_json(asdict(done))
        return
    out().print(visible(done.path))
    held = f"{count(done.held, 'run')} of {done.runs:,} paused"
    say(Text(f"{held}; the last record is of {when(done.taken)}. What they did since is not known here.", style=DIM))
    if done.held:
        say(
            Text(f"Look at each, then let it go on or cancel it: {command(db, 'runs', options=('--status', 'paused'))}")
        )
    if done.kept:
        say(Text(f"The way back: mv {quoted(done.kept)} {quoted(done.path)}", style=DIM))


@app.command()
@says("Not pruned")
def prune(
    older: Annotated[
        str, typer.Option("--older", metavar="SPAN", help="Only runs whose last record is older: 12h, 30d, 4w.")
    ],
    status: Annotated[
        list[str] | None,
        typer.Option(
            "--status", metavar="STATUS", help="completed or cancelled; may be repeated.", show_default="completed"
        ),
    ] = None,
    archive: Annotated[
        str | None,
        typer.Option(
            "--archive", metavar="DIR", help="Write each run there first, as a checkpoint.", show_default=False
        ),
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only print their number and size.")] = False,
    reason: Reason = "",
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """Remove runs that ended long ago. Their audit stays, and their ids stay in use."""
    _file(db)
    name = by or "" if dry_run else person(db, by, right="admin", what="pruning").name
    done = with_runtime(
        db,
        lambda rt: rt.prune(
            older=older,
            status=status or "completed",
            archive=archive,
            by=name or "somebody",
            reason=reason,
            dry_run=dry_run,
        ),
    )
    if as_json:
        print_json({**msgspec.to_builtins(done), "dry_run": dry_run})
        return
    what = "would be pruned" if dry_run else "pruned"
    out().print(f"{count(done.runs, 'run')} {what}, {done.bytes:,} bytes of records.")
    if done.archive and not dry_run and done.runs:
        say(Text(f"Their checkpoints are in {visible(done.archive)}", style=DIM))
    if done.held:
        say(Text(f"{count(done.held, 'run')} on hold stayed: {command(db, 'hold')}", style="yellow"))
    if done.kept:
        why = "a later turn of the conversation stays, or it changed meanwhile"
        say(Text(f"{count(done.kept, 'run')} stayed: {why}.", style="yellow"))
    if done.runs and not dry_run:
        say(Text(f"The file uses the room again; to give it back to the disk: {command(db, 'db', 'scrub')}", style=DIM))


@app.command()
@says("Not scrubbed")
def scrub(db: Db = None, as_json: Json = False) -> None:
    """Remove what was erased or pruned from the bytes of the file and its log. Exits with 1 if a reader prevents it."""
    _file(db)
    done = with_runtime(db, lambda rt: rt.scrub())
    if as_json:
        print_json({"scrubbed": done})
    else:
        out().print(
            "What was erased or pruned is in no byte of the files."
            if done
            else "Somebody who reads holds a part of it."
        )
    if not done:
        say(Text(f"Once more: {command(db, 'db', 'scrub')}", style=DIM))
        raise typer.Exit(1)


@app.command()
@says("Not checked")
def check(db: Db = None, as_json: Json = False) -> None:
    """Check a database: its structure, every journal and the audit. Exits with 1 if it is damaged."""
    found = asyncio.run(is_whole(_file(db), db, deep=True))
    if as_json:
        print_json([f.as_json() for f in found])
    else:
        print_findings(found, out())
    raise typer.Exit(exit_of(found))
