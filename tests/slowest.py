"""What a run of the suite spent its time on: the ten slowest files, said at the end."""

from collections import defaultdict

import pytest

FILES = 10


class SlowestFiles:
    """A plugin that adds up the seconds of each file, over all the processes that ran tests."""

    def __init__(self) -> None:
        self.seconds = defaultdict[str, float](float)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Setup, call and teardown of a test; with xdist they come from the workers to the one that reports."""
        self.seconds[report.nodeid.partition("::")[0]] += report.duration

    def lines(self) -> list[str]:
        """The slowest first. Nothing if so few files ran that everybody can see them anyway."""
        if len(self.seconds) <= FILES:
            return []
        slowest = sorted(self.seconds.items(), key=lambda pair: -pair[1])
        return [f"{seconds:7.1f} s  {file}" for file, seconds in slowest[:FILES]]

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if lines := self.lines():
            terminalreporter.section("the ten slowest files")
            for line in lines:
                terminalreporter.write_line(line)
