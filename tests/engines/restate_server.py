"""A Restate server for tests: in a folder of its own, on private ports of this machine, stopped by its process."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.local_server import LocalServer, free_port, skip_without

PROGRAMS = Path(__file__).parent / "node_modules" / "@restatedev"
SETTINGS = {
    "RESTATE_DISABLE_TELEMETRY": "true",
    "RESTATE_LISTEN_MODE": "tcp",
    "RESTATE_LOG_FILTER": "warn",
    "RESTATE_DEFAULT_NUM_PARTITIONS": "2",
    "RESTATE_ROCKSDB_TOTAL_MEMORY_SIZE": "256MB",
    "RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_INTERVAL": "1s",
    "RESTATE_WORKER__INVOKER__HTTP2_KEEP_ALIVE_TIMEOUT": "1s",
    "RESTATE_ADMIN__DISABLE_WEB_UI": "true",
}


class RestateServer(LocalServer):
    """One node."""

    def __init__(self, program: Path, name: str = "only") -> None:
        super().__init__("adjourn-restate-")
        self._program, self._name = program, name
        self.ingress, self.admin = free_port(), free_port()
        self.settings = dict(SETTINGS)

    @property
    def options(self) -> dict[str, str]:
        """What a worker is told of it."""
        return {
            "kind": "restate",
            "address": f"http://127.0.0.1:{self.ingress}",
            "admin": f"http://127.0.0.1:{self.admin}",
            "listen": f"127.0.0.1:{free_port()}",
        }

    def start(self) -> None:
        """Start it, and wait until it listens."""
        self.launch()
        self.wait()

    def launch(self) -> None:
        """Start it."""
        places = {
            "RESTATE_BASE_DIR": str(self.folder / "data"),
            "RESTATE_BIND_PORT": str(self.port),
            "RESTATE_INGRESS__BIND_PORT": str(self.ingress),
            "RESTATE_ADMIN__BIND_PORT": str(self.admin),
        }
        self.launched(
            self._program, "--no-logo", "--bind-ip", "127.0.0.1", "--node-name", self._name,
            env={**os.environ, **self.settings, **places},
        )  # fmt: skip

    def wait(self) -> None:
        """Return when it listens."""
        self.wait_for(self.admin, self.ingress)


def program() -> Path | None:
    """The server, from npm's package; None if it is not installed."""
    return next(PROGRAMS.glob("restate-server-*/bin/restate-server"), None)


def required() -> Path:
    """The server; without it a test is skipped, and fails in CI."""
    found = program()
    if found is None:
        skip_without("Restate", "`make mock` installs it with npm")
    return found


@pytest.fixture(scope="module")
def restate() -> Iterator[RestateServer]:
    """A server for all tests of a file."""
    with RestateServer(required()) as server:
        yield server
