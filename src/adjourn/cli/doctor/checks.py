"""The checks behind `adjourn doctor`: each looks at one thing and says what it found. None of them
changes anything."""

import os
import shutil
import stat
import time
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from adjourn.cli.doctor.finding import Finding, fine, look, wrong
from adjourn.cli.extras import NotInstalled, needs
from adjourn.cli.terminal.format import count, duration
from adjourn.cli.terminal.hints import command, quoted
from adjourn.core.status import RUNNABLE, Status
from adjourn.driver.process_identity import is_dead
from adjourn.errors import InvalidDefinition, StoreError
from adjourn.runtime.checkpoint import SECRET, key_ring
from adjourn.runtime.file_limit import UNLIMITED, files_allowed
from adjourn.runtime.runtime import Runtime
from adjourn.stores.address import is_postgres, without_password
from adjourn.stores.database import Database
from adjourn.stores.fleet import Misfit
from adjourn.stores.protocol import Filter, Halt
from adjourn.stores.run_row import RunRow
from adjourn.stores.sqlite.database import DatabaseFile

if TYPE_CHECKING:
    from adjourn.server.users import User

ALONE = 60.0
"""Seconds that a run may wait for a worker before somebody should look."""
LATE = 3600.0
"""Seconds that a letter may be on its way."""
SLOW = 0.05
"""Seconds that a commit may take."""
SKEW = 5.0
"""Seconds that this machine's clock may be behind the last record."""
ROOM = 100 * 1024 * 1024
"""Bytes that should be free."""
CONNECTIONS, FILES_ELSEWHERE = 1000, 200
"""Connections that a server should be able to have, and files that it needs beside them."""
NAMED = 5
"""So many runs are named one by one."""


# The file


def store(database: Database, db: str | None) -> list[Finding]:
    """Whether it can be written, how new its schema is, how long a commit takes, and whether there
    is room."""
    schema, newest = database.schema, database.newest_schema
    if not schema:
        text = f"{database.where!r} is not an Adjourn database"
        return [wrong("store", text, "Name another", "adjourn doctor --db PATH")]
    if schema > newest:
        text = f"{database.where} has schema {schema}, this Adjourn supports up to {newest}"
        return [wrong("store", text, "Install", "a newer Adjourn; nothing was changed")]
    if isinstance(database, DatabaseFile) and (closed := _closed(database)):
        return [closed]
    took = database.commit_time()
    shown = without_password(database.address)
    said = f"{shown}, schema {schema}, {database.size:,} bytes, commit {took * 1000:.1f} ms"
    found = [fine("store", said, commit=took, schema=schema, bytes=database.size)]
    if took > SLOW:
        found = [look("store", said, "It is slow", "put it on a local disk", commit=took)]
    if schema < newest:
        text = f"{schema}; this Adjourn uses {newest}, and upgrades it when it opens it"
        found.append(look("schema", text, "Upgrade", command(db, "db upgrade")))
    if isinstance(database, DatabaseFile):
        found += _room(database)
    return found


def _closed(file: DatabaseFile) -> Finding | None:
    """That it cannot be written here."""
    folder = Path(file.path).absolute().parent
    if os.access(file.path, os.W_OK) and os.access(folder, os.W_OK):
        return None
    text = f"{file.path} or its folder cannot be written"
    return wrong("store", text, "Allow it", f"chmod u+w {quoted(file.path)}")


def _room(file: DatabaseFile) -> list[Finding]:
    """Whether there is room on its disk."""
    free = shutil.disk_usage(Path(file.path).absolute().parent).free
    if free >= ROOM:
        return []
    advice = ("Free some space", "runs stop when the disk is full; recorded data is safe")
    return [wrong("disk", f"{free:,} bytes are free", *advice)]


async def is_whole(database: Database, db: str | None, *, deep: bool) -> list[Finding]:
    """Its structure, every journal, and the audit."""
    if damage := database.damage(deep=deep):
        advice = ("Restore the last copy", command(db, "db restore BACKUP"))
        return [wrong("structure", f"{damage[0]} ({len(damage)} in all)", *advice, damage=damage)]
    found: list[Finding] = []
    if isinstance(database, DatabaseFile):
        found.append(fine("structure", "SQLite found no errors"))
    if database.schema != database.newest_schema:
        advice = ("Upgrade", command(db, "db upgrade"))
        return [*found, look("journals", "not checked: the schema is older", *advice)]
    async with Runtime(database.address) as rt:
        checked = await rt.verification()
    runs = database.counts()["runs"]
    journals: list[str] = []
    audit: list[str] = []
    for place in checked:
        (journals if place.what.is_of_run else audit).append(str(place))
    for name, places, said in (
        ("journals", journals, f"{count(runs, 'journal')} checked, none broken"),
        ("audit", audit, str(checked)),
    ):
        advice = ("Look", "the database was modified; compare it with a copy")
        found.append(
            wrong(
                name, f"{count(len(places), 'place')} broken: {places[0]}", *advice, broken=places
            )
            if places
            else fine(name, said if name == "journals" or not checked else "checked, none broken")
        )
    return found


