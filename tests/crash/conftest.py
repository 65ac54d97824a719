"""Runs the rig in processes of its own, several at once, and says at the end how many processes died."""

import json
import subprocess
import sys
from collections import Counter
from typing import Any

import pytest

LIMIT = 600.0
REPORTS: dict[str, Counter[str]] = {}


def campaign(name: str, *parts: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Run a campaign once for each list of arguments, side by side; the reports by scenario."""
    command = [sys.executable, "-m", "tests.crash.rig", name]
    running = [subprocess.Popen([*command, *part], stdout=subprocess.PIPE, text=True) for part in parts]
    found: dict[str, list[dict[str, Any]]] = {}
    try:
        for process in running:
            out, _ = process.communicate(timeout=LIMIT)
            assert process.returncode == 0, f"the rig failed: {process.args}"
            for scenario, report in json.loads(out).items():
                found.setdefault(scenario, []).append(report)
                numbers = {what: n for what, n in report.items() if isinstance(n, int)}
                REPORTS.setdefault(name, Counter()).update(numbers)
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return found


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    for name, counts in REPORTS.items():
        terminalreporter.write_line(f"{name}: " + ", ".join(f"{n} {what}" for what, n in counts.items()))
