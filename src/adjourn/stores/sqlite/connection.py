"""A connection to a SQLite file, as every one of ours must be."""

import os
import time
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager, suppress
from typing import Any

import apsw

from adjourn.errors import StoreError
from adjourn.stores.rows import first_column
from adjourn.stores.rules.inbox_filter import inbox_words, padded
from adjourn.stores.sqlite import migrations as migrate

BUSY_SECONDS = 30.0


def connect(path: str) -> Any:  # apsw's types are not complete
    """A connection set up as every one of ours must be; refuses what would break the promises."""
    folder = os.path.dirname(os.path.abspath(path))
    if not os.path.isdir(folder):
        raise StoreError(
            f"directory {folder!r} does not exist", advice="create it, or use another path"
        )
    try:
        new = not os.path.exists(path)
        db: Any = apsw.Connection(path)
        db.create_scalar_function("run_words", padded, 3, deterministic=True)
        db.create_scalar_function("inbox_words", inbox_words, 5, deterministic=True)
        started = time.monotonic()

        def busy(tries: int) -> bool:
            # SQLite's own handler backs off to 100 ms; two processes on one file then wait ten
            # times longer.
            nonlocal started
            if tries == 0:
                started = time.monotonic()
            time.sleep(0.001)
            return time.monotonic() - started < BUSY_SECONDS

        db.set_busy_handler(busy)
        refuse_foreign(db, path)
        # what waits in it, and the secrets of webhooks, are for its owner
        if new and os.path.exists(path):
            os.chmod(path, 0o600)
        if _write_ahead(db) != "wal":
            raise StoreError(
                f"{path!r} cannot use write-ahead logging",
                advice="put the database on a local disk",
            )
        # NORMAL may lose the last commits with the power; a recorded call would then run again.
        db.pragma("synchronous", "full")
        db.pragma("journal_size_limit", 16 * 1024 * 1024)
    except apsw.Error as e:
        raise StoreError(f"{path!r} cannot be opened: {e}") from e
    return db


def _write_ahead(db: Any) -> str:
    """Ask for a write-ahead log; the journal mode that the file has then.

    While others ask for the same of a new file, SQLite gives up at once instead of waiting: two of
    them could wait for each other.
    """
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return db.pragma("journal_mode", "wal")
        except apsw.BusyError:
            if time.monotonic() >= until:
                raise
            time.sleep(0.001)


def refuse_foreign(db: Any, path: str) -> None:
    """A database of something else is left as it is."""
    db.execute("begin")  # one look: others may be setting it up
    version = int(db.pragma("user_version"))
    tables = set(first_column(db.execute("select name from sqlite_schema where type = 'table'")))
    db.execute("commit")
    if not tables >= {"run", "journal"} if version else tables:
        raise StoreError(
            f"{path!r} is not an Adjourn database",
            consequence="nothing was changed",
            advice="use another path",
        )


@contextmanager
def transaction(db: Any) -> Generator[None]:
    """All of it, or nothing."""
    db.execute("begin immediate")
    try:
        yield
        db.execute("commit")
    except BaseException:
        with suppress(apsw.Error):
            db.execute("rollback")
        raise


@contextmanager
def written_beside(
    connect: Callable[[], Any], what: str, *, light: bool = True, consequence: str = ""
) -> Generator[Any]:
    """A transaction over a connection of its own: nobody's commit waits for what is made in it.

    `what`: says in an error what could not be written. `light`: it may be lost with the power.
    """
    try:
        with closing(connect()) as db:
            if light:
                db.pragma("synchronous", "normal")
            with transaction(db):  # at once: who reads first and then wants to write is refused
                yield db
    except apsw.Error as e:
        text = f"{what} could not be written: {type(e).__name__}: {e}"
        raise StoreError(text, consequence=consequence) from e


def bring_up_to_date(db: Any, path: str) -> None:
    """Apply the migrations that it lacks, all or none."""
    try:
        version = int(db.pragma("user_version"))
        if not migrate.pending(version, path):
            return
        with transaction(db):
            version = int(db.pragma("user_version"))
            for number, sql in migrate.pending(version, path):
                db.execute(sql)
                if step := migrate.STEPS.get(number):
                    step(db)
                db.execute(f"pragma user_version = {number}")
    except apsw.Error as e:
        raise StoreError(f"{path!r} is not an Adjourn database, or is damaged: {e}") from e
