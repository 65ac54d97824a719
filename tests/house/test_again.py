"""A test that failed for want of time is tried again; every other failure is red the first time."""

import os
import subprocess
import sys

import pytest
from tests.again import PLANTED, in_time, may_try_again
from tests.house.defects import ROOT

LATE = "raise TimeoutError('no answer')"
GROUP = "raise ExceptionGroup('two', [TimeoutError('no answer'), TimeoutError()])"
MIXED = "raise ExceptionGroup('two', [TimeoutError('no answer'), AssertionError('twice')])"
WRONG = "assert 2 == 1, 'the refund ran twice'"
SLOW = "in_time(1.4, 1.0)"
PAGE = "raise AssertionError('Locator expected to have count\\nCall log:\\n  - Expect it with timeout 5000ms')"

TEST = """
from tests.again import in_time
attempts = []
def test_it():
    attempts.append(1)
    if len(attempts) <= {failing}:
        {failure}
"""


CASES = [
    (LATE, 1, True), (LATE, 2, True), (LATE, 3, False), (SLOW, 2, True), (SLOW, 3, False),
    (GROUP, 1, True), (PAGE, 1, True), (PAGE, 3, False), (MIXED, 1, False), (WRONG, 1, False), ("raise ValueError()", 1, False),
]  # fmt: skip


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> str:
    """What one run of all of them says, each in a file of its own."""
    folder = tmp_path_factory.mktemp("again")
    (folder / "conftest.py").write_text(
        "from tests.again import TriedAgain\ndef pytest_configure(config): config.pluginmanager.register(TriedAgain())\n"
    )
    (folder / "pytest.ini").write_text("[pytest]\n")
    for number, (failure, failing, _) in enumerate(CASES):
        (folder / f"test_{number}.py").write_text(TEST.format(failing=failing, failure=failure))
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "PYTEST_ADDOPTS": "", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    environment.pop(PLANTED, None)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-rA", "-p", "xdist", "-n", "1", "-p", "no:cacheprovider", "-c", "pytest.ini"],
        cwd=folder, capture_output=True, text=True, timeout=120, env=environment, check=False,
    )  # fmt: skip
    assert done.returncode == pytest.ExitCode.TESTS_FAILED, done.stdout + done.stderr
    return done.stdout


@pytest.mark.parametrize(("failure", "failing", "passes"), CASES)
def test_what_a_test_that_fails_at_first_comes_to(failure: str, failing: int, passes: bool, said: str) -> None:
    name = f"test_{CASES.index((failure, failing, passes))}.py::test_it"
    results = said.rpartition("short test summary info")[2]
    again = said.rpartition("tried again, because time ran out")[2]
    assert f"{'PASSED' if passes else 'FAILED'} {name}" in results, said
    assert (name in again.partition("short test summary info")[0]) == (failure in (LATE, SLOW, GROUP, PAGE)), said


def test_a_planted_defect_is_never_tried_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(PLANTED, raising=False)
    assert may_try_again([TimeoutError()])
    monkeypatch.setenv(PLANTED, "some defect")
    assert not may_try_again([TimeoutError()])


def test_what_took_too_long_says_how_long() -> None:
    in_time(0.9, 1.0)
    with pytest.raises(TimeoutError, match=r"it took 1\.400 s, and 1\.0 s are promised"):
        in_time(1.4, 1.0)
