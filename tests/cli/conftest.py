"""Databases with real runs, the command in this process and in others, and a terminal with nobody at it."""

import asyncio
import json
import os
import re
import select
import shlex
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from tests.again import TooSlow
from tests.cli import shop
from typer.testing import CliRunner

from adjourn import Agent, RunFailed, Runtime
from adjourn.cli.command_table import app

SECONDS = 60.0
COLOUR = re.compile(r"\x1b\[[0-9;]*m")
ATTACHED = (  # a session's own terminal is one where Ctrl-C is a signal
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0);os.execvp(sys.argv[1], sys.argv[1:])"
)


class Said(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)


@pytest.fixture(autouse=True)
def _alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every test has its own folder, its own memory of lists, and the database `adjourn.db` in that folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.delenv("ADJOURN_DB", raising=False)
    for name in ("FORCE_COLOR", "NO_COLOR", "COLUMNS", "LINES", "ADJOURN_INSIDE"):
        monkeypatch.delenv(name, raising=False)


def invoke(*args: str) -> Said:
    """The command, in this process: quick."""
    done = CliRunner().invoke(app, list(args), prog_name="adjourn")
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return Said(done.exit_code, done.stdout, done.stderr)


@pytest.fixture(params=["sqlite", pytest.param("postgres", id="postgres")])
def db(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """The database that every command means."""
    address = "sqlite:///adjourn.db"
    if request.param == "postgres":
        address = request.getfixturevalue("postgres").fresh()
    monkeypatch.setenv("ADJOURN_DB", address)
    return address


@pytest.fixture
def adjourn() -> Callable[..., Said]:
    """See `invoke`."""
    return invoke


@pytest.fixture
def process() -> Callable[..., Said]:
    """The command as a process of its own, without a terminal."""

    def run(*args: str, typed: str = "", **env: str) -> Said:
        done = subprocess.run(
            [sys.executable, "-m", "adjourn", *args],
            input=typed, capture_output=True, text=True, encoding="utf-8", timeout=SECONDS,
            env={**os.environ, **env}, check=False,
        )  # fmt: skip
        return Said(done.returncode, done.stdout, done.stderr)

    return run


async def begin(*agents: Agent[Any], db: str = "adjourn.db", input: Any = "Order 4417 arrived broken") -> list[str]:
    """Start a run of each agent and wait until it rests; the ids. The runtime is closed again."""
    async with Runtime(db if "://" in db else f"sqlite:///{db}", agents) as rt:
        runs = [await rt.start(agent, input, by="shop") for agent in agents]
        for run in runs:
            try:
                await run.wait(SECONDS)
            except RunFailed:
                pass
    return [run.id for run in runs]


@pytest.fixture
def waiting() -> str:
    """A run that waits for the approval of a refund."""
    return asyncio.run(begin(shop.refunds))[0]


async def advance(*agents: Agent[Any], run: str, db: str = "adjourn.db") -> Any:
    """Go on with a run where its program is; how it rested."""
    async with Runtime(f"sqlite:///{db}", agents) as rt:
        return await (await rt.get(run)).wait(SECONDS)


def screen(text: str) -> list[str]:
    """The lines that are left on a terminal in the end: what was drawn again counts once."""
    shown = [""]
    for part in re.split(r"(\r(?:\x1b\[\d+A)?\x1b\[J)", COLOUR.sub("", text).replace("\r\n", "\n")):
        if erased := re.fullmatch(r"\r(?:\x1b\[(\d+)A)?\x1b\[J", part):
            del shown[len(shown) - 1 - int(erased[1] or 0) :]
            shown.append("")
        else:
            first, *more = part.split("\n")
            shown[-1] += first
            shown += more
    return shown


class Pty:
    """A program at a terminal of its own; `see` waits for words, `type` writes a line."""

    def __init__(self, *args: str, columns: int = 100, script: str = "", **env: str) -> None:
        import fcntl
        import pty
        import struct
        import termios

        self._fd, inner = pty.openpty()
        fcntl.ioctl(self._fd, termios.TIOCSWINSZ, struct.pack("HHHH", 50, columns, 0, 0))
        command = [sys.executable, "-m", "adjourn"]
        if script:  # several commands of one session
            line = ["sh", "-ec", f'adjourn() {{ {shlex.join(command)} "$@"; }}; {script}']
        else:
            line = [*command, *args]
        self.process = subprocess.Popen(
            [sys.executable, "-c", ATTACHED, *line],
            stdin=inner, stdout=inner, stderr=inner, start_new_session=True, env={**os.environ, "TERM": "xterm", **env},
        )  # fmt: skip
        os.close(inner)
        self.text = ""
        self._seen = 0

    def _more(self, until: float) -> bool:
        ready, _, _ = select.select([self._fd], [], [], max(0.0, until - time.monotonic()))
        if not ready:
            raise TooSlow(f"nothing came within {SECONDS} s; so far:\n{self.text}")
        try:
            read = os.read(self._fd, 65536)
        except OSError:  # Linux: the other side is closed
            read = b""
        self.text += read.decode("utf-8", "replace")
        return bool(read)

    @property
    def plain(self) -> str:
        """What it has written, without colours."""
        return COLOUR.sub("", self.text)

    @property
    def keeps_output(self) -> bool:
        """Whether Ctrl-C leaves what the terminal has not shown yet."""
        import termios

        return bool(termios.tcgetattr(self._fd)[3] & termios.NOFLSH)

    def see(self, words: str) -> None:
        """Wait until the program has written these words after those that were seen last."""
        until = time.monotonic() + SECONDS
        while words not in self.plain[self._seen :]:
            assert self._more(until), f"it ended without saying {words!r}:\n{self.plain}"
        self._seen += self.plain[self._seen :].index(words) + len(words)

    def type(self, line: str) -> None:
        os.write(self._fd, (line + "\n").encode())

    def press(self, keys: str) -> None:
        """Press keys, without Enter."""
        os.write(self._fd, keys.encode())

    def interrupt(self) -> None:
        """Press Ctrl-C."""
        self.press("\x03")

    def answer(self, question: str, line: str) -> None:
        """Wait for the question and for its prompt, then answer."""
        self.see(question)
        self.see("› ")
        self.type(line)

    def end(self) -> int:
        """Read until it ends; its exit code."""
        until = time.monotonic() + SECONDS
        while self._more(until):
            pass
        return self.process.wait(SECONDS)

    def close(self) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()
        os.close(self._fd)


@pytest.fixture
def terminal() -> Iterator[Callable[..., Pty]]:
    """The command at a terminal."""
    pytest.importorskip("pty")
    begun: list[Pty] = []

    def open_one(*args: str, **options: Any) -> Pty:
        begun.append(Pty(*args, **options))
        return begun[-1]

    yield open_one
    for one in begun:
        one.close()


Run = Callable[..., Said]
AtTerminal = Callable[..., Pty]
Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def worker() -> Iterator[Start]:
    """`adjourn worker` as processes of their own, which are gone in the end."""
    begun: list[subprocess.Popen[str]] = []

    def start(*args: str, until: str = "", stdout: int = subprocess.DEVNULL, **env: str) -> subprocess.Popen[str]:
        one = subprocess.Popen(
            [sys.executable, "-m", "adjourn", "worker", *args],
            stdin=subprocess.DEVNULL, stdout=stdout, stderr=subprocess.PIPE, text=True, encoding="utf-8",
            env={**os.environ, **env},
        )  # fmt: skip
        begun.append(one)
        if until:
            hear(one, until)
        return one

    yield start
    for one in begun:
        if one.poll() is None:
            one.kill()
        one.communicate()


def hear(one: "subprocess.Popen[str]", words: str) -> str:
    """Read what a worker says until these words come; the line with them."""
    assert one.stderr is not None
    for line in one.stderr:
        if words in line:
            return line
    raise AssertionError(f"the worker never said {words!r}")
