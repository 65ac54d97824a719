"""A test that fails beside others and passes alone is named and costs nothing; every other failure is red."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from tests.alone import FEW, STRICT, is_strict
from tests.house.defects import ROOT

CONFTEST = """
from tests.alone import Alone
def pytest_addoption(parser): parser.addoption("--alone", action="store_true")
def pytest_configure(config):
    if config.getoption("--alone") and not hasattr(config, "workerinput"):
        config.pluginmanager.register(Alone())
"""

# It fails where another test has run before it in the same process.
BESIDE = "def test_{n}(): from_before.append(1); assert len(from_before) == 1\n"
WRONG = "def test_{n}(): assert 2 == 1, 'the refund ran twice'\n"
RIGHT = "def test_{n}(): pass\n"
# Its process ends where another test has run before it.
DIES = "def test_{n}(): from_before.append(1); len(from_before) == 1 or __import__('os')._exit(3)\n"


def outcome(folder: Path, room: str, *tests: str, restarts: int = 0) -> tuple[int, str]:
    """The exit code and the output of a run of these tests."""
    (folder / "tests" / room).mkdir(parents=True)
    (folder / "conftest.py").write_text(CONFTEST)
    (folder / "pytest.ini").write_text("[pytest]\n")
    body = "".join(test.format(n=number) for number, test in enumerate(tests))
    (folder / "tests" / room / "test_one.py").write_text("from_before = []\n" + body)
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    command = [
        sys.executable,
        "-m",
        "pytest",
        "-q",
        "-p",
        "xdist",
        "-n",
        "1",
        "-p",
        "no:cacheprovider",
        "--max-worker-restart",
        str(restarts),
        "--alone",
        "tests",
    ]
    done = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, timeout=300, env=environment, check=False
    )
    return done.returncode, done.stdout + done.stderr


def test_what_passes_alone_is_named_and_the_run_is_green(tmp_path: Path) -> None:
    code, said = outcome(tmp_path, "server", BESIDE, BESIDE)
    assert code == 0 and "UNSTEADY" in said and "test_one.py::test_1" in said.partition("UNSTEADY")[2]


@pytest.mark.parametrize(
    ("room", "tests"),
    [
        ("server", [BESIDE, BESIDE, WRONG]),
        ("server", [WRONG]),
        ("server", [BESIDE] * (FEW + 2)),
        ("stores", [BESIDE, BESIDE]),
    ],
    ids=["one of them is wrong", "wrong", "too many", "a room where once is too often"],
)
def test_every_other_failure_is_red(room: str, tests: list[str], tmp_path: Path) -> None:
    code, said = outcome(tmp_path, room, *tests)
    assert code == 1 and "UNSTEADY" not in said


def test_a_run_goes_on_without_the_process_that_died_and_its_test_is_tried_alone(tmp_path: Path) -> None:
    code, said = outcome(tmp_path, "server", RIGHT, DIES, DIES, RIGHT, restarts=1)
    assert code == 0 and "test_one.py::test_2" in said.partition("UNSTEADY")[2], said
    assert "1 failed, 3 passed" in said


def test_a_run_in_which_a_process_died_and_tests_were_left_out_is_red(tmp_path: Path) -> None:
    code, said = outcome(tmp_path, "server", RIGHT, DIES, DIES, RIGHT, restarts=0)
    assert code == 1 and "UNSTEADY" not in said


def test_a_run_without_failures_says_nothing(tmp_path: Path) -> None:
    code, said = outcome(tmp_path, "server", RIGHT)
    assert code == 0 and "UNSTEADY" not in said


def test_the_rooms_where_once_is_too_often_exist() -> None:
    assert all((ROOT / "tests" / room).is_dir() for room in STRICT)
    assert is_strict("tests/stores/test_lists.py::test_it") and not is_strict("tests/browser/test_run.py::test_it")


def test_no_test_reads_what_others_log() -> None:
    """What asyncio says about an earlier test would be taken for this project's."""
    readers = [path.name for path in (ROOT / "tests").rglob("*.py") if "caplog." + "records" in path.read_text()]
    assert readers == ["logs.py"]
