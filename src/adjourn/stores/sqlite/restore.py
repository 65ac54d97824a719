"""Putting a backup in the place of a database. Nothing is touched before the backup is known to be
good; nothing is deleted.

The backup itself is only read: a copy of it beside the database is brought up to date and checked,
its runs are held (see `rules.restoring`), and it takes the database's name in one step. What had
the name before is kept under another.
"""

import asyncio
import os
import secrets
import socket
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import apsw

from adjourn.errors import Conflict, Invalid, NotFound, StoreError
from adjourn.stores.private_file import PARTS, tighten
from adjourn.stores.rows import first_column
from adjourn.stores.rules import restore as restoring
from adjourn.stores.rules import transaction as rule_transaction
from adjourn.stores.sqlite import SQLiteStore
from adjourn.stores.sqlite.connection import connect, refuse_foreign, transaction
from adjourn.stores.sqlite.migrations import pending
from adjourn.stores.sqlite.transaction import SQLiteBook


@dataclass(frozen=True, slots=True)
class Restoration:
    """What was restored: `taken` is the time of the backup's last record, `held` how many of its
    `runs` have not ended and are paused now, `kept` where the database is that had the name before
    ("" if there was none)."""

    path: str
    backup: str
    kept: str
    taken: float
    runs: int
    held: int


async def restore(
    backup: str, path: str, *, by: str = "", origin: str = "", now: Callable[[], float] = time.time
) -> Restoration:
    """Put the database `backup` at `path`, with every run that has not ended paused, and in doubt
    what it may have begun.

    Raises `NotFound` if there is no backup, `Conflict` if somebody has the database open,
    `StoreError` if the backup is damaged, of something else or of a newer Adjourn; nothing was
    changed then. `by` and `origin` (from where; this process) are for the audit.
    """
    backup, path = _places(backup, path)
    copy = f"{path}.restoring-{secrets.token_hex(4)}"
    try:
        await asyncio.to_thread(_copy_of, backup, copy)
        store = SQLiteStore(copy)  # brings it up to date
        try:
            broken = await store.verify()
        finally:
            await store.close()
        if broken:
            raise StoreError(
                f"the backup {backup!r} was modified: {broken[0]}",
                consequence="nothing was changed",
            )
        origin = origin or f"{socket.gethostname()}:{os.getpid()}"
        return await asyncio.to_thread(_exchange, backup, copy, path, by, origin, now())
    finally:
        for part in PARTS:
            with suppress(FileNotFoundError):
                os.unlink(copy + part)


def _places(backup: str, path: str) -> tuple[str, str]:
    """Where both are, whatever folder the process goes to and whatever links there are."""
    backup, path = os.path.realpath(backup), os.path.realpath(path)
    folder = os.path.dirname(path)
    if not os.path.isfile(backup):
        raise NotFound(f"backup {backup!r} not found", consequence="nothing was changed")
    if os.path.exists(path) and os.path.samefile(backup, path):
        raise Invalid(
            f"{backup!r} is the database itself",
            consequence="nothing was changed",
            advice="name a backup of it",
        )
    if not os.path.isdir(folder):
        raise StoreError(
            f"directory {folder!r} does not exist", advice="create it, or use another path"
        )
    return backup, path


def copy_database(db: Any, path: str) -> None:
    """A whole copy of an open database as of one moment, while others go on writing; only its owner
    may read it."""
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    try:
        db.execute("vacuum into ?", (path,))
        _sync(path)
    except BaseException:
        os.unlink(path)
        raise


def _copy_of(backup: str, copy: str) -> None:
    try:
        db: Any = apsw.Connection(backup, flags=apsw.SQLITE_OPEN_READONLY)
        with closing(db):
            refuse_foreign(db, backup)
            version = int(db.pragma("user_version"))
            if not version:
                raise StoreError(
                    f"{backup!r} is not a backup of an Adjourn database",
                    consequence="nothing was changed",
                )
            pending(version, repr(backup))
            found = first_column(db.execute("pragma integrity_check(1)"))
            if found != ["ok"]:
                raise StoreError(
                    f"the backup {backup!r} is damaged: {found[0]}",
                    consequence="nothing was changed",
                )
            copy_database(db, copy)
    except apsw.Error as e:
        raise StoreError(
            f"the backup {backup!r} cannot be read as a database: {e}",
            consequence="nothing was changed",
        ) from e
    except OSError as e:
        raise StoreError(
            f"{copy!r} cannot be written: {e.strerror or e}", consequence="nothing was changed"
        ) from e


