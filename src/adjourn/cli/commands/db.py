"""`adjourn db`: the database itself: what is in it, its schema, a copy of it, whether it is
whole."""

import asyncio
import os
import socket
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import msgspec
import typer
from rich.text import Text

from adjourn.cli.doctor.checks import is_whole
from adjourn.cli.doctor.finding import report_findings
from adjourn.cli.error_report import says
from adjourn.cli.opened_database import address_of, database_of, with_runtime
from adjourn.cli.options import By, Db, Json, Reason, option
from adjourn.cli.person import person
from adjourn.cli.terminal.console import give, out, print_json, remark, say
from adjourn.cli.terminal.format import DIM, count
from adjourn.cli.terminal.hints import command, quoted
from adjourn.errors import Conflict, Invalid, StoreError
from adjourn.runtime.runtime import Runtime
from adjourn.stores.address import NoDatabase, file_of, is_postgres, without_password
from adjourn.stores.database import Database
from adjourn.stores.rules.restore import when
from adjourn.stores.sqlite.database import DatabaseFile
from adjourn.stores.sqlite.restore import restore as restored_from
from adjourn.stores.transfer import transfer
from adjourn.views.visible import visible

if TYPE_CHECKING:
    from adjourn.stores.postgres.restore import Held
    from adjourn.stores.ruled_store import Ruled

app = typer.Typer(
    name="db",
    help="Check, upgrade, back up, restore, copy and prune the database.",
    no_args_is_help=True,
)


def _file(db: str | None, advice: str) -> DatabaseFile:
    """The file; raises `Invalid`, with what to do, for what is none."""
    found = database_of(db)
    if not isinstance(found, DatabaseFile):
        raise Invalid(f"{found.where!r} is not a file", advice=advice)
    return found


DUMP = "copy it with PostgreSQL's own tools: pg_dump, pg_basebackup, or your provider's snapshots"
PUT_BACK = (
    "restore it with PostgreSQL's own tools, with all workers and servers stopped; "
    "then run: adjourn db restored --db …"
)


@app.command()
@says("Not shown")
def info(db: Db = None, as_json: Json = False) -> None:
    """Show a database's schema, size, runs and records. Nothing is changed."""
    database = database_of(db)
    found: dict[str, Any] = {
        "path": database.where,
        "schema": database.schema,
        "newest": database.newest_schema,
        "bytes": database.size,
        **database.counts(),
    }
    if give(as_json, found):
        return
    rows = [
        ("path", visible(database.where)),
        (
            "schema",
            f"{found['schema']}"
            + ("" if found["schema"] == found["newest"] else f" of {found['newest']}"),
        ),
        ("size", f"{found['bytes']:,} bytes"),
        ("runs", f"{found['runs']:,}"),
        *((f"  {status}", f"{n:,}") for status, n in found["statuses"].items()),
        ("records", f"{found['records']:,}"),
        ("open", f"{count(found['open'], 'interrupt')}"),
        ("halts", f"{found['halts']:,}"),
    ]
    out().print(*(Text.assemble((f"{name:<13}", DIM), text) for name, text in rows))


@app.command()
@says("Not upgraded")
def upgrade(
    db: Db = None,
    check: Annotated[
        bool, typer.Option("--check", help="Change nothing; exit with 1 if an update is needed.")
    ] = False,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Change nothing; print what would be updated.")
    ] = False,
    as_json: Json = False,
) -> None:
    """Bring a database's schema up to date, while workers continue. Every command that opens it does
    that, too; this one does nothing else."""
    database = _to_be_upgraded(db)
    before, todo = database.schema, database.pending()
    looks = check or dry_run
    if todo and not looks:

        async def touch() -> None:
            async with Runtime(address_of(db)):
                pass

        asyncio.run(touch())
    after = database.schema
    if as_json:
        print_json(
            {"path": database.where, "from": before, "to": after, "pending": todo if looks else []}
        )
    elif not todo:
        out().print(f"schema {after}: nothing to do")
    else:
        out().print(
            f"schema {before}: {count(len(todo), 'migration')} to do"
            if looks
            else f"schema {before} → {after}"
        )
    if todo and check:
        raise typer.Exit(1)


def _to_be_upgraded(db: str | None) -> Database:
    """A database of ours, or one in PostgreSQL with nothing of ours in it yet."""
    try:
        return database_of(db)
    except NoDatabase:
        if not is_postgres(address_of(db)):
            raise
    from adjourn.stores.postgres.database import PostgresDatabase

    return PostgresDatabase(address_of(db))