def rights(file: DatabaseFile) -> Finding:
    """Who else on this machine can read or change it."""
    if os.name != "posix":
        return fine("rights", "controlled by this system's access lists")
    modes = {part: stat.S_IMODE(part.stat().st_mode) for part in file.parts()}
    folder = Path(file.path).absolute().parent
    open_folder = stat.S_IMODE(folder.stat().st_mode)
    names = " ".join(quoted(str(part)) for part in modes)
    if any(mode & 0o022 for mode in modes.values()) or (
        open_folder & 0o002 and not open_folder & stat.S_ISVTX
    ):
        text = "other users of this machine can change it, and so approve anything"
        return wrong("rights", text, "Close it", f"chmod 600 {names}")
    if any(mode & 0o044 for mode in modes.values()):
        text = "other users of this machine can read every journal"
        return look("rights", text, "Close it", f"chmod 600 {names}")
    return fine("rights", "only its owner can read it")


def clock(database: Database, now: float) -> Finding:
    """Whether this machine's time goes with the times in the journals."""
    behind = database.newest() - now
    if behind > SKEW:
        said = f"{duration(behind)} behind the database: timers fire late, leases are safe"
        return wrong(
            "clock", said, "Fix", "start time synchronisation on this machine", behind=behind
        )
    return fine(
        "clock",
        f"{time.strftime('%Y-%m-%d %H:%M:%S', time.localtime(now))}, not behind the database",
    )


def secret() -> Finding:
    """Whether checkpoints are signed."""
    try:
        keys = key_ring()
    except InvalidDefinition as e:
        return wrong("secret", str(e), "Set it", f'export {SECRET}="$(openssl rand -hex 32)"')
    if not keys:
        advice = ("Set it", f'export {SECRET}="$(openssl rand -hex 32)"')
        return look("secret", f"{SECRET} is not set: checkpoints are not signed", *advice)
    return fine("secret", f"{count(len(keys), 'key')}; the first signs, all verify")


def files() -> Finding:
    """Whether a server would have files for its connections."""
    now, most = files_allowed()
    room = most - FILES_ELSEWHERE
    if room < CONNECTIONS:
        text = (
            f"{most:,} files may be open at most: a server has at most {max(1, room):,} connections"
        )
        return look("files", text, "Raise it", f"ulimit -Hn {CONNECTIONS + FILES_ELSEWHERE}")
    shown = "any number of" if now == UNLIMITED else f"{now:,}"
    return fine(
        "files",
        f"{shown} files may be open; a server takes what it needs for {CONNECTIONS:,} connections",
    )


# The runs


def restored(database: Database, db: str | None) -> list[Finding]:
    """Runs that wait for a person since a backup was restored."""
    held = database.restored()
    if not held:
        return []
    text = (
        f"{count(held, 'run')} paused since a backup was restored: it is unknown what they did "
        "after it"
    )
    advice = (
        "Check each, then resume or cancel it",
        command(db, "runs", options=("--status", "paused")),
    )
    return [look("restored", text, *advice, held=held)]


async def workers(rt: Runtime, programs: Sequence[str], db: str | None) -> list[Finding]:
    """Runs that could go on and do not: nobody has them, or whoever had them has died."""
    now = rt.store.now()
    halts = frozenset(halt.scope for halt in await rt.halts())
    due = [row for row in await rt.store.due(list(programs), 1000) if row.due(now, halts)]
    misfits = {misfit.run: misfit for misfit in await rt.store.misfits()}
    died: list[tuple[RunRow, str]] = []
    alone: list[tuple[RunRow, str]] = []
    for row in due:
        waited = now - _due_since(row)
        if row.worker and is_dead(row.worker):
            died.append((row, f"the worker of run {row.id} died"))
        elif (
            (not row.worker or row.lease_until <= now) and waited > ALONE and row.id not in misfits
        ):
            alone.append((row, f"{row.id} has had no worker for {duration(waited)}"))
    found: list[Finding] = []
    for misfit in [misfit for misfit in misfits.values() if not misfit.queued][:NAMED]:
        text = f"{misfit.run}: no worker fits: {misfit.why}"
        found.append(look("misfit", text, *_remedy(misfit, db), run_id=misfit.run))
    found += _named("died", db, died)
    found += _named("alone", db, alone)
    held = len(due) - len(died) - len(alone) - len(misfits)
    return found or [fine("workers", f"{count(held, 'run')} to advance, all have workers")]


def _remedy(misfit: Misfit, db: str | None) -> tuple[str, str]:
    """What a person may do about a run that no worker fits."""
    if misfit.fingerprint:
        return "Start a worker of the old version, or accept the change", command(
            db, "accept", misfit.run
        )
    return "See", command(db, "show", misfit.run)


def _due_since(row: RunRow) -> float:
    if row.status in RUNNABLE:
        return row.updated_at
    return max(row.updated_at, row.wake_at)


