"""A test that failed beside fifteen thousand others, and passes each time alone, is unsteady: the run names it and goes on.

At most `FEW` of them, three times each, in processes of their own, and only if all others were run. Where a failure may be
a call that ran twice or a record that was lost, one is too many: a test of `STRICT` is red whatever it does alone. An unsteady
test is a defect, of the test or of the code, and is the next thing to mend.
"""

import subprocess
import sys

import pytest

FEW = 3
TIMES = 3
LIMIT = 300
STRICT = ("authority", "bodies", "core", "crash", "driver", "flow", "stores")


def is_strict(nodeid: str) -> bool:
    """Whether a test states what may never happen, not even once."""
    return nodeid.removeprefix("tests/").startswith(tuple(f"{room}/" for room in STRICT))


def passes_alone(nodeid: str) -> bool:
    """Whether a test passes each time in a process of its own."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:xdist", "-p", "no:cacheprovider", nodeid]
    try:
        return all(
            subprocess.run(command, capture_output=True, timeout=LIMIT, check=False).returncode == 0
            for _ in range(TIMES)
        )
    except subprocess.TimeoutExpired:
        return False


class Alone:
    """The plugin: when few tests failed, and each of them passes alone, the run is green and says which they are."""

    def __init__(self) -> None:
        self.failed: list[str] = []
        self.unsteady: list[str] = []
        self.collected: set[str] = set()
        self.reported: set[str] = set()

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_node_collection_finished(self, ids: list[str]) -> None:
        """Every process of tests says what it collected: all say the same."""
        self.collected.update(ids)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        self.reported.add(report.nodeid)
        if report.failed and report.nodeid not in self.failed:
            self.failed.append(report.nodeid)

    def pytest_sessionfinish(self, session: pytest.Session, exitstatus: int) -> None:
        if exitstatus != pytest.ExitCode.TESTS_FAILED or not 0 < len(self.failed) <= FEW:
            return
        if any(is_strict(nodeid) for nodeid in self.failed):
            return
        if not self.collected <= self.reported:  # a process died, and the tests that it had left were not run
            return
        if all(passes_alone(nodeid) for nodeid in self.failed):
            self.unsteady = self.failed
            session.exitstatus = pytest.ExitCode.OK

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if not self.unsteady:
            return
        terminalreporter.section("UNSTEADY: failed once, passed alone; mend them first")
        for nodeid in self.unsteady:
            terminalreporter.write_line(nodeid)
