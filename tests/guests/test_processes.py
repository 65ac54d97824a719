"""Guests in real processes on SQLite: killed inside a tool, and before and after every transaction, by SIGKILL."""

import json
import subprocess
import sys
from typing import Any

import pytest

FRAMEWORKS = ["pydantic_ai", "openai_agents", "langgraph", "agent_framework"]
LIMIT = 600.0


@pytest.fixture(scope="module")
def reports() -> dict[str, dict[str, Any]]:
    """One rig for two frameworks, both at once."""
    command = [sys.executable, "-m", "tests.guests.crash_rig"]
    halves = [FRAMEWORKS[::2], FRAMEWORKS[1::2]]
    running = [subprocess.Popen([*command, *half], stdout=subprocess.PIPE, text=True) for half in halves]
    found: dict[str, dict[str, Any]] = {}
    try:
        for process in running:
            out, _ = process.communicate(timeout=LIMIT)
            assert process.returncode == 0, f"the rig failed: {process.args}"
            found |= json.loads(out)
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return found


@pytest.mark.parametrize("framework", FRAMEWORKS)
def test_no_payment_of_a_guest_is_lost_or_made_twice_wherever_its_process_dies(
    reports: dict[str, dict[str, Any]], framework: str
) -> None:
    report = reports[framework]
    assert report["failures"] == []
    assert report["killed"] == 1
    assert report["deaths"] >= 20
    assert report["recoveries"] == report["deaths"] + report["killed"]
