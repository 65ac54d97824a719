"""What a run of the suite spent its time on: the ten slowest files, said at the end; every file, in the cache of pytest."""

from collections import defaultdict
from collections.abc import Iterable

import pytest

FILES = 10
KEPT = "adjourn/seconds"
"""Under this name the cache of pytest has the seconds of each file: `.pytest_cache/v/adjourn/seconds`, JSON, the slowest first."""

FIRST = (
    "tests/stores/postgres/test_contract.py",
    "tests/server/test_schemathesis.py",
    "tests/browser/test_inbox.py",
    "tests/browser/test_hostile.py",
    "tests/crash/test_commits.py",
    "tests/house/test_defects.py",
    "tests/browser/test_weight.py",
    "tests/browser/test_run.py",
    "tests/cli/test_hostile.py",
    "tests/demo/test_checks.py",
)
"""What takes a minute and more begins first: a process that began one of these last would work alone while the others had ended."""


def longest_first(files: Iterable[str]) -> list[str]:
    """Files in the order in which they begin: those of `FIRST`, then the others as they were."""
    places = {file: place for place, file in enumerate(FIRST)}
    return sorted(files, key=lambda file: places.get(file, len(FIRST)))


def file_of(test: pytest.Item) -> str:
    """The file that a test is in."""
    return test.nodeid.partition("::")[0]


class SlowestFiles:
    """A plugin that adds up the seconds of each file, over all the processes that ran tests."""

    def __init__(self) -> None:
        self.phases = defaultdict[str, dict[str, float]](dict)

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """The tests of a file stay together, and in their order."""
        places = {file: place for place, file in enumerate(longest_first(dict.fromkeys(map(file_of, items))))}
        items.sort(key=lambda item: places[file_of(item)])

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Setup, call and teardown of a test; with xdist they come from the workers to the one that reports."""
        phases, phase = self.phases[report.nodeid.partition("::")[0]], str(report.when)
        phases[phase] = phases.get(phase, 0.0) + report.duration

    def files(self) -> dict[str, dict[str, float]]:
        """The seconds of setup, call and teardown of each file, the slowest first."""
        slowest = sorted(self.phases.items(), key=lambda pair: -sum(pair[1].values()))
        return {file: {phase: round(seconds, 3) for phase, seconds in phases.items()} for file, phases in slowest}

    def lines(self) -> list[str]:
        """The slowest first. Nothing if so few files ran that everybody can see them anyway."""
        if len(self.phases) <= FILES:
            return []
        return [f"{sum(phases.values()):7.1f} s  {file}" for file, phases in [*self.files().items()][:FILES]]

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        """Keep them, for whoever wants to know after a run; a worker of xdist knows its own alone."""
        config = session.config
        if self.lines() and hasattr(config, "cache") and not hasattr(config, "workerinput"):
            config.cache.set(KEPT, self.files())

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if lines := self.lines():
            terminalreporter.section("the ten slowest files")
            for line in lines:
                terminalreporter.write_line(line)