@app.command()
@says("Not copied")
def backup(
    target: Annotated[
        str, typer.Argument(metavar="FILE", help="File of the copy; it must not exist yet.")
    ],
    db: Db = None,
    as_json: Json = False,
) -> None:
    """Copy a database as of one moment, while workers continue. The copy is verified, and only its
    owner can read it."""
    file = _file(db, DUMP)
    if Path(target).exists():
        raise Conflict(
            f"file {target!r} already exists",
            consequence="nothing was copied",
            advice="name another",
        )
    try:
        file.copy_to(target)
    except OSError as e:
        raise StoreError(
            f"{target!r} cannot be written: {e.strerror or e}", advice="use another path"
        ) from None
    copy = DatabaseFile(target)
    if damage := copy.damage(deep=True):
        raise StoreError(
            f"the copy {target!r} is damaged: {damage[0]}",
            advice="check the database with `adjourn db check`",
        )
    found: dict[str, Any] = {
        "path": target,
        "bytes": copy.size,
        **{k: v for k, v in copy.counts().items() if k != "statuses"},
    }
    if not give(as_json, found):
        out().print(visible(target))
        runs, records = count(found["runs"], "run"), count(found["records"], "record")
        remark(
            f"{runs}, {records}, {found['bytes']:,} bytes. Users and keys are in a file of their own."
        )


@app.command()
@says("Not copied")
def copy(
    source: Annotated[
        str, typer.Argument(metavar="FROM", help="A database: a file, or an address.")
    ],
    target: Annotated[
        str,
        typer.Argument(
            metavar="TO", help="Address of the copy, of any kind; it must not exist yet."
        ),
    ],
    by: By = None,
    as_json: Json = False,
) -> None:
    """Copy a whole database to another place, also between SQLite and PostgreSQL, and compare both.

    Both are halted then, so that no call is made twice: lift the halt of the one that shall
    continue. Workers must be stopped.
    """
    name = person(source, by, right="admin", what="copying a database").name
    origin = f"{socket.gethostname()}:{os.getpid()}"
    done = asyncio.run(transfer(address_of(source), address_of(target), by=name, origin=origin))
    if give(as_json, msgspec.to_builtins(done)):
        return
    runs, records = count(done.runs, "run"), count(done.records, "record")
    out().print(
        f"{runs}, {records}, {count(done.lines, 'line')} of the audit, "
        f"{count(done.seals, 'seal')}, {count(done.threads, 'thread')} of guests: both are the same."
    )
    say(
        f"Both are halted. To continue in the copy: "
        f"{command(target, 'unhalt', '*', options=('--reason', '…'))}"
    )


@app.command()
@says("Not restored")
def restore(
    backup: Annotated[
        str,
        typer.Argument(
            metavar="BACKUP", help="A copy made by `adjourn db backup`; it is only read."
        ),
    ],
    db: Db = None,
    by: By = None,
    as_json: Json = False,
) -> None:
    """Replace a database that is not open by a backup; the old one is kept under another name.

    Every run that has not ended is paused, and what it may have done since the backup is in doubt:
    check it, then resume it.
    """
    address = address_of(db)
    path = file_of(address)
    if path is None:
        raise Invalid(f"{without_password(address)!r} is not a file", advice=PUT_BACK)
    name = person(db, by, right="admin", what="restoring a backup").name
    done = asyncio.run(restored_from(backup, path, by=name))
    if give(as_json, asdict(done)):
        return
    out().print(visible(done.path))
    held = f"{count(done.held, 'run')} of {done.runs:,} paused"
    remark(
        f"{held}; the last record is from {when(done.taken)}. It is unknown what they did after that."
    )
    if done.held:
        say(
            "Check each, then resume or cancel it: "
            f"{command(db, 'runs', options=('--status', 'paused'))}"
        )
    if done.kept:
        remark(f"To undo this: mv {quoted(done.kept)} {quoted(done.path)}")


@app.command()
@says("Not held")
def restored(db: Db = None, by: By = None, as_json: Json = False) -> None:
    """Say that a database in PostgreSQL was restored by other tools, before any worker starts.

    Every run that has not ended is paused, and what it may have done since the backup is in doubt:
    look, then resume it.
    """
    address = address_of(db)
    if not is_postgres(address):
        raise Invalid(
            f"{address!r} is not in PostgreSQL",
            advice="restore a file with: adjourn db restore BACKUP",
        )
    database_of(db)
    name = person(db, by, right="admin", what="restoring a backup").name
    done = asyncio.run(_held(address, name))
    if give(as_json, asdict(done)):
        return
    out().print(
        f"{count(done.held, 'run')} of {done.runs:,} paused; the last record is from {when(done.taken)}."
    )
    if done.held:
        look = command(db, "runs", options=("--status", "paused"))
        remark(f"Check each, then resume or cancel it: {look}")