def _exchange(backup: str, copy: str, path: str, by: str, origin: str, now: float) -> Restoration:
    """With nobody else at the database: hold the runs of the copy, and give it the name."""
    with _alone(path) as highest:
        taken, runs, held = _hold(copy, highest, by, origin, now)
        kept = _keep(path, now)
        os.replace(copy, path)
        tighten(path)
        _sync(os.path.dirname(path))
    return Restoration(path, backup, kept, taken, runs, held)


def _hold(copy: str, highest: int, by: str, origin: str, now: float) -> tuple[float, int, int]:
    with closing(connect(copy)) as db, transaction(db):
        runs = first_column(db.execute("select id from run order by n"))
        [(taken, known)] = db.execute(
            "select coalesce(max(updated_at), 0), coalesce(max(epoch), 0) from run"
        )
        db.execute("delete from worker")  # nobody is at work here
        epoch = restoring.next_epoch(max(highest, known), now)
        book = SQLiteBook(db, lambda: now)
        held = 0
        for run in runs:
            held += rule_transaction.carried_out(book, restoring.holding(run, epoch, by, origin))
        rule_transaction.carried_out(book, restoring.telling(held, by, origin))
        rule_transaction.settled(book)
    return taken, len(runs), held


@contextmanager
def _alone(path: str) -> Generator[int]:
    """Nobody else has the database open, and nobody can open it meanwhile; the highest epoch in it,
    0 if it cannot be read.

    SQLite gives up its log only to the last one that has the file open. What is damaged cannot be
    asked; then the system says who has it open, where it can.
    """
    if not os.path.exists(path):
        yield 0
        return
    db: Any = apsw.Connection(path)
    highest = 0
    try:
        try:
            refuse_foreign(db, path)
            db.pragma("journal_mode", "delete")
            db.execute("begin exclusive")
            if db.execute("select 1 from sqlite_schema where name = 'run'").fetchone():
                [(highest,)] = db.execute("select coalesce(max(epoch), 0) from run")
        except (apsw.BusyError, apsw.LockedError):
            raise _in_use(path) from None
        except apsw.Error as e:
            if _holders(path):
                raise _in_use(path) from e
        yield highest
    finally:
        db.close()


def _in_use(path: str) -> Conflict:
    pids = _holders(path)
    if pids:
        who = f"process {', '.join(map(str, pids))}"
    else:
        who = "another process"
    return Conflict(
        f"{path!r} is in use by {who}",
        consequence="nothing was changed",
        advice="stop its workers and servers first",
    )


def _holders(path: str) -> list[int]:
    """The other processes that have this file open, as far as the system tells."""
    wanted, found = os.stat(path), list[int]()
    for name in os.listdir("/proc") if os.path.isdir("/proc/self") else ():
        folder = f"/proc/{name}/fd"
        if not name.isdigit() or int(name) == os.getpid():
            continue
        with suppress(OSError):  # another user's, or it has just ended
            if any(_is_same(f"{folder}/{fd}", wanted) for fd in os.listdir(folder)):
                found.append(int(name))
    return sorted(found)


def _is_same(path: str, wanted: os.stat_result) -> bool:
    with suppress(OSError):
        return os.path.samestat(os.stat(path), wanted)
    return False


def _keep(path: str, now: float) -> str:
    """Give what is there a second name, and what SQLite left beside it the name that belongs to
    that."""
    if not os.path.exists(path):
        return ""
    stem = f"{path}.replaced-{datetime.fromtimestamp(now, UTC):%Y%m%dT%H%M%SZ}"
    kept, number = stem, 1
    while os.path.exists(kept):
        number += 1
        kept = f"{stem}-{number}"
    try:
        os.link(path, kept)  # the name is never without a file
    except OSError:
        os.rename(path, kept)
    for part in PARTS[1:]:
        with suppress(FileNotFoundError):
            os.rename(path + part, kept + part)
    return kept


def _sync(path: str) -> None:
    fd = os.open(path, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
