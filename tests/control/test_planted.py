"""Each defect in time and order, planted on purpose, is caught by the test that is named for it. See `tests.house.defects`."""

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.control.defects import TIME
from tests.house.defects import ROOT

LIMIT = 280.0


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, Any]]:
    """How the named test ends with each defect."""
    command = [sys.executable, "-m", "tests.house.defects", *TIME]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, timeout=LIMIT, check=True)
    lines = [json.loads(line) for line in done.stdout.splitlines()]
    return {run["name"]: run for run in lines}


@pytest.mark.parametrize("name", TIME)
def test_a_planted_defect_is_caught(name: str, runs: dict[str, dict[str, Any]]) -> None:
    defect, run = TIME[name], runs[name]
    assert run["code"] == pytest.ExitCode.TESTS_FAILED, f"{defect.what}: {run['out']}"
    assert f"FAILED {defect.caught_by}" in run["out"]
