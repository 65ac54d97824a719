"""A second PostgreSQL server that follows the first one, record by record, and can take its place."""

import os
import signal
from pathlib import Path

from tests.stores.postgres.server import PostgresServer

NAME = "standby"
SOON = {"wal_retrieve_retry_interval": "100ms"}
"""After which time it looks for the other one again."""


class Standby(PostgresServer):
    """A streaming replica, made while the other one runs."""

    def __init__(self, bin: Path, primary: PostgresServer) -> None:
        super().__init__(bin)
        self._primary = primary
        self.settings |= SOON

    def _fill(self) -> None:
        way = f"host=127.0.0.1 port={self._primary.port} user=adjourn application_name={NAME}"
        self._run("pg_basebackup", "--write-recovery-conf", "--no-sync", "--checkpoint=fast", "--dbname", way)

    def promote(self) -> None:
        """From now on it is the one that is written to."""
        self._run("pg_ctl", "promote", "--wait")

    def freeze(self) -> None:
        """Its processes stand still, with their connections open."""
        self._tell_all(signal.SIGSTOP)

    def thaw(self) -> None:
        """They continue."""
        self._tell_all(signal.SIGCONT)

    def _tell_all(self, what: signal.Signals) -> None:
        pid = int((self.folder / "data" / "postmaster.pid").read_text().splitlines()[0])
        children = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
        for process in (pid, *map(int, children)):
            os.kill(process, what)
