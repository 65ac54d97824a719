"""Where lives are lived: a folder with its database in it, or with one of a server of its own."""

import shutil
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path

import psycopg
from tests.crash.life import ADDRESS
from tests.places import new_folder
from tests.stores.postgres.server import PostgresServer

LIMIT = 30.0


class Folders:
    """On SQLite: what a process leaves are files."""

    sides: tuple[str, ...] = ("before", "after")

    @contextmanager
    def place(self) -> Generator[Path]:
        """A folder in memory if the machine has that: a process that dies leaves the same there as on a disk."""
        folder = new_folder("adjourn-crash-")
        yield folder
        shutil.rmtree(folder)

    def copy(self, saved: Path, folder: Path) -> None:
        """What was left there, here."""
        shutil.copytree(saved, folder, dirs_exist_ok=True)


FOLDERS = Folders()


class Databases(Folders):
    """On PostgreSQL: what a process leaves are a database, and connections whose server has to notice."""

    sides = ("before", "held", "after")

    def __init__(self, server: PostgresServer) -> None:
        self._server = server

    @contextmanager
    def place(self) -> Generator[Path]:
        """A folder that names a new database."""
        with super().place() as folder:
            (folder / ADDRESS).write_text(self._server.fresh())
            yield folder

    def copy(self, saved: Path, folder: Path) -> None:
        """What was left there, here: in the database of this folder."""
        mine, theirs = ((at / ADDRESS).read_text() for at in (folder, saved))
        super().copy(saved, folder)
        (folder / ADDRESS).write_text(mine)
        name, other = (address.rpartition("/")[2] for address in (mine, theirs))
        self._server.execute(f"drop database {name}")
        until = time.monotonic() + LIMIT
        while True:
            try:
                self._server.execute(f"create database {name} template {other}")
                return
            except psycopg.errors.ObjectInUse:  # by a process that has died just now
                assert time.monotonic() < until, f"{other} stays in use"
                time.sleep(0.01)