async def _held(address: str, by: str) -> "Held":
    from adjourn.stores.postgres.restore import hold_all
    from adjourn.stores.postgres.store import PostgresStore

    store = PostgresStore(address)
    try:
        return await hold_all(store, by=by, origin=f"{socket.gethostname()}:{os.getpid()}")
    finally:
        await store.close()


Older = Annotated[
    str,
    typer.Option(
        "--older",
        metavar="SPAN",
        help="Only runs whose last record is older than this: 12h, 30d, 4w.",
    ),
]
EndedStatus = Annotated[
    list[str] | None,
    typer.Option(
        "--status",
        metavar="STATUS",
        help="completed or cancelled; may be repeated.",
        show_default="completed",
    ),
]
Archive = Annotated[
    str | None, option("DIR", "Write each run there first, as a checkpoint.", "--archive")
]
DryRun = Annotated[bool, typer.Option("--dry-run", help="Only print their number and size.")]


@app.command()
@says("Not pruned")
def prune(
    older: Older,
    status: EndedStatus = None,
    archive: Archive = None,
    dry_run: DryRun = False,
    reason: Reason = "",
    db: Db = None,
    as_json: Json = False,
    by: By = None,
) -> None:
    """Remove runs that ended long ago. Their audit stays, and their ids stay in use."""
    database_of(db)
    if dry_run:
        name = by or ""
    else:
        name = person(db, by, right="admin", what="pruning").name
    done = with_runtime(
        db,
        lambda rt: rt.prune(
            older=older,
            status=status or "completed",
            archive=archive,
            by=name or "unknown",
            reason=reason,
            dry_run=dry_run,
        ),
    )
    if give(as_json, {**msgspec.to_builtins(done), "dry_run": dry_run}):
        return
    what = "would be pruned" if dry_run else "pruned"
    out().print(f"{count(done.runs, 'run')} {what}, {done.bytes:,} bytes of records.")
    if done.archive and not dry_run and done.runs:
        remark(f"Their checkpoints are in {visible(done.archive)}")
    if done.held:
        say(
            Text(
                f"{count(done.held, 'run')} on hold, not pruned: {command(db, 'hold')}",
                style="yellow",
            )
        )
    if done.kept:
        why = "a later turn of the conversation is kept, or the run changed meanwhile"
        say(Text(f"{count(done.kept, 'run')} not pruned: {why}.", style="yellow"))
    if done.runs and not dry_run:
        remark(f"The file reuses the space; to return it to the disk: {command(db, 'db', 'scrub')}")


@app.command()
@says("Not scrubbed")
def scrub(db: Db = None, as_json: Json = False) -> None:
    """Remove what was erased or pruned from the bytes of the file and its log. Exits with 1 if a
    reader prevents it."""
    database_of(db)
    done = with_runtime(db, lambda rt: rt.scrub())
    told = "The files contain nothing that was erased or pruned."
    if not done:
        told = "A reader still uses a part of it."
    give(as_json, {"scrubbed": done}, told)
    if not done:
        remark(f"Try again: {command(db, 'db', 'scrub')}")
        raise typer.Exit(1)


@app.command()
@says("Not wrapped")
def rewrap(db: Db = None, as_json: Json = False) -> None:
    """Wrap the keys of encrypted runs with the first key of ADJOURN_SECRET_KEYS, in one transaction.
    What they encrypt is not touched."""
    from adjourn.stores.secret_keys import ring_from_environment

    database_of(db)
    ring = ring_from_environment()
    done: int = with_runtime(db, lambda rt: cast("Ruled", rt.store).rewrap(ring))
    wrapped = f"{count(done, 'key')} wrapped with the first key of the ring."
    give(as_json, {"rewrapped": done}, wrapped)


@app.command()
@says("Not checked")
def check(db: Db = None, as_json: Json = False) -> None:
    """Check a database: its structure, every journal and the audit. Exits with 1 if it is
    damaged."""
    found = asyncio.run(is_whole(database_of(db), db, deep=True))
    report_findings(found, as_json)
