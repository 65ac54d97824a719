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
    return reported(FRAMEWORKS[::2], FRAMEWORKS[1::2])


def reported(*parts: list[str]) -> dict[str, dict[str, Any]]:
    """What rigs report, one for each part, all at once."""
    command = [sys.executable, "-m", "tests.guests.crash_rig"]
    running = [subprocess.Popen([*command, *part], stdout=subprocess.PIPE, text=True) for part in parts]
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
    check(reports[framework])


@pytest.mark.crash
def test_a_graph_that_keeps_its_state_in_our_saver_may_die_at_every_write_of_both() -> None:
    check(reported(["langgraph_saver"])["langgraph_saver"])


def check(report: dict[str, Any]) -> None:
    assert report["failures"] == []
    assert report["killed"] == 1
    assert report["deaths"] >= 20
    assert report["recoveries"] == report["deaths"] + report["killed"]
