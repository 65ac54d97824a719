"""Somebody else's server for tests: in a folder of its own, on private ports of this machine, stopped by its process."""

import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import NoReturn, Self

import pytest

LIMIT = 60.0
"""Seconds that a server has to begin, and to end."""


class LocalServer:
    """From `with` to the end of it. What it knows is in its folder, and survives a restart.

    Args:
        prefix: how the name of its folder begins.
        place: where the folder is made; None: where temporary files are.
    """

    ends_by = signal.SIGKILL
    """How it is stopped, unless a test says otherwise."""

    def __init__(self, prefix: str, place: Path | None = None) -> None:
        self.folder, self.port = Path(tempfile.mkdtemp(prefix=prefix, dir=place)), free_port()
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.stop()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def pid(self) -> int:
        """Of its first process."""
        assert self._process is not None
        return self._process.pid

    @property
    def log(self) -> Path:
        """What it has said."""
        return self.folder / "log"

    def start(self) -> None:
        """Start it, and wait until it answers."""
        raise NotImplementedError

    def launched(self, *command: str | Path, env: Mapping[str, str] | None = None, user: str | None = None) -> None:
        """Start its program, as this user."""
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=self.folder, env=env, user=user
            )

    def wait_for(self, *ports: int) -> None:
        """Return when it listens there."""
        assert self._process is not None
        for port in ports:
            wait_for_port(port, self._process, self.log)

    def stop(self, how: signal.Signals | None = None) -> None:
        """End it, by a signal."""
        if self._process is not None:
            self._process.send_signal(how or self.ends_by)
            self._process.wait(LIMIT)
            self._process = None


def free_port() -> int:
    """A port of this machine that nobody listens on."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return found.getsockname()[1]


def wait_for_port(port: int, process: subprocess.Popen[bytes], log: Path) -> None:
    """Return when somebody listens there; raises `TimeoutError`."""
    until = time.monotonic() + LIMIT
    while True:
        try:
            socket.create_connection(("127.0.0.1", port), timeout=5).close()
            return
        except OSError:
            assert process.poll() is None, log.read_text()[-2000:]
            if time.monotonic() > until:
                raise TimeoutError(log.read_text()[-2000:]) from None
            time.sleep(0.05)


def skip_without(what: str, installed_by: str) -> NoReturn:
    """Skip a test whose program is not here; in CI it fails."""
    why = f"there is no {what} here: {installed_by}"
    assert "CI" not in os.environ, why
    pytest.skip(why)
