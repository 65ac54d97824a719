"""A test that failed for want of time is tried again, and the run says so at the end.

Tests wait for what happens and give up after a limit; a few check a guarantee in seconds with `in_time`. On a machine that
is busy with something else either may fail although the code is right. So these failures, and no others, are tried again
at once: a call that ran twice, a wrong status or a lost record is red the first time.
"""

import os
import re
import subprocess
import time
from collections.abc import Iterator

import pytest
from _pytest.runner import runtestprotocol

NOTE = "tried again"
ATTEMPTS = 3
ENOUGH = 150.0
"""Seconds after which nothing is tried again: all attempts together have to end before a test counts as one that hangs."""
PLANTED = "ADJOURN_PLANTED_DEFECT"
"""In the environment of a test of a planted defect, and of the processes that it starts, so that they have the defect as well."""


class TooSlow(TimeoutError):
    """A guarantee in seconds was not kept."""


def in_time(seconds: float, limit: float, slack: float = 1) -> None:
    """Assert that something took less than `limit` seconds, times a slack where the test itself keeps the machine busy."""
    if seconds >= limit * slack:
        raise TooSlow(f"it took {seconds:.3f} s, and {limit} s are promised")


def wait_until(until: float, what: str = "it does not happen") -> None:
    """Give up when `until`, a time of `time.monotonic()`, has come."""
    if time.monotonic() >= until:
        raise TooSlow(what)


def causes(error: BaseException) -> Iterator[BaseException]:
    """The error itself, or each one of a group."""
    if not isinstance(error, BaseExceptionGroup):
        yield error
        return
    inner: tuple[BaseException, ...] = error.exceptions  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType]
    for each in inner:
        yield from causes(each)


def ran_out_of_time(error: BaseException) -> bool:
    """Whether a limit passed: ours, asyncio's, a process's or the browser's."""
    return all(
        isinstance(cause, (TimeoutError, subprocess.TimeoutExpired)) or is_browsers(cause) for cause in causes(error)
    )


def is_browsers(error: BaseException) -> bool:
    """Whether the browser waited in vain: its error has another class, and what a page was expected to show is an assertion that
    names its limit."""
    return type(error).__name__ == "TimeoutError" or (
        isinstance(error, AssertionError)
        and re.search(r"Call log:\n.*Expect .* with timeout \d+ms", str(error)) is not None
    )


def may_try_again(errors: list[BaseException]) -> bool:
    """Whether a test failed, and for want of time alone."""
    if PLANTED in os.environ:  # a planted defect must turn the suite red, whatever it looks like
        return False
    return bool(errors) and all(ran_out_of_time(error) for error in errors)


class TriedAgain:
    """The plugin: repeats a test that ran out of time, reports its last attempt, and lists the earlier ones."""

    def __init__(self) -> None:
        self.noted: dict[str, list[str]] = {}
        self._errors: list[BaseException] = []

    def pytest_exception_interact(self, call: "pytest.CallInfo[object]") -> None:
        """Setup, call and teardown of a test can fail, each with an error of its own."""
        if call.excinfo:
            self._errors.append(call.excinfo.value)

    def pytest_runtest_protocol(self, item: pytest.Item, nextitem: pytest.Item | None) -> bool:
        """Run a test as pytest does, but until it passes or may not be tried again."""
        where = {"nodeid": item.nodeid, "location": item.location}
        item.ihook.pytest_runtest_logstart(**where)
        until = time.monotonic() + ENOUGH
        reports = self._attempt(item, nextitem)
        for _ in range(ATTEMPTS - 1):
            if not may_try_again(self._errors) or time.monotonic() > until:
                break
            said = f"{type(self._errors[0]).__name__}: {self._errors[0]}"
            item.user_properties.append((NOTE, said.partition("\n")[0][:100]))
            reports = self._attempt(item, nextitem)
        for report in reports:
            item.ihook.pytest_runtest_logreport(report=report)
        item.ihook.pytest_runtest_logfinish(**where)
        return True

    def _attempt(self, item: pytest.Item, nextitem: pytest.Item | None) -> list[pytest.TestReport]:
        self._errors.clear()
        return runtestprotocol(item, nextitem=nextitem, log=False)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """With xdist the reports come from the workers to the one that says them."""
        if noted := [str(said) for name, said in report.user_properties if name == NOTE]:
            self.noted[report.nodeid] = noted

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        if self.noted:
            terminalreporter.section("tried again, because time ran out")
        for nodeid, noted in self.noted.items():
            for said in noted:
                terminalreporter.write_line(f"{nodeid}  {said}")
