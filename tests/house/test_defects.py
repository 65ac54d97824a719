"""A suite that cannot fail proves nothing: each defect, planted on purpose, is caught by the test that is named for it."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.house.defects import DEFECTS, ROOT

NONE = "none"


class Runs:
    """How the tests end, without a defect and with each, in processes side by side. Each test waits for its own alone."""

    def __init__(self, names: list[str]) -> None:
        planted = [name for name in names if name != NONE]
        parts = [planted[::2], planted[1::2], [name for name in names if name == NONE]]
        command = [sys.executable, "-m", "tests.house.defects"]
        self._found: dict[str, dict[str, Any]] = {}
        self._running = [
            (part, subprocess.Popen([*command, *part], stdout=subprocess.PIPE, text=True, cwd=ROOT))
            for part in parts
            if part
        ]

    def __getitem__(self, name: str) -> dict[str, Any]:
        [process] = [process for part, process in self._running if name in part]
        assert process.stdout is not None
        while name not in self._found:
            line = process.stdout.readline()
            assert line, f"the process ended with {process.wait()}"
            run = json.loads(line)
            self._found[run["name"]] = run
        return self._found[name]

    def end(self) -> None:
        for _, process in self._running:
            process.kill()
            process.communicate()


@pytest.fixture(scope="module")
def runs(request: pytest.FixtureRequest) -> Iterator[Runs]:
    """Of the tests that were chosen, and no others."""
    chosen = [
        item for item in request.session.items if isinstance(item, pytest.Function) and item.path == Path(__file__)
    ]
    found = Runs([str(item.callspec.params["name"]) if hasattr(item, "callspec") else NONE for item in chosen])
    yield found
    found.end()


@pytest.mark.parametrize("name", DEFECTS)
def test_a_planted_defect_is_caught(name: str, runs: Runs) -> None:
    defect, run = DEFECTS[name], runs[name]
    assert run["code"] == pytest.ExitCode.TESTS_FAILED, f"{defect.what}: {run['out']}"
    assert f"FAILED {defect.caught_by}" in run["out"]


def test_the_same_tests_pass_without_a_defect(runs: Runs) -> None:
    run = runs[NONE]
    assert run["code"] == pytest.ExitCode.OK, run["out"]
