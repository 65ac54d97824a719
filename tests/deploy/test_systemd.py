"""The units of deploy/systemd, and the processes that they start."""

import os
import re
import shlex
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.deploy.programs import run

FOLDER = Path(__file__).parents[2] / "deploy" / "systemd"
UNITS = ("adjourn-serve.service", "adjourn-worker@.service")
LIMIT = 60.0
APP = """
from adjourn import Agent
from adjourn.testing import ScriptedModel
clerk = Agent("clerk", model=ScriptedModel("done"))
"""


def unit(name: str, program: str) -> str:
    """A unit with the path of a program that is here."""
    return (FOLDER / name).read_text("utf-8").replace("/opt/adjourn/bin/adjourn", program)


def test_systemd_accepts_the_units(tmp_path: Path) -> None:
    for name in UNITS:
        (tmp_path / name).write_text(unit(name, sys.executable))
    for name in UNITS:
        said = run("systemd-analyze", "verify", "--man=no", str(tmp_path / name.replace("@", "@1")))
        assert not [line for line in said.splitlines() if "adjourn" in line], said


def words(name: str) -> list[str]:
    """What a unit starts, with values for its variables."""
    text = re.sub(r"\\\n", " ", (FOLDER / name).read_text("utf-8"))
    [line] = re.findall(r"^ExecStart=(.+)$", text, re.MULTILINE)
    values = {"${ADJOURN_ORIGIN}": "http://127.0.0.1:8765", "${ADJOURN_APP}": "app.py:clerk", "%i": "0"}
    for variable, value in values.items():
        line = line.replace(variable, value)
    return shlex.split(line)[1:]


def told(ear: socket.socket, wanted: Callable[[str], bool]) -> str:
    """The next message that is wanted; raises TimeoutError."""
    while True:
        said = ear.recv(4096).decode()
        if wanted(said):
            return said


@pytest.mark.parametrize("name", UNITS)
def test_what_a_unit_starts_says_that_it_is_ready_alive_and_stopping(name: str, tmp_path: Path) -> None:
    (tmp_path / "app.py").write_text(APP)
    given = words(name)
    for option in ("--port", "--health"):
        if option in given:
            given[given.index(option) + 1] = "0"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as ear:
        ear.bind(str(tmp_path / "notify"))
        ear.settimeout(LIMIT)
        environment = {
            **os.environ,
            "NOTIFY_SOCKET": str(tmp_path / "notify"),
            "WATCHDOG_USEC": "300000",
            "ADJOURN_DB": str(tmp_path / "adjourn.db"),
        }
        command = [sys.executable, "-m", "adjourn", *given]
        process = subprocess.Popen(
            command, cwd=tmp_path, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
        )
        try:
            assert "STATUS=" in told(ear, lambda said: said.startswith("READY=1"))
            told(ear, lambda said: said == "WATCHDOG=1")
            process.send_signal(signal.SIGTERM)
            told(ear, lambda said: said.startswith("STOPPING=1"))
            _, said = process.communicate(timeout=LIMIT)
        finally:
            process.kill()
            process.wait()
    assert process.returncode == 0, said
    assert all(line.startswith("{") for line in said.splitlines()), said


def test_a_worker_has_longer_to_stop_than_its_tools_have() -> None:
    text = (FOLDER / "adjourn-worker@.service").read_text("utf-8")
    [grace] = re.findall(r"--grace (\d+)", text)
    [stop] = re.findall(r"^TimeoutStopSec=(\d+)$", text, re.MULTILINE)
    assert int(stop) >= int(grace) + 10


def test_the_units_run_as_an_ordinary_user_and_can_write_one_folder() -> None:
    for name in UNITS:
        text = (FOLDER / name).read_text("utf-8")
        for line in ("Type=notify", "User=adjourn", "ProtectSystem=strict", "NoNewPrivileges=yes", "UMask=0077"):
            assert line in text.splitlines(), (name, line)


def test_the_environment_file_names_every_variable_of_the_units_and_is_valid_as_it_is(tmp_path: Path) -> None:
    text = (FOLDER / "adjourn.env").read_text("utf-8")
    given = dict(line.split("=", 1) for line in text.splitlines() if line and not line.startswith("#"))
    used = {name for unit in UNITS for name in re.findall(r"\$\{(\w+)\}", (FOLDER / unit).read_text("utf-8"))}
    assert used <= given.keys() and all(given.values())
