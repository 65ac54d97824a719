"""A PostgreSQL server for tests: in a folder of its own, on a private port of this machine, as a user without rights."""

import os
import pwd
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import count
from pathlib import Path
from typing import Self

import psycopg
import pytest
from tests.local_server import LIMIT, LocalServer, skip_without
from tests.places import every_place, place

from adjourn.stores.postgres.connections import connect
from adjourn.stores.postgres.migrations import bring_up_to_date

PLACES = "/usr/lib/postgresql/*/bin"
PREFIX = "adjourn-pg-"
OWNER = "owner"
"""Who made the folder: the process's id. A test process that was killed leaves its server and its folder behind."""
ACCOUNTS = ("postgres", "nobody")
KEPT = 40
"""So many databases are kept; of those that nobody is connected to, the oldest go first. Each has 8 MB."""
NAMES_STRATEGY = 150_000
"""Since this version a database is made page by page through the log, unless told otherwise, which takes the server half as long again."""
SETTINGS = {
    "listen_addresses": "127.0.0.1",
    "fsync": "on",
    "synchronous_commit": "on",
    "max_connections": "200",
    "shared_buffers": "64MB",
    "max_wal_size": "256MB",
    "wal_keep_size": "0",
    "log_min_messages": "warning",
}


def programs() -> Path | None:
    """The folder of the server's programs; None if there is no PostgreSQL here."""
    if found := shutil.which("pg_ctl"):
        return Path(found).resolve().parent
    folders = [path for path in Path("/").glob(PLACES[1:]) if (path / "pg_ctl").exists()]
    return max(folders, key=lambda path: int(path.parent.name), default=None)


def account() -> str | None:
    """As whom the server runs: PostgreSQL refuses root. None: as whoever runs the tests."""
    if os.getuid() != 0:
        return None
    known = {entry.pw_name for entry in pwd.getpwall()}
    return next(name for name in ACCOUNTS if name in known)


class PostgresServer(LocalServer):
    """A cluster in a temporary folder, and its server, from `with` to the end of it."""

    ends_by = signal.SIGINT
    """It cuts connections and writes a checkpoint; SIGQUIT is a crash."""

    def __init__(self, bin: Path, folder: Path | None = None) -> None:
        _remove_the_abandoned()
        super().__init__(PREFIX, folder or place())
        self._bin, self._user = bin, account()
        self._numbers = count(1)
        self._made: list[str] = []
        self._template = ""
        self._admin: psycopg.Connection | None = None
        self.settings = dict(SETTINGS)
        (self.folder / OWNER).write_text(str(os.getpid()))

    def __enter__(self) -> Self:
        if self._user is not None:
            shutil.chown(self.folder, self._user)
        self._fill()
        return super().__enter__()

    def _fill(self) -> None:
        """Make the files of the cluster."""
        self._run("initdb", "--auth=trust", "--username=adjourn", "--encoding=UTF8", "--no-locale", "--no-sync")

    def _run(self, program: str, *options: str) -> None:
        """One of the server's programs, over the files of the cluster."""
        done = subprocess.run(
            [self._bin / program, "-D", self.folder / "data", *options],
            user=self._user, capture_output=True, cwd=self.folder, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stderr.decode()

    def start(self) -> None:
        """Start it, and wait until it answers."""
        settings = {**self.settings, "port": str(self.port), "unix_socket_directories": str(self.folder)}
        arguments = [part for name, value in settings.items() for part in ("-c", f"{name}={value}")]
        self.launched(self._bin / "postgres", "-D", self.folder / "data", *arguments, user=self._user)
        assert self._process is not None
        until = time.monotonic() + LIMIT
        while True:
            try:
                psycopg.connect(self.address("postgres"), connect_timeout=5).close()
                return
            except psycopg.OperationalError:
                said = self.log.read_text()[-2000:]
                assert self._process.poll() is None and time.monotonic() < until, said
                time.sleep(0.05)

    def stop(self, how: signal.Signals | None = None) -> None:
        """End it."""
        if self._admin is not None:
            self._admin.close()
            self._admin = None
        super().stop(how)

    def address(self, database: str) -> str:
        """Of a database in it."""
        return f"postgresql://adjourn@127.0.0.1:{self.port}/{database}"

    def execute(self, sql: str, database: str = "postgres") -> None:
        """One statement, outside of a transaction."""
        with psycopg.connect(self.address(database), autocommit=True) as connection:
            connection.execute(sql.encode())

    def empty(self) -> str:
        """The address of a new database with nothing in it."""
        return self.address(self._make())

    def fresh(self) -> str:
        """The address of a new database whose schema is up to date."""
        if not self._template:
            self._template = self._make()
            self._made.remove(self._template)
            with connect(self.address(self._template)) as db:
                bring_up_to_date(db, self._template)
        name = self._make(f"template {self._template}")
        # Each store has an id of its own, also where one database is made from another.
        self.execute(
            "update adjourn.meta set value = replace(gen_random_uuid()::text, '-', '') where key = 'store'", name
        )
        return self.address(name)

    def _make(self, how: str = "") -> str:
        """The name of a new database. Old ones make room for it."""
        if self._admin is None:
            self._admin = psycopg.connect(self.address("postgres"), autocommit=True)
        for old in self._made[:-KEPT]:
            with suppress(psycopg.errors.ObjectInUse):
                self._admin.execute(f"drop database {old}".encode())
                self._made.remove(old)
        name = f"adjourn_{next(self._numbers)}"
        if self._admin.info.server_version >= NAMES_STRATEGY:
            how += " strategy file_copy"
        self._admin.execute(f"create database {name} {how}".encode())
        self._made.append(name)
        return name


@pytest.fixture(scope="session")
def postgres() -> Iterator[PostgresServer]:
    """A server for all tests of a process."""
    found = programs()
    if found is None:
        skip_without("PostgreSQL", "tests/stores/postgres/install.sh installs it on Debian")
    with PostgresServer(found) as server:
        yield server


def _remove_the_abandoned() -> None:
    """End the servers whose test process is gone, and remove their folders: each may hold gigabytes of memory."""
    for folder in (found for each in every_place() for found in each.glob(f"{PREFIX}*")):
        with suppress(OSError, ValueError):
            owner = int((folder / OWNER).read_text())
            if Path(f"/proc/{owner}").exists():
                continue
            _end_server(folder)
            shutil.rmtree(folder, ignore_errors=True)


def _end_server(folder: Path) -> None:
    """Its data folder names it, and its command line names the folder: nobody else is meant."""
    with suppress(OSError, ValueError):
        pid = int((folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        if str(folder).encode() in Path(f"/proc/{pid}/cmdline").read_bytes():
            os.kill(pid, signal.SIGQUIT)