def _named(name: str, db: str | None, rows: list[tuple[RunRow, str]]) -> list[Finding]:
    found: list[Finding] = []
    for row, text in rows[:NAMED]:
        start = command(db, "worker", f"app.py:{row.program}")
        found.append(look(name, text, "Start one", start, run_id=row.id))
    if len(rows) > NAMED:
        advice = ("See", command(db, "runs", options=("--status", "ready")))
        found.append(look(name, f"and {len(rows) - NAMED:,} more", *advice))
    return found


async def people(rt: Runtime, db: str | None) -> list[Finding]:
    """What only a person can end: cancels that need help, failures, halts."""
    found: list[Finding] = []
    for row in await rt.store.runs(Filter(status=Status.STUCK.value, limit=NAMED)):
        text = f"{row.id}: its cancel needs a person"
        found.append(look("stuck", text, "Decide", command(db, "inbox", row.id), run_id=row.id))
    failed = await rt.store.runs(Filter(status="failed", limit=1000))
    if failed:
        advice = ("See", command(db, "runs", options=("--status", "failed")))
        text = f"{count(len(failed), 'run')} failed and can be resumed"
        found.append(look("failed", text, *advice, count=len(failed)))
    halts: Sequence[Halt] = await rt.halts()
    for halt in halts:
        text = (
            f"{halt.scope} has been halted for {duration(rt.store.now() - halt.at)} by "
            f"{halt.by}: {halt.reason}"
        )
        lift = command(db, "unhalt", halt.scope, options=("--reason", "…"))
        found.append(look("halt", text, "Lift it", lift))
    return found


async def letters(rt: Runtime, db: str | None) -> list[Finding]:
    """Notifications that nobody will get, or that nobody sends."""
    endpoints = await rt.store.endpoints()
    dead = await rt.store.letters("dead", limit=1000)
    now = rt.store.now()
    late = [
        letter for letter in await rt.store.letters("due", limit=1000) if now - letter.at > LATE
    ]
    found: list[Finding] = []
    if dead:
        last = dead[-1]
        text = f"{count(len(dead), 'undelivered notification')}, the last for {last.endpoint}: {last.error}"
        found.append(look("letters", text, "See", command(db, "serve"), count=len(dead)))
    if late:
        text = f"{count(len(late), 'letter')} undelivered for more than {duration(LATE)}"
        found.append(look("letters", text, "Start", command(db, "serve"), count=len(late)))
    return found or [fine("letters", f"{count(len(endpoints), 'endpoint')}, nothing is delayed")]


# The people who may decide


async def decisions(rt: Runtime) -> Finding:
    """Whether decisions are signed, and so what whoever can write the file can do."""
    if await rt.store.signed():
        return fine(
            "decisions",
            "signed: serve needs --signing-key, and every worker --deciders",
            signed=True,
        )
    return fine("decisions", "not signed: anyone who can write the file can decide", signed=False)


async def users(rt: Runtime, place: str, db: str | None) -> list[Finding]:
    """Whether somebody may decide, and is in every group that something waits for."""
    try:
        found = _users(place)
    except NotInstalled as e:
        return [look("users", str(e), "Install", "pip install 'adjourn[server]'")]
    if not found:
        return [fine("users", "none: the console is served on this machine only")]
    said: list[Finding] = []
    if not any(user.role == "admin" for user in found):
        said.append(look("users", "no user has the admin role", "Add one", _add_user(db, "admin")))
    deciders = [user for user in found if user.role in ("approver", "admin")]
    if not deciders:
        said.append(
            look("users", "no user can decide over the API", "Add one", _add_user(db, "approver"))
        )
    there: set[str] = set()
    for user in deciders:
        there.update(user.groups)
    wanted: set[str] = set()
    for interrupt in await rt.inbox(limit=1000):
        wanted.update(interrupt.groups)
    for group in sorted(wanted - there):
        text = f"an interrupt waits for the group {group}, which has no approver"
        said.append(look("users", text, "Add one", _add_user(db, "approver", "--group", group)))
    decide = count(len(deciders), "of them decides", "of them decide")
    return said or [fine("users", f"{count(len(found), 'user')}, {decide}")]


def _add_user(db: str | None, role: str, *more: str) -> str:
    return command(db, "user add", "NAME", options=("--role", role, *more))


def _users(place: str) -> "list[User]":
    """The users of a database. A file that is not there is not made."""
    if not is_postgres(place) and not Path(place).exists():
        return []
    with needs("server"):
        from adjourn.server.users import Users
    with closing(Users(place)) as kept:
        return kept.all()


def unreadable(error: StoreError, is_served: bool) -> Finding:
    """A store that cannot even be opened; `is_served`: by a database server."""
    if is_served:
        advice = ("Check", "that the server runs, the address, the password and pg_hba.conf")
        return wrong("server", str(error), *advice)
    return wrong("store", str(error), "Name another", "adjourn doctor --db PATH")
