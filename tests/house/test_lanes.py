"""The fast lane starts nothing, names only what exists, and every run says where its time went."""

import multiprocessing
import os
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal

import pytest
from tests import lanes
from tests.lanes import FastLane, LeftTheFastLane, is_left_out, is_slow
from tests.slowest import FIRST, SlowestFiles, longest_first

TESTS = Path(__file__).parents[1]


def bind() -> None:
    with socket.socket() as sock:
        sock.bind(("127.0.0.1", 0))


def swallow() -> None:
    try:
        subprocess.run([sys.executable, "-c", ""], check=True)
    except BaseException:
        pass


STARTS: dict[str, Callable[[], object]] = {
    "subprocess": lambda: subprocess.run([sys.executable, "-c", ""], check=True),
    "posix_spawn": lambda: os.posix_spawn(sys.executable, [sys.executable, "-c", ""], {}),
    "os.fork": os.fork,
    "spawned": lambda: multiprocessing.get_context("spawn").Process(target=print).start(),
    "server": bind,
}


@pytest.fixture(scope="module")
def lane() -> Iterator[FastLane]:
    yield FastLane()


@pytest.mark.parametrize("start", STARTS)
def test_a_fast_test_that_starts_something_fails_with_a_sentence(start: str, lane: FastLane) -> None:
    with (
        pytest.raises((LeftTheFastLane, pytest.fail.Exception), match=r"this test starts a .*: name it in SLOW"),
        lane.closed(),
    ):
        STARTS[start]()


def test_code_that_swallows_everything_does_not_hide_it(lane: FastLane) -> None:
    with pytest.raises(pytest.fail.Exception, match="this test starts a process"), lane.closed():
        swallow()


def test_outside_of_a_fast_test_everything_may_start(lane: FastLane) -> None:
    with lane.closed():
        pass
    bind()
    with socket.socket() as sock, lane.closed():
        assert sock.fileno() >= 0


@pytest.mark.parametrize(
    ("test", "fixtures", "slow"),
    [
        ("tests/core/test_plan.py::test_one[a]", ["tmp_path"], False),
        ("tests/browser/test_inbox.py::test_one", [], True),
        ("tests/stores/test_channel.py::test_one[postgres-a]", [], True),
        ("tests/cli/test_commands.py::test_one", ["process"], True),
        ("tests/cli/test_commands.py::test_one", ["adjourn"], False),
    ],
)
def test_what_is_slow(test: str, fixtures: list[str], slow: bool) -> None:
    assert is_slow(test, fixtures) is slow


@pytest.mark.parametrize(
    ("path", "left_out"),
    [
        (TESTS / "core" / "test_plan.py", False),
        (TESTS / "browser", True),
        (TESTS / "browser" / "test_inbox.py", True),
        (TESTS / "cli", False),
        (TESTS / "cli" / "test_hints.py", True),
        (TESTS / "cli" / "test_commands.py", False),
        (TESTS.parent / "src", False),
    ],
)
def test_no_file_is_read_of_which_no_test_is_run(path: Path, left_out: bool) -> None:
    assert path == TESTS.parent / "src" or path.exists()
    assert is_left_out(path) is left_out


def test_every_name_of_the_slow_list_is_there() -> None:
    gone = [folder for folder in lanes.FOLDERS if not (TESTS / folder).is_dir()]
    for name in lanes.SLOW:
        file, _, test = name.partition("::")
        if not (TESTS / file).is_file() or (test and f"def {test}(" not in (TESTS / file).read_text("utf-8")):
            gone.append(name)
    assert not gone, f"remove from tests/lanes.py: {gone}"


def test_nothing_is_named_twice_in_the_slow_list() -> None:
    parts = [(name.split("/")[0], name.partition("::")[0]) for name in lanes.SLOW if "::" in name]
    assert not [file for folder, file in parts if folder in lanes.FOLDERS or file in lanes.SLOW]
    assert list(lanes.SLOW) == sorted(set(lanes.SLOW))


def report(test: str, seconds: float, when: Literal["setup", "call", "teardown"] = "call") -> pytest.TestReport:
    return pytest.TestReport(test, ("", 0, ""), {}, "passed", None, when, duration=seconds)


def test_a_run_says_its_ten_slowest_files() -> None:
    slowest = SlowestFiles()
    for number in range(12):
        slowest.pytest_runtest_logreport(report(f"tests/test_{number}.py::test_one", number))
        slowest.pytest_runtest_logreport(report(f"tests/test_{number}.py::test_two", number))
    lines = slowest.lines()
    assert len(lines) == 10
    assert lines[0].split() == ["22.0", "s", "tests/test_11.py"]
    assert not any("test_1.py" in line or "test_0.py" in line for line in lines)


def test_a_run_knows_the_seconds_of_every_file_setup_call_and_teardown_apart() -> None:
    slowest = SlowestFiles()
    for number in range(12):
        for when in ("setup", "call", "call", "teardown"):
            slowest.pytest_runtest_logreport(report(f"tests/test_{number}.py::test_one", number, when))
    files = slowest.files()
    assert len(files) == 12
    assert next(iter(files.items())) == ("tests/test_11.py", {"setup": 11.0, "call": 22.0, "teardown": 11.0})


def test_what_takes_longest_begins_first_and_the_rest_stays_in_its_order() -> None:
    files = ["tests/a.py", FIRST[3], "tests/z.py", FIRST[0], "tests/b.py"]
    assert longest_first(files) == [FIRST[0], FIRST[3], "tests/a.py", "tests/z.py", "tests/b.py"]


def test_every_file_that_begins_first_is_there() -> None:
    gone = [file for file in FIRST if not (TESTS.parent / file).is_file()]
    assert not gone, f"remove from tests/slowest.py: {gone}"


def test_a_run_of_a_few_files_says_nothing_more() -> None:
    slowest = SlowestFiles()
    slowest.pytest_runtest_logreport(report("tests/test_one.py::test_one", 3.0))
    assert not slowest.lines()
