"""A suite that cannot fail proves nothing: each defect, planted on purpose, is caught by the test that is named for it."""

import json
import subprocess
import sys
from typing import Any

import pytest
from tests.house.defects import DEFECTS, ROOT

LIMIT = 300.0


@pytest.fixture(scope="module")
def runs() -> dict[str, dict[str, Any]]:
    """How the tests end, without a defect and with each, in processes side by side."""
    names = list(DEFECTS)
    parts = [["none"], names[::2], names[1::2]]
    command = [sys.executable, "-m", "tests.house.defects"]
    running = [subprocess.Popen([*command, *part], stdout=subprocess.PIPE, text=True, cwd=ROOT) for part in parts]
    found: dict[str, dict[str, Any]] = {}
    try:
        for process in running:
            out, _ = process.communicate(timeout=LIMIT)
            assert process.returncode == 0
            found |= json.loads(out)
    finally:
        for process in running:
            if process.poll() is None:
                process.kill()
                process.communicate()
    return found


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_caught(name: str, runs: dict[str, dict[str, Any]]) -> None:
    defect, run = DEFECTS[name], runs[name]
    assert run["code"] == pytest.ExitCode.TESTS_FAILED, f"{defect.what}: {run['out']}"
    assert f"FAILED {defect.caught_by}" in run["out"]


def test_the_same_tests_pass_without_a_defect(runs: dict[str, dict[str, Any]]) -> None:
    assert runs["none"]["code"] == pytest.ExitCode.OK, runs["none"]["out"]
